"""Every reading option is obeyed or refused by every way of reading, and never dropped."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.base.options import declared
from llrkit.engine.open import open_in_batches, open_unlabeled
from llrkit.io import read_options as ways
from llrkit.io.read_options import Reading, Way

OTHER = {
    "key": "key.tsv", "score": ("llr",), "label": "is_target", "format": "kaldi", "columns": ("a", "b"),
    "nontargets": "non.txt", "positive": "yes", "log10": True, "distance": True, "missing": "drop",
    "duplicates": "drop", "quality": "snr.csv", "weight": "times", "ids": ("trial",), "classes": ("en", "de"),
    "unreadable": "skip", "where": ("times > 0",), "key_columns": ("test", "label"), "key_label": "is_target",
    "decimal": ",", "encoding": "latin-1", "missing_scores": "drop",
}  # fmt: skip
WAYS = {name: way for name, way in vars(ways).items() if isinstance(way, Way)}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    is_target = np.arange(400) % 4 == 0
    return pl.DataFrame(
        {
            "enroll": [f"m{i % 20}" for i in range(400)],
            "test": [f"t{i}" for i in range(400)],
            "llr": np.where(is_target, 1.5, -1.0) + rng.normal(size=400),
            "target": is_target,
            "times": np.arange(400) % 3,
        }
    )


def given(name):
    """A reading with one option; those about a key need one."""
    key = {"key": OTHER["key"]} if name.startswith("key_") else {}
    return Reading(**key, **{name: OTHER[name]})


def test_every_option_is_listed_here_and_told_apart_from_its_default():
    assert set(OTHER) == set(declared(Reading))
    for name in OTHER:
        assert list(given(name).given()) == (["key", name] if name.startswith("key_") else [name])
    assert Reading().given() == Reading(duplicates="keep").given() == {}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_honors_an_option_or_refuses_it_by_name(way):
    for name in OTHER:
        if name in WAYS[way].honors:
            given(name).require(WAYS[way])
        else:
            with pytest.raises(lk.InputError, match="^--" + name[:3]):
                given(name).require(WAYS[way])


def test_a_reading_survives_json():
    for name in OTHER:
        assert Reading.of(None, json.loads(json.dumps(given(name).to_dict()))) == given(name)


def test_an_unknown_option_or_word_is_refused():
    with pytest.raises(lk.errors.UnknownNameError):
        Reading.of(None, {"colour": "red"})
    for options in ({"missing": "never"}, {"encoding": "latin-9000"}, {"encoding": "rot13"}):
        with pytest.raises(lk.errors.UnknownNameError):
            Reading(**options)
    for options in ({"key": "k", "nontargets": "n"}, {"key_columns": ("test", "label")}):
        with pytest.raises(lk.InputError):
            Reading(**options)


# options that change what is read, with what they make of the table
CHANGES = {
    "score": ({"score": ("llr",)}, lambda x, y, w: (x, y, w)),
    "label": ({"label": "target"}, lambda x, y, w: (x, y, w)),
    "positive": ({"positive": "false"}, lambda x, y, w: (x, ~y, w)),
    "log10": ({"log10": True}, lambda x, y, w: (x * np.log(10), y, w)),
    "distance": ({"distance": True}, lambda x, y, w: (-x, y, w)),
    "weight": ({"weight": "times"}, lambda x, y, w: (x, y, np.arange(400) % 3)),
}


@pytest.mark.filterwarnings("ignore::llrkit.errors.ReversedScoresWarning")  # that is what some options do
@pytest.mark.parametrize("name", CHANGES)
def test_an_option_does_the_same_in_memory_in_batches_and_on_a_cluster(name, table, tmp_path, opened):
    table.write_parquet(tmp_path / "t.parquet")
    options, change = CHANGES[name]
    x, y, times = change(table["llr"].to_numpy(), table["target"].to_numpy(), np.ones(400, dtype=int))
    rows = np.repeat(np.arange(400), times)
    wanted = lk.evaluate(lk.Scores.from_labels(x[rows], y[rows]))
    result = lk.evaluate(opened(tmp_path / "t.parquet", Reading(**options)))
    assert (result.n_target, result.n_nontarget) == (wanted.n_target, wanted.n_nontarget)
    assert result.eer == pytest.approx(wanted.eer, abs=1e-12)
    assert result.cllr == pytest.approx(wanted.cllr, abs=1e-12)


@pytest.mark.slow
def test_labels_made_of_two_columns_are_made_on_a_cluster_too(table, tmp_path, client):
    subjects = {
        "bio_ref_subject_id": table["target"].cast(pl.String),
        "probe_subject_id": pl.Series(["true"] * 400),
    }
    table.drop("target", "enroll").with_columns(**subjects).write_parquet(tmp_path / "t.parquet")
    memory = lk.read_trials(tmp_path / "t.parquet")
    assert lk.eer(lk.DaskSource.from_parquet(tmp_path / "t.parquet", client)) == lk.eer(memory)


def test_what_a_cluster_cannot_do_is_refused_by_the_command_line(table, tmp_path):
    table.write_parquet(tmp_path / "t.parquet")
    for option, value in (("--quality-file", "q.csv"), ("--key", "k.tsv"), ("--duplicates", "drop")):
        code, out, err = run("evaluate", tmp_path / "t.parquet", "--workers", "1", option, value)
        assert (code, out, option in err) == (2, "", True)


@pytest.mark.slow
def test_the_parquet_columns_of_a_user_work_on_workers_of_the_command_line(table, tmp_path, need):
    need("distributed")
    table.write_parquet(tmp_path / "t.parquet")
    _, out, _ = run("evaluate", tmp_path / "t.parquet", "--json", "-")
    code, on_workers, _ = run("evaluate", tmp_path / "t.parquet", "--workers", "1", "--json", "-")
    here, there = json.loads(out), json.loads(on_workers)
    assert code == 0
    assert (there["eer"], there["n_target"]) == (here["eer"], here["n_target"])


@pytest.mark.parametrize("command", ["convert", "apply"])
def test_a_weight_has_no_effect_on_what_is_written_and_is_refused(table, tmp_path, command):
    table.write_csv(tmp_path / "t.csv")
    lk.maps.AffineMap(a=1.0, b=0.0).save(tmp_path / "cal.json")
    first = [tmp_path / "t.csv", tmp_path / "out.csv"]
    if command == "apply":
        first = [tmp_path / "cal.json", tmp_path / "t.csv", "-o", tmp_path / "out.csv"]
    assert run(command, *first, "--weight-column", "times")[0] == 2
    assert not (tmp_path / "out.csv").exists()


def test_what_is_for_two_classes_is_refused_for_several(tmp_path):
    rows = pl.DataFrame({"id": ["a", "b"], "en": [2.0, 0.5], "de": [0.1, 1.5], "label": ["en", "de"]})
    rows.write_csv(tmp_path / "t.csv")
    for option in (["--weight-column", "x"], ["--quality-file", "x"], ["--positive", "x"], ["--log10"],
                   ["--where", "en > 0"]):  # fmt: skip
        code, _, err = run("evaluate", tmp_path / "t.csv", "--classes", "en,de", *option)
        assert (code, option[0] in err) == (2, True)


UNTOLD = {
    "decimal": ("0,5;a\n-1,25;ü\n", {"decimal": ","}, [0.5, -1.25]),
    "encoding": ("0.5;a\n-1.25;ü\n", {"encoding": "latin-1"}, [0.5, -1.25]),
    "missing_scores": ("0.5;a\n;b\n-1.25;ü\n", {"missing_scores": "drop"}, [0.5, -1.25]),
    "where": ("0.5;a\n3;b\n-1.25;ü\n", {"where": ("test != b",)}, [0.5, -1.25]),
    "log10": ("0.5;a\n-1.25;ü\n", {"log10": True}, [0.5 * np.log(10), -1.25 * np.log(10)]),
    "distance": ("0.5;a\n-1.25;ü\n", {"distance": True}, [-0.5, 1.25]),
}


def listed(chunk):
    return chunk.target.tolist()


@pytest.mark.filterwarnings("ignore::llrkit.errors.MissingScoresWarning")
@pytest.mark.parametrize("name", UNTOLD)
def test_trials_without_labels_are_read_as_the_options_say(name, tmp_path):
    text, options, expected = UNTOLD[name]
    encoding = options.get("encoding", "utf-8")
    (tmp_path / "new.csv").write_bytes(f"score;test\n{text}".encode(encoding))
    source = open_unlabeled(tmp_path / "new.csv", Reading(**options))
    assert source.reduce(listed) == expected
    if name in ("decimal", "encoding"):
        other = {"decimal": ".", "encoding": "utf-8"}[name]
        with pytest.raises(lk.errors.FileFormatError, match=r"new\.csv, line"):
            open_unlabeled(tmp_path / "new.csv", Reading(**{name: other})).reduce(listed)


def test_options_about_two_classes_are_refused_where_there_are_none(tmp_path):
    (tmp_path / "new.csv").write_text("score,label\n1,target\n0,nontarget\n2,spoof\n")
    with pytest.raises(lk.InputError):
        open_unlabeled(tmp_path / "new.csv", Reading(positive="target"))
    for options in ({"positive": "spoof"}, {"key": "key.csv"}, {"duplicates": "drop"}):
        with pytest.raises(lk.InputError):
            open_in_batches(tmp_path / "new.csv", Reading(**options))
    with pytest.raises(lk.InputError):
        open_in_batches(tmp_path / "new.csv", Reading(unreadable="skip"))


@pytest.mark.parametrize("option", ["--distance", "--log10"])
def test_no_command_drops_what_contradicts_its_calibration(option, table, tmp_path):
    table.write_csv(tmp_path / "t.csv")
    lk.fit_cmlg(lk.read_trials(tmp_path / "t.csv", score="llr")).save(tmp_path / "cal.json")
    (tmp_path / "c.toml").write_text(
        '[[criterion]]\ncharacteristic = "accuracy"\nmetric = "cllr"\nat_most = 2.0\n'
    )
    scores, named = tmp_path / "t.csv", ("--score-column", "llr", option)
    for command in (
        ("apply", tmp_path / "cal.json", scores, "-o", tmp_path / "o.csv"),
        ("shift", tmp_path / "cal.json", scores),
        ("shift", tmp_path / "cal.json", scores, "-o", tmp_path / "o.csv"),
        ("validate", scores, "--map", tmp_path / "cal.json", "--criteria", tmp_path / "c.toml"),
    ):
        code, out, err = run(*command, *named)
        assert (code, out) == (2, ""), command
        assert option in err
    assert not (tmp_path / "o.csv").exists()


def test_a_calibration_of_arrays_names_no_column(table, tmp_path):
    x, y = table["llr"].to_numpy(), table["target"].to_numpy()
    fitted = lk.fit_cmlg(lk.Scores.from_labels(x, y))
    assert fitted.reading["score"] == []
    fitted.save(tmp_path / "cal.json")
    table.rename({"llr": "score"}).write_csv(tmp_path / "t.csv")
    code, out, err = run("apply", tmp_path / "cal.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    assert (code, "system1" in out + err) == (0, False)
    propositions = ("--h1", "one", "--h2", "two", "--train", tmp_path / "t.csv")
    code, _, err = run("case", tmp_path / "cal.json", "--score", "0.5", *propositions)
    assert code == 0, err
