"""``llrkit reproduce`` and ``llrkit demo``: tables, figures, pages, JSON."""

import json
import re
from html import unescape

import pytest
from click.testing import CliRunner
from json_outputs import assert_fits_schema

import llrkit as lk
from llrkit.cli import cli
from llrkit.experiments import durations
from llrkit.experiments.list_results import ListResult, ListTable
from llrkit.experiments.real_result import RealResult
from llrkit.experiments.result_folder import write_experiments
from llrkit.experiments.result_tables import list_table, one_map_table, paper_table, verdict
from llrkit.experiments.seed_means import SeedMeans


@pytest.fixture
def two_durations(monkeypatch):
    """Four lists instead of 25."""
    monkeypatch.setattr(durations, "SECONDS", durations.SECONDS[-2:])


def run(*arguments):
    done = CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def cells_of(page):
    """What stands in the cells of the tables of a page."""
    return {unescape(cell).strip() for cell in re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", page)}


def test_demo_ends_by_saying_where_the_report_is(tmp_path):
    done = run("demo", "--out", tmp_path / "demo")
    path = done.output.splitlines()[-1].removeprefix("The report is in ")
    page = (tmp_path / path).read_text(encoding="utf-8")
    # the paper's figures stand beside what was found
    assert {"0.375", "0.376", "0.370", "-0.99 ± 0.06", "raw scores", "CMLG"} <= cells_of(page)
    for title in ("Two Gaussians", "Durations", "Prior scan"):
        assert f">{title}</" in page
    assert re.search(r"mean Cllr, CMLG +0\.\d{3} +0\.0\d\d +0\.375", done.output)
    numbers = json.loads((tmp_path / "demo" / "numbers.json").read_text())
    assert assert_fits_schema(numbers) == "demo"
    assert numbers["schema"] == "llrkit.demo/1"
    assert len(numbers["durations"]["lists"]) == 25
    for name in ("two-gaussians", "durations-cllr", "durations-eer", "prior-scan-unequal"):
        assert (tmp_path / "demo" / f"{name}.svg").stat().st_size > 1000


@pytest.mark.usefixtures("two_durations")
def test_durations_prints_tables_and_json_alone_goes_to_standard_output(tmp_path):
    done = run("reproduce", "durations", "--seed", 3, "--seeds", 2, "--json", "-", "--out", tmp_path / "out")
    found = json.loads(done.stdout)
    assert assert_fits_schema(found) == "reproduce"
    assert found["schema"] == "llrkit.reproduce/1"
    assert found["experiment"] == "durations"
    assert found["mean"].keys() >= {"eer", "cmlg", "logistic", "min_cllr"}
    assert "logistic regression" in done.stderr
    assert len(found["pooled"]["cmlg"]) == 4
    assert found["seeds"] == [3, 4]
    assert "one for all, CMLG given the durations" in done.stderr
    assert "CMLG given the durations" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".html", ".svg", ".pdf"}
    again = json.loads(run("reproduce", "durations", "--seed", 3, "--seeds", 2, "--json", "-").stdout)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}


def test_prior_scan_prints_all_three_cases(tmp_path):
    done = run("reproduce", "prior-scan", "--json", tmp_path / "scan.json")
    found = json.loads((tmp_path / "scan.json").read_text())
    assert assert_fits_schema(found) == "reproduce"
    assert [case["name"] for case in found["cases"]] == ["equal", "unequal", "corpora"]
    assert "0.3932" in done.output  # printed in the theory digest: unequal variances, CMLG, alpha 1/2
    assert done.output.count("0.2383") >= 34


def test_real_scores_and_embeddings(tmp_path):
    trials = lk.simulate_trials(
        lk.theory.GaussianLLR.from_eer(0.1), n_target=300, n_nontarget=2000, rng=2
    ).trials()
    lk.write_trials(trials, tmp_path / "s.csv")
    done = run("reproduce", "real", "--scores", tmp_path / "s.csv", "--by", "gender,enroll_duration",
               "--training", "same", "--json", "-")  # fmt: skip
    found = json.loads(done.stdout)
    assert assert_fits_schema(found) == "reproduce"
    assert (found["experiment"], found["training"], len(found["lists"])) == ("real", "same", 10)
    assert found["lists"][0].keys() >= {"enroll", "test", "cmlg", "sd_ratio"}
    assert "pooled" not in done.stderr
    run("simulate", "embeddings", "--background", 60, "--speakers", 10, "--dim", 30, "-o", tmp_path / "e.npz")
    real = json.loads(run("reproduce", "real", "--embeddings", tmp_path / "e.npz", "--json", "-").stdout)
    assert assert_fits_schema(real) == "reproduce"
    assert (real["scorer"], len(real["lists"])) == ("plda", 25)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["durations", "--scale", "huge"], "expected one of small, paper, 25x"),
        (["durations", "--seed", "-3"], "seed must be a whole number"),
        (["durations", "--seeds", "0"], "seeds must be a whole number"),
        (["prior-scan", "--scale", "huge"], "expected one of small, paper, 25x"),
        (["real"], "either --embeddings or --scores"),
        (["real", "--scores", "a", "--embeddings", "b"], "either --embeddings or --scores"),
        (["real", "--scores", "a.csv"], "needs the columns of the conditions"),
        (["real", "--scores", "nothing.csv", "--by", "x"], "no such file"),
        (["real", "--embeddings", "nothing.npz"], "no such file"),
    ],
)
def test_wrong_use_is_refused_in_one_line(arguments, said):
    with pytest.raises(lk.LlrkitError, match=said):
        CliRunner().invoke(cli, ["reproduce", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("name", ["durations", "prior-scan", "real"])
def test_help_of_every_experiment_has_an_example(name):
    assert f"llrkit reproduce {name}" in run("reproduce", name, "--help").output


def test_a_single_seed_has_no_standard_deviation_in_its_tables():
    row = a_list(conditioned_cmlg=0.36)
    one, two = SeedMeans.of({1: ListTable((row,))}), SeedMeans.of({n: ListTable((row,)) for n in (1, 2)})
    assert paper_table(one)[0] == ["", "here", "paper"]
    assert paper_table(two)[0] == ["", "here", "sd of seeds", "paper"]
    for table, n in ((one, 3), (two, 4)):
        header, rows = one_map_table(table)
        assert {len(header), *(len(cells) for cells in rows)} == {n}
        assert [cells[0] for cells in list_table(table)[1]][1:] == ["mean", "sd of lists", "sd of seeds"][
            : n - 1
        ]
        assert "nan" not in str((paper_table(table), header, rows, list_table(table)))


def a_list(**changes):
    plain = {
        "enroll": "<b>5</b>", "test": "full & more", "n_target": 10, "n_nontarget": 90, "eer": 0.1,
        "raw_cllr": 2.0, "cmlg": 0.36, "logistic": 0.37, "min_cllr": 0.35, "cllr_from_eer": 0.345,
        "det_slope": -1.0,
    }  # fmt: skip
    return ListResult(**{**plain, **changes})


def test_names_of_conditions_are_escaped_on_the_page(tmp_path):
    table = ListTable((a_list(), a_list(enroll="<script>x</script>", cmlg=0.5)))
    scores = lk.evaluate(lk.Scores([1.0, 2.0], [0.0, 1.5]))
    result = RealResult(table, ({}, {}), {"by": ["<i>"]}, 1.0, {"raw": scores})
    page = write_experiments(tmp_path / "out", real=result, brief=True).read_text(encoding="utf-8")
    assert "<script>x" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert "['<i>']" not in page
    assert "&lt;b&gt;5&lt;/b&gt;" in page


def test_a_page_of_nothing_is_refused(tmp_path):
    with pytest.raises(lk.InputError, match="at least one experiment"):
        write_experiments(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("cmlg", "said"),
    [(0.371, "as well as"), (0.4, "worse than logistic regression, by 0.030"), (0.36, "better than")],
)
def test_the_verdict_follows_the_numbers(cmlg, said):
    assert said in verdict(ListTable((a_list(cmlg=cmlg),)))
