"""Values of the generative calibrators that were found another way: theory, quadrature, SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_less
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

import llrkit as lk
from llrkit.core.summaries import Moments
from llrkit.fits.densities import StudentRatioMap, log_student, student_of_class
from llrkit.fits.gaussian import NormalGamma
from llrkit.fits.heavy_tails import (
    NIGRatioMap,
    gamma_from_training,
    log_nig,
    nig_of_class,
    tied_from_training,
)
from llrkit.fits.mixtures import mixture_from_training
from llrkit.fits.ratio import fit_ratio
from llrkit.fits.training_checks import TrainingPoints, WeightedPoints
from llrkit.theory import GammaLLR, GaussianLLR, HyperbolicLLR, MirrorLLR, MixtureLLR, cllr_from_sigma

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.ShapeWarning")


def drawn(pair, n_target, n_nontarget, seed):
    rng = np.random.default_rng(seed)
    return lk.Scores(pair.target.rvs(n_target, rng), pair.nontarget.rvs(n_nontarget, rng))


def central(scores, share=0.999):
    pooled = np.append(scores.target, scores.nontarget)
    return np.quantile(pooled, np.linspace(0.5 - share / 2, 0.5 + share / 2, 201))


@pytest.fixture(scope="module")
def gaussian_scores():
    return drawn(GaussianLLR.from_eer(0.1), 40_000, 60_000, 1)


# --- own model in, identity out ---------------------------------------------------------------------------


def error_scale(a, b):
    """How far an affine map is from the identity where LLRs matter."""
    return max(abs(a - 1.0), abs(b) / 2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "pair"),
    [
        (lk.fits.fit_tied_nig, HyperbolicLLR.from_nig(alpha=1.2, beta=-0.4, delta=3.0)),
        (lk.fits.fit_mixture, MixtureLLR((0.3, 0.7), (1.0, 6.0))),
        (lk.fits.fit_gamma, GammaLLR(0.3)),
        (lk.fits.fit_gamma, MirrorLLR(GammaLLR(1.0))),
    ],
)
def test_scores_from_the_model_itself_are_left_alone(method, pair):
    fitted = method(drawn(pair, 100_000, 100_000, 3))
    # maximum likelihood on 200,000 trials: a is known to about 2/sqrt(N) at these error rates
    assert error_scale(fitted.a, fitted.b) < 0.03
    assert_allclose(fitted.details.get("eer", pair.eer), pair.eer, atol=0.005)


# --- gridded and ungridded --------------------------------------------------------------------------------


def ungridded(scores):
    """Every score as a point of its own."""
    points = [
        WeightedPoints(np.sort(values), np.ones(len(values))) for values in (scores.target, scores.nontarget)
    ]
    return TrainingPoints(Moments.of(scores), *points)


PLAIN = {
    "student_t": (lk.fits.fit_student_t, lambda t: fit_ratio(StudentRatioMap, student_of_class, t, True, "")),
    "nig": (lk.fits.fit_nig, lambda t: fit_ratio(NIGRatioMap, nig_of_class, t, True, "")),
    "tied_nig": (lk.fits.fit_tied_nig, lambda t: tied_from_training(t, 0.5)),
    "mixture": (lk.fits.fit_mixture, lambda t: mixture_from_training(t, 2, 0.5, None)),
    "gamma": (lk.fits.fit_gamma, lambda t: gamma_from_training(t, 0.5, None)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("heavy", [False, True])
def test_cells_change_no_llr_by_more_than_a_millionth(name, heavy):
    rng = np.random.default_rng(8)
    draw = (
        (lambda n: rng.standard_t(3.0, n))
        if heavy
        else (lambda n: rng.normal(size=n) + 0.2 * rng.exponential(size=n))
    )
    scores = lk.Scores(2.5 + draw(30_000), draw(60_000))
    on_cells, plain = PLAIN[name]
    x = central(scores)
    assert_allclose(on_cells(scores)(x), plain(ungridded(scores))(x), atol=1e-6)


# --- likelihoods against SciPy ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def skewed():
    rng = np.random.default_rng(9)
    return lk.Scores(2.0 + rng.gamma(4.0, 0.7, 800), rng.standard_t(5.0, 1200) - 0.5)


def test_student_t_is_the_maximum_against_scipy(skewed):
    fitted = lk.fits.fit_student_t(skewed)
    for values, found in ((skewed.target, fitted.target), (skewed.nontarget, fitted.nontarget)):
        if np.isinf(found[0]):
            found = np.array([1e6, *found[1:]])
        best = stats.t.nnlf(found, values)
        search = minimize(
            stats.t.nnlf, stats.t.fit(values), (values,), method="Nelder-Mead", options={"maxiter": 2000}
        )
        assert best <= search.fun + 1e-6


@pytest.mark.slow
def test_nig_is_the_maximum_against_scipy(skewed):
    values = np.asarray(skewed.nontarget)
    alpha, beta, delta, loc = lk.fits.fit_nig(skewed).nontarget
    best = -stats.norminvgauss(alpha * delta, beta * delta, loc, delta).logpdf(values).sum()

    def minus(x):
        tail, bend = np.exp(x[0]), np.tanh(x[1])
        return -stats.norminvgauss.logpdf(values, tail, tail * bend, x[2], np.exp(x[3])).sum()

    search = minimize(
        minus,
        [0.5, 0.0, 0.0, 0.5],
        method="Nelder-Mead",
        options={"maxiter": 4000, "xatol": 1e-8, "fatol": 1e-10},
    )
    assert_allclose(best, search.fun, atol=1e-6)


@pytest.mark.slow
def test_tied_nig_is_the_maximum_against_scipy(skewed):
    fitted = lk.fits.fit_tied_nig(skewed, alpha=0.4)

    def minus(x):
        shape, delta, loc = np.exp(x[0]), np.exp(x[1]), x[2]
        classes = zip((0.4, 0.6), (skewed.target, skewed.nontarget), np.tanh(x[3:]), strict=True)
        return -sum(
            share * stats.norminvgauss.logpdf(values, shape * delta, bend * shape * delta, loc, delta).mean()
            for share, values, bend in classes
        )

    options = {"maxiter": 8000, "maxfev": 8000, "xatol": 1e-9, "fatol": 1e-13, "adaptive": True}
    search = minimize(minus, [0.5, 0.5, 0.0, 0.3, -0.3], method="Nelder-Mead", options=options)
    assert_allclose(fitted.details["log_likelihood"], -search.fun, atol=1e-8)
    shape, bends = np.exp(search.x[0]), np.tanh(search.x[3:])
    assert_allclose(fitted.a, shape * (bends[0] - bends[1]), rtol=1e-4)
    # the LLR is the log-ratio of the two densities in details
    d = fitted.details
    x = np.array([-1.0, 0.5, 4.0])
    e, n = (
        stats.norminvgauss(d["shape"] * d["delta"], d[key] * d["delta"], d["location"], d["delta"]).logpdf(x)
        for key in ("beta_target", "beta_nontarget")
    )
    assert_allclose(fitted(x), e - n, atol=1e-9)


def test_light_tails_give_cmlg_itself():
    rng = np.random.default_rng(11)
    half = rng.uniform(-1.0, 1.0, 500)
    scores = lk.Scores(1.0 + np.append(half, -half), np.append(half, -half))  # no skewness at all
    fitted, line = lk.fits.fit_tied_nig(scores), lk.fit_cmlg(scores)
    assert fitted.details["gaussian_limit"]
    assert (fitted.a, fitted.b) == (line.a, line.b)


@pytest.mark.slow
def test_mixture_is_the_maximum_against_scipy():
    scores = drawn(MixtureLLR((0.5, 0.5), (0.8, 7.0)), 600, 900, 12)
    fitted = lk.fits.fit_mixture(scores, alpha=0.6)

    def minus(x):
        a, b, mu, w = np.exp(x[0]), x[1], np.exp(x[2:4]), 1.0 / (1.0 + np.exp(-x[4]))
        total = 0.0
        for share, sign, values in ((0.6, 1.0, scores.target), (0.4, -1.0, scores.nontarget)):
            spots = [stats.norm.pdf(a * values + b, sign * m, np.sqrt(2.0 * m)) for m in mu]
            total += share * np.log(a * (w * spots[0] + (1.0 - w) * spots[1])).mean()
        return -total

    options = {"maxiter": 8000, "maxfev": 8000, "xatol": 1e-9, "fatol": 1e-13, "adaptive": True}
    search = minimize(minus, [0.0, 0.0, 0.0, 2.0, 0.0], method="Nelder-Mead", options=options)
    assert_allclose(fitted.details["log_likelihood"], -search.fun, atol=1e-8)
    assert_allclose([fitted.a, fitted.b], [np.exp(search.x[0]), search.x[1]], atol=1e-4)
    assert_allclose(fitted.details["mu"], np.sort(np.exp(search.x[2:4])), rtol=1e-3)


def test_one_component_is_cmlg(gaussian_scores):
    fitted, line = (
        lk.fits.fit_mixture(gaussian_scores, components=1, alpha=0.3),
        lk.fit_cmlg(gaussian_scores, alpha=0.3),
    )
    assert_allclose([fitted.a, fitted.b], [line.a, line.b], atol=1e-9)
    assert_allclose(fitted.details["log_likelihood"], line.details["log_likelihood"], atol=1e-10)


@pytest.mark.slow
def test_more_components_are_never_less_likely():
    scores = drawn(MixtureLLR((0.2, 0.5, 0.3), (0.5, 3.0, 9.0)), 5_000, 5_000, 13)
    values = [lk.fits.fit_mixture(scores, components=k).details["log_likelihood"] for k in (1, 2, 3)]
    assert_array_less(np.array(values[:-1]) - 1e-9, values[1:])
    assert_allclose(lk.fits.fit_mixture(scores, components=3).details["eer"], 0.12195957625386, atol=0.01)


def test_uninformative_trials_pile_up_at_llr_0():
    rng = np.random.default_rng(14)
    pair = GaussianLLR.from_eer(0.05)
    target, nontarget = pair.target.rvs(30_000, rng), pair.nontarget.rvs(30_000, rng)
    target[:3000], nontarget[:3000] = 0.0, 0.0
    scores = lk.Scores(2.0 * target + 5.0, 2.0 * nontarget + 5.0)
    fitted = lk.fits.fit_mixture(scores, components=1, point_mass=5.0)
    assert_allclose(fitted(5.0), 0.0, atol=1e-12)
    assert_allclose(fitted.a, 0.5, atol=0.01)
    assert_allclose(fitted.details["weights"], [0.1, 0.9], atol=1e-12)
    assert fitted.details["mu"][0] == 0.0
    assert_allclose(fitted.details["eer"], 0.1 * 0.5 + 0.9 * 0.05, atol=0.003)


@pytest.mark.slow
@pytest.mark.parametrize("mirror", [False, True])
def test_gamma_is_the_maximum_against_scipy(mirror):
    rng = np.random.default_rng(15)
    pair = GammaLLR(0.5)
    target, nontarget = pair.target.rvs(500, rng), pair.nontarget.rvs(700, rng)
    scores = lk.Scores(-nontarget, -target) if mirror else lk.Scores(target, nontarget)
    fitted = lk.fits.fit_gamma(scores, alpha=0.6 if not mirror else 0.4)
    assert fitted.details["mirror"] is mirror

    def minus(x):
        a, b, k = np.exp(x[0]), x[1], np.exp(x[2])
        e = stats.loggamma.logpdf(a * target + b, k + 1.0, -np.log(k))
        d = stats.loggamma.logpdf(a * nontarget + b, k, -np.log(k))
        return -x[0] - 0.6 * e.mean() - 0.4 * d.mean()

    options = {"maxiter": 4000, "xatol": 1e-10, "fatol": 1e-14}
    search = minimize(minus, [0.0, 0.0, -0.7], method="Nelder-Mead", options=options)
    assert_allclose(fitted.details["log_likelihood"], -search.fun, atol=1e-9)
    level = -search.x[1] if mirror else search.x[1]
    assert_allclose([fitted.a, fitted.b], [np.exp(search.x[0]), level], atol=1e-4)
    plain, other = (
        lk.fits.fit_gamma(scores, mirror=m).details["log_likelihood"] for m in (mirror, not mirror)
    )
    assert plain > other


# --- densities --------------------------------------------------------------------------------------------


def test_densities_agree_with_scipy():
    x = np.array([-30.0, -2.0, 0.0, 0.7, 40.0])
    for df in (1.0, 3.3, 39.0, 41.0, 1e5):
        assert_allclose(log_student(x, df, 0.3, 1.7), stats.t(df, 0.3, 1.7).logpdf(x), rtol=1e-10)
    assert_allclose(log_student(x, np.inf, 0.3, 1.7), stats.norm(0.3, 1.7).logpdf(x), rtol=1e-13)
    for alpha, beta, delta in ((1.0, 0.0, 1.0), (3.0, 2.9, 0.2), (0.1, -0.05, 5.0), (20.0, -3.0, 15.0)):
        reference = stats.norminvgauss(alpha * delta, beta * delta, 0.5, delta)
        assert_allclose(log_nig(x, alpha, beta, delta, 0.5), reference.logpdf(x), rtol=1e-10)


# --- Bayes ------------------------------------------------------------------------------------------------


def five_and_twenty():
    """Five targets and twenty non-targets with pooled variance 1 and means two standard deviations apart."""
    rng = np.random.default_rng(0)
    e, d = rng.normal(size=5), rng.normal(size=20)
    e, d = e - e.mean(), d - d.mean()
    size = np.sqrt(((e**2).sum() + (d**2).sum()) / 23.0)
    return e / size, d / size


def test_bayes_is_the_numerically_marginalized_predictive():
    target, nontarget = np.array([1.2, 2.5, 0.7]), np.array([-1.0, 0.3, -0.4, 0.2])
    fitted = lk.fits.fit_bayes(lk.Scores(target, nontarget))

    def log_evidence(t, n):
        """log of the integral over both means (closed form) and the precision (quadrature)."""

        def integrand(log_lam):
            lam = np.exp(log_lam)  # prior 1/lam times the Jacobian lam: flat in log lam
            total = 0.0
            for values in (t, n):
                squares = ((values - values.mean()) ** 2).sum()
                total += 0.5 * (len(values) - 1) * np.log(lam) - 0.5 * lam * squares
                total -= 0.5 * np.log(len(values)) + 0.5 * (len(values) - 1) * np.log(2.0 * np.pi)
            return np.exp(total)

        return np.log(quad(integrand, -12.0, 12.0, epsabs=0.0, epsrel=1e-12, limit=200)[0])

    for s in (-3.0, 0.4, 1.0, 5.0):
        ratio = log_evidence(np.append(target, s), nontarget) - log_evidence(target, np.append(nontarget, s))
        assert_allclose(fitted(s), ratio, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_bayes_with_a_prior_is_the_ratio_of_marginal_likelihoods(shared):
    prior = (NormalGamma(1.0, 2.0, 3.0, 2.0), NormalGamma(-1.0, 0.5, 3.0, 2.0))
    target, nontarget = np.array([1.2, 2.5, 0.7]), np.array([-1.0])
    fitted = lk.fits.fit_bayes(lk.Scores(target, nontarget), shared_variance=shared, prior=prior)

    def given(lam, values, belief):
        """log p(values | precision), the mean integrated out: a multivariate normal."""
        cover = (np.eye(len(values)) + 1.0 / belief.kappa) / lam
        return stats.multivariate_normal(np.full(len(values), belief.mean), cover).logpdf(values)

    def evidence(parts):
        def integrand(lam):
            likelihood = sum(given(lam, values, belief) for values, belief in parts)
            return np.exp(likelihood + stats.gamma(3.0, scale=0.5).logpdf(lam))

        return np.log(quad(integrand, 1e-9, 40.0, epsrel=1e-10, limit=200)[0])

    for s in (-2.0, 0.5, 3.0):
        if shared:
            as_target = evidence([(np.append(target, s), prior[0]), (nontarget, prior[1])])
            as_other = evidence([(target, prior[0]), (np.append(nontarget, s), prior[1])])
            ratio = as_target - as_other
        else:
            ratio = evidence([(np.append(target, s), prior[0])]) - evidence([(target, prior[0])])
            ratio -= evidence([(np.append(nontarget, s), prior[1])]) - evidence([(nontarget, prior[1])])
        assert_allclose(fitted(s), ratio, atol=1e-7)


@pytest.mark.parametrize("distance", [2.0, 3.0])
def test_bayes_turns_back_to_its_limit(distance):
    e, d = five_and_twenty()
    fitted = lk.fits.fit_bayes(lk.Scores(e + distance, d))
    limit = 23.0 * 0.5 * np.log((1.0 + 1.0 / 5.0) / (1.0 + 1.0 / 20.0))
    assert_allclose(limit, 1.5356, atol=1e-4)
    assert_allclose(fitted(np.array([-np.inf, np.inf, 1e9, -1e9])), limit, atol=1e-6)
    peak = minimize_scalar(lambda s: -fitted(s), bounds=(0.0, 30.0), method="bounded")
    assert -peak.fun > limit + 0.5
    assert_allclose(fitted.details["monotone_high"], peak.x, rtol=1e-4)
    held = lk.fits.fit_bayes(lk.Scores(e + distance, d), monotone=True)
    assert_allclose(held([peak.x, 50.0, np.inf]), -peak.fun, atol=1e-8)


# --- bi-Gaussianized --------------------------------------------------------------------------------------


def test_bigaussian_leaves_calibrated_gaussian_llrs_alone():
    scores = drawn(GaussianLLR.from_eer(0.05), 22_000, 22_000, 22)
    x = central(scores, 0.99)
    # at the 1 % quantile of a class: its standard error, and that of sigma by way of the EER's
    of_quantile = np.sqrt(0.01 * 0.99 / 22_000) / (stats.norm.pdf(2.33) / 3.29)
    of_sigma = (3.29 + 2.33) * 2.0 / stats.norm.pdf(1.645) * np.sqrt(0.05 * 0.95 * (2.0 / 22_000) / 4.0)
    for sigma_from in ("cllr", "eer", "min_cllr"):
        fitted = lk.fits.fit_bigaussian(scores, sigma_from=sigma_from)
        assert_allclose(fitted(x), x, atol=4.0 * np.hypot(of_quantile, of_sigma))
        assert fitted.details["discretization_error"] < 0.15
        assert fitted.details["thinning_error"] < 0.01


@pytest.mark.parametrize("decimals", [1, 6])
def test_bigaussian_is_the_algorithm_step_by_step(decimals):
    rng = np.random.default_rng(23)
    target, nontarget = rng.normal(1.5, 1.2, 150).round(decimals), rng.normal(-1.0, 1.0, 400).round(decimals)
    fitted = lk.fits.fit_bigaussian(lk.Scores(target, nontarget))
    # sigma from the Cllr of regularized logistic regression, minimized by SciPy
    rate = 0.01 / len(target)

    def loss(x):
        z_e, z_d = x[0] * target + x[1], x[0] * nontarget + x[1]
        plain = 0.5 * np.logaddexp(0, -z_e).mean() + 0.5 * np.logaddexp(0, z_d).mean()
        both = [0.5 * (np.logaddexp(0, -z) + np.logaddexp(0, z)).mean() for z in (z_e, z_d)]
        return plain + rate * 0.5 * sum(both)

    a, b = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15}).x
    cllr = (
        0.5
        * (np.logaddexp(0, -a * target - b).mean() + np.logaddexp(0, a * nontarget + b).mean())
        / np.log(2)
    )
    sigma = fitted.details["sigma"]
    assert_allclose(cllr_from_sigma(sigma), cllr, atol=1e-9)
    for s in np.append(target[:20], nontarget[:20]):
        cdf = 0.5 * (target <= s).sum() / 151.0 + 0.5 * (nontarget <= s).sum() / 401.0
        x = fitted(s)
        pair = stats.norm.cdf(x, -(sigma**2) / 2, sigma) + stats.norm.cdf(x, sigma**2 / 2, sigma)
        assert_allclose(0.5 * pair, cdf, atol=1e-12)
    assert_allclose(fitted(-99.0), fitted(min(nontarget.min(), target.min())))


@pytest.mark.slow
def test_bigaussian_on_cells_stays_within_its_stated_error():
    rng = np.random.default_rng(24)
    target, nontarget = rng.normal(1.5, 1.2, 60_000), rng.normal(-1.0, 1.0, 90_000)
    fitted = lk.fits.fit_bigaussian(lk.Scores(target, nontarget))
    sigma = fitted.details["sigma"]
    s = np.append(target[:500], np.sort(nontarget)[[0, 5, 500, -50, -1]])
    cdf = 0.5 * np.searchsorted(np.sort(target), s, "right") / 60_001.0
    cdf += 0.5 * np.searchsorted(np.sort(nontarget), s, "right") / 90_001.0
    grid = np.linspace(-60.0, 60.0, 2_000_001)
    pair = 0.5 * stats.norm.cdf(grid, -(sigma**2) / 2, sigma) + 0.5 * stats.norm.cdf(
        grid, sigma**2 / 2, sigma
    )
    allowed = fitted.details["discretization_error"] + fitted.details["thinning_error"] + 1e-3
    assert_array_less(np.abs(fitted(s) - np.interp(cdf, pair, grid)), allowed)
    assert allowed < 0.1


# --- kernels ----------------------------------------------------------------------------------------------


def kernel_llr(target, nontarget, h, x):
    """The log-ratio of two sums of kernels with one misleading trial more in each class, by brute force."""
    f_e, f_d = (stats.norm(values[:, None], h).pdf(x).mean(axis=0) for values in (target, nontarget))
    n_e, n_d = len(target), len(nontarget)
    return np.log((n_e * f_e + f_d) / (n_e + 1)) - np.log((n_d * f_d + f_e) / (n_d + 1))


def test_kde_is_the_sum_of_kernels():
    rng = np.random.default_rng(25)
    target, nontarget = rng.normal(1.0, 1.0, 400), rng.gamma(3.0, 0.5, 600) - 2.0
    fitted = lk.fits.fit_kde(lk.Scores(target, nontarget), bandwidth=0.25, monotone=False)
    assert fitted.details["bandwidth"] == 0.25
    x = np.linspace(fitted.score[0], fitted.score[-1], 301)
    assert_allclose(fitted(x), kernel_llr(target, nontarget, 0.25, x), atol=3e-4)
    assert_allclose(fitted([-99.0, 99.0]), fitted.llr_at[[0, -1]], rtol=0)


def test_silverman_bandwidth_and_pooling():
    rng = np.random.default_rng(26)
    target, nontarget = rng.normal(1.0, 1.0, 1000), rng.normal(-1.0, 2.0, 3000)
    fitted = lk.fits.fit_kde(lk.Scores(target, nontarget))
    rules = []
    for values in (target, nontarget):
        iqr = np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.349
        rules.append(0.9 * min(values.std(), iqr) * len(values) ** -0.2)
    assert_allclose(fitted.details["bandwidth"], np.sqrt(rules[0] * rules[1]), rtol=1e-3)
    assert np.all(np.diff(fitted.llr_at) >= 0.0)
    raw = lk.fits.fit_kde(lk.Scores(target, nontarget), monotone=False)
    x = np.linspace(raw.score[0], raw.score[-1], 2000)
    assert_allclose(np.abs(raw(x) - fitted(x)).max(), fitted.details["isotonic_change"], atol=0.01)
    assert len(raw.score) <= 4096
    assert raw.details["thinning_error"] <= 1e-4


def test_one_target_among_the_nontargets_does_not_decide_the_others():
    rng = np.random.default_rng(0)
    target, nontarget = np.append(rng.normal(4.0, 1.0, 199), -4.0), rng.normal(-4.0, 1.0, 200)
    fitted = lk.fits.fit_kde(lk.Scores(target, nontarget))
    assert_allclose(fitted([4.0, 99.0]), np.log(201.0), atol=0.05)  # one misleading non-target in 201
    assert fitted(-4.0) < -4.0
    llrs = fitted(target), fitted(nontarget)
    cllr = (np.logaddexp(0, -llrs[0]).mean() + np.logaddexp(0, llrs[1]).mean()) / 2 / np.log(2.0)
    assert cllr < 0.05


def test_tied_and_cut_scores_get_the_ratio_of_their_shares():
    # half of the targets and a tenth of the non-targets at one score, which is also an edge
    rng = np.random.default_rng(5)
    target = np.append(np.ones(1000), rng.uniform(0.0, 0.5, 1000))
    nontarget = np.append(np.ones(200), rng.uniform(0.0, 0.5, 1800))
    assert_allclose(lk.fits.fit_kde(lk.Scores(target, nontarget))(1.0), np.log(0.5 / 0.1), atol=0.02)


def test_classes_apart_get_no_more_than_their_numbers_show():
    rng = np.random.default_rng(2)
    apart = lk.Scores(rng.normal(100.0, 1.0, 50), rng.normal(0.0, 1.0, 80))
    assert_allclose(lk.fits.fit_kde(apart)([0.0, 100.0]), [-np.log(51.0), np.log(81.0)], atol=0.03)


# --- quadratic --------------------------------------------------------------------------------------------


def test_the_quadratic_turns_at_its_vertex():
    scores = lk.Scores([1.0, 5.0, 3.0], [-1.0, 1.0, 0.0])
    raw, held = lk.fits.fit_gaussian(scores, monotone=False), lk.fits.fit_gaussian(scores)
    sd_e, sd_d = np.std(scores.target), np.std(scores.nontarget)
    x = np.linspace(-8.0, 8.0, 33)
    truth = stats.norm(3.0, sd_e).logpdf(x) - stats.norm(0.0, sd_d).logpdf(x)
    assert_allclose(raw(x), truth, atol=1e-12)
    # variances 4 to 1: d/ds = 0 where (s - 3)/4 = s
    assert_allclose(raw.vertex, -1.0, atol=1e-12)
    assert_allclose(held(x), np.where(x < -1.0, raw(-1.0), truth), atol=1e-12)
    assert_allclose(held.details["share_nontarget_outside"], stats.norm(0.0, sd_d).cdf(-1.0))
    assert held(np.inf) == np.inf
    assert held(-np.inf) == held(-1.0)


def test_equal_variances_give_a_straight_line():
    scores = lk.Scores([2.0, 4.0], [0.0, 2.0])
    fitted, line = lk.fits.fit_gaussian(scores), lk.fit_cmlg(scores)
    x = np.array([-np.inf, -1e6, 0.0, 3.0, 1e6, np.inf])
    assert_allclose(fitted(x), line(x), rtol=1e-13)
    assert_allclose(fitted.inverse(line(x)), x, rtol=1e-13, atol=1e-12)


# --- unsupervised -----------------------------------------------------------------------------------------


def em(pooled, prior, known, rounds=20_000):
    """Plain EM on all scores, labels clamped where known (1 and 0; -1 is unknown)."""
    m0, m1, v = np.quantile(pooled, 0.3), np.quantile(pooled, 0.97), pooled.var()
    p = 0.1 if prior is None else prior
    for _ in range(rounds):
        z = (m1 - m0) / v * (pooled - 0.5 * (m1 + m0)) + np.log(p / (1.0 - p))
        share = np.where(known < 0, 1.0 / (1.0 + np.exp(-z)), known)
        new = (share @ pooled / share.sum(), (1.0 - share) @ pooled / (1.0 - share).sum())
        v = (share @ (pooled - new[0]) ** 2 + (1.0 - share) @ (pooled - new[1]) ** 2) / len(pooled)
        done = abs(new[0] - m1) + abs(new[1] - m0) < 1e-13
        m1, m0 = new
        p = share.mean() if prior is None else prior
        if done:
            break
    return m0, m1, v, p


@pytest.mark.parametrize("prior", [None, 0.2])
@pytest.mark.parametrize("n_known", [(0, 0), (50, 100)])
def test_unsupervised_is_where_em_with_clamped_labels_ends(prior, n_known):
    rng = np.random.default_rng(28)
    target, nontarget = rng.normal(3.0, 1.0, 300), rng.normal(0.0, 1.0, 1200)
    known = (np.arange(300) < n_known[0], np.arange(1200) < n_known[1])
    labels = np.where(np.append(*known), np.repeat([1, 0], [300, 1200]), -1)
    m0, m1, v, p = em(np.append(target, nontarget), prior, labels)
    options = {"supervised": "known"} if any(n_known) else {}
    fitted = lk.fits.fit_unsupervised(lk.Scores(target, nontarget, {"known": known}), prior=prior, **options)
    d = fitted.details
    found = [d["mean_nontarget"], d["mean_target"], d["variance"], d["prior"]]
    assert_allclose(found, [m0, m1, v, p], rtol=1e-6)
    assert_allclose(fitted.a, (m1 - m0) / v, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("eer", "prior", "a_sd", "b_sd"), [(0.02, 0.5, 0.009, 0.02), (0.02, 0.01, 0.011, 0.1)]
)
def test_unsupervised_spread_of_the_digest(eer, prior, a_sd, b_sd):
    pair, n = GaussianLLR.from_eer(eer), 50_000
    fits = []
    for seed in range(6):
        scores = drawn(pair, int(n * prior), n - int(n * prior), 100 + seed)
        fits.append(lk.fits.fit_unsupervised(scores, prior=prior))
    a, b = np.array([[fit.a, fit.b] for fit in fits]).T
    assert_allclose(a.mean(), 1.0, atol=4.0 * a_sd / np.sqrt(6.0))
    assert_allclose(b.mean(), 0.0, atol=4.0 * b_sd / np.sqrt(6.0))
    # six draws: the sample standard deviation is within a factor 3 of its own
    assert_array_less([a.std(), b.std()], [3.0 * a_sd, 3.0 * b_sd])


def test_labels_are_not_looked_at():
    rng = np.random.default_rng(30)
    pooled = np.append(rng.normal(4.0, 1.0, 500), rng.normal(0.0, 1.0, 500))
    one, other = lk.Scores(pooled[500:], pooled[:500]), lk.Scores(pooled[:10], pooled[10:])
    fits = [lk.fits.fit_unsupervised(scores) for scores in (one, other)]
    assert_allclose([fits[0].a, fits[0].b], [fits[1].a, fits[1].b], rtol=1e-9)


def test_one_gaussian_has_no_two():
    half = stats.laplace.ppf((np.arange(500) + 0.5) / 500)
    with pytest.warns(lk.errors.ShapeWarning):
        fitted = lk.fits.fit_unsupervised(lk.Scores(half[::2], half[1::2]), prior=0.5)
    assert (fitted.a, fitted.b) == (0.0, 0.0)
    assert fitted(3.0) == 0.0
