"""The LLR of a comparison in a case, through the command line and in Python."""

import json
import math
from html import unescape

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk

PROPOSITIONS = ("--h1", "the suspect is the speaker", "--h2", "another man is the speaker")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training and validation trials of 40 speakers, and calibrations of the first."""
    folder = tmp_path_factory.mktemp("case")
    for name, seed in (("train", 1), ("check", 2)):
        size = ("--speakers", 40, "--models", 40, "--tests", 160, "--eer-full", "5%", "--seed", seed)
        assert run("simulate", "plda", *size, "-o", folder / f"{name}.csv")[0] == 0
    for name, options in {
        "line": ("--method", "logistic", "--bound", "none"),
        "bounded": ("--method", "logistic"),
        "pav": ("--method", "pav"),
    }.items():
        code, _, err = run("calibrate", folder / "train.csv", *options, "-o", folder / f"{name}.json")
        assert code == 0, err
    return folder


def case(*arguments):
    code, out, err = run("case", *arguments, *PROPOSITIONS, "--json", "-")
    assert code == 0, err
    return json.loads(out)


def test_a_case_states_llr_interval_and_both_propositions(files):
    got = case(
        files / "line.json", "--score", "2.5", "--train", files / "train.csv", "--speakers",
        "enroll_speaker,test_speaker",
    )  # fmt: skip
    line = json.loads((files / "line.json").read_text())["parameters"]
    assert_allclose(got["llr"], line["a"] * 2.5 + line["b"], rtol=1e-12)
    assert_allclose(got["log10_lr"], got["llr"] / math.log(10), rtol=1e-12)
    interval = got["interval"]
    assert interval["low"] < got["llr"] < interval["high"]
    assert interval["level"] == 0.95
    lr, low, high = (math.exp(value) for value in (got["llr"], interval["low"], interval["high"]))
    assert got["statement"] == (
        f"The score is about {lr:.2g} times more probable if the suspect is the speaker rather than if "
        f"another man is the speaker (95 % interval {low:.2g} to {high:.2g})."
    )


def test_the_interval_of_a_line_is_that_of_its_standard_error(files):
    got = case(files / "line.json", "--score", "2.5", "--train", files / "train.csv")
    table = pl.read_csv(files / "train.csv")
    labels, scores = table["label"].to_numpy() == "target", table["score"].to_numpy()
    line = json.loads((files / "line.json").read_text())["parameters"]
    # the sandwich covariance of weighted logistic regression, written out
    weight = np.where(labels, 0.5 / labels.sum(), 0.5 / (~labels).sum())
    x = np.column_stack([scores, np.ones(len(scores))])
    posterior = 1 / (1 + np.exp(-(line["a"] * scores + line["b"])))
    inverse = np.linalg.inv((x * (weight * posterior * (1 - posterior))[:, None]).T @ x)
    gradients = x * (weight * (labels - posterior))[:, None]
    middle = sum(
        (part - part.mean(0)).T @ (part - part.mean(0)) for part in (gradients[labels], gradients[~labels])
    )
    at = np.array([2.5, 1.0])
    error = math.sqrt(at @ inverse @ middle @ inverse @ at)
    width = got["interval"]["high"] - got["interval"]["low"]
    assert_allclose(width, 2 * 1.959964 * error, rtol=1e-6)


def test_other_methods_are_fitted_again_to_drawn_speakers(files):
    asked = ("--score", "2.5", "--train", files / "train.csv", "--speakers", "enroll_speaker,test_speaker")
    got = case(files / "pav.json", *asked, "--replicates", "100")
    assert got["interval"]["how"] == "the calibration fitted again to 100 sets of drawn speakers"
    assert got["interval"]["low"] <= got["llr"] <= got["interval"]["high"]
    assert got["interval"]["high"] - got["interval"]["low"] > 0.5
    assert case(files / "pav.json", *asked, "--replicates", "100")["interval"] == got["interval"]


def test_misleading_llrs_of_the_validation_are_counted(files):
    got = case(files / "line.json", "--score", "2.5", "--score", "-4", "--validation", files / "check.csv")
    table = pl.read_csv(files / "check.csv")
    high = table.filter((pl.col("label") == "nontarget") & (pl.col("score") >= 2.5)).height
    low = table.filter((pl.col("label") == "target") & (pl.col("score") <= -4.0)).height
    counts = [row["misleading"] for row in got["comparisons"]]
    assert [row["count"] for row in counts] == [high, low]
    assert [row["n"] for row in counts] == [3040, 160]
    # the rate at which so few have a chance of 5 %, by the binomial distribution
    upper, n = counts[1]["upper"], 160
    chance = sum(math.comb(n, k) * upper**k * (1 - upper) ** (n - k) for k in range(low + 1))
    assert_allclose(chance, 0.05, rtol=1e-6)


def test_an_interval_that_ends_at_a_bound_says_so(files):
    bound = "3,041"  # different-source trials plus one
    for score, said in (
        ("40", f"{bound}, all of it at the upper bound"),
        ("8", f" to {bound} (upper bound)"),
    ):
        asked = ("--score", score, "--train", files / "train.csv", *PROPOSITIONS)
        code, out, err = run("case", files / "bounded.json", *asked)
        assert code == 0, err
        assert said in out


def test_methods_that_are_slow_to_fit_are_fitted_less_often(files, monkeypatch):
    train, asked = lk.read_trials(files / "train.csv").scores(), []

    def drawn(method, options, train, read, speakers, replicates, seed):
        asked.append(replicates)
        return np.zeros((replicates, len(read)))

    monkeypatch.setattr("llrkit.verbs.case._llrs_of_drawn_trials", drawn)
    for fit, more in ((lk.fits.fit_kde, {}), (lk.fits.fit_nig, {}), (lk.fits.fit_nig, {"replicates": 300})):
        lk.case_report(fit(train), 2.5, h1="he spoke", h2="another spoke", train=train, **more)
    assert asked == [500, 100, 300]


def test_a_level_without_training_trials_is_refused_in_python(files):
    with pytest.raises(lk.InputError, match="level needs train"):
        lk.case_report(lk.load_map(files / "line.json"), 1.0, h1="he spoke", h2="another spoke", level=0.9)


def test_a_bound_that_is_reached_is_said(files):
    code, out, err = run("case", files / "bounded.json", "--score", "40", *PROPOSITIONS)
    assert code == 0, err
    assert "The LLR is at the upper bound of the calibration" in out
    assert "The score is above all scores that trained the calibration" in out
    got = case(files / "bounded.json", "--score", "40")
    assert got["llr"] == got["bounds"]["high"] == math.log(3041)
    assert got["at_bound"] == "upper"


def test_negative_llrs_support_the_second_proposition(files):
    got = case(files / "line.json", "--score", "-3", "--verbal")
    lr = math.exp(-got["llr"])
    assert got["statement"] == (
        f"The score is about {lr:.2g} times more probable if another man is the speaker rather than if the "
        "suspect is the speaker."
    )
    assert got["words"].endswith("support for the second proposition.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--score", "1", "--h1", "he spoke"), "--h2 is missing"),
        (("--score", "1", "--h1", " ", "--h2", "another"), "--h1 is missing"),
        ((*PROPOSITIONS,), "either with --score or as a file with --scores"),
        (("--score", "nan", *PROPOSITIONS), "'nan' is not a number"),
        (("--score", "inf", *PROPOSITIONS), "is not a finite number"),
        (("--score", "1", "--speakers", "enroll_speaker", *PROPOSITIONS), "--speakers needs --train"),
        (("--score", "1", "--level", "90%", *PROPOSITIONS), "--level needs --train"),
        (("--score", "1", "--replicates", "200", *PROPOSITIONS), "--replicates needs --train"),
        (("--score", "1", "--train", "{}/check.csv", *PROPOSITIONS), "not the trials that trained"),
        (("--score", "1", "--html", "{}/line.json", *PROPOSITIONS), "line.json"),
    ],
)
def test_what_a_case_cannot_do_is_refused(files, arguments, message):
    code, out, err = run("case", files / "line.json", *(text.format(files) for text in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_comma_that_may_be_a_decimal_one_is_refused(files, tmp_path):
    (tmp_path / "q.txt").write_text("2,5\n")
    code, out, err = run("case", files / "line.json", "--scores", tmp_path / "q.txt", *PROPOSITIONS)
    assert (code, out) == (2, "")
    assert "line 1: '2,5' is a name and a score, or one number with a decimal comma" in err
    (tmp_path / "q.txt").write_text("test,score\n2,5\n")
    assert case(files / "line.json", "--scores", tmp_path / "q.txt")["comparisons"][0]["score"] == 5.0


def test_questioned_scores_of_a_file_are_named_by_their_recordings(files, tmp_path):
    (tmp_path / "q.csv").write_text("enroll,test,score\nsuspect,call 1,2.5\nsuspect,call 2,-1\n")
    got = case(files / "line.json", "--scores", tmp_path / "q.csv")
    assert [row["name"] for row in got["comparisons"]] == ["suspect and call 1", "suspect and call 2"]
    assert [row["score"] for row in got["comparisons"]] == [2.5, -1.0]
    (tmp_path / "q.csv").write_text("name,score\ncall at noon,2.5\ncall at night,-1\n")
    got = case(files / "line.json", "--scores", tmp_path / "q.csv")
    assert [row["name"] for row in got["comparisons"]] == ["call at noon", "call at night"]


def test_distances_are_read_as_the_training_scores_were(files, tmp_path):
    table = pl.read_csv(files / "train.csv").with_columns(-pl.col("score"))
    table.write_csv(tmp_path / "distances.csv")
    made = ("--method", "logistic", "--bound", "none", "--distance", "-o", tmp_path / "cal.json")
    assert run("calibrate", tmp_path / "distances.csv", *made)[0] == 0
    got = case(tmp_path / "cal.json", "--score", "-2.5", "--train", tmp_path / "distances.csv")
    same = case(files / "line.json", "--score", "2.5", "--train", files / "train.csv")
    assert_allclose(got["llr"], same["llr"], rtol=1e-9)
    assert_allclose(got["interval"]["low"], same["interval"]["low"], rtol=1e-9)


@pytest.mark.slow
def test_the_documents_hold_the_same_numbers(files, tmp_path, need):
    docx = need("docx")
    written = {name: tmp_path / f"case.{name}" for name in ("html", "docx", "md")}
    hostile = "<script>alert(1)</script> & others"
    code, _, err = run(
        "case", files / "line.json", "--score", "2.5", "--train", files / "train.csv", "--validation",
        files / "check.csv", *PROPOSITIONS, "--conditions", hostile, "--html", written["html"], "--docx",
        written["docx"], "--md", written["md"],
    )  # fmt: skip
    assert code == 0, err
    got = case(
        files / "line.json", "--score", "2.5", "--train", files / "train.csv", "--validation",
        files / "check.csv",
    )  # fmt: skip
    document = docx.Document(written["docx"])
    texts = [paragraph.text for paragraph in document.paragraphs]
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    page, text = written["html"].read_text(), written["md"].read_text()
    assert got["statement"] in texts
    assert got["statement"] in page
    assert got["statement"] in text
    for number in (f"{got['llr']:.3f}", f"{got['log10_lr']:.3f}"):
        assert number in cells
        assert f">{number}</td>" in page
        assert f"| {number} |" in text
    assert hostile in cells
    assert "<script" not in page
    assert "<script" not in text
    assert "default-src 'none'" in page
    assert len(document.inline_shapes) == 1
    assert next(p.text for p in document.paragraphs if p.style.name == "Heading 1") == "Statement"
    assert sum(p.style.name == "Caption" for p in document.paragraphs) == 5


@pytest.mark.slow
def test_intervals_cover_the_llr_that_all_trials_would_give():
    pair = lk.theory.GaussianLLR.from_eer(0.1)  # whose LLRs are what they say
    inside = 0
    for seed in range(60):
        train = lk.simulate.simulate_trials(pair, n_target=100, n_nontarget=1000, rng=seed).scores()
        report = lk.case_report(lk.fit_cmlg(train), 2.0, h1="a", h2="b", train=train)
        interval = report.comparisons[0].interval
        inside += interval.low <= 2.0 <= interval.high
    assert 52 <= inside <= 60  # 99.9 % of binomial(60, 0.95) are at least 52


def test_the_same_proposition_twice_is_refused():
    with pytest.raises(lk.InputError, match="are the same proposition: an LLR compares two"):
        lk.case_report(lk.maps.AffineMap(a=1.0, b=0.0), 1.0, h1="he is", h2="he  is.")


def test_bounds_that_count_trials_say_so_where_the_interval_counts_speakers(files):
    """The number of trials of each class, counted in the file, is what the bounds rest on."""
    n_target, n_nontarget = (int((pl.read_csv(files / "train.csv")["label"] == label).sum())
                             for label in ("target", "nontarget"))  # fmt: skip
    train, fitted = lk.read_trials(files / "train.csv"), lk.load_map(files / "bounded.json")
    asked = {"h1": "it is he", "h2": "it is another", "train": train}
    report = lk.case_report(fitted, 2.5, speakers=("enroll_speaker", "test_speaker"), **asked)
    assert "count every training trial as a source of its own" in report.cautions[0]
    assert (
        f"plus one ({n_target:,} same-source comparisons, {n_nontarget:,} different-source comparisons, each "
        "taken as a source of its own)"
    ) in report.to_markdown()
    assert not lk.case_report(fitted, 2.5, **asked).cautions
    fixed = lk.maps.bound_map(fitted.map, train, "fixed:-3,3")
    assert not lk.case_report(fixed, 2.5, speakers="test_speaker", **asked).cautions


def test_bounds_behind_another_map_are_stated(files):
    """As those of a calibration that was adapted: moved scores, then the bounded map."""
    bounded = lk.load_map(files / "bounded.json")
    adapted = lk.maps.AffineMap(a=1.0, b=-0.5).then(bounded)
    case = lk.case_report(adapted, [0.0, 1e3], h1="it is he", h2="it is another").to_dict()
    assert case["bounds"] == {"low": bounded.low, "high": bounded.high}
    assert [row["at_bound"] for row in case["comparisons"]] == ["", "upper"]


@pytest.mark.parametrize(
    ("outcome", "change"),
    [
        ("passed", lambda table: table),
        ("failed", lambda table: table.with_columns(pl.col("score") * 2 + 1)),
        ("not decided", lambda table: table.group_by("label", maintain_order=True).head(2)),
    ],
)
def test_every_report_begins_with_a_validation_that_does_not_pass(files, tmp_path, need, outcome, change):
    docx, given = need("docx"), tmp_path / "given.csv"
    change(pl.read_csv(files / "check.csv")).write_csv(given)
    md, html, word, numbers = (tmp_path / f"case.{ending}" for ending in ("md", "html", "docx", "json"))
    code, out, err = run(
        "case", files / "line.json", "--score", "2.5", "--validation", given, *PROPOSITIONS, "--vocabulary",
        "nist", "--md", md, "--html", html, "--docx", word, "--json", numbers,
    )  # fmt: skip
    assert code == 0, err
    got = json.loads(numbers.read_text())
    verdict = lk.check_calibration(lk.load_map(files / "line.json").on(lk.read_trials(given))).verdict
    assert got["validation_outcome"] == outcome
    assert got["validation_verdict"] == verdict.to_dict()
    headline = {
        "passed": "",
        "failed": "The validation failed: it does not support these LLRs as calibrated. Its LLRs are "
        f"{verdict.text}.",
        "not decided": f"The validation is not decided: {verdict.text}.",
    }[outcome]
    assert got["headline"] == headline
    first = headline or got["statement"]
    lead = html.read_text().partition('<p class="lead">')[2]
    paragraphs = [one.text for one in docx.Document(word).paragraphs if one.style.name == "Normal"]
    assert out.startswith(headline or "comparison")
    assert unescape(md.read_text()).split("\n\n")[1].strip("*") == first
    assert unescape(lead).startswith(first)
    assert first in paragraphs[:2]  # the first may be the banner
    assert ("FAIL" in paragraphs, "NOT DECIDED" in paragraphs) == (
        outcome == "failed",
        outcome == "not decided",
    )


def test_a_validation_that_cannot_be_tested_is_not_decided():
    same = lk.Scores([1.0, 1.0], [1.0, 1.0])
    report = lk.case_report(lk.maps.AffineMap(a=1.0, b=0.0), 1.0, h1="a", h2="b", validation=same).to_dict()
    assert (report["validation_outcome"], report["validation_verdict"]) == ("not decided", None)
    assert report["headline"].startswith("The validation is not decided: ")
