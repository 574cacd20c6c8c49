"""Sums over scores in ascending order, by rows of neighbors, against sums over each score."""

from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.losses import LossSums
from llrkit.core.numerics import ScoreRows
from llrkit.core.summaries import Moments

RNG = np.random.default_rng(5)


def normal(n):
    return RNG.normal(-1.0, 2.0, n)


MANY = 40_000  # enough for rows to be worth it
SETS = {
    "dense": normal(200_000),
    "sparse": normal(MANY) * 40_000.0,
    "float32": normal(50_000).astype(np.float32),
    "tied": np.round(normal(MANY), 1),
    "one value": np.full(MANY, 0.3),
    "far out": normal(100_000) * 1e-4 + 700.0,
    "far below": normal(100_000) * 1e-3 - 650.0,
    "infinite": np.concatenate([[-np.inf] * 70, normal(50_000), [np.inf]]),
    "only infinite": np.full(MANY, -np.inf),
    "beyond 1e75": np.concatenate([[-1e308], normal(MANY), [1e308]]),
}


@pytest.mark.parametrize("name", SETS)
def test_losses_in_narrow_rows_against_a_long_sum(name):
    """The reference adds up one score after another with more digits."""
    rows = ScoreRows(np.sort(SETS[name]))
    assert name not in ("dense", "far out", "far below", "one value") or len(rows.rest) < 0.2 * len(
        SETS[name]
    )
    for shift, negated in product((0.0, -7.5, 3.0), (False, True)):
        sign = -1.0 if negated else 1.0
        values, rest = (
            np.logaddexp(np.longdouble(0.0), sign * x.astype(np.longdouble) + np.longdouble(shift))
            for x in (SETS[name], rows.rest)
        )
        finite, of_rest = (x[np.isfinite(x)] for x in (values, rest))
        expected = float(finite.sum() - of_rest.sum())
        tiny = 1e-14 * float(finite.sum())  # what the difference of two long sums leaves
        assert_allclose(rows.softplus_sum(shift, negated=negated), expected, rtol=1e-13, atol=tiny * 0.1)


@pytest.mark.parametrize("name", SETS)
def test_summaries_of_sorted_scores_are_those_of_the_scores_as_they_came(name):
    """The other route: shuffled scores, summed without rows."""
    values = SETS[name]
    scores = lk.Scores.from_classes(RNG.permutation(values), RNG.permutation(-values))
    ordered = scores.in_order()
    assert ordered.ascending
    assert not scores.ascending
    assert_array_equal(ordered.target, np.sort(values))
    for summarize in (Moments.of, LossSums.at([0.0, -2.0], [0.5])):
        plain, sorted_ones = (asdict(one.reduce(summarize)) for one in (scores, ordered))
        _compare(plain, sorted_ones)


def _compare(plain, other):
    assert plain.keys() == other.keys()
    for key, value in plain.items():
        if isinstance(value, dict):
            _compare(value, other[key])
        elif isinstance(value, np.ndarray):
            assert_allclose(other[key], value, rtol=1e-11, atol=_size(key, plain))
        else:
            assert other[key] == value, key


def _size(key, moments):
    """Means and third powers may cancel: what counts is their size beside those of the deviations."""
    if key not in ("mean", "m3") or not moments["n"]:
        return 0.0
    if key == "mean":
        return 1e-13 * float(np.abs([moments["low"], moments["high"]]).max())
    size = 1e-11 * moments["n"] * (moments["m2"].flat[0] / moments["n"]) ** 1.5
    return size if np.isfinite(size) else 0.0
