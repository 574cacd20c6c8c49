"""No command writes over what it reads, and none answers from files that changed while they were read."""

import hashlib
import json
import os
import re

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.base.files import watching, write_atomically
from llrkit.engine.apply_files import apply_map, apply_parts
from llrkit.engine.open import Passes, scan_classes
from llrkit.io import formats as tables
from llrkit.io.formats import sha256_of
from llrkit.io.read import convert
from llrkit.io.read_options import Reading
from llrkit.jobs.job import Run
from llrkit.jobs.table import VERBS
from llrkit.speech.lists import read_speech_list


def scores(path, seed=1, n=400, shift=1.5):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    ids = {"enroll": [f"m{i}" for i in range(n)], "test": [f"t{i}" for i in range(n)]}
    table = pl.DataFrame({**ids, "score": rng.normal(size=n) + shift * label, "label": label})
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with scores, a folder of scores, a key, criteria and a calibration; we are in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("x.csv", "y.csv"):
        scores(tmp_path / name)
    (tmp_path / "d").mkdir()
    for i in range(2):
        scores(tmp_path / "d" / f"{i}.parquet", seed=i)
    (tmp_path / "key").write_text(
        "".join(f"m{i} t{i} {'target' if i % 2 else 'nontarget'}\n" for i in range(400))
    )
    (tmp_path / "criteria.toml").write_text('[[criterion]]\ncharacteristic="x"\nmetric="cllr"\nat_most=2.0\n')
    lk.fit_logistic(lk.read_trials(tmp_path / "x.csv")).save(tmp_path / "cal.json")
    (tmp_path / "link.csv").symlink_to("x.csv")
    os.link(tmp_path / "y.csv", tmp_path / "hard.csv")
    return tmp_path


def content(folder):
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


REFUSED = [
    "convert x.csv x.csv", "convert x.csv ./d/../x.csv", "convert x.csv link.csv", "convert link.csv x.csv",
    "convert y.csv hard.csv", "convert d d/0.parquet", "convert d/*.parquet d/new.parquet",
    "convert x.csv --key key key", "convert x.csv o.kaldi --key-output o.kaldi", "apply cal.json d -o d/",
    "apply cal.json d -o ./", "apply cal.json x.csv -o cal.json --to csv", "calibrate x.csv -o x.csv",
    "calibrate x.csv -o c.json --json c.json", "evaluate x.csv --html o --json o",
    "evaluate x.csv --threshold-from y.csv --json y.csv", "evaluate d --json d/out.json",
    "report x.csv --train y.csv -o y.csv", "compare x.csv y.csv --json x.csv",
    "fuse x.csv y.csv -o y.csv",
    "validate x.csv --criteria criteria.toml --md criteria.toml", "plot det x.csv -o x.csv",
    "speech score cal.json x.csv y.csv -o y.csv", "simulate frames -o o.ark --utt2spk o.scp",
]  # fmt: skip


def test_an_output_that_is_read_or_written_twice_is_refused_before_anything_is_read(place, monkeypatch):
    before = content(place)
    monkeypatch.setattr(tables, "read_file", pytest.fail)
    monkeypatch.setattr(tables, "scan_file", pytest.fail)
    for command in REFUSED:
        assert run(*command.split())[0] == 2, command
        assert content(place) == before, command


def test_what_is_no_input_is_written(place):
    for command in ("convert x.csv new.csv", "apply cal.json d -o out/", "evaluate x.csv --json -",
                    "evaluate d/*.parquet --json d/out.json"):  # fmt: skip
        code, _, said = run(*command.split())
        assert code == 0, said


def test_every_option_that_is_shown_as_a_file_is_declared_as_one():
    """Only then pipes are copied, and what is read is not written over."""
    files = {"read", "reads", "write", "trials", "folder"}
    for verb, one in VERBS.items():
        for part, name, option in one.options():
            words = set(re.findall(r"[A-Z]+", option.metavar)) & {"FILE", "FILES", "FOLDER", "PATH", "MODEL"}
            assert not words or option.kind in files, (verb, part.__name__, name)


def test_functions_refuse_it_too(place):
    before, fitted = content(place), lk.maps.AffineMap(a=2.0, b=1.0)
    for write in (
        lambda: convert("x.csv", "link.csv"), lambda: convert("x.csv", "o.kaldi", key_output="x.csv"),
        lambda: convert("x.csv", "key", Reading(key="key"), to="csv"),
        lambda: apply_map(fitted, ["x.csv"], "x.csv"), lambda: apply_parts(fitted, "d", "d"),
    ):  # fmt: skip
        with pytest.raises(lk.InputError):
            write()
    assert content(place) == before


def test_a_file_named_by_a_list_is_not_written_over(place):
    (place / "list.tsv").write_text("speaker\tfile\nanna\tx.csv\n")
    with watching(), pytest.raises(lk.InputError):  # noqa: PT012
        read_speech_list("list.tsv").paths()
        write_atomically("x.csv", "gone")
    assert content(place)["x.csv"] == (place / "y.csv").read_bytes()


def change_after_first_pass(monkeypatch, change):
    read, done = Passes._read, []

    def watched(self, chunking):
        yield from read(self, chunking)
        if not done:
            done.append(change())

    monkeypatch.setattr(Passes, "_read", watched)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "1K")  # every pass reads the files again


def rewritten(file):
    return lambda: scores(file, seed=9, shift=0.5)


def replaced(file):
    return lambda: os.replace(scores(file.with_name("new" + file.suffix), seed=9, shift=0.5), file)


def same_size_and_time(file):
    def change():
        before, bytes_before = file.stat(), bytearray(file.read_bytes())
        at = bytes_before.index(b"1.")
        bytes_before[at : at + 1] = b"7"
        file.write_bytes(bytes(bytes_before))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


@pytest.mark.parametrize(
    ("name", "how"),
    [("x.csv", rewritten), ("x.csv", replaced), ("x.csv", same_size_and_time), ("d/0.parquet", rewritten),
     ("d/0.parquet", replaced)],
)  # fmt: skip
def test_a_file_that_changes_between_passes_is_named(place, monkeypatch, name, how):
    change_after_first_pass(monkeypatch, how(place / name))
    path = "d" if name.startswith("d/") else name
    code, out, said = run("evaluate", path, "--json", "out.json")
    assert code == 2
    assert name in said
    assert out == ""
    assert not (place / "out.json").exists()


def test_a_key_that_changes_before_the_answer_is_written_is_named(place, monkeypatch):
    from llrkit.io import read as opened

    join = opened.join_key

    def watched(*given, **options):
        (place / "key").write_text((place / "key").read_text() + "\n")
        return join(*given, **options)

    monkeypatch.setattr(opened, "join_key", watched)
    pl.read_csv(place / "x.csv").drop("label").write_csv(place / "z.csv")
    assert run("convert", "z.csv", "o.csv", "--key", "key")[0] == 2
    assert not (place / "o.csv").exists()


def test_a_file_that_comes_into_a_folder_meanwhile_is_named(place, monkeypatch):
    change_after_first_pass(monkeypatch, lambda: scores(place / "d" / "2.parquet"))
    assert run("calibrate", "d", "-o", "c.json")[0] == 2
    assert not (place / "c.json").exists()


def test_hashes_in_a_report_are_of_the_bytes_that_were_read(place, monkeypatch):
    before = hashlib.sha256((place / "x.csv").read_bytes()).hexdigest()
    assert run("report", "x.csv", "-o", "r.html")[0] == 0
    assert before in (place / "r.html").read_text()
    made = Run.provenance

    def late(*arguments, **options):
        scores(place / "x.csv", seed=7)
        return made(*arguments, **options)

    monkeypatch.setattr(Run, "provenance", late)
    assert run("report", "x.csv", "-o", "late.html")[0] == 2
    assert not (place / "late.html").exists()


def test_the_hash_of_a_folder_is_that_of_sha256sum(place):
    lines = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in
                    sorted((place / "d").iterdir()))  # fmt: skip
    assert sha256_of("d") == hashlib.sha256(lines.encode()).hexdigest()
    assert run("calibrate", "d", "-o", "c.json")[0] == 0
    assert json.loads((place / "c.json").read_text())["provenance"]["training_sha256"] == sha256_of("d")


def test_files_of_several_classes_are_held_to_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "100")
    path = tmp_path / "classes.csv"
    path.write_text("en,de,label\n" + "2.0,0.1,en\n0.5,1.5,de\n" * 50)
    source = scan_classes(path, ["en", "de"])
    assert lk.multiclass.error_rate(source) == 0.0
    path.write_text("en,de,label\n" + "2.0,0.1,de\n0.5,1.5,en\n" * 50)
    with pytest.raises(lk.errors.FileChangedError):
        lk.multiclass.error_rate(source)
