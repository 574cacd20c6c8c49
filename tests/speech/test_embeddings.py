"""Embeddings: what they hold, what they refuse, and the files they come from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.speech import Embeddings, pool_sessions, read_embeddings, write_embeddings
from llrkit.speech.kaldi import read_kaldi, write_kaldi


def some(n=4, dim=3, **more):
    rng = np.random.default_rng(1)
    given = {"speakers": [f"spk{i // 2}" for i in range(n)], "columns": {"duration": np.arange(n) + 5.0}}
    return Embeddings(rng.normal(size=(n, dim)), [f"utt{i}" for i in range(n)], **{**given, **more})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_used_as_they_are_and_cannot_be_changed(dtype):
    given = np.ones((2, 3), dtype=dtype)
    found = Embeddings(given, ["a", "b"], columns={"room": ["x", "y"]})
    assert found.vectors.dtype == dtype
    assert np.shares_memory(found.vectors, given)
    assert given.flags.writeable
    for array in (found.vectors, found.ids, found.columns["room"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert Embeddings([[1, 2]], ["a"]).vectors.dtype == np.float64


def test_what_is_refused():
    one, two = np.ones((1, 1)), np.ones((2, 1))
    for vectors, ids, more in (
        ([[1.0, np.nan]], ["u7"], {}), ([[1.0, -np.inf]], ["u7"], {}), ([[1.0], [1.0, 2.0]], ["a", "b"], {}),
        ([["x"]], ["a"], {}), (np.ones(3), ["a"], {}), (np.ones((0, 3)), [], {}), (two, ["a"], {}),
        (two, ["a", "a"], {}), (two, ["a", ""], {}), (one, [["a"]], {}), (one, ["a"], {"speakers": [None]}),
        (one, ["a"], {"speakers": ["s", "t"]}), (one, ["a"], {"columns": {"d": [1, 2]}}),
        (one, ["a"], {"columns": {"d": 1}}), (np.ones((1, 2)), ["a"], {"covariances": np.eye(2)}),
        (np.ones((1, 2)), ["a"], {"covariances": [[[1.0, 2.0], [0.0, 1.0]]]}),
        (one, ["a"], {"covariances": [[[-1.0]]]}), (one, ["a"], {"covariances": [[[np.nan]]]}),
    ):  # fmt: skip
        with pytest.raises(lk.InputError):
            Embeddings(vectors, ids, **more)
    with pytest.raises(lk.InputError, match="'u7': NaN in dimension 1"):
        Embeddings([[0.0, 0.0], [1.0, np.nan]], ["u6", "u7"])


def test_rows_are_found_by_mask_number_value_and_id():
    found = some()
    assert found.select(found.columns["duration"] > 6).ids.tolist() == ["utt2", "utt3"]
    assert found.select([3, 0]).columns["duration"].tolist() == [8.0, 5.0]
    assert found.where(speaker="spk1").ids.tolist() == ["utt2", "utt3"]
    assert found.where(duration=[5.0, 8.0], speaker="spk1").ids.tolist() == ["utt3"]
    assert found.rows_of(["utt3", "utt0"]).tolist() == [3, 0]
    with pytest.raises(lk.errors.UnknownNameError, match="'utt9', 'nobody'"):
        found.rows_of(["utt0", "utt9", "nobody", "utt9"])
    with pytest.raises(lk.errors.UnknownNameError):
        found.where(sex="f")
    with pytest.raises(lk.InputError):
        found.where(duration=99)


def test_sessions_are_averaged_by_speaker_by_name_and_by_list():
    found = some(columns={"duration": np.arange(4), "sex": ["f", "f", "m", "m"]})
    pooled = pool_sessions(found)
    assert_allclose(pooled.vectors, found.vectors.reshape(2, 2, 3).mean(axis=1), rtol=1e-15)
    assert pooled.ids.tolist() == pooled.known_speakers.tolist() == ["spk0", "spk1"]
    assert {name: v.tolist() for name, v in pooled.columns.items()} == {"sex": ["f", "m"], "sessions": [2, 2]}
    named = pool_sessions(found.replace(speakers=None), ["z", "a", "z", "z"])
    assert (named.ids.tolist(), named.columns["sessions"].tolist()) == (["z", "a"], [3, 1])
    listed = pool_sessions(found, {"m1": ["utt0"], "m2": ["utt1", "utt0"]})
    assert_allclose(listed.vectors[1], found.vectors[:2].mean(axis=0), rtol=1e-15)
    for models in (["a", "a", "a", "b"], {"m": []}, {"m": ["utt7"]}, ["a"]):
        with pytest.raises(lk.LlrkitError):
            pool_sessions(found, models)
    with pytest.raises(lk.InputError):  # averages are not averaged again
        pool_sessions(pooled, ["x", "x"])


def test_npz_holds_everything(tmp_path):
    found = some(covariances=np.tile(np.eye(3), (4, 1, 1)))
    write_embeddings(found, tmp_path / "all.npz")
    again = read_embeddings(tmp_path / "all.npz")
    for name in ("vectors", "ids", "speakers", "covariances"):
        assert_array_equal(getattr(again, name), getattr(found, name))
    assert_array_equal(again.columns["duration"], found.columns["duration"])
    assert [file.name for file in tmp_path.iterdir()] == ["all.npz"]


def test_npz_with_several_matrices(tmp_path):
    file = tmp_path / "several.npz"
    np.savez(file, emb_a=np.ones((2, 3)), emb_b=np.zeros((2, 5)), segment=["s", "t"], speaker=["x", "y"],
             seconds=[1.5, 2.5], odd=[1, 2, 3])  # fmt: skip
    found = read_embeddings(file, vectors="b")
    assert (found.dim, found.ids.tolist(), list(found.columns)) == (5, ["s", "t"], ["seconds"])
    assert read_embeddings(file, vectors="emb_a").dim == 3
    for options in ({}, {"vectors": "c"}):
        with pytest.raises(lk.errors.FileFormatError, match="emb_a, emb_b"):
            read_embeddings(file, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kaldi_there_and_back_against_kaldiio(tmp_path, need, dtype):
    found = some(n=5).replace(vectors=np.random.default_rng(2).normal(size=(5, 7)).astype(dtype), columns={})
    write_embeddings(found, tmp_path / "x.ark")
    (tmp_path / "utt2spk").write_text("".join(f"utt{i} spk{i // 2}\n" for i in reversed(range(5))))
    theirs = dict(need("kaldiio").load_ark(str(tmp_path / "x.ark")))
    by_index = need("kaldiio").load_scp(str(tmp_path / "x.scp"))
    for name in ("x.ark", "x.scp"):
        again = read_embeddings(tmp_path / name, speakers=tmp_path / "utt2spk")
        assert_array_equal(again.vectors, found.vectors)
        assert again.vectors.dtype == dtype
        assert_array_equal(again.known_speakers, found.known_speakers)
    for i in range(5):
        assert_array_equal(theirs[f"utt{i}"], found.vectors[i])
        assert_array_equal(by_index[f"utt{i}"], found.vectors[i])


def test_kaldi_text_and_matrices(tmp_path, need):
    need("kaldiio")
    file = tmp_path / "x.ark"
    file.write_text("a  [ 1 2.5 -3 ]\nb  [ 0 0 1e-3 ]\n")  # kaldiio alone takes the first for whole numbers
    assert_array_equal(read_embeddings(file).vectors, [[1, 2.5, -3], [0, 0, 1e-3]])
    file.write_text("m  [\n  1 2\n  3 4 ]\n")
    assert_array_equal(dict(read_kaldi(file))["m"], [[1, 2], [3, 4]])
    with pytest.raises(lk.errors.FileFormatError):
        read_embeddings(file)
    file.write_text("m  [\n  1 2 ]\n")
    assert_array_equal(read_embeddings(file).vectors, [[1, 2]])


def test_an_scp_beside_its_archive_can_be_moved(tmp_path, need):
    need("kaldiio")
    (tmp_path / "old").mkdir()
    write_kaldi(tmp_path / "old" / "x.ark", [("a", np.array([1.0, 2.0]))])
    scp = (tmp_path / "old" / "x.scp").read_text().replace(f"{tmp_path}/old/", "")
    (tmp_path / "old" / "x.scp").write_text(scp)
    (tmp_path / "old").rename(tmp_path / "new")
    assert_array_equal(read_embeddings(tmp_path / "new" / "x.scp").vectors, [[1.0, 2.0]])


def bad_files(folder):
    np.savez(folder / "noids.npz", x=np.ones((2, 2)))
    np.savez(folder / "nan.npz", x=[[np.nan]], id=["u1"])
    np.savez(folder / "object.npz", x=np.array([{"a": 1}], dtype=object), id=["u1"], allow_pickle=True)
    np.savez(folder / "twice.npz", x=np.ones((2, 2)), id=["u", "u"])
    (folder / "text.npz").write_text("hello")
    (folder / "pickle.ark").write_bytes(b"utt1 PKL" + b"cos\nsystem\n(S'touch ran'\ntR.")
    (folder / "audio.ark").write_bytes(b"utt1 RIFF....")
    (folder / "short.ark").write_bytes(b"utt1 \0BFV \4\10\0\0\0")
    (folder / "open.ark").write_text("utt1  [ 1 2")
    (folder / "words.ark").write_text("utt1  [ one two ]\n")
    (folder / "binary.ark").write_bytes(b"\xff\xfe\xfd")
    (folder / "empty.ark").write_bytes(b"")
    (folder / "sizes.ark").write_text("a  [ 1 2 ]\nb  [ 1 2 3 ]\n")
    (folder / "command.scp").write_text("utt1 touch ran |\n")
    (folder / "nowhere.scp").write_text("utt1 gone.ark:5\n")
    (folder / "alone.scp").write_text("\nutt1\n")
    (folder / "nooffset.scp").write_text("utt1 some.ark\n")


@pytest.mark.parametrize("where", [
    "gone.npz", "noids.npz", "nan.npz: embedding 'u1'", "object.npz", "twice.npz", "text.npz",
    "pickle.ark, entry 'utt1'", "audio.ark, entry 'utt1'", "short.ark, entry 'utt1'",
    "open.ark, entry 'utt1'", "words.ark, entry 'utt1'", "binary.ark", "empty.ark",
    "sizes.ark: embedding 'b'", "command.scp, line 1", "nowhere.scp, line 1", "alone.scp, line 2",
    "nooffset.scp, line 1",
])  # fmt: skip
def test_bad_files_are_refused_by_name(tmp_path, need, monkeypatch, where):
    need("kaldiio")
    monkeypatch.chdir(tmp_path)
    bad_files(tmp_path)
    with pytest.raises(lk.errors.FileFormatError, match=where):
        read_embeddings(tmp_path / where.split(",")[0].split(":")[0])
    assert not (tmp_path / "ran").exists()


def test_speakers_of_a_list(tmp_path, need):
    need("kaldiio")
    write_embeddings(some(), tmp_path / "x.ark")
    for text, where in (("utt0 a\n", ": "), ("utt0 a b\n", ", line 1"), ("utt0 a\nutt0 b\n", ", line 2")):
        (tmp_path / "spk").write_text(text)
        with pytest.raises(lk.errors.FileFormatError, match=f"spk{where}"):
            read_embeddings(tmp_path / "x.ark", speakers=tmp_path / "spk")


def test_nothing_is_half_written(tmp_path, need):
    need("kaldiio")
    for call in (
        lambda: write_embeddings(some(), tmp_path / "x.txt"),
        lambda: write_embeddings(some(columns={"ids": np.arange(4)}), tmp_path / "x.npz"),
        lambda: write_kaldi(tmp_path / "x.ark", [("a b", np.ones(2))]),
        lambda: write_kaldi(tmp_path / "x.scp", []),
    ):
        with pytest.raises(lk.InputError):
            call()
    assert list(tmp_path.iterdir()) == []
