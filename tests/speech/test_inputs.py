"""Lists of speech, frames and embeddings from files, lists of trials: what fits, and what is wrong where."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.io.selection import read_trial_list
from llrkit.speech.embeddings import Embeddings
from llrkit.speech.frames import Frames, read_frames
from llrkit.speech.lists import read_speech, read_speech_list
from llrkit.speech.scoring import scored_pairs
from llrkit.speech.sides import Side, text_array


@pytest.mark.parametrize(
    ("text", "speakers", "files"),
    [
        ("anna\ta/1.wav\nben\tb 1.wav\n", ("anna", "ben"), ("a/1.wav", "b 1.wav")),
        ("anna a.wav\n\nben b.wav", ("anna", "ben"), ("a.wav", "b.wav")),
        ("file,room,speaker\na.wav,1,anna\nb.wav,2,ben\n", ("anna", "ben"), ("a.wav", "b.wav")),
        ("path\na.wav\n", None, ("a.wav",)),
        ("a.wav\nb.wav\n", None, ("a.wav", "b.wav")),
    ],
)
def test_lists(tmp_path, text, speakers, files):
    (tmp_path / "list").write_text(text)
    found = read_speech_list(tmp_path / "list")
    assert found.speakers == speakers
    assert found.files == files


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("anna\ta.wav\textra\n", "line 1"),
        ("speaker\tfile\n", "list"),
        ("anna\ta.wav\nben\n", "line 2"),
        ("anna\ta.wav\n\t\nben\tb.wav\n", "line 2"),
        ("anna\ta.wav\nben\tb.wav\nben\ta.wav\n", "line 3"),
        ("", "list"),
    ],
)
def test_broken_lists_are_named_by_line(tmp_path, text, where):
    (tmp_path / "list").write_text(text)
    with pytest.raises(lk.errors.FileFormatError, match=where):
        read_speech_list(tmp_path / "list")


def test_missing_files_are_named_before_anything_is_read(tmp_path):
    (tmp_path / "list").write_text("anna\ta.wav\nben\tb.wav\n")
    (tmp_path / "a.wav").write_text("")
    with pytest.raises(lk.errors.FileFormatError, match=r"list, line 2: .*b\.wav"):
        read_speech(tmp_path / "list")
    with pytest.raises(lk.errors.FileFormatError, match=r"list, line 1: .*elsewhere/a\.wav"):
        read_speech(tmp_path / "list", folder=tmp_path / "elsewhere")
    with pytest.raises(lk.errors.FileFormatError, match=r"none\.tsv"):
        read_speech(tmp_path / "none.tsv")


@pytest.fixture
def arrays(tmp_path, need):
    kaldiio = need("kaldiio")
    rng = np.random.default_rng(1)
    frames = {f"utt{i}": rng.normal(size=(5 + i, 3)).astype(np.float32) for i in range(4)}
    vectors = {name: array[0] for name, array in frames.items()}
    np.savez(tmp_path / "frames.npz", **frames)
    kaldiio.save_ark(str(tmp_path / "frames.ark"), frames, scp=str(tmp_path / "frames.scp"))
    kaldiio.save_ark(str(tmp_path / "vectors.ark"), vectors, scp=str(tmp_path / "vectors.scp"))
    np.savez(tmp_path / "vectors.npz", vectors=np.stack(list(vectors.values())), ids=list(vectors))
    (tmp_path / "list").write_text("anna\tutt3\nben\tutt1\n")
    return tmp_path, frames


@pytest.mark.parametrize("name", ["frames.npz", "frames.ark", "frames.scp"])
def test_frames_from_files(arrays, name):
    folder, frames = arrays
    found = read_frames(folder / name)
    assert found.ids == tuple(frames)
    for got, expected in zip(found, frames.values(), strict=True):
        assert_array_equal(got, expected)
    chosen, front_end = read_speech(folder / "list", source=folder / name)
    assert isinstance(chosen, Frames)
    assert front_end is None
    assert (chosen.ids, chosen.speakers) == (("utt3", "utt1"), ("anna", "ben"))
    assert_array_equal(chosen[0], frames["utt3"])
    assert isinstance(read_speech(folder / name)[0], Frames)


@pytest.mark.parametrize("name", ["vectors.npz", "vectors.ark", "vectors.scp"])
def test_embeddings_from_files(arrays, name):
    folder, frames = arrays
    chosen, _ = read_speech(folder / "list", source=folder / name)
    assert isinstance(chosen, Embeddings)
    assert_array_equal(chosen.vectors, [frames["utt3"][0], frames["utt1"][0]])
    assert chosen.speakers.tolist() == ["anna", "ben"]
    assert isinstance(read_speech(folder / name)[0], Embeddings)


def test_utt2spk_with_the_ids_first(arrays):
    folder, _ = arrays
    (folder / "utt2spk").write_text("utt3 anna\nutt1 anna\nutt0 ben\n")
    chosen, _ = read_speech(folder / "utt2spk", source=folder / "frames.npz")
    assert (chosen.ids, chosen.speakers) == (("utt3", "utt1", "utt0"), ("anna", "anna", "ben"))


def test_what_does_not_fit_together(arrays, tmp_path):
    folder, _ = arrays
    (folder / "bad").write_text("anna\tutt3\nben\tutt9\n")
    (folder / "twice.scp").write_text("utt1 frames.ark:5\nutt1 frames.ark:5\n")
    (folder / "run.scp").write_text("utt1 cat frames.ark |\n")
    (folder / "lost.scp").write_text("utt1 lost.ark:5\n")
    np.savez(folder / "nan.npz", utt1=np.full((3, 2), np.nan))
    np.savez(folder / "flat.npz", utt1=np.zeros(3))
    np.savez(folder / "none.npz")
    for call, where in (
        (lambda: read_speech(folder / "bad", source=folder / "frames.npz"), "line 2: .*'utt9'"),
        (lambda: read_speech(folder / "frames.npz", source=folder / "frames.ark"), r"frames\."),
        (lambda: read_frames(folder / "nan.npz")[0], r"nan\.npz, utt1: frame 0"),
        (lambda: read_frames(folder / "flat.npz")[0], r"flat\.npz, utt1"),
        (lambda: read_frames(folder / "twice.scp"), r"twice\.scp: 'utt1'"),
        (lambda: read_frames(folder / "run.scp"), r"run\.scp, line 1"),
        (lambda: read_frames(folder / "lost.scp")[0], r"lost\.scp, line 1"),
        (lambda: read_frames(folder / "none.npz"), r"none\.npz"),
        (lambda: read_frames(folder / "gone.scp"), r"gone\.scp"),
        (lambda: read_speech(folder / "gone.npz"), r"gone\.npz"),
        (lambda: read_frames(folder / "frames.npz", speakers={"utt0": "a"}), "'utt1'"),
    ):
        with pytest.raises(lk.InputError, match=where):
            call()


def side(ids, speakers=None):
    """A side of one-letter ids, and of one-letter speakers if they are known."""
    return Side(text_array(list(ids)), None if speakers is None else text_array(list(speakers)))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("b x\na y\n", None),
        ("b x nontarget\na y target\n", ["nontarget", "target"]),
        ("0 b x\n1 a y\n", ["0", "1"]),
        ("model,segment\nb,x\na,y\n", None),
    ],
)
def test_lists_of_trials(tmp_path, text, labels):
    (tmp_path / "trials").write_text(text)
    pairs = read_trial_list(tmp_path / "trials")
    scores = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = scored_pairs(scores, side("ab"), side("xy"), pairs)
    assert found.table["score"].to_list() == [3.0, 2.0]
    if labels is None:
        assert found.label is None
        known = scored_pairs(scores, side("ab", "st"), side("xy", "ss"), pairs)
        assert known.table["label"].to_list() == ["nontarget", "target"]
    else:
        assert found.table[found.label].to_list() == labels


def test_unknown_ids_in_a_list_of_trials_are_named_by_line(tmp_path):
    (tmp_path / "trials").write_text("a x target\nc x target\n")
    pairs = read_trial_list(tmp_path / "trials")
    with pytest.raises(lk.errors.FileFormatError, match=r"trials, line 2: .*'c'"):
        scored_pairs(np.zeros((1, 1)), side("a"), side("x"), pairs)
    with pytest.raises(lk.errors.FileFormatError, match=r"trials, line 1: .*'x'"):
        scored_pairs(np.zeros((2, 1)), side("ac"), side("y"), pairs)
    (tmp_path / "scores").write_text("score,label\n1.0,target\n")
    with pytest.raises(lk.errors.FileFormatError):
        read_trial_list(tmp_path / "scores")


def test_all_pairs_leave_out_a_segment_against_itself():
    found = scored_pairs(np.array([[1.0, 2.0], [3.0, 4.0]]), side("xy", "st"), side("xz", "st"))
    assert found.table.rows() == [
        ("x", "z", 2.0, "nontarget", "s", "t"),
        ("y", "x", 3.0, "nontarget", "t", "s"),
        ("y", "z", 4.0, "target", "t", "t"),
    ]
