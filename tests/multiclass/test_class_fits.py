"""Calibrators of several classes against scikit-learn, SciPy, the binary code and finite differences."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

import llrkit as lk
from llrkit.multiclass.fits import Family, SoftmaxSums

mc = lk.multiclass
FITS = {
    "temperature": mc.fit_temperature, "scale-offset": mc.fit_scale_offset, "vector": mc.fit_vector,
    "affine": mc.fit_affine, "gaussian": mc.fit_gaussian,
    "free-gaussian": functools.partial(mc.fit_gaussian, shared=False),
}  # fmt: skip
ITERATIVE = ("temperature", "scale-offset", "vector", "affine")


def made(seed=0, k=4, n=1500, systems=None, offset=0.0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    shape = (n, k) if systems is None else (n, k, systems)
    signal = np.eye(k)[labels] if systems is None else np.eye(k)[labels][:, :, None]
    loglik = 3.0 * (rng.normal(size=shape) + 1.3 * signal) + rng.normal(size=shape[1:])
    constant = rng.normal(size=(n, *(1,) * (len(shape) - 1)))
    return (
        loglik + offset * constant,
        labels,
        lk.scores.ClassScores(loglik + offset * constant, labels, range(k)),
    )


def objective(z, labels, prior, weights):
    """The prior-weighted cross-entropy, written out."""
    posterior = log_softmax(z + np.log(prior), axis=1)
    own = posterior[np.arange(len(labels)), labels]
    return sum(w * -own[labels == c].mean() for c, w in enumerate(weights))


def polished(f, x):
    """SciPy's optimum, from three methods in turn."""
    for method in ("BFGS", "L-BFGS-B", "BFGS"):
        x = minimize(f, x, method=method, options={"gtol": 1e-10, "maxiter": 5000}).x
    return x


PRIOR = np.array([0.4, 0.1, 0.2, 0.3])


@pytest.mark.parametrize("weights", [None, np.array([0.1, 0.2, 0.3, 0.4])])
def test_temperature_against_scipy(weights):
    loglik, labels, scores = made()
    share = PRIOR if weights is None else weights
    best = polished(lambda x: objective(x[0] * loglik, labels, PRIOR, share), [1.0])
    fitted = mc.fit_temperature(scores, prior=PRIOR, weights=weights)
    assert_allclose(fitted.scales, best, rtol=1e-6)
    assert_allclose(
        fitted.details["objective"], objective(best[0] * loglik, labels, PRIOR, share), rtol=1e-12
    )
    assert_array_equal(fitted.offsets, 0.0)


def test_scale_offset_against_scipy():
    loglik, labels, scores = made(offset=30.0)
    start = np.append(1.0, np.zeros(3))

    def z(x):
        return x[0] * loglik + np.append(x[1:], 0.0)

    best = polished(lambda x: objective(z(x), labels, PRIOR, PRIOR), start)
    fitted = mc.fit_scale_offset(scores, prior=PRIOR)
    assert_allclose(fitted.scales[0], best[0], rtol=1e-6)
    assert_allclose(fitted.offsets[:3] - fitted.offsets[3], best[1:], atol=1e-5)
    assert fitted.details["objective"] <= objective(z(best), labels, PRIOR, PRIOR) + 1e-13
    assert abs(fitted.offsets.sum()) < 1e-12


def test_fusion_against_scipy():
    loglik, labels, scores = made(systems=3)

    def z(x):
        return loglik @ x[:3] + np.append(x[3:], 0.0)

    best = polished(lambda x: objective(z(x), labels, PRIOR, PRIOR), np.append(np.ones(3) / 3, np.zeros(3)))
    fitted = mc.fit_fusion(scores, prior=PRIOR)
    assert_allclose(fitted.scales, best[:3], rtol=1e-5)
    assert fitted.details["objective"] <= objective(z(best), labels, PRIOR, PRIOR) + 1e-13
    single = lk.scores.ClassScores(loglik[:, :, 0], labels, range(4))
    assert mc.cllr(fitted.on(scores), prior=PRIOR) < mc.cllr(
        mc.fit_scale_offset(single, prior=PRIOR).on(single), prior=PRIOR
    )


def test_vector_scaling_against_scipy():
    loglik, labels, scores = made(k=3)
    prior = np.array([0.2, 0.3, 0.5])

    def z(x):
        return x[:3] * loglik + np.append(x[3:], 0.0)

    best = polished(lambda x: objective(z(x), labels, prior, prior), np.append(np.ones(3) / 3, np.zeros(2)))
    fitted = mc.fit_vector(scores, prior=prior)
    assert_allclose(fitted.scales, best[:3], rtol=1e-5)
    assert fitted.details["objective"] <= objective(z(best), labels, prior, prior) + 1e-13


@pytest.mark.parametrize(("k", "d"), [(3, 2), (5, 7), (9, 20)])  # the last has 189 weights: L-BFGS
def test_affine_against_unpenalized_multinomial_regression_of_sklearn(need, k, d):
    need("sklearn")
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(k)
    labels = rng.choice(k, 2500, p=rng.dirichlet(np.ones(k) * 5))
    vectors = (rng.normal(size=(k, d))[labels] * 0.7 + rng.normal(size=(2500, d))) * rng.uniform(
        0.1, 9, d
    ) + 5
    fitted = mc.fit_affine(lk.scores.ClassVectors(vectors, labels, range(k)), prior="counts")
    scaled = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)  # the optimum is the same
    # its lbfgs stops at 2e-6
    theirs = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cg", max_iter=1000).fit(scaled, labels)
    ours = fitted.posteriors(vectors, np.bincount(labels) / 2500)
    assert_allclose(ours, theirs.predict_proba(scaled), atol=1e-6)
    assert fitted.details["gradient"] < 1e-8


@pytest.mark.parametrize("size", [0.0, 100.0])
@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_two_classes_give_the_binary_fits(prior, size):
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(2.0, 2.0, 700), rng.normal(-1.0, 1.5, 2000)
    shift = size * rng.normal(size=2700)
    loglik = np.column_stack([np.append(target, nontarget) + shift, shift])
    labels = np.repeat([0, 1], [700, 2000])
    # the classes are exactly those of the binary set: differences are rounded by the shift
    binary = lk.Scores((loglik[:, 0] - loglik[:, 1])[:700], (loglik[:, 0] - loglik[:, 1])[700:])
    scores, share = lk.scores.ClassScores(loglik, labels), [prior, 1.0 - prior]
    llr = loglik[:, 0] - loglik[:, 1]

    def same(fitted, expected):
        found = fitted(loglik)
        # scores of several hundreds are rounded at 1e-13 themselves, and so is what is made of them
        assert_allclose(found[:, 0] - found[:, 1], expected(llr), rtol=1e-12, atol=1e-12 * max(1.0, 3 * size))

    same(mc.fit_scale_offset(scores, prior=share), lk.fit_logistic(binary, prior=prior))
    regularized = {"regularization": 2.0, "df": 50.0}
    same(
        mc.fit_scale_offset(scores, prior=share, **regularized),
        lk.fit_logistic(binary, prior=prior, **regularized),
    )
    same(mc.fit_scale_offset(scores, prior=share, regularization=1.0),
         lk.fit_logistic(binary, prior=prior, regularization=1.0))  # fmt: skip
    with pytest.warns(lk.errors.ShapeWarning):
        cmlg = lk.fit_cmlg(binary, alpha=prior)
    same(mc.fit_gaussian(scores, weights=share), cmlg)
    same(mc.fit_gaussian(scores, shared=False), lk.fits.fit_gaussian(binary, monotone=False))


def test_two_classes_give_the_binary_fusion():
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [400, 1100])
    llr = rng.normal(size=(1500, 2)) + 1.5 * (labels == 0)[:, None]
    binary = lk.Scores(llr[:400], llr[400:])
    loglik = np.stack([llr, np.zeros_like(llr)], axis=1)
    fitted = mc.fit_fusion(lk.scores.ClassScores(loglik, labels), prior=[0.2, 0.8])
    expected = lk.fit_fusion(binary, prior=0.2)
    assert_allclose(fitted.scales, expected.weights, rtol=1e-12)
    assert_allclose(fitted.offsets[0] - fitted.offsets[1], expected.offset, rtol=1e-11)
    found = fitted(loglik)
    assert_allclose(found[:, 0] - found[:, 1], expected(llr), atol=1e-12)


def test_two_classes_give_the_binary_metrics():
    rng = np.random.default_rng(8)
    target, nontarget = rng.normal(1.0, 2.0, 300).round(1), rng.normal(-1.0, 2.0, 900).round(1)  # with ties
    binary = lk.Scores(target, nontarget)
    loglik = np.column_stack([np.append(target, nontarget), np.zeros(1200)])
    scores = lk.scores.ClassScores(loglik, np.repeat([0, 1], [300, 900]))
    found, expected = mc.evaluate(scores).per_class[0].detection, lk.evaluate(binary, points=(0.5, 0.1))
    assert_allclose(mc.cllr(scores), lk.cllr(binary), rtol=1e-12)
    for prior in (0.5, 0.07, 0.9):
        share = [prior, 1 - prior]
        assert_allclose(
            mc.cllr(scores, prior=share, normalized=True),
            lk.metrics.cross_entropy(binary, prior=prior),
            rtol=1e-12,
        )
        point = lk.OperatingPoint(prior)
        assert_allclose(
            mc.expected_cost(scores, mc.zero_one_cost(2), prior=share),
            lk.act_dcf(binary, point=point),
            rtol=1e-12,
        )
        costly = lk.OperatingPoint(prior, 10, 1)
        assert_allclose(
            mc.expected_cost(scores, [[0, 10], [1, 0]], prior=share),
            lk.act_dcf(binary, point=costly),
            rtol=1e-12,
        )
        error = prior * np.mean(target < -np.log(prior / (1 - prior)))
        error += (1 - prior) * np.mean(nontarget >= -np.log(prior / (1 - prior)))
        assert_allclose(mc.error_rate(scores, prior=share), error, rtol=1e-12)
    swapped = lk.Scores(-nontarget, -target)
    pooled = (lk.act_dcf(binary, point=0.5) + lk.act_dcf(swapped, point=0.5)) / 4
    assert_allclose(mc.cavg(scores, "lre07"), pooled, rtol=1e-12)
    primary = np.mean([lk.act_dcf(one, point=p) for one in (binary, swapped) for p in (0.5, 0.1)])
    assert_allclose(mc.cavg(scores, "lre22"), primary, rtol=1e-12)
    for name in ("eer", "eer_roc", "auc", "cllr", "min_cllr", "prbep"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    for ours, theirs in zip(found.points, expected.points, strict=True):
        assert_allclose([ours.min_dcf, ours.act_dcf], [theirs.min_dcf, theirs.act_dcf], rtol=1e-12)
    assert_array_equal(found.det.p_miss, expected.det.p_miss)
    assert_array_equal(found.pav.llr, expected.pav.llr)


@pytest.mark.parametrize(
    "family",
    [
        Family(4, 1, "nothing", np.zeros(0), np.array([1.3])),
        Family(4, 1, "offset", np.zeros(0), np.array([1.3])),
        Family(4, 2, "offset", np.zeros(0), np.array([1.3, 0.4])),
        Family(4, 0, "line", np.array([0.1, 0.0, -1.0, 2.0]), np.array([1.0, 2.0, 0.5, 1.0])),
        Family(4, 0, "plane", np.zeros(3), 2.0 * np.ones(3)),
    ],
    ids=lambda family: f"{family.shared}-{family.own}",
)
def test_gradient_and_hessian_against_finite_differences(family):
    rng = np.random.default_rng(2)
    shape = (60, 3) if family.own == "plane" else (60, 4, 2) if family.shared == 2 else (60, 4)
    chunk = lk.scores.ClassVectors.part(rng.normal(size=shape), rng.integers(0, 4, 60), tuple("abcd"))
    log_prior, own, pull = np.log(PRIOR), rng.random(4), rng.random(4)
    x = rng.normal(size=family.size)

    def at(y):
        return chunk.reduce(SoftmaxSums.at(family, y, log_prior, own, pull))

    found, step = at(x), 1e-5
    ways = step * np.eye(family.size)
    slope = [(at(x + way).value - at(x - way).value) / (2 * step) for way in ways]
    bend = [(at(x + way).gradient - at(x - way).gradient) / (2 * step) for way in ways]
    assert_allclose(found.gradient, slope, rtol=1e-6, atol=1e-6)
    assert_allclose(found.hessian, bend, rtol=1e-6, atol=1e-6)
    without = chunk.reduce(SoftmaxSums.at(family, x, log_prior, own, pull, hessian=False))
    assert_array_equal(without.gradient, found.gradient)


class OnlyReduce:
    """A source in uneven pieces, some without trials of most classes, that can do nothing but reduce."""

    def __init__(self, scores, pieces=7):
        self._scores, self._pieces, self.passes = scores, pieces, 0

    def reduce(self, summarize):
        self.passes += 1
        cuts = np.linspace(0, 1, self._pieces + 1) ** 2 * len(self._scores)
        total = None
        for a, b in zip(cuts[:-1].astype(int), cuts[1:].astype(int), strict=True):
            part = summarize(self._scores.take(slice(a, b)))
            total = part if total is None else total + part
        return total


@pytest.mark.parametrize("name", FITS)
def test_fits_and_metrics_need_nothing_but_reduce(name):
    loglik, labels, scores = made()
    order = np.argsort(labels, kind="stable")  # so that pieces lack classes
    pieces = OnlyReduce(scores.take(order))
    one, other = FITS[name](scores)(loglik), FITS[name](pieces)(loglik)
    assert_allclose(one - one[:, :1], other - other[:, :1], rtol=1e-8, atol=1e-8)
    assert pieces.passes <= 8
    assert_allclose(mc.cllr(pieces), mc.cllr(scores), rtol=1e-12)
    assert_allclose(mc.cavg(pieces, "lre22"), mc.cavg(scores, "lre22"), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in FITS if name != "vector"])
def test_affine_changes_of_the_scores_change_nothing(name):
    loglik, _, scores = made()
    moved = lk.scores.ClassScores(3.7 * loglik - 41.0, scores.codes, scores.classes)
    one, other = FITS[name](scores)(loglik), FITS[name](moved)(moved.loglik)
    assert_allclose(one - one[:, :1], other - other[:, :1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["temperature", "scale-offset", "gaussian", "free-gaussian"])
def test_a_constant_per_trial_changes_nothing(name):
    loglik, _, scores = made()
    moved = lk.scores.ClassScores(
        loglik + 1000.0 * np.random.default_rng(1).normal(size=(len(loglik), 1)), scores.codes, scores.classes
    )
    one, other = FITS[name](scores)(loglik), FITS[name](moved)(moved.loglik)
    assert_allclose(one - one[:, :1], other - other[:, :1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ITERATIVE)
def test_classes_that_do_not_overlap_are_refused_unless_regularized(name):
    labels = np.arange(60) % 3
    loglik = 5.0 * np.eye(3)[labels] + np.random.default_rng(0).uniform(-1, 1, (60, 3))
    scores = lk.scores.ClassScores(loglik, labels)
    with pytest.raises(lk.errors.SeparationError):
        FITS[name](scores)
    fitted = FITS[name](scores, regularization=0.1)
    assert 0.0 < mc.cllr(fitted.on(scores)) < 0.1
    assert mc.evaluate(scores).refined_cllr < 0.05


@pytest.mark.parametrize("name", FITS)
def test_infinite_and_constant_scores_are_refused(name):
    loglik, labels, _ = made()
    loglik[7, 1] = -np.inf
    with pytest.raises(lk.errors.InfiniteScoreError):
        FITS[name](OnlyReduce(lk.scores.ClassScores(loglik, labels, range(4))))
    with pytest.raises((lk.errors.ConstantScoreError, lk.errors.TooFewTrialsError)):
        FITS[name](lk.scores.ClassScores(np.zeros((8, 4)), [0, 1, 2, 3] * 2))


def test_gaussian_backends_against_scipy():
    rng = np.random.default_rng(4)
    labels = rng.choice(4, 900, p=[0.1, 0.2, 0.3, 0.4])
    vectors = (rng.normal(size=(4, 6))[labels] + rng.normal(size=(900, 6))) @ rng.normal(size=(6, 6))
    trials = lk.scores.ClassVectors(vectors, labels, range(4))
    free = mc.fit_gaussian(trials, shared=False)(vectors)
    expected = np.column_stack(
        [
            multivariate_normal(
                vectors[labels == c].mean(axis=0), np.cov(vectors[labels == c].T, bias=True)
            ).logpdf(vectors)
            for c in range(4)
        ]
    )
    assert_allclose(free - free[:, :1], expected - expected[:, :1], rtol=1e-9, atol=1e-9)
    equal = mc.fit_gaussian(trials)
    pooled = np.mean([np.cov(vectors[labels == c].T, bias=True) for c in range(4)], axis=0)
    means = np.array([vectors[labels == c].mean(axis=0) for c in range(4)])
    dense = np.column_stack([multivariate_normal(mean, pooled).logpdf(vectors) for mean in means])
    found = equal(vectors)
    assert_allclose(found - found[:, :1], dense - dense[:, :1], rtol=1e-9, atol=1e-9)


def test_gaussian_backends_of_scores_do_not_depend_on_which_class_is_last():
    loglik, labels, scores = made()
    order = [2, 0, 3, 1]
    names = [str(i) for i in order]
    turned = lk.scores.ClassScores(loglik[:, order], [str(label) for label in labels], names)
    for shared in (True, False):
        one = mc.fit_gaussian(scores, shared=shared)(loglik)
        other = mc.fit_gaussian(turned, shared=shared)(turned.loglik)[:, np.argsort(order)]
        assert_allclose(one - one[:, :1], other - other[:, :1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["temperature", "scale-offset", "vector", "affine"])
def test_refinement_never_makes_it_worse(method):
    _, _, scores = made()
    assert mc.refined_cllr(scores, method=method) <= mc.cllr(scores) + 1e-12
    again = mc.refine(scores, method=method).on(scores)
    assert_allclose(mc.refined_cllr(again, method=method), mc.cllr(again), rtol=1e-9)
    with pytest.raises(lk.errors.UnknownNameError):
        mc.refine(scores, method="pav")
