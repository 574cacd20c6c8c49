"""ROC, AUC, losses, PAV, logistic and Gaussian fits against scikit-learn; it runs in the test."""

import numpy as np
import pytest
from generated_sets import several_classes, two_classes
from numpy.testing import assert_allclose
from scipy.special import expit, logit, softmax

import llrkit as lk

mc = lk.multiclass
pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


def trials(name, prior=0.5):
    """Scores, labels, and weights that sum to the prior in each class."""
    target, nontarget = two_classes()[name]
    labels = np.repeat([True, False], [len(target), len(nontarget)])
    weights = np.where(labels, prior / len(target), (1 - prior) / len(nontarget))
    return np.concatenate([target, nontarget]), labels, weights


@pytest.mark.parametrize("name", two_classes())
def test_roc_det_and_auc_against_scikit_learn(need, name):
    metrics = need("sklearn.metrics")
    scores, labels, _ = trials(name)
    p_fa, p_hit, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    roc = lk.evaluate(scores, labels, points=()).roc
    # ours leaves out points inside straight lines: each of ours is theirs, and theirs are on ours
    n = np.array([roc.n_target, roc.n_nontarget])
    ours, theirs = (np.rint(n * rates) for rates in (np.c_[roc.p_miss, roc.p_fa], np.c_[1 - p_hit, p_fa]))
    assert np.isin(ours @ [1, 1j], theirs @ [1, 1j]).all()  # counts of misses and of false alarms
    steps = p_fa + p_hit  # rises strictly along both curves
    ours = roc.p_fa + (1 - roc.p_miss)
    order = np.argsort(ours)
    assert_allclose(np.interp(steps, ours[order], roc.p_fa[order]), p_fa, rtol=0, atol=1e-12)
    assert_allclose(lk.auc(scores, labels), metrics.roc_auc_score(labels, scores), rtol=0, atol=1e-12)
    det_fa, det_miss, _ = metrics.det_curve(labels, scores)
    for p in (0.01, 0.5, 0.9):
        cost = np.append(p * det_miss + (1 - p) * det_fa, [p, 1 - p]).min()  # and to reject or accept all
        found = lk.min_dcf(scores, labels, point=lk.OperatingPoint(p))
        assert_allclose(found, cost / min(p, 1 - p), rtol=0, atol=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.001])
@pytest.mark.parametrize("name", ["gaussian", "ties", "tails", "tiny"])
def test_scoring_rules_and_pav_against_scikit_learn(need, name, prior):
    metrics = need("sklearn.metrics")
    scores, labels, weights = trials(name, prior)
    posterior = expit(scores + logit(prior))
    loss = metrics.log_loss(labels, posterior, sample_weight=weights)
    found = lk.metrics.cross_entropy(scores, labels, prior=prior, normalized=False)
    assert_allclose(found, loss / np.log(2), rtol=1e-12)
    brier = metrics.brier_score_loss(labels, posterior, sample_weight=weights)
    assert_allclose(lk.metrics.brier_score(scores, labels, prior=prior), brier, rtol=1e-12)
    isotonic = need("sklearn.isotonic").IsotonicRegression(y_min=0, y_max=1)
    best = isotonic.fit(scores, labels, sample_weight=weights).predict(scores)
    least = metrics.brier_score_loss(labels, best, sample_weight=weights)
    split = lk.metrics.score_decomposition(scores, labels, "brier", prior=prior)
    assert_allclose(split.score - split.miscalibration, least, rtol=0, atol=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.1])
@pytest.mark.parametrize("name", ["gaussian", "unequal", "ties", "tiny"])
def test_logistic_fit_against_scikit_learn(need, name, prior):
    scores, labels, weights = trials(name, prior)
    model = need("sklearn.linear_model").LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    model.fit(scores[:, None], labels, sample_weight=weights * len(scores))
    fitted = lk.fit_logistic(scores, labels, prior=prior)
    expected = [model.coef_[0, 0], model.intercept_[0] - logit(prior)]
    assert_allclose([fitted.a, fitted.b], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("prior", ["flat", "counts"])
def test_losses_of_several_classes_against_scikit_learn(need, prior):
    metrics = need("sklearn.metrics")
    loglik, labels = several_classes()
    counts = np.bincount(labels)
    share = np.full(4, 0.25) if prior == "flat" else counts / len(labels)
    posterior, weights = softmax(loglik + np.log(share), axis=1), (share / counts)[labels]
    scores = lk.scores.ClassScores(loglik, labels, range(4))
    loss = metrics.log_loss(labels, posterior, sample_weight=weights)
    assert_allclose(mc.cllr(scores, prior=prior), loss / np.log(2), rtol=1e-12)
    right = metrics.accuracy_score(labels, posterior.argmax(axis=1), sample_weight=weights)
    assert_allclose(mc.error_rate(scores, prior=prior), 1 - right, rtol=0, atol=1e-12)
    confused = metrics.confusion_matrix(labels, posterior.argmax(axis=1))
    assert (mc.confusion(scores, prior=prior).counts == confused).all()


def test_affine_fit_of_several_classes_against_scikit_learn(need):
    loglik, labels = several_classes()
    fitted = mc.fit_affine(lk.scores.ClassScores(loglik, labels, range(4)), prior="counts")
    model = need("sklearn.linear_model").LogisticRegression(
        C=np.inf, tol=1e-12, solver="newton-cg", max_iter=1000
    )
    ours = fitted.posteriors(loglik, np.bincount(labels) / len(labels))
    assert_allclose(ours, model.fit(loglik, labels).predict_proba(loglik), rtol=0, atol=1e-7)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_gaussian_fit_of_several_classes_against_scikit_learn(need, shrinkage):
    vectors, labels = several_classes()
    lda = need("sklearn.discriminant_analysis").LinearDiscriminantAnalysis
    theirs = lda(solver="lsqr", shrinkage=shrinkage or None).fit(vectors, labels).predict_proba(vectors)
    fitted = mc.fit_gaussian(
        lk.scores.ClassVectors(vectors, labels, range(4)), weights="counts", shrinkage=shrinkage
    )
    ours = fitted.posteriors(vectors, np.bincount(labels) / len(labels))
    assert_allclose(ours, theirs, rtol=0, atol=1e-11)
