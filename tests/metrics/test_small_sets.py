"""Small sets count for curves when one is looked at, and look for log10 LLRs only where they may be some."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize

import llrkit as lk
from llrkit.metrics import measure
from llrkit.metrics.loss_parts import slope_may_be
from llrkit.metrics.measure import CountedLater
from llrkit.verbs.evaluate import LN10_LOOKED_FOR


def a_set(seed, factor=1.0, offset=0.0):
    llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(200, 800, np.random.default_rng(seed))
    return lk.Scores(*(np.round(factor * x + offset, 2) for x in llrs))


CURVES = ("bayes_error", "tippett", "histogram")


def test_what_is_counted_later_is_what_is_counted_at_once(monkeypatch):
    scores = a_set(1, 1.5)
    later = lk.evaluate(scores)
    assert isinstance(later.summaries.counted, CountedLater)
    monkeypatch.setattr(measure, "LATER_UP_TO", 0)
    at_once = lk.evaluate(a_set(1, 1.5))
    assert not isinstance(at_once.summaries.counted, CountedLater)
    assert later.to_dict() == at_once.to_dict()
    assert later.verdict == at_once.verdict
    for name in ("thresholds", "n_miss", "n_fa", "target_loss", "nontarget_loss"):
        assert_array_equal(getattr(later.summaries.losses, name), getattr(at_once.summaries.losses, name))
    for name in CURVES:
        assert str(vars(getattr(later, name))) == str(vars(getattr(at_once, name)))


def best_slope(scores):
    def loss(line):
        t, n = (line[0] * x + line[1] for x in (scores.target, scores.nontarget))
        return np.logaddexp(0.0, -t).mean() + np.logaddexp(0.0, n).mean()

    return minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).x[0]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("factor", "offset"), [(1.0, 0.0), (0.4343, 0.0), (0.4343, 3.0), (0.1, -1.0), (3.0, 2.0)]
)
def test_a_range_of_slopes_is_excluded_only_without_the_best_against_nelder_mead(seed, factor, offset):
    scores = a_set(seed, factor, offset)
    slope = best_slope(scores)
    for low, high in ((0.5, 0.9), (0.9, 1.1), LN10_LOOKED_FOR, (slope - 0.01, slope + 0.01)):
        assert slope_may_be(scores, low, high) == (low <= slope <= high)


def test_log10_llrs_are_still_suspected():
    with pytest.warns(lk.errors.ScaleWarning):
        assert "log10" in lk.evaluate(a_set(4, 0.4343)).suspicions[0]
