"""Mixtures and Baum-Welch statistics against loops and SciPy; what cannot be used is refused by name."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import llrkit as lk
from llrkit.speech.frames import Frames
from llrkit.speech.models.gmm import FRAMES_AT_ONCE, DiagonalGMM, FrameSums, baum_welch


def mixture(rng, c=5, d=3, offset=0.0):
    weights = rng.dirichlet(np.ones(c))
    return DiagonalGMM(weights, rng.normal(size=(c, d)) + offset, rng.uniform(0.3, 2.0, size=(c, d)))


def joint_by_scipy(gmm, frames):
    """log w_c N(x; m_c, V_c), one density of SciPy at a time."""
    return np.array(
        [
            np.log(w) + multivariate_normal(m, np.diag(v)).logpdf(frames)
            for w, m, v in zip(gmm.weights, gmm.means, gmm.variances, strict=True)
        ]
    ).T


def test_densities_and_posteriors_against_scipy():
    rng = np.random.default_rng(1)
    gmm, frames = mixture(rng), rng.normal(size=(40, 3)) * 2
    joint = joint_by_scipy(gmm, frames)
    assert_allclose(gmm.log_density(frames), logsumexp(joint, axis=1), rtol=1e-12)
    assert_allclose(gmm.posteriors(frames), np.exp(joint - logsumexp(joint, axis=1)[:, None]), atol=1e-13)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_sums_against_a_loop_over_frames(offset):
    rng = np.random.default_rng(2)
    gmm, frames = mixture(rng, offset=offset), rng.normal(size=(30, 3)) + offset
    joint = joint_by_scipy(gmm, frames)
    zeroth, first, second, total = np.zeros(5), np.zeros((5, 3)), np.zeros((5, 3)), 0.0
    for x, row in zip(frames, joint, strict=True):
        total += logsumexp(row)
        for c in range(5):
            p = np.exp(row[c] - logsumexp(row))
            zeroth[c] += p
            first[c] += p * (x - gmm.means[c])
            second[c] += p * (x - gmm.means[c]) ** 2
    found = FrameSums.of(frames, gmm, second=True)
    assert_allclose(found.zeroth, zeroth, rtol=1e-9)
    assert_allclose(found.first, first, atol=1e-9)
    assert_allclose(found.second, second, rtol=1e-8)
    assert_allclose(found.log_likelihood, total, rtol=1e-10)
    assert FrameSums.of(frames, gmm).second.shape == (0, 3)


def test_32_bit_frames_agree_also_far_from_zero():
    rng = np.random.default_rng(3)
    gmm = mixture(rng, 8, 20, offset=50.0)
    frames = (rng.normal(size=(500, 20)) + 50.0).astype(np.float32)
    wide, narrow = baum_welch([frames.astype(np.float64)], gmm), baum_welch([frames], gmm)
    assert_allclose(narrow.zeroth, wide.zeroth, atol=2e-3)
    assert_allclose(narrow.first, wide.first, atol=1e-2)
    assert_allclose(narrow.log_likelihood, wide.log_likelihood, rtol=1e-5)


def test_parts_add_up_and_long_utterances_are_cut():
    rng = np.random.default_rng(4)
    gmm, frames = mixture(rng), rng.normal(size=(2 * FRAMES_AT_ONCE + 17, 3))
    whole = FrameSums.of(frames, gmm, second=True)
    parts = FrameSums.of(frames[:1000], gmm, second=True) + FrameSums.of(frames[1000:], gmm, second=True)
    twice = FrameSums.of(np.concatenate([frames, frames]), gmm, second=True)
    for name in ("n_frames", "log_likelihood", "zeroth", "first", "second"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-8)
        assert_allclose(getattr(twice, name), getattr(whole * 2.0, name), rtol=1e-9, atol=1e-8)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    gmm, frames = mixture(rng), [rng.normal(size=(n, 3)).astype(np.float32) for n in (700, 3, 5000)]
    monkeypatch.setenv("LLRKIT_THREADS", "1")
    one = baum_welch(frames, gmm)
    monkeypatch.setenv("LLRKIT_THREADS", "4")
    four = baum_welch(frames, gmm)
    assert_array_equal(one.first, four.first)
    assert_array_equal(one.log_likelihood, four.log_likelihood)


def test_statistics_of_a_speaker_are_those_of_all_her_frames():
    rng = np.random.default_rng(6)
    gmm, parts = mixture(rng), [rng.normal(size=(n, 3)) for n in (4, 9, 5)]
    frames = Frames.of(parts, ids=["x", "y", "z"], speakers=["b", "a", "b"])
    pooled = baum_welch(frames, gmm).by_speaker()
    together = baum_welch([np.concatenate([parts[0], parts[2]]), parts[1]], gmm)
    assert pooled.ids == ("b", "a")
    assert_allclose(pooled.first, together.first, atol=1e-12)
    assert_allclose(pooled.zeroth, together.zeroth, atol=1e-12)
    assert_allclose(pooled.log_likelihood, together.log_likelihood)
    with pytest.raises(lk.InputError):
        baum_welch(parts, gmm).by_speaker()


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        (np.array([[0.0, np.nan, 1.0]]), "second: frame 0"),
        (np.array([[0.0, 1.0, 2.0], [0.0, np.inf, 1.0]]), "second: frame 1"),
        (np.zeros((4, 2)), "second"),
        (np.zeros((0, 3)), "second"),
        (np.zeros(3), "second"),
        (np.array([["a", "b", "c"]]), "second"),
        (np.full((2, 3), 1e30, dtype=np.float32), "second"),
    ],
)
def test_bad_frames_are_named(bad, where):
    gmm = mixture(np.random.default_rng(8))
    frames = Frames.of([np.zeros((2, 3)), bad], ids=["first", "second"])
    with np.errstate(all="ignore"), pytest.raises(lk.InputError, match=where):
        baum_welch(frames, gmm)


def test_impossible_mixtures_are_refused():
    for arguments in (
        ([0.5, 0.5], [[0.0]], [[1.0]]),
        ([1.0], [[0.0]], [[0.0]]),
        ([0.7], [[0.0]], [[1.0]]),
        ([1.0], [[np.nan]], [[1.0]]),
    ):
        with pytest.raises(lk.InputError):
            DiagonalGMM(*arguments)


def test_frames_are_a_sequence_that_loads_when_asked():
    loaded = []

    def load(i):
        loaded.append(i)
        return np.full((i + 2, 1), float(i))

    frames = Frames(("a", "b", "c"), load, ("s", "t", "s"))
    assert loaded == []
    assert frames[-1].shape == (4, 1)
    assert frames[1:].ids == ("b", "c")
    assert frames[1:].speakers == ("t", "s")
    kept = frames.kept(limit=40)  # room for the first two
    for _ in range(2):
        assert [len(part) for part in kept] == [2, 3, 4]
    assert loaded == [2, 0, 1, 2, 2]
    for call in (
        lambda: Frames.of(np.zeros((3, 2))),
        lambda: Frames.of([np.zeros((1, 1))] * 2, ids=["a"]),
        lambda: Frames.of([np.zeros((1, 1))], speakers=["a", "b"]),
        lambda: frames.first(0),
    ):
        with pytest.raises(lk.InputError):
            call()


def test_threads_load_ahead_but_in_order_and_not_too_far(monkeypatch):
    monkeypatch.setenv("LLRKIT_THREADS", "3")
    started, second = [], threading.Event()

    def load(i):
        started.append(i)
        if i == 1:
            second.set()
        if i == 0 and not second.wait(300.0):  # the first ends after the second has begun
            raise AssertionError("nothing is loaded ahead")
        if i == 40:
            raise lk.InputError("no. 40")
        return np.full((2, 1), float(i))

    frames = Frames(tuple(map(str, range(50))), load, ahead=True)
    got = []

    def take_all():
        for array in frames:
            got.append(float(array[0, 0]))
            assert max(started) <= len(got) + 2 * 3

    with pytest.raises(lk.InputError, match=r"no\. 40"):
        take_all()
    assert got == list(range(40))


def test_mixtures_are_saved_and_loaded(tmp_path):
    gmm = mixture(np.random.default_rng(9))
    gmm.save(tmp_path / "gmm.npz")
    again = DiagonalGMM.load(tmp_path / "gmm.npz")
    for name in ("weights", "means", "variances", "log_likelihoods"):
        assert_array_equal(getattr(again, name), getattr(gmm, name))
    np.savez(tmp_path / "other.npz", schema="llrkit.gmm/1", weights=[1.0])
    with pytest.raises(lk.errors.FileFormatError, match=r"other\.npz: "):
        DiagonalGMM.load(tmp_path / "other.npz")
    np.savez(tmp_path / "plda.npz", schema="llrkit.plda/1")
    with pytest.raises(lk.errors.FileFormatError, match=r"plda\.npz: "):
        DiagonalGMM.load(tmp_path / "plda.npz")
