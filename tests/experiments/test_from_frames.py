"""The duration experiment from frames: statistics of cuts, the models, the table beside embeddings."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.cli import cli
from llrkit.experiments import durations
from llrkit.experiments.durations import cut_statistics, make_frame_corpora
from llrkit.simulate import FrameModel
from llrkit.speech.models.gmm import DiagonalGMM, baum_welch
from llrkit.speech.models.ivectors import train_ivectors


@pytest.fixture
def tiny(monkeypatch):
    """Models and lists that take a second: two durations, few Gaussians, few speakers."""
    sizes = {"N_GAUSSIANS": 4, "DIM": 4, "N_FACTORS": 8, "FRAME_BACKGROUND": (40, 3), "UBM_RECORDINGS": 40}
    sizes |= {"STEPS": ("center", "length", "lda:6", "length"), "STRENGTH": 0.8}
    for name, value in sizes.items():
        monkeypatch.setattr(durations, name, value)
    small = durations.CorpusSize(24, 48, 12, 200), durations.CorpusSize(32, 48, 16, 400)
    monkeypatch.setattr(durations, "SECONDS", (5.0, 40.0))
    monkeypatch.setattr(durations, "SCALES", {"small": small})


def test_statistics_of_cuts_against_those_of_the_first_frames():
    model = FrameModel(n_components=4, dim=3, rank=2, seed=2)
    ubm = DiagonalGMM(*model.universal)
    who = [(7, 0), (7, 3), (8, 1)]
    cuts = cut_statistics(model, ubm, who, (5.0, 20.0, 100.0))
    for seconds, statistics in cuts.items():
        frames = [durations._frames_of_recording(model, *one, 100.0)[: round(5 * seconds)] for one in who]
        expected = baum_welch(frames, ubm)
        assert_allclose(statistics.zeroth, expected.zeroth, rtol=1e-10)
        assert_allclose(statistics.first, expected.first, rtol=1e-10, atol=1e-10)
        assert statistics.speakers == ("7", "7", "8")


@pytest.mark.slow
def test_extracted_vectors_shrink_with_less_speech():
    # what Population(shrinks=True) stands for
    model = FrameModel(n_components=4, dim=3, rank=3, strength=0.25, seed=2)
    ubm = DiagonalGMM(*model.universal)
    who = [(speaker, session) for speaker in range(60) for session in range(3)]
    cuts = cut_statistics(model, ubm, who, (5.0, 100.0))
    factors = train_ivectors(cuts[100.0], ubm, 3, rng=1)
    short, whole = (np.asarray(factors.extract(cuts[seconds]).vectors).var() for seconds in (5.0, 100.0))
    assert short < 0.8 * whole


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_the_corpora_share_no_speaker_and_are_length_normalized():
    corpora = make_frame_corpora("small", seed=4)
    names = [set(side.speaker_names) for side in (*corpora.train, *corpora.evaluate)]
    assert not (names[0] | names[1]) & (names[2] | names[3])
    for vectors in corpora.evaluate[1].vectors.values():
        assert vectors.shape == (48, 6)
        assert_allclose(np.linalg.norm(vectors, axis=1), 1.0)
    rates = [lk.eer(corpora.evaluation_list(seconds, seconds)) for seconds in (5.0, 40.0)]
    assert rates[0] > rates[1]
    with pytest.raises(lk.InputError):
        make_frame_corpora("25x")


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_the_command_says_how_far_embeddings_are_from_frames(tmp_path):
    options = ["--from", "frames", "--seeds", "1", "--json", "-", "-o", str(tmp_path / "o")]
    done = CliRunner().invoke(cli, ["paper", "durations", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["from"], len(found["lists"])) == ("frames", 4)
    assert found["embeddings"]["mean"]["cmlg"] != found["mean"]["cmlg"]
    said = f"{found['mean']['cmlg'] - found['embeddings']['mean']['cmlg']:.3f}"
    assert said in done.stderr
    assert (tmp_path / "o" / "index.html").exists()
