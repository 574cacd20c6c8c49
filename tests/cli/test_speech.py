"""``llrkit speech`` from spoken sentences to scores, from embeddings to scores, and with every mistake."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from espeak import speak_corpus
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.cli import cli


def run(*arguments):
    return CliRunner().invoke(cli, ["speech", *(str(argument) for argument in arguments)])


def done(*arguments):
    """The JSON of a command that went well."""
    result = run(*arguments, "--json", "-")
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory, need, need_program):
    """20 voices to train with, 20 others to enroll and to test."""
    need("soundfile"), need("kaldi_native_fbank")
    folder = tmp_path_factory.mktemp("spoken")
    speak_corpus(need_program("espeak-ng"), folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "options"), [("plda", ["--factors", 25, "--steps", "lda:15,length"]), ("ubm-gmm", [])]
)
def test_spoken_sentences_are_told_apart(spoken, tmp_path, backend, options):
    """40 voices; chance is an EER of 50 %, these chains are below 15 %."""
    model, enrolled = tmp_path / "model.npz", tmp_path / "enrolled.npz"
    options = ["--gaussians", 16, "--iterations", 5, *options]
    trained = done("train", spoken / "train.tsv", "--backend", backend, *options, "-o", model)
    assert (trained["n_utterances"], trained["n_speakers"]) == (120, 20)
    for values in trained["log_likelihoods"].values():
        assert (np.diff(values) > -1e-4).all()
    assert done("enroll", model, spoken / "enroll.tsv", "-o", enrolled)["n_models"] == 20
    found = done("score", model, enrolled, spoken / "test.tsv", "-o", tmp_path / "scores.csv")
    assert (found["n_target"], found["n_nontarget"]) == (60, 1140)
    assert found["eer"] < 0.15
    trials = lk.read_trials(tmp_path / "scores.csv")
    assert lk.eer(trials) == found["eer"]
    short = done("score", model, enrolled, spoken / "test.tsv", "--seconds", 0.15, "-o", tmp_path / "s.csv")
    assert found["eer"] < short["eer"] < 0.5


EMBEDDED = ("plda", "cosine", "lda-cosine", "svm")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Embeddings of 30 training, 10 enrolled and 8 cohort speakers, with the speakers in them."""
    folder, rng = tmp_path_factory.mktemp("embeddings"), np.random.default_rng(1)
    sizes = {"train": (30, 5), "enroll": (10, 2), "test": (10, 3), "cohort": (8, 2)}
    voices = rng.normal(size=(100, 6)) * 2
    for part, (n, sessions) in sizes.items():
        first = {"train": 0, "enroll": 40, "test": 40, "cohort": 60}[part]
        who = np.repeat(np.arange(first, first + n), sessions)
        vectors = voices[who] + rng.normal(size=(len(who), 6))
        names = [f"{part}{i}" for i in range(len(who))]
        np.savez(folder / f"{part}.npz", vectors=vectors, ids=names, speakers=[f"s{i}" for i in who])
        (folder / f"{part}.tsv").write_text(
            "".join(f"s{i}\t{name}\n" for i, name in zip(who, names, strict=True))
        )
    return folder


@pytest.fixture(scope="module")
def made(files):
    """A recognizer and enrolled models of each back-end for embeddings."""
    for backend in EMBEDDED:
        done("train", files / "train.npz", "--backend", backend, "-o", files / f"{backend}.model")
        done("enroll", files / f"{backend}.model", files / "enroll.npz", "-o", files / f"{backend}.enrolled")
    return files


@pytest.mark.parametrize("backend", EMBEDDED)
def test_embeddings_by_every_backend(made, backend, tmp_path, need):
    if backend == "svm":
        need("sklearn")
    model, enrolled = made / f"{backend}.model", made / f"{backend}.enrolled"
    found = done("score", model, enrolled, made / "test.npz", "-o", tmp_path / "scores.parquet")
    assert (found["n_models"], found["n_utterances"], found["n_trials"]) == (10, 30, 300)
    assert found["eer"] < 0.2
    listed = done("score", model, enrolled, made / "test.tsv", "--from", made / "test.npz",
                  "-o", tmp_path / "again.csv")  # fmt: skip
    assert listed == found
    assert_allclose(
        lk.read_trials(tmp_path / "again.csv").score_array,
        lk.read_trials(tmp_path / "scores.parquet").score_array,
    )


@pytest.mark.parametrize("norm", ["z", "s", "as1"])
def test_normalization_changes_scores(made, norm, tmp_path):
    model, enrolled = made / "cosine.model", made / "cosine.enrolled"
    top = ["--top", 6] if norm.startswith("as") else []
    plain = done("score", model, enrolled, made / "test.npz", "-o", tmp_path / "plain.csv")
    found = done("score", model, enrolled, made / "test.npz", "--norm", norm, "--cohort", made / "cohort.npz",
                 *top, "-o", tmp_path / "norm.csv")  # fmt: skip
    assert found["n_trials"] == plain["n_trials"]
    before, after = (lk.read_trials(tmp_path / f"{name}.csv").score_array for name in ("plain", "norm"))
    assert np.abs(after).max() > 1.5 > 1.0 >= np.abs(before).max()


def test_lists_of_trials_and_formats(made, tmp_path, need):
    need("h5py")
    model, enrolled, test = made / "plda.model", made / "plda.enrolled", made / "test.npz"
    (tmp_path / "trials").write_text("s41 test3 target\ns40 test3 nontarget\ns40 test0 target\n")
    found = done("score", model, enrolled, test, "--trials", tmp_path / "trials", "-o", tmp_path / "a.tsv")
    assert (found["n_trials"], found["n_target"]) == (3, 2)
    table = lk.read_trials(tmp_path / "a.tsv").table
    assert table["enroll"].to_list() == ["s41", "s40", "s40"]
    for name in ("b.kaldi", "c.nist", "d.h5"):
        result = run("score", model, enrolled, test, "--trials", tmp_path / "trials", "-o", tmp_path / name,
                     "--key-output", tmp_path / "key")  # fmt: skip
        assert result.exit_code == 0
        assert "3 scores written to" in result.output
        again = lk.read_trials(tmp_path / name, tmp_path / "key")
        assert lk.eer(again) == found["eer"]


def test_one_model_per_utterance(made, tmp_path):
    enrolled = tmp_path / "each.npz"
    assert done("enroll", made / "plda.model", made / "test.npz", "--each", "-o", enrolled)["n_models"] == 30
    found = done("score", made / "plda.model", enrolled, made / "test.npz", "-o", tmp_path / "s.csv")
    assert found["n_trials"] == 30 * 29  # none against itself
    assert found["n_target"] == 30 * 2


def test_labels_only_where_speakers_are_known(made, tmp_path):
    with np.load(made / "test.npz") as arrays:
        np.savez(tmp_path / "nobody.npz", vectors=arrays["vectors"][:2], ids=["a", "b"])
    arguments = ["score", made / "plda.model", made / "plda.enrolled", tmp_path / "nobody.npz"]
    found = done(*arguments, "-o", tmp_path / "s.csv")
    assert found == {"schema": "llrkit.speech.score/1", "n_models": 10, "n_utterances": 2, "n_trials": 20}
    assert (tmp_path / "s.csv").read_text().startswith("enroll,test,score,enroll_norm,")


def test_a_file_of_several_kinds_of_embeddings(made, tmp_path):
    """The same scores as from a file of one kind, and the names are told where none is chosen."""
    for part in ("train", "enroll", "test", "cohort"):
        with np.load(made / f"{part}.npz") as arrays:
            both = {
                "emb_good": arrays["vectors"],
                "emb_bad": np.random.default_rng(2).normal(size=(len(arrays["ids"]), 2)),
            }
            np.savez(tmp_path / f"{part}.npz", **both, segment=arrays["ids"], speaker=arrays["speakers"])
    choose = ["--vectors", "good"]
    model, enrolled = tmp_path / "model.npz", tmp_path / "enrolled.npz"
    done("train", made / "train.tsv", "--from", tmp_path / "train.npz", *choose, "-o", model)
    done("enroll", model, tmp_path / "enroll.npz", *choose, "-o", enrolled)
    norm = ["--norm", "s", "--cohort"]
    found = done("score", model, enrolled, tmp_path / "test.npz", *choose, *norm, tmp_path / "cohort.npz",
                 "-o", tmp_path / "s.csv")  # fmt: skip
    expected = done("score", made / "plda.model", made / "plda.enrolled", made / "test.npz", *norm,
                    made / "cohort.npz", "-o", tmp_path / "e.csv")  # fmt: skip
    assert found == expected
    assert (tmp_path / "s.csv").read_text() == (tmp_path / "e.csv").read_text()
    for arguments in ([], ["--vectors", "other"], ["--vectors", "bad"]):
        result = run("enroll", model, tmp_path / "test.npz", *arguments, "-o", tmp_path / "out.npz")
        assert isinstance(result.exception, lk.LlrkitError)
    assert not (tmp_path / "out.npz").exists()


def test_wrong_use_leaves_nothing(made, tmp_path):
    model, enrolled, test = made / "plda.model", made / "plda.enrolled", made / "test.npz"
    (tmp_path / "unknown").write_text("s40 test0 target\nnobody test0 target\n")
    (tmp_path / "alone.tsv").write_text("".join(f"s{i}\ttrain{i}\n" for i in range(40)))
    np.savez(tmp_path / "other.npz", vectors=np.eye(5)[:2], ids=["a", "b"], speakers=["s", "t"])
    np.savez(tmp_path / "nan.npz", vectors=np.full((2, 6), np.nan), ids=["a", "b"], speakers=["s", "t"])
    np.savez(tmp_path / "nobody.npz", vectors=np.vstack([np.eye(6), -np.eye(6)]), ids=list("abcdefghijkl"))
    before = sorted(path.name for path in tmp_path.iterdir())
    out = ["-o", tmp_path / "out.csv"]
    for arguments, words in (
        (["score", model, enrolled, test, "--trials", tmp_path / "unknown", *out], "unknown, line 2"),
        (["score", model, enrolled, test, "--norm", "z", *out], "cohort"),
        (["score", model, made / "cosine.enrolled", test, *out], "another recognizer"),
        (["score", enrolled, enrolled, test, *out], "plda.enrolled"),
        (["score", model, enrolled, tmp_path / "other.npz", *out], "other.npz"),
        (["score", model, enrolled, tmp_path / "nan.npz", *out], "nan.npz: embedding 'a'"),
        (["score", model, enrolled, test, "-o", tmp_path / "out.xyz"], "out.xyz"),
        (["train", tmp_path / "alone.tsv", "--from", made / "train.npz", *out], "one session only"),
        (["train", tmp_path / "nobody.npz", *out], "nobody.npz"),
        (["train", made / "train.npz", "--steps", "polish", *out], "'polish'"),
        (["enroll", model, tmp_path / "gone.tsv", *out], "gone.tsv"),
        (["enroll", model, tmp_path / "nobody.npz", *out], "--each"),
        (["enroll", model, test, "-o", tmp_path / "no" / "e.npz"], "does not exist"),
    ):  # fmt: skip
        result = run(*arguments)
        assert isinstance(result.exception, lk.LlrkitError), (arguments, result.output)
        assert words in str(result.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["train", "enroll", "score", "extract", "cohort"])
def test_help_has_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"llrkit speech {command}" in result.output.split("Example", 1)[1]
