import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.losses import LossSums, softplus_sums
from llrkit.core.numerics import binary_entropy, logit, probability, probit, sigmoid, softplus


def exact_sum(values, shift=0.0):
    with mpmath.workdps(50):
        return float(mpmath.fsum(mpmath.log1p(mpmath.exp(mpmath.mpf(x) + mpmath.mpf(shift))) for x in values))


RANGES = {
    "tiny": (-700.0, -30.0),
    "small": (-40.0, -5.0),
    "around zero": (-3.0, 3.0),
    "border of the linear part": (30.0, 45.0),
    "large": (45.0, 690.0),
    "border of overflow": (690.0, 720.0),
    "huge": (720.0, 1e6),
    "all": (-1000.0, 1000.0),
}


@pytest.mark.parametrize("form", RANGES)
def test_softplus_sums_against_mpmath(form):
    for n in (1, 15, 16, 17, 133):
        values = np.sort(np.random.default_rng(n).uniform(*RANGES[form], n))
        shifts = [0.0, -6.9, 6.9, 2.3]
        wanted = [exact_sum(values, shift) for shift in shifts]
        assert_allclose(softplus_sums(values, shifts), wanted, rtol=1e-12)


@settings(max_examples=50)
@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=40), st.floats(-20, 20))
def test_softplus_sums_of_anything_against_mpmath(values, shift):
    ordered = np.sort(values)
    # below the smallest normal number digits are lost, whatever one does
    assert_allclose(softplus_sums(ordered, shift)[0], exact_sum(ordered, shift), rtol=1e-12, atol=1e-300)


def test_one_small_term_is_not_lost_beside_fifteen_others():
    values = np.sort([-300.0] * 15 + [-310.0])
    assert_allclose(softplus_sums(values, [0.0]), [exact_sum(values)], rtol=1e-14)


def test_infinities():
    assert_array_equal(softplus_sums(np.array([-np.inf, -np.inf]), [0.0, 5.0]), [0.0, 0.0])
    assert_array_equal(softplus_sums(np.array([-np.inf, 1.0, np.inf]), [0.0, -5.0]), [np.inf, np.inf])
    assert_array_equal(softplus_sums(np.array([]), [0.0, 1.0]), [0.0, 0.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shift", [-1000.0, -720.0, -400.0, 400.0, 720.0, 1000.0])
def test_shifts_whose_odds_are_beyond_float64_against_mpmath(shift):
    values = np.linspace(-60.0, 60.0, 25) - shift
    assert_allclose(softplus_sums(values, [shift]), [exact_sum(values, shift)], rtol=1e-12)


def test_sixteen_at_the_border_do_not_overflow():
    values = np.full(160, np.nextafter(37.0, 0))
    assert_allclose(softplus_sums(values, [0.0]), [exact_sum(values)], rtol=1e-14)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([-2.0, -0.5, 0.0, 1.0, np.inf, -np.inf]), min_size=1, max_size=9),
    st.lists(st.sampled_from([-2.0, -0.5, 0.0, 1.0, np.inf, -np.inf]), min_size=1, max_size=9),
)
def test_hard_errors_against_counting(target, nontarget):
    thresholds = [-np.inf, -2.0, -1.0, 0.0, 1.0, 1.5, np.inf]
    losses = LossSums.of(lk.Scores.from_classes(target, nontarget), thresholds=thresholds)
    assert_array_equal(losses.n_miss, [sum(x < t for x in target) for t in thresholds])
    assert_array_equal(losses.n_fa, [sum(x >= t for x in nontarget) for t in thresholds])
    assert_allclose(losses.p_miss, losses.n_miss / len(target), rtol=1e-15)
    some = losses.slice_thresholds(2, 4)
    assert_array_equal(some.thresholds, thresholds[2:4])
    assert_array_equal([some.n_miss, some.n_fa], [losses.n_miss[2:4], losses.n_fa[2:4]])


def test_thresholds_in_any_order():
    scores = lk.Scores([0.0, 1.0, 2.0], [-1.0, 0.5])
    losses = LossSums.of(scores, thresholds=[5.0, 0.5, -5.0, 0.5])
    assert_array_equal(losses.n_miss, [3, 1, 0, 1])
    assert_array_equal(losses.n_fa, [0, 1, 2, 1])


Z = [-1e6, -745.0, -709.0, -40.0, -1.0, -1e-9, 0.0, 1e-9, 0.7, 40.0, 709.0, 800.0, 1e6]


@pytest.mark.parametrize("z", Z)
def test_special_functions_against_mpmath(z):
    with mpmath.workdps(40):
        x = mpmath.mpf(z)
        assert_allclose(softplus(z), float(mpmath.log1p(mpmath.exp(x))), rtol=1e-14, atol=1e-320)
        assert_allclose(sigmoid(z), float(1 / (1 + mpmath.exp(-x))), rtol=1e-13, atol=1e-320)


@pytest.mark.parametrize("p", [1e-300, 1e-17, 0.001, 0.3, 0.5, 0.77, 1 - 1e-12])
def test_log_odds_entropy_and_probit_against_mpmath(p):
    with mpmath.workdps(40):
        x = mpmath.mpf(p)
        assert_allclose(logit(p), float(mpmath.log(x / (1 - x))), rtol=1e-14, atol=1e-16)
        entropy = -x * mpmath.log(x) - (1 - x) * mpmath.log1p(-x)
        assert_allclose(binary_entropy(p), float(entropy), rtol=1e-12)
        # the probit is checked by going back
        assert_allclose(float(mpmath.ncdf(mpmath.mpf(float(probit(p))))), p, rtol=1e-11)


def test_special_functions_at_the_ends():
    assert_array_equal(logit([0.0, 1.0]), [-np.inf, np.inf])
    assert_array_equal(probit([0.0, 0.5, 1.0]), [-np.inf, 0.0, np.inf])
    assert_array_equal(sigmoid([-np.inf, np.inf]), [0.0, 1.0])
    assert_array_equal(softplus([-np.inf, np.inf]), [0.0, np.inf])
    assert_array_equal(binary_entropy([0.0, 1.0]), [0.0, 0.0])


def test_probability_refuses():
    for bad in (0, 1, -0.1, 1.5, math.nan, math.inf, "x", None, [0.5, 0.5]):
        with pytest.raises(lk.InputError):
            probability(bad, "prior")
