"""HDF5: files as BOSARIS, SIDEKIT and bob write them, and what is said of broken ones."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.io.formats import read_table

MODELS, SEGMENTS = np.array([b"m1", b"m2"]), np.array([b"s1", b"s2", b"s3"])
MASK = np.array([[1, -1, 0], [0, -1, 1]], np.int8)
VALUES = np.array([[1.5, 2.0, 9.0], [9.0, -1.0, 0.5]])
IDS = {"ID/row_ids": MODELS, "ID/column_ids": SEGMENTS}
HDF5 = {
    # @Scores/save_hdf5.m and @Key/save_hdf5.m of the BOSARIS toolkit
    "bosaris": (
        {"scores": VALUES, "score_mask": np.uint8(MASK != 0), **IDS},
        {"trial_mask": MASK, "file_format": "2.0", **IDS},
    ),
    # keys before format 2.0, which @Key/read_hdf5.m still reads
    "bosaris, old key": (
        {"scores": VALUES, "score_mask": np.uint8(MASK != 0), **IDS},
        {"target_mask": np.uint8(MASK == 1), "nontarget_mask": np.uint8(MASK == -1), **IDS},
    ),
    # bosaris/scores.py and bosaris/key.py of SIDEKIT
    "sidekit": (
        {"scores": VALUES, "score_mask": np.int8(MASK != 0), "modelset": MODELS, "segset": SEGMENTS},
        {"trial_mask": MASK, "modelset": MODELS, "segset": SEGMENTS},
    ),
}  # fmt: skip


def write_hdf5(h5py, path, content):
    with h5py.File(path, "w") as archive:
        for name, values in content.items():
            archive[name] = values


@pytest.mark.parametrize("program", HDF5)
def test_hdf5_files_of_other_programs(tmp_path, need, program):
    for name, content in zip(("s.h5", "k.h5"), HDF5[program], strict=True):
        write_hdf5(need("h5py"), tmp_path / name, content)
    trials = lk.read_trials(tmp_path / "s.h5", key=tmp_path / "k.h5")
    assert trials.table.select("enroll", "test").rows() == [
        ("m1", "s1"),
        ("m1", "s2"),
        ("m2", "s2"),
        ("m2", "s3"),
    ]
    assert_array_equal(trials.score_array, [1.5, 2.0, -1.0, 0.5])
    assert_array_equal(trials.is_target, [True, False, False, True])


@pytest.mark.parametrize("name", ["ID/row_ids", "trial_mask"])
def test_an_array_that_the_file_cannot_hold_is_not_made(tmp_path, need, name):
    h5py = need("h5py")
    write_hdf5(h5py, tmp_path / "k.h5", {k: v for k, v in HDF5["bosaris"][1].items() if k != name})
    with h5py.File(tmp_path / "k.h5", "a") as archive:  # nothing is stored of what was never written
        shape = (10**12,) if name.startswith("ID") else (10**6, 10**6)
        archive.create_dataset(name, shape, "S4" if name.startswith("ID") else np.int8, chunks=True)
    with pytest.raises(lk.errors.FileFormatError, match=rf"k\.h5: /{name} "):
        read_table(tmp_path / "k.h5")


def linked(h5py, other, kind, file):
    """A file of scores where one thing is in another place; the name of that thing."""
    content = HDF5["bosaris"][0]
    name = "ID" if kind == "group" else "scores"
    with h5py.File(other, "w") as archive:
        archive["there"], archive["row_ids"], archive["column_ids"] = VALUES, MODELS, SEGMENTS
    raw = other.with_suffix(".raw")
    raw.write_bytes(VALUES.tobytes())
    with h5py.File(file, "w") as archive:
        for key, values in content.items():
            if not key.startswith(name if kind == "group" else "scores"):
                archive[key] = values
        if kind == "soft":
            archive["elsewhere"], archive[name] = VALUES, h5py.SoftLink("/elsewhere")
        elif kind == "stored":
            archive.create_dataset(name, VALUES.shape, "f8", external=[(str(raw), 0, VALUES.nbytes)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(VALUES.shape, "f8")
            layout[:] = h5py.VirtualSource(str(other), "there", VALUES.shape)
            archive.create_virtual_dataset(name, layout)
        else:
            archive[name] = h5py.ExternalLink(str(other), "/" if kind == "group" else "there")
    return name


@pytest.mark.parametrize("kind", ["external", "group", "soft", "stored", "virtual"])
def test_a_file_that_leads_to_another_file_is_refused_before_that_is_opened(tmp_path, need, kind):
    """An uploaded file could show /etc/passwd."""
    h5py = need("h5py")
    other, file = tmp_path / "other.h5", tmp_path / "s.h5"
    name = linked(h5py, other, kind, file)
    with h5py.File(file) as archive:  # else the test shows nothing: HDF5 follows it
        assert_array_equal(archive["ID/row_ids"] if kind == "group" else archive["scores"],
                           MODELS if kind == "group" else VALUES)  # fmt: skip
    for there in (True, False):
        with pytest.raises(lk.errors.FileFormatError, match=rf"s\.h5: /{name} is "):
            read_table(file)
        if there:
            other.unlink()
            other.with_suffix(".raw").unlink()


def test_quality_measures_in_another_file_are_refused(tmp_path, need):
    h5py = need("h5py")
    (tmp_path / "s").write_text("m1 s1 2.5 target\nm2 s2 -1 imp\n")
    write_hdf5(h5py, tmp_path / "other.h5", {"values": np.ones((1, 2))})
    link = h5py.ExternalLink(str(tmp_path / "other.h5"), "values")
    write_hdf5(h5py, tmp_path / "q.h5", {"ids": SEGMENTS[:2], "values": link})
    with pytest.raises(lk.errors.FileFormatError, match=r"q\.h5: /values is "):
        lk.read_trials(tmp_path / "s", quality=tmp_path / "q.h5")


def test_an_index_of_trials_is_no_key(tmp_path, need):
    index = {"trial_mask": np.int8(MASK != 0), "modelset": MODELS, "segset": SEGMENTS}  # SIDEKIT's Ndx
    write_hdf5(need("h5py"), tmp_path / "s.h5", HDF5["sidekit"][0])
    write_hdf5(need("h5py"), tmp_path / "n.h5", index)
    with pytest.raises(lk.errors.FileFormatError, match=r"n\.h5: a key without labels"):
        lk.read_trials(tmp_path / "s.h5", key=tmp_path / "n.h5")


@pytest.mark.parametrize(
    "change",
    [{"target_mask": np.ones((2, 3), np.uint8)}, {"nontarget_mask": None}, {"ID/row_ids": None},
     {"ID/row_ids": MODELS[:1]}],
)  # fmt: skip
def test_broken_keys_in_hdf5_are_refused(tmp_path, need, change):
    content = {**HDF5["bosaris, old key"][1], **change}
    write_hdf5(need("h5py"), tmp_path / "k.h5", {k: v for k, v in content.items() if v is not None})
    with pytest.raises(lk.errors.FileFormatError, match=r"k\.h5"):
        read_table(tmp_path / "k.h5")


def test_hdf5_arrays_of_bob_hold_what_its_text_files_hold(shared, need):
    need("h5py")
    folder = shared / "data/bob_testdata/bob.measure"
    for name in ("nonsep", "linsep"):
        read = [
            lk.read_trials(folder / f"{name}-positives.{end}", nontargets=folder / f"{name}-negatives.{end}")
            for end in ("hdf5", "txt")
        ]
        assert_array_equal(read[0].score_array, read[1].score_array)
        assert read[0].is_target.sum() == 50


def test_bosaris_files_have_the_published_layout(tmp_path, need):
    h5py = need("h5py")
    table = {"m": ["a", "a", "b"], "t": ["x", "y", "x"], "score": [0.5, 1.5, 2.5], "label": [1, 0, 0]}
    lk.write_trials(lk.Trials(table, enroll="m", test="t"), tmp_path / "s.h5", key=tmp_path / "k.h5")
    with h5py.File(tmp_path / "s.h5") as scores, h5py.File(tmp_path / "k.h5") as key:
        assert_array_equal(scores["scores"], [[0.5, 1.5], [2.5, 0.0]])
        assert_array_equal(scores["score_mask"], [[1, 1], [1, 0]])
        assert [*scores["ID/row_ids"], *scores["ID/column_ids"]] == [b"a", b"b", b"x", b"y"]
        assert scores["file_format"][()] == b"2.0"
        assert key["trial_mask"].dtype == np.int8
        assert_array_equal(key["trial_mask"], [[1, -1], [-1, 0]])


def test_a_missing_hdf5_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "s.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(lk.errors.MissingPackageError):
        lk.read_trials(tmp_path / "s.h5")


@pytest.mark.parametrize("form", ["bosaris", "table"])
def test_quality_measures_of_segments_become_columns(tmp_path, need, form):
    h5py = need("h5py")
    (tmp_path / "s").write_text("m1 s1 2.5\nm2 s2 -1\nm1 s2 0.5\n")
    (tmp_path / "k").write_text("m1 s1 target\nm2 s2 target\nm1 s2 imp\n")
    quality, column = tmp_path / "q", "seconds"
    if form == "bosaris":  # Seg_Quality: one row of /values for each measure
        column = "quality_1"
        with h5py.File(quality, "w") as archive:
            archive["values"] = np.array([[3.0, 30.0], [7.0, 8.0]])
            archive["ids"] = np.array([b"s2", b"s1"], dtype=h5py.string_dtype())
    else:
        quality.write_text("segment,seconds\ns2,3\ns1,30\n")
    trials = lk.read_trials(tmp_path / "s", tmp_path / "k", quality=quality)
    assert_array_equal(trials.table[f"test_{column}"], [30.0, 3.0, 3.0])
    assert not any(name.startswith("enroll_") for name in trials.columns)  # no model is in the file
    if form == "bosaris":
        assert_array_equal(trials.table["test_quality_2"], [8.0, 7.0, 7.0])
        with pytest.raises(lk.errors.FileFormatError):
            lk.read_trials(quality)
    else:
        quality.write_text("segment,seconds\ns1,30\n")
        with pytest.raises(lk.errors.FileFormatError, match="s, line 2"):
            lk.read_trials(tmp_path / "s", tmp_path / "k", quality=quality)
        with pytest.warns(lk.errors.LeftOutWarning, match="2 of 3"):
            kept = lk.read_trials(tmp_path / "s", tmp_path / "k", quality=quality, missing="drop")
        assert len(kept) == 1
        quality.write_text("segment,seconds\nzz,30\n")
        with pytest.raises(lk.InputError):
            lk.read_trials(tmp_path / "s", tmp_path / "k", quality=quality)
        quality.write_text("segment,seconds\ns1,long\n")
        with pytest.raises(lk.errors.FileFormatError, match="q, line 2, column 'seconds'"):
            lk.read_trials(tmp_path / "s", tmp_path / "k", quality=quality)
