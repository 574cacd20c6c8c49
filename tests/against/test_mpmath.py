"""Losses and LLRs against mpmath, at 40 and more digits; it runs in the test."""

import mpmath
import numpy as np
import pytest
from generated_sets import several_classes, two_classes
from numpy.testing import assert_allclose

import llrkit as lk

EXTREME = (np.array([745.0, -700.0, 1e-9, 40.0, -0.3]), np.array([-745.0, 36.7, -1e-300, -40.0, 2.0]))


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.001, 0.97])
@pytest.mark.parametrize("name", ["ties", "tiny", "extreme"])
def test_cross_entropy_against_mpmath(name, prior):
    target, nontarget = EXTREME if name == "extreme" else two_classes()[name]
    with mpmath.workdps(40):
        p = mpmath.mpf(prior)
        shift = mpmath.log(p / (1 - p))
        t = mpmath.fsum(mpmath.log1p(mpmath.exp(-float(x) - shift)) for x in target) / len(target)
        n = mpmath.fsum(mpmath.log1p(mpmath.exp(float(x) + shift)) for x in nontarget) / len(nontarget)
        value = p * t + (1 - p) * n
        entropy = -p * mpmath.log(p) - (1 - p) * mpmath.log(1 - p)
        wanted = float(value / entropy), float(value / mpmath.log(2)), float(value)
    scores = lk.Scores(target, nontarget)
    assert_allclose(lk.metrics.cross_entropy(scores, prior=prior), wanted[0], rtol=1e-14)
    assert_allclose(lk.metrics.cross_entropy(scores, prior=prior, normalized=False), wanted[1], rtol=1e-14)
    # the logarithmic rule is the same in nats
    assert_allclose(lk.metrics.rule_cost(scores, rule="log", prior=prior), wanted[2], rtol=1e-14)
    if prior == 0.5:
        assert_allclose(lk.cllr(scores), wanted[1], rtol=1e-14)


def test_cllr_of_several_classes_against_mpmath():
    loglik, labels = several_classes()
    with mpmath.workdps(40):
        losses = [
            mpmath.log(mpmath.fsum(mpmath.exp(float(x) - float(row[label])) for x in row))
            for row, label in zip(loglik, labels, strict=True)
        ]
        means = [
            mpmath.fsum(loss for loss, label in zip(losses, labels, strict=True) if label == c) / int(n)
            for c, n in enumerate(np.bincount(labels))
        ]
        wanted = float(mpmath.fsum(means) / (4 * mpmath.log(2)))
    assert_allclose(lk.multiclass.cllr(lk.scores.ClassScores(loglik, labels, range(4))), wanted, rtol=1e-14)


@pytest.mark.parametrize("p_known", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("size", [1.0, 30.0, 900.0])
def test_compound_llr_against_mpmath(p_known, size):
    x = size * several_classes()[0][:5]
    found = lk.metrics.compound_llr(x, p_known)
    with mpmath.workdps(50):
        for row, answer in zip(x, found, strict=True):
            lr = [mpmath.exp(mpmath.mpf(float(v))) for v in row]
            for i in range(4):
                others = sum(lr[:i] + lr[i + 1 :])
                wanted = mpmath.log(lr[i] / (p_known / mpmath.mpf(3) * others + (1 - mpmath.mpf(p_known))))
                assert_allclose(answer[i], float(wanted), rtol=1e-12, atol=1e-12)
