"""Every command on files that are read in batches gives what it gives on trials in memory."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.cli import cli
from llrkit.engine.open import Files, open_trials
from llrkit.io.formats import read_table

N = 3000


def run(*arguments):
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def table():
    rng = np.random.default_rng(8)
    label = rng.random(N) < 0.3
    return pl.DataFrame(
        {
            "enroll": [f"m{i // 60}" for i in range(N)],
            "test": [f"t{i}" for i in range(N)],
            "score": np.round(rng.normal(np.where(label, 3.0, -2.0), 2.5), 3),
            "other": rng.normal(np.where(label, 1.0, 0.0), 1.0),
            "label": np.where(label, "target", "nontarget"),
            "room": rng.choice(["quiet", "noisy"], N),
        }
    )


def small_batches(monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "4000")  # 500 scores


def store(table, folder, form):
    """The table in one of the ways that are scanned; gives what a person would type."""
    if form == "directory":
        (folder / "parts").mkdir()
        for i, part in enumerate(table.iter_slices(1100)):
            part.write_parquet(folder / f"parts/{i}.parquet")
        return folder / "parts"
    if form == "glob":
        for i, part in enumerate(table.iter_slices(1100)):
            part.write_csv(folder / f"part{i}.csv")
        return folder / "part*.csv"
    if form == "blanks":
        table.write_csv(folder / "t.txt", separator=" ")
        return folder / "t.txt"
    table.write_ipc(folder / "t.arrow")
    return folder / "t.arrow"


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, float):
        assert_allclose(a, b, rtol=1e-7, atol=1e-10)
    else:
        assert a == b


COMMANDS = {
    "evaluate": ["evaluate", "SET", "--by", "room", "--point", "sre12"],
    "positive": ["evaluate", "SET", "--positive", "nontarget", "--distance", "--log10"],
    "methods": ["diagnose", "SET", "SET", "--methods", "cmlg,logistic,pav"],
    "diagnose": ["diagnose", "SET"],
    "calibrate": ["calibrate", "SET", "--method", "logistic", "-o", "OUT"],
    "best": ["calibrate", "SET", "--method", "best", "--option", "methods=cmlg,logistic",
             "--option", "folds=3", "-o", "OUT"],
    "by": ["calibrate", "SET", "--method", "cmlg", "--by", "room", "-o", "OUT"],
    "fuse": ["fuse", "SET", "--score-columns", "score,other", "-o", "OUT"],
}  # fmt: skip


FORMS = ["directory", "glob", "blanks", "arrow"]


QUICK = ("evaluate", "fuse")
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_gives_the_same_numbers(table, tmp_path, monkeypatch, name):
    path = store(table, tmp_path, FORMS[list(COMMANDS).index(name) % 4])  # each form with some commands
    arguments = [{"SET": path, "OUT": tmp_path / "out.json"}.get(word, word) for word in COMMANDS[name]]
    in_memory = json.loads(run(*arguments, "--json", "-").stdout)
    small_batches(monkeypatch)
    assert isinstance(open_trials(path), Files)
    in_batches = json.loads(run(*arguments, "--json", "-").stdout)
    if arguments[0] == "evaluate":  # ids are not in memory: whether trials are repeated is not known
        assert in_batches.pop("repeated_trials") is None
    same(in_batches, in_memory)


def test_the_hash_of_a_directory_is_that_of_what_sha256sum_prints(table, tmp_path):
    path = store(table, tmp_path, "directory")
    run("calibrate", path, "--method", "cmlg", "-o", tmp_path / "cal.json")
    kept = lk.load_map(tmp_path / "cal.json").provenance
    printed = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(path.iterdir())
    )
    assert kept["training_sha256"] == hashlib.sha256(printed.encode()).hexdigest()
    assert kept["training_file"] == "parts"


@pytest.mark.parametrize(
    ("form", "ending"),
    [
        ("glob", "csv"),
        ("directory", "parquet"),
        *(pytest.param("glob", ending, marks=pytest.mark.slow) for ending in ("tsv", "kaldi", "nist", "h5")),
        *(pytest.param(form, "arrow", marks=pytest.mark.slow) for form in ("blanks", "arrow")),
    ],
)
def test_apply_streams_every_form_and_every_format(table, tmp_path, monkeypatch, need, form, ending):
    if ending == "h5":
        need("h5py")
    path = store(table, tmp_path, form)
    fitted = lk.fit_logistic(lk.Trials(table))
    fitted.save(tmp_path / "cal.json")
    small_batches(monkeypatch)
    out, key = tmp_path / f"out.{ending}", tmp_path / "key"
    separate = ["--key-output", key] if ending in ("kaldi", "nist", "h5") else []
    run("apply", tmp_path / "cal.json", path, "-o", out, *separate)
    found = lk.read_trials(out, key if separate else None)
    if ending == "h5":  # a matrix: in another order
        found = lk.Trials(
            found.table.join(table.select("enroll", "test"), on=["enroll", "test"], how="right")
        )
    assert_array_equal(found.score_array, fitted(table["score"].to_numpy()))
    assert_array_equal(found.is_target, table["label"] == "target")
    if not separate:
        assert_array_equal(found.table["score"].cast(pl.Float64), table["score"])


@pytest.mark.slow
def test_a_fusion_is_applied_side_by_side_or_after_a_join(table, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    a, b = table.drop("other"), table.drop("score", "room").rename({"other": "llr"})
    a.write_csv(tmp_path / "a.txt", separator=" ")
    b.select("enroll", "test", "llr").write_csv(tmp_path / "b.kaldi", separator=" ", include_header=False)
    fitted = lk.fit_fusion(lk.Trials(table.rename({"score": "a", "other": "b"}), score=["a", "b"]))
    fitted.save(tmp_path / "fusion.json")
    expected = fitted(table.select("score", "other").to_numpy())
    out = tmp_path / "out.parquet"
    apply = ("apply", tmp_path / "fusion.json", tmp_path / "a.txt", tmp_path / "b.kaldi", "-o")
    run(*apply, out)
    found = lk.read_trials(out)
    assert_array_equal(found.score_array, expected)
    # the same trials in another order
    b.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "b.kaldi")
    run(*apply, out)
    assert_array_equal(lk.read_trials(out).score_array, expected)
    # one trial less
    b.head(N - 1).write_csv(tmp_path / "b.kaldi")
    with pytest.raises(lk.errors.FileFormatError, match="m49 t2999"):  # the trial must be named
        run(*apply, tmp_path / "x.csv")


def test_apply_takes_scores_without_header_and_labels_from_a_key(table, tmp_path):
    table.select("enroll", "test", "score").write_csv(tmp_path / "s", separator=" ", include_header=False)
    table.select("enroll", "test", "label").write_csv(tmp_path / "k", separator=" ", include_header=False)
    fitted = lk.fit_cmlg(lk.Trials(table))
    fitted.save(tmp_path / "cal.json")
    run("apply", tmp_path / "cal.json", tmp_path / "s", "-o", tmp_path / "plain.csv")
    assert read_table(tmp_path / "plain.csv").table.columns == ["enroll", "test", "score", "llr", "llr_map"]
    run("apply", tmp_path / "cal.json", tmp_path / "s", "--key", tmp_path / "k", "-o", tmp_path / "out.csv")
    found = lk.read_trials(tmp_path / "out.csv")
    assert_array_equal(found.score_array, fitted(table["score"].to_numpy()))
    assert_array_equal(found.is_target, table["label"] == "target")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "kaldi"])
def test_convert_streams_and_changes_what_it_is_told(table, tmp_path, monkeypatch, ending):
    path = store(table, tmp_path, "glob")
    small_batches(monkeypatch)
    options = ["--positive", "nontarget", "--distance"]
    separate = ["--key-output", tmp_path / "key"] if ending == "kaldi" else []
    run("convert", path, tmp_path / f"out.{ending}", *options, *separate)
    found = lk.read_trials(tmp_path / f"out.{ending}", tmp_path / "key" if separate else None)
    assert_array_equal(found.score_array, -table["score"].to_numpy())
    assert_array_equal(found.is_target, table["label"] == "nontarget")


def test_repeated_trials_are_counted(table, tmp_path):
    pl.concat([table, table.head(3)]).write_csv(tmp_path / "t.csv")
    done = run("evaluate", tmp_path / "t.csv", "--json", "-")
    assert json.loads(done.stdout)["repeated_trials"] == 3
    done = run("evaluate", tmp_path / "t.csv", "--duplicates", "drop", "--json", "-")
    assert "repeated_trials" not in json.loads(done.stdout)
