"""Every number that llreval has too; it runs in the test."""

import numpy as np
import pytest
from generated_sets import two_classes
from numpy.testing import assert_allclose
from scipy.special import logit

import llrkit as lk

PRIORS = np.array([0.001, 0.01, 0.1, 0.5, 0.9])


@pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")
@pytest.mark.parametrize("name", two_classes())
def test_generated_sets_against_llreval(need, name):
    llreval = need("llreval")
    from llreval.bayes_error_rate import default_error_rate, fast_Bayes_error_rate
    from llreval.cllr import cross_entropy
    from llreval.pav_rocch import PAV, ROCCH
    from llreval.quick_eval import tarnon_2_eer_cllr_mincllr

    target, nontarget = two_classes()[name]
    scores = lk.Scores(target, nontarget)
    eer, cllr, min_cllr = tarnon_2_eer_cllr_mincllr(target, nontarget)
    assert_allclose(lk.eer(scores), eer, rtol=0, atol=1e-9)  # llreval's is found by an optimizer
    assert_allclose([lk.cllr(scores), lk.min_cllr(scores)], [cllr, min_cllr], rtol=0, atol=1e-12)
    for prior in PRIORS:
        expected = cross_entropy(target, nontarget, prior)
        assert_allclose(lk.metrics.cross_entropy(scores, prior=prior, normalized=False), expected, rtol=1e-12)
    s, y = llreval.tarnon_2_scoreslabels(target, nontarget)
    pav, log_odds, default = PAV(s, y), logit(PRIORS), default_error_rate(logit(PRIORS))
    points = [lk.OperatingPoint(float(p)) for p in PRIORS]
    least = ROCCH(pav).Bayes_error_rate(log_odds) / default
    assert_allclose([lk.min_dcf(scores, point=p) for p in points], least, rtol=0, atol=1e-12)
    actual = fast_Bayes_error_rate(s, y, log_odds) / default
    assert_allclose([lk.act_dcf(scores, point=p) for p in points], actual, rtol=0, atol=1e-12)
    assert_allclose(lk.evaluate(scores, points=()).pav.llr, pav.llrs()[0], rtol=0, atol=1e-12)
