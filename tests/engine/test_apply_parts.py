"""A folder of scores becomes a folder of LLRs; what was interrupted is taken up again."""

import json

import polars as pl
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.engine import apply_files as module
from llrkit.engine.apply_files import apply_parts


@pytest.fixture
def fitted():
    return lk.maps.AffineMap(a=2.0, b=-1.0)


@pytest.fixture
def scores(tmp_path):
    folder = tmp_path / "scores"
    folder.mkdir()
    for i in range(4):
        rows = {"score": [float(i), -1.0, 0.5], "label": ["target", "nontarget", "nontarget"], "n": [i] * 3}
        pl.DataFrame(rows).write_parquet(folder / f"part{i}.parquet")
    return folder


def assert_complete(folder, source):
    made, given = pl.read_parquet(folder / "part*.parquet"), pl.read_parquet(source / "part*.parquet")
    assert_allclose(made["llr"], 2.0 * given["score"] - 1.0)
    assert made["n"].to_list() == given["n"].to_list()  # nothing twice
    manifest = json.loads((folder / "_manifest.json").read_text())
    assert manifest["schema"] == "llrkit.apply/2"
    assert manifest["rows"] == 12
    assert [part["name"] for part in manifest["parts"]] == [f"part{i}.parquet" for i in range(4)]
    assert sorted(path.name for path in folder.iterdir())[0] == "_manifest.json"
    assert not (folder / "_done").exists()


def counted(monkeypatch, fail_at=None):
    """Count the files that are really read; the one with this name fails."""
    done, apply_map = [], module.apply_map

    def watched(fitted, paths, output, *reading, **options):
        if fail_at is not None and str(paths[0]).endswith(fail_at):
            raise KeyboardInterrupt
        done.append(paths[0])
        return apply_map(fitted, paths, output, *reading, **options)

    monkeypatch.setattr(module, "apply_map", watched)
    return done


def test_every_file_becomes_one(fitted, scores, tmp_path):
    assert apply_parts(fitted, scores, tmp_path / "llrs").rows == 12
    assert_complete(tmp_path / "llrs", scores)


def test_an_interrupted_run_goes_on_where_it_was(fitted, scores, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        done = counted(patch, fail_at="part2.parquet")
        with pytest.raises(KeyboardInterrupt):
            apply_parts(fitted, scores, tmp_path / "llrs")
        assert len(done) == 2
    assert not (tmp_path / "llrs" / "_manifest.json").exists()
    done = counted(monkeypatch)
    assert apply_parts(fitted, scores, tmp_path / "llrs").notes[-1] == "2 of 4 files were finished already"
    assert len(done) == 2
    assert_complete(tmp_path / "llrs", scores)
    apply_parts(fitted, scores, tmp_path / "llrs")
    assert len(done) == 2


def test_two_files_of_one_name_are_refused(fitted, scores, tmp_path):
    (scores / "part1.csv").write_text("score,label\n1,target\n")
    with pytest.raises(lk.InputError):
        apply_parts(fitted, scores, tmp_path / "llrs")
