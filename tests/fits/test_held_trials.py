"""Trials held for cross-validation: fewer points in their place must not change what is found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.summaries import Moments
from llrkit.fits import folds
from llrkit.fits.folds import condensed
from llrkit.scores.derived import WeightedSource


def many(n_target=20_000, n_nontarget=30_000):
    rng = np.random.default_rng(5)
    return rng.normal(3.0, 1.5, n_target), rng.standard_t(5, n_nontarget) - 0.5


@pytest.mark.slow
def test_the_table_of_methods_is_that_of_all_trials(monkeypatch):
    scores = lk.Scores(*many())
    options = {"methods": "logistic,saturating,nig,kde,bigaussian,pav", "folds": 3, "repeats": 1}
    few = lk.fit_best(scores, **options)
    monkeypatch.setattr(folds, "POINTS", 1 << 20)
    every = lk.fit_best(scores, **options)
    assert few.details["chosen"] == every.details["chosen"]
    assert_allclose(few.details["expected_cllr"], every.details["expected_cllr"], rtol=1e-5)
    rows = [{row["method"]: row for row in best.details["cross_validation"]} for best in (few, every)]
    for name in rows[1]:
        assert_allclose(rows[0][name]["cllr"], rows[1][name]["cllr"], rtol=2e-4, err_msg=name)


def test_points_keep_count_mean_variance_and_the_outermost_trials():
    target, nontarget = many()
    few = condensed(target, nontarget)
    assert isinstance(few, WeightedSource)
    moments, ends = few.reduce(Moments.of), 400
    for values, kept in ((target, moments.target), (nontarget, moments.nontarget)):
        assert kept.n == len(values)
        assert_allclose([kept.mean[0], kept.variance[0]], [values.mean(), values.var()], rtol=1e-10)
    held = np.sort(few.source.target)
    assert len(held) < 6_000
    assert_array_equal(held[:ends], np.sort(target)[:ends])
    assert_array_equal(held[-ends:], np.sort(target)[-ends:])


def test_few_trials_and_tied_ones_stay_as_they_are():
    target, nontarget = many()
    for a, b in ((target[:500], nontarget[:900]), (np.round(target, 2), np.round(nontarget, 2))):
        same = condensed(a, b)
        assert isinstance(same, lk.Scores)
        assert_array_equal(same.target, a)
        assert_array_equal(same.nontarget, b)
