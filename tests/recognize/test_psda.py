"""PSDA against integrals over the sphere, and against what it was drawn from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad
from scipy.special import iv

import llrkit as lk
from llrkit.recognize.psda.psda_model import PSDA, train_psda
from llrkit.recognize.psda.von_mises_fisher import log_bessel_over_power, log_normalizer, mean_length


def test_bessel_functions_against_mpmath(need):
    mpmath = need("mpmath")
    for order in (0.0, 0.5, 2.0, 29.5, 30.0, 47.0, 95.0, 255.0):
        for k in (1e-6, 0.3, 5.0, 80.0, 2000.0):
            exact = float(mpmath.log(mpmath.besseli(order, k)) - order * mpmath.log(k))
            assert_allclose(float(log_bessel_over_power(order, k)), exact, rtol=1e-9, atol=1e-9)


def test_the_expansion_meets_the_scaled_function():
    """On either side of the order from which the expansion is used."""
    k = np.array([0.1, 3.0, 60.0, 500.0])
    for order in (30.0, 40.0):
        assert_allclose(log_bessel_over_power(order, k), np.log(iv(order, k)) - order * np.log(k), rtol=1e-9)


def density(z, mean, k):
    return float(np.exp(log_normalizer(len(mean), k) + k * (z @ mean)))


def on_sphere(function):
    """The integral over the sphere in three dimensions."""

    def inside(phi, u):
        s = np.sqrt(1.0 - u * u)
        return function(np.array([s * np.cos(phi), s * np.sin(phi), u]))

    return dblquad(inside, -1.0, 1.0, 0.0, 2.0 * np.pi, epsabs=1e-10, epsrel=1e-9)[0]


def test_llrs_against_integrals_over_the_sphere():
    rng = np.random.default_rng(1)
    mean, x, y, other = (v / np.linalg.norm(v) for v in rng.normal(size=(4, 3)))
    between, within = 1.5, 6.0
    psda = PSDA(mean, between, within)

    def marginal(*sessions):
        return on_sphere(
            lambda z: density(z, mean, between) * np.prod([density(s, z, within) for s in sessions])
        )

    expected = np.log(marginal(x, other) / (marginal(x) * marginal(other)))
    assert_allclose(psda.scores([x], [other])[0, 0], expected, rtol=1e-6)
    several = np.log(marginal(x, y, other) / (marginal(x, y) * marginal(other)))
    assert_allclose(psda.scores([(x + y) / 2.0], [other], [2])[0, 0], several, rtol=1e-6)


def test_llrs_on_the_circle_against_an_integral():
    psda = PSDA([1.0, 0.0], 0.7, 3.0)
    x, y = (np.array([np.cos(a), np.sin(a)]) for a in (0.4, 2.0))

    def marginal(*sessions):
        def inside(a):
            z = np.array([np.cos(a), np.sin(a)])
            return density(z, psda.mean, 0.7) * np.prod([density(s, z, 3.0) for s in sessions])

        return quad(inside, 0.0, 2.0 * np.pi)[0]

    expected = np.log(marginal(x, y) / (marginal(x) * marginal(y)))
    assert_allclose(psda.scores([x], [y])[0, 0], expected, rtol=1e-7)


def drawn(rng, means, k):
    """Von Mises-Fisher vectors around each mean, by rejection (Wood 1994)."""
    n, d = means.shape
    b = (d - 1.0) / (2.0 * k + np.sqrt(4.0 * k * k + (d - 1.0) ** 2))
    x0 = (1.0 - b) / (1.0 + b)
    c = k * x0 + (d - 1.0) * np.log(1.0 - x0 * x0)
    w = np.full(n, np.nan)
    while np.isnan(w).any():
        z, u = rng.beta((d - 1.0) / 2.0, (d - 1.0) / 2.0, size=n), rng.uniform(size=n)
        tried = (1.0 - (1.0 + b) * z) / (1.0 - (1.0 - b) * z)
        accept = k * tried + (d - 1.0) * np.log(1.0 - x0 * tried) - c >= np.log(u)
        w = np.where(np.isnan(w) & accept, tried, w)
    side = rng.normal(size=(n, d))
    side -= (side * means).sum(axis=1, keepdims=True) * means
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    return w[:, None] * means + np.sqrt(1.0 - w * w)[:, None] * side


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(2)
    mean = np.zeros(16)
    mean[0] = 1.0
    speakers = drawn(rng, np.tile(mean, (600, 1)), 8.0)
    sessions = drawn(rng, np.repeat(speakers, 4, axis=0), 40.0)
    return mean, sessions, np.repeat(np.arange(600), 4)


def test_training_finds_what_the_data_were_drawn_from(population):
    mean, x, who = population
    model, history = train_psda(x[:1600], who[:1600])
    assert (np.diff(history) > -1e-6).all()
    assert_allclose([model.between, model.within], [8.0, 40.0], rtol=0.06)
    assert model.mean @ mean > 0.98


def test_llrs_of_data_that_follow_the_model_are_calibrated(population):
    mean, x, _ = population
    rest = x[1600:].reshape(200, 4, 16)
    scores = PSDA(mean, 8.0, 40.0).scores(rest[:, :3].mean(axis=1), rest[:, 3], np.full(200, 3))
    same = np.eye(200, dtype=bool)
    trials = lk.Scores(scores[same], scores[~same])
    assert lk.cllr(trials) - lk.min_cllr(trials) < 0.03
    assert float(mean_length(16, 8.0)) < 0.5


def test_bad_input_is_refused():
    psda = PSDA([1.0, 0.0], 1.0, 2.0)
    for call, words in (
        (
            lambda: psda.scores([[2.0, 0.0]], [[1.0, 0.0]]),
            "row 0: of length 2; PSDA is for embeddings of length",
        ),
        (lambda: psda.scores([[0.5, 0.0]], [[1.0, 0.0]]), "of length 0.5"),
        (lambda: train_psda([[2.0, 0.0]], ["a"]), "normalize the length first"),
        (lambda: train_psda([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]), "several sessions"),
        (lambda: PSDA([1.0, 1.0], 1.0, 1.0), "of length one"),
        (lambda: PSDA([1.0, 0.0], 1.0, 0.0), "positive"),
    ):
        with pytest.raises(lk.InputError, match=words):
            call()
