"""A folder of LLRs that is taken up again is what a clean run would have made, or an error says why not."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.engine import apply_files as module
from llrkit.engine.apply_files import apply_parts


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Three files of scores and two calibrations; we are in the folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    for i in range(3):
        rows = {"plda": [float(i), -1.5], "cos": [0.25, i / 4], "label": [1, 0], "test": [f"{i}a", f"{i}b"]}
        pl.DataFrame(rows).write_parquet(tmp_path / "d" / f"p{i}.parquet")
    lk.maps.AffineMap(a=2.0, b=1.0).save(tmp_path / "a.json")
    lk.maps.AffineMap(a=-3.0, b=0.5).save(tmp_path / "b.json")
    return tmp_path


def content(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.name[0] != "_"}


def applied(folder, *options, calibration="a.json"):
    code, out, err = run("apply", calibration, "d", "-o", folder, *options)
    assert code == 0, err
    return out + err


PLAIN = ("--score-column", "plda")
CHANGED = {
    "another column": (("--score-column", "cos"), "a.json"),
    "another calibration": (PLAIN, "b.json"),
    "base ten": ((*PLAIN, "--base-10"), "a.json"),
    "distances": ((*PLAIN, "--distance"), "a.json"),
    "another label": ((*PLAIN, "--positive", "0"), "a.json"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_changed_option_is_a_new_run(place, case):
    options, calibration = CHANGED[case]
    applied("out/", *PLAIN)
    assert "finished already" not in applied("out/", *options, calibration=calibration)
    applied("clean/", *options, calibration=calibration)
    assert content(place / "out") == content(place / "clean")
    assert "All 3 files were finished already" in applied("out/", *options, calibration=calibration)


def test_a_file_that_an_option_names_counts_with_its_content(place):
    rows = "".join(f"m{i} {i}{c} {'target' if c == 'a' else 'nontarget'}\n" for i in range(3) for c in "ab")
    for i in range(3):
        (place / "d" / f"p{i}.parquet").unlink()
        (place / "d" / f"p{i}.txt").write_text(f"m{i} {i}a 1.5\nm{i} {i}b -1.5\n")
    (place / "key").write_text(rows)
    options = ("--key", "key", "--missing", "drop")
    applied("out/", *options)
    assert "All 3 files were finished" in applied("out/", *options)
    (place / "key").write_text(rows.replace("2a target", "2a nontarget"))
    assert "finished" not in applied("out/", *options)
    assert pl.read_parquet(place / "out" / "p2.parquet")["label"].n_unique() == 1


def test_the_output_of_a_deleted_input_is_removed_and_said(place):
    applied("out/", *PLAIN)
    (place / "d" / "p1.parquet").unlink()
    assert "p1.parquet" in applied("out/", *PLAIN)
    assert list(content(place / "out")) == ["p0.parquet", "p2.parquet"]


def test_a_strange_file_in_the_folder_is_refused_and_kept(place):
    (place / "out").mkdir()
    (place / "out" / "mine.csv").write_text("mine")
    assert run("apply", "a.json", "d", "-o", "out/", *PLAIN)[0] == 2
    assert content(place / "out") == {"mine.csv": b"mine"}
    assert sorted(file.name for file in (place / "out").iterdir()) == ["mine.csv"]


@pytest.mark.parametrize("damage", ["garbage", "cut", "one bit"])
def test_a_damaged_output_is_made_again(place, damage):
    applied("out/", *PLAIN)
    before, file = content(place / "out"), place / "out" / "p1.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes({"garbage": b"garbage", "cut": bytes(data[:-3]), "one bit": bytes(data)}[damage])
    assert "2 of 3 files were finished already" in applied("out/", *PLAIN)
    assert content(place / "out") == before


def test_an_input_of_the_same_size_and_time_is_noticed(place):
    file = place / "d" / "p1.csv"
    (place / "d" / "p1.parquet").unlink()
    file.write_text("plda,cos,label,test\n1.5,0,1,x\n-1,0,0,y\n")
    times = file.stat()
    applied("out/", *PLAIN)
    file.write_text("plda,cos,label,test\n2.5,0,1,x\n-1,0,0,y\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "2 of 3 files were finished already" in applied("out/", *PLAIN)
    assert pl.read_parquet(place / "out" / "p1.parquet")["llr"].to_list() == [6.0, -1.0]


def test_a_broken_manifest_only_costs_time(place):
    applied("out/", *PLAIN)
    before = content(place / "out")
    for text in ("", "null", "{", '{"parts": 5}', '{"parts": [null, {"name": 3}]}', "[" * 9999):
        (place / "out" / "_manifest.json").write_text(text)
        assert "finished" not in applied("out/", *PLAIN)
        assert content(place / "out") == before


@contextmanager
def interrupted(monkeypatch, at, when):
    """A run that is interrupted at a part, before or after it is written, but before that is noted."""
    with monkeypatch.context() as patch:
        apply_map = module.apply_map

        def watched(fitted, paths, output, *rest, **options):
            if when == "after":
                applied = apply_map(fitted, paths, output, *rest, **options)
            if str(output).endswith(at):
                raise KeyboardInterrupt
            return applied if when == "after" else apply_map(fitted, paths, output, *rest, **options)

        patch.setattr(module, "apply_map", watched)
        yield


@pytest.mark.parametrize("when", ["before", "after"])
def test_runs_that_interrupt_each_other_with_other_maps_never_mix(place, monkeypatch, when):
    first, second = lk.maps.AffineMap(a=2.0, b=1.0), lk.maps.AffineMap(a=-3.0, b=0.5)
    reading = module.Reading(score=("plda",))
    for fitted, at in ((first, "p1.parquet"), (second, "p0.parquet"), (first, "p2.parquet")):
        with interrupted(monkeypatch, at, when), pytest.raises(KeyboardInterrupt):
            apply_parts(fitted, place / "d", place / "out", reading)
    (place / "d" / "p2.parquet").unlink()  # what was written of it but not noted is known all the same
    apply_parts(first, place / "d", place / "out", reading)
    apply_parts(first, place / "d", place / "clean", reading)
    assert content(place / "out") == content(place / "clean")
    parts = json.loads((place / "out" / "_manifest.json").read_text())["parts"]
    assert [part["name"] for part in parts] == ["p0.parquet", "p1.parquet"]


HOLDING = """
import sys
from pathlib import Path
from llrkit.base.files import locked_folder
folder = Path(sys.argv[1])
folder.mkdir()
with locked_folder(folder):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_second_run_into_the_same_folder_is_refused_until_the_first_is_no_more(place):
    command = [sys.executable, "-c", HOLDING, "out"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert run("apply", "a.json", "d", "-o", "out/", *PLAIN)[0] == 2
        process.kill()
    applied("out/", *PLAIN)
    assert len(content(place / "out")) == 3


def test_two_threads_at_once_give_one_whole_folder(place):
    fitted, reading = lk.maps.AffineMap(a=2.0, b=1.0), module.Reading(score=("plda",))
    errors = []

    def go():
        try:
            apply_parts(fitted, place / "d", place / "out", reading)
        except lk.InputError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another run" in error for error in errors)
    apply_parts(fitted, place / "d", place / "clean", reading)
    assert content(place / "out") == content(place / "clean")


def test_an_input_that_changes_while_its_part_is_made_is_named_and_not_noted(place, monkeypatch):
    write = module.apply_map

    def watched(fitted, paths, output, *rest, **options):
        if str(paths[0]).endswith("p1.parquet"):
            pl.read_parquet(paths[0]).with_columns(plda=pl.lit(9.0)).write_parquet(paths[0])
        return write(fitted, paths, output, *rest)

    monkeypatch.setattr(module, "apply_map", watched)
    assert run("apply", "a.json", "d", "-o", "out/", *PLAIN)[0] == 2
    assert list(content(place / "out")) == ["p0.parquet"]
