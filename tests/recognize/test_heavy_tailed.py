"""Heavy-tailed PLDA against integrals, and against what its data were drawn from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, trapezoid
from scipy.stats import multivariate_t, norm

import llrkit as lk
from llrkit.recognize import PLDA, Embeddings, HeavyTailedPLDA, pool_sessions, train_heavy_tailed_plda


def one_factor(dim, degrees, rng):
    """A model of rank one, its loadings, and three sessions of a speaker."""
    mix = rng.normal(size=(dim, dim))
    within, loading = mix @ mix.T / dim + np.eye(dim), 1.5 * rng.normal(size=dim)
    mean = rng.normal(size=dim)
    noise = rng.multivariate_normal(np.zeros(dim), within, size=3) * np.array([[0.8], [2.5], [1.2]])
    return HeavyTailedPLDA(mean, np.outer(loading, loading), within, degrees), loading, mean + loading + noise


def exact_llr(model, loading, enroll, test):
    """By integrating the product of t densities over the speaker."""
    z = np.linspace(-9.0, 9.0, 4001)

    def log_likelihood(x):
        of_session = multivariate_t(np.zeros(model.dim), model.within, float(model.degrees))
        return of_session.logpdf(x - model.mean - z[:, None] * loading)

    def log_integral(*sides):
        inside = norm.logpdf(z) + sum(sides)
        return np.log(trapezoid(np.exp(inside - inside.max()), z)) + inside.max()

    own, other = sum(map(log_likelihood, enroll)), log_likelihood(test)
    return log_integral(own, other) - log_integral(own) - log_integral(other)


@pytest.mark.parametrize(("dim", "tolerance"), [(8, 0.08), (80, 0.01)])
def test_llrs_against_integrals_of_t_densities(dim, tolerance):
    """The error of the Gaussian that stands for the t falls with the dimensions beside the speaker space."""
    model, loading, x = one_factor(dim, 4.0, np.random.default_rng(3))
    assert_allclose(model.scores(x[:1], x[2:])[0, 0], exact_llr(model, loading, x[:1], x[2]), atol=tolerance)
    sessions = Embeddings(x[:2], ["a", "b"], ["s", "s"])
    pooled = pool_sessions(sessions, plda=model)
    assert_allclose(pooled.columns["weight"], [model.weights(x[:2]).sum()])
    expected = exact_llr(model, loading, x[:2], x[2])
    assert_allclose(model.scores(pooled, x[2:])[0, 0], expected, atol=tolerance)
    gaussian = model.gaussian.scores(x[:2].mean(axis=0)[None], x[2:], [2])[0, 0]
    assert abs(gaussian - expected) > 3.0 * tolerance  # Gaussian PLDA says something else


def test_llrs_against_an_integral_of_what_stands_for_the_t():
    """To all digits: a session is ``N(z; mode, 1 / (b c))``, with b the degrees over scale of the t."""
    model, loading, x = one_factor(6, 3.0, np.random.default_rng(5))
    precision = np.linalg.inv(model.within)
    c = loading @ precision @ loading
    modes = (x - model.mean) @ precision @ loading / c
    beside = (x - model.mean) - np.outer(modes, loading)
    b = (3.0 + 5.0) / (3.0 + np.einsum("nd,de,ne->n", beside, precision, beside))
    assert_allclose(model.weights(x), b)

    def integral(*rows):
        def inside(z):
            return norm.pdf(z) * np.prod([norm.pdf(z, modes[i], (b[i] * c) ** -0.5) for i in rows])

        return quad(inside, -10.0, 12.0, points=[float(np.mean(modes[list(rows)]))], epsabs=1e-14)[0]

    expected = np.log(integral(0, 2) / (integral(0) * integral(2)))
    assert_allclose(model.scores(x[:1], x[2:])[0, 0], expected, rtol=1e-7)


def test_many_degrees_of_freedom_are_gaussian():
    model, _, x = one_factor(5, 1e12, np.random.default_rng(1))
    assert_allclose(model.scores(x, x), model.gaussian.scores(x, x), rtol=1e-6)


@pytest.fixture(scope="module")
def population():
    """Sessions with t noise of 3 degrees of freedom; the last 200 speakers are for trials."""
    rng = np.random.default_rng(2)
    dim, rank = 24, 4
    loadings = rng.normal(size=(dim, rank))
    who = np.repeat(np.arange(600), 4)
    noise = rng.normal(size=(len(who), dim)) / np.sqrt(rng.gamma(1.5, 1.0 / 1.5, size=(len(who), 1)))
    return loadings, rng.normal(size=(600, rank))[who] @ loadings.T + 2.0 * noise, who


def test_training_finds_what_the_data_were_drawn_from(population):
    loadings, x, who = population
    model, bound = train_heavy_tailed_plda(x[:1600], who[:1600], rank=4, iterations=30)
    assert (np.diff(bound) > -1e-6).all()
    assert model.rank == 4
    assert_allclose(float(model.degrees), 3.0, rtol=0.1)
    assert_allclose(np.diag(model.within), 4.0, rtol=0.15)
    assert np.linalg.norm(model.between - loadings @ loadings.T) < 0.2 * np.linalg.norm(loadings @ loadings.T)
    fixed = train_heavy_tailed_plda(x[:1600], who[:1600], rank=4, degrees=7.0, iterations=2).model
    assert float(fixed.degrees) == 7.0


def test_llrs_of_heavy_tailed_data_are_calibrated_and_better_than_gaussian_ones(population):
    _, x, who = population
    heavy = train_heavy_tailed_plda(x[:1600], who[:1600], rank=4).model
    gaussian = lk.recognize.train_plda(x[:1600], who[:1600], rank=4).model
    rest = x[1600:].reshape(200, 4, -1)
    same = np.eye(200, dtype=bool)
    trials = {}
    for name, model in (("heavy", heavy), ("gaussian", gaussian)):
        scores = model.scores(rest[:, 0], rest[:, 1])
        trials[name] = lk.Scores(scores[same], scores[~same])
    assert lk.cllr(trials["heavy"]) - lk.min_cllr(trials["heavy"]) < 0.05
    assert lk.cllr(trials["heavy"]) < 0.8 * lk.cllr(trials["gaussian"])


def test_few_sessions_are_shrunk_as_for_gaussian_plda():
    x = np.random.default_rng(4).normal(size=(24, 30))
    with pytest.warns(lk.SpeechWarning, match="the covariance was shrunk"):
        model, bound = train_heavy_tailed_plda(x, np.arange(24) // 3, rank=3)
    assert (np.diff(bound) > -1e-6).all()
    assert np.isfinite(model.scores(x[:2], x[2:4])).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: HeavyTailedPLDA(np.zeros(2), np.eye(2), np.eye(2), 3.0), "rank must be less than the 2"),
        (lambda x: HeavyTailedPLDA(np.zeros(2), np.diag([1.0, 0.0]), np.eye(2), 0.0), "positive number"),
        (lambda x: train_heavy_tailed_plda(x, np.arange(8) // 2, rank=3), "rank must be .* 1 to 2, got 3"),
        (lambda x: train_heavy_tailed_plda(x, np.arange(8) // 2, degrees=-1.0), "degrees of freedom"),
        (lambda x: HeavyTailedPLDA(np.zeros(3), np.diag([1.0, 0, 0]), np.eye(3), 3.0).scores(x, x, [0.0] * 8),
         "8 positive numbers"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, words):
    with pytest.raises(lk.InputError, match=words):
        call(np.random.default_rng(1).normal(size=(8, 3)))


def test_gaussian_part_is_plda():
    model = HeavyTailedPLDA(np.zeros(2), np.diag([1.0, 0.0]), np.eye(2), 3.0)
    assert isinstance(model.gaussian, PLDA)
