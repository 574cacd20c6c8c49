"""The Beta family of scoring rules against their defining integrals."""

import math
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

import llrkit as lk
from llrkit.core.losses import _CLOSED_MISS, NAMED_RULES, NewtonSums, ScoringRule, scoring_rule

CLOSED = [
    (1, 1), (2, 2), (0.5, 0.5), (2, 1), (1, 2), (1, 0.5), (0.5, 1), (1.5, 1.5), (2, 0.5), (0.5, 2),
    (1.5, 0.5), (0.5, 1.5),
]  # fmt: skip
GENERIC = [(3, 4), (1.25, 0.75), (2.5, 1), (0.7, 0.6), (0.9, 3), (1, 3), (1, 0.3), (0.25, 1.5)]


@cache
def integral_miss(a, b, z):
    """int_q^1 eta^(a-2) (1-eta)^(b-1) d eta / B(a, b), q = sigmoid(z), by quadrature in the log-odds of eta.

    With eta = sigmoid(u), d eta = eta (1 - eta) du, so the integrand is eta^(a-1) (1-eta)^b on (z, inf).
    """
    with mpmath.workdps(20):
        z = mpmath.mpf(z)
        start = max(z, mpmath.mpf(0))

        def integrand(u):  # of order one at its start: the quadrature looks at absolute errors
            return mpmath.exp(
                b * start - (a - 1) * mpmath.log1p(mpmath.exp(-u)) - b * mpmath.log1p(mpmath.exp(u))
            )

        # short steps while the integrand falls like e^(-b u), from 0 or z on; after e^-40 it does not matter
        marks = [z] if z < 0 else []
        marks += [z / 2, z / 4] if z < -4 else []
        marks += [start + mpmath.mpf(k) / b for k in (0, 2, 6, 14, 40)]
        return float(mpmath.exp(-b * start) * mpmath.quad(integrand, marks) / mpmath.beta(a, b))


def test_all_closed_forms_are_tested():
    assert {(float(a), float(b)) for a, b in CLOSED} == set(_CLOSED_MISS)


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), CLOSED + GENERIC)
def test_costs_against_quadrature(a, b):
    rule = ScoringRule(a, b)
    # a false alarm is the miss of the exchanged rule at -z: each integral serves twice
    for z in (-30.0, -9.2, -3.0, -0.3, 0.3, 3.0, 9.2, 30.0):
        assert_allclose(rule.miss(z), integral_miss(a, b, z), rtol=1e-9, err_msg=f"miss at z = {z}")
        assert_allclose(rule.fa(z), integral_miss(b, a, -z), rtol=1e-9, err_msg=f"fa at z = {z}")


# theory.md M-23, as printed there, in q
PRINTED = {
    (1, 1): (lambda q: -mpmath.log(q), lambda q: -mpmath.log(1 - q)),
    (2, 2): (lambda q: 3 * (1 - q) ** 2, lambda q: 3 * q**2),
    (0.5, 0.5): (
        lambda q: 2 / mpmath.pi * mpmath.sqrt((1 - q) / q),
        lambda q: 2 / mpmath.pi * mpmath.sqrt(q / (1 - q)),
    ),
    (2, 1): (lambda q: 2 * (1 - q), lambda q: 2 * (-q - mpmath.log(1 - q))),
    (1, 2): (lambda q: 2 * (-mpmath.log(q) - 1 + q), lambda q: 2 * q),
    (1, 0.5): (lambda q: mpmath.atanh(mpmath.sqrt(1 - q)), lambda q: (1 - q) ** -0.5 - 1),
    (0.5, 1): (lambda q: q**-0.5 - 1, lambda q: mpmath.atanh(mpmath.sqrt(q))),
    (1.5, 1.5): (
        lambda q: 8 / mpmath.pi * (mpmath.acos(mpmath.sqrt(q)) - mpmath.sqrt(q * (1 - q))),
        lambda q: 8 / mpmath.pi * (mpmath.asin(mpmath.sqrt(q)) - mpmath.sqrt(q * (1 - q))),
    ),
    (2, 0.5): (
        lambda q: 1.5 * mpmath.sqrt(1 - q),
        lambda q: 1.5 * ((1 - q) ** -0.5 + mpmath.sqrt(1 - q) - 2),
    ),
    (0.5, 2): (lambda q: 1.5 * (q**-0.5 + mpmath.sqrt(q) - 2), lambda q: 1.5 * mpmath.sqrt(q)),
    (1.5, 0.5): (
        lambda q: 4 / mpmath.pi * mpmath.acos(mpmath.sqrt(q)),
        lambda q: 4 / mpmath.pi * (mpmath.sqrt(q / (1 - q)) - mpmath.asin(mpmath.sqrt(q))),
    ),
    (0.5, 1.5): (
        lambda q: 4 / mpmath.pi * (mpmath.sqrt((1 - q) / q) - mpmath.acos(mpmath.sqrt(q))),
        lambda q: 4 / mpmath.pi * mpmath.asin(mpmath.sqrt(q)),
    ),
}


@pytest.mark.parametrize(("a", "b"), CLOSED)
def test_costs_against_printed_table(a, b):
    rule = ScoringRule(a, b)
    miss, fa = PRINTED[(a, b)]
    with mpmath.workdps(400):  # 1 - q must survive at z = 800
        # series take over from closed forms a little before 6.95 and 7.9
        for z in (-800, -90, -40, -20, -7.9, -6.95, -1, -1e-3, 0, 0.1, 3, 6.95, 7.7, 7.9, 15, 39, 80, 800):
            q = 1 / (1 + mpmath.exp(-mpmath.mpf(z)))
            assert_allclose(rule.miss(z), float(miss(q)), rtol=1e-11, atol=1e-320, err_msg=f"miss at {z}")
            assert_allclose(rule.fa(z), float(fa(q)), rtol=1e-11, atol=1e-320, err_msg=f"fa at {z}")


@pytest.mark.parametrize(("a", "b"), CLOSED + GENERIC)
def test_properness_argmin_is_the_probability(a, b):
    rule = ScoringRule(a, b)
    for p in (0.02, 0.35, 0.5, 0.9):
        best = minimize_scalar(
            lambda z, p=p: float(p * rule.miss(z) + (1 - p) * rule.fa(z)),
            bounds=(-8, 8),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert_allclose(best.x, math.log(p / (1 - p)), rtol=0, atol=2e-6)


@pytest.mark.parametrize(("a", "b"), CLOSED + GENERIC)
def test_derivatives_against_mpmath(a, b):
    # C_miss is an integral from z: its derivative is minus the integrand, which mpmath differentiates again
    rule = ScoringRule(a, b)

    def slope(u):
        value = mpmath.exp(-(a - 1) * mpmath.log1p(mpmath.exp(-u)) - b * mpmath.log1p(mpmath.exp(u)))
        return -value / mpmath.beta(a, b)

    with mpmath.workdps(40):
        far = [*rule.miss_derivatives(-800.0), *rule.miss_derivatives(800.0)]
        assert np.isfinite(far).all()
        for z in (-9.0, -2.0, -0.3, 0.0, 0.8, 4.0, 11.0):
            first, second = rule.miss_derivatives(z)
            assert_allclose(first, float(slope(mpmath.mpf(z))), rtol=1e-12)
            # where the curvature changes sign its two terms cancel, hence the absolute part
            curve = float(mpmath.diff(slope, mpmath.mpf(z)))
            assert_allclose(second, curve, rtol=1e-11, atol=1e-13 * abs(float(first)))
            mirrored = ScoringRule(b, a).fa_derivatives(-z)
            assert_allclose([-mirrored[0], mirrored[1]], [first, second], rtol=1e-15)


@pytest.mark.parametrize(("a", "b"), CLOSED + GENERIC)
def test_extremes(a, b):
    rule = ScoringRule(a, b)
    assert rule.miss(np.inf) == 0.0
    assert rule.fa(-np.inf) == 0.0
    # the cost of being surely wrong: int_0^1 eta^(a-2) (1-eta)^(b-1), finite for a > 1 only
    limit = (a + b - 1) / (a - 1) if a > 1 else np.inf
    assert_allclose(rule.miss(-np.inf), limit, rtol=1e-12)
    limit = (a + b - 1) / (b - 1) if b > 1 else np.inf
    assert_allclose(rule.fa(np.inf), limit, rtol=1e-12)


def asymptote_miss(a, b, z):
    """C_miss far to the left, where 1 - eta is 1 over the whole range that counts."""
    with mpmath.workdps(30):
        if a == 1:
            return float(b * (-mpmath.mpf(z) - mpmath.digamma(b) - mpmath.euler))
        tail = mpmath.exp((a - 1) * mpmath.mpf(z)) / ((1 - a) * mpmath.beta(a, b))
        return float(tail + mpmath.mpf(a + b - 1) / (a - 1))


@pytest.mark.parametrize(("a", "b"), CLOSED + GENERIC)
def test_costs_far_out_against_asymptote(a, b):
    rule = ScoringRule(a, b)
    for z in (-800.0, -200.0, -60.0):
        assert_allclose(rule.miss(z), asymptote_miss(a, b, z), rtol=1e-10, err_msg=f"miss at {z}")
        assert_allclose(rule.fa(-z), asymptote_miss(b, a, z), rtol=1e-10, err_msg=f"fa at {-z}")


def test_costs_at_the_border_of_overflow_against_asymptote():
    for a, b in ((0.01, 0.5), (0.1, 3)):
        for z in np.arange(-830.0, -590.0, 3.0):  # q underflows to 0 at -745, and e^710 overflows
            assert_allclose(ScoringRule(a, b).miss(z), asymptote_miss(a, b, z), rtol=1e-10, err_msg=f"{z}")
    assert lk.metrics.rule_cost(lk.Scores([-730.0, 1.0], [0.0]), rule=(0.01, 0.5)) == np.inf


def test_arrays_keep_their_shape():
    z = np.linspace(-5, 5, 12).reshape(3, 4)
    for rule in (ScoringRule(2, 2), ScoringRule(0.7, 0.6), ScoringRule(3, 4)):
        assert rule.miss(z).shape == rule.fa(z).shape == (3, 4)
        assert_allclose(rule.miss(z)[1, 2], rule.miss(z[1, 2]), rtol=1e-15)


@pytest.mark.parametrize("name", NAMED_RULES)
def test_rules_by_name(name):
    assert scoring_rule(name) == scoring_rule(name.upper()) == scoring_rule(NAMED_RULES[name])
    assert scoring_rule(scoring_rule(name)) == scoring_rule(name)


def test_wrong_rules_are_refused():
    with pytest.raises(lk.errors.UnknownNameError):
        scoring_rule("cubic")
    for bad in ((0, 1), (1, -1), (1, math.inf), (1, math.nan), (1, "x"), (1,), (1, 2, 3), 5, None):
        with pytest.raises(lk.InputError):
            scoring_rule(bad)


NEWTON_RULES = [(1, 1), (2, 2), (0.5, 0.5), (2, 1), (1.5, 1.5), (0.5, 1.5), (3, 4), (0.7, 0.6)]


@pytest.mark.parametrize(("a", "b"), NEWTON_RULES)
@pytest.mark.parametrize("systems", [1, 3])
def test_newton_sums_against_finite_differences(a, b, systems):
    rng = np.random.default_rng(4)
    shape = (lambda n: (n,)) if systems == 1 else (lambda n: (n, systems))
    scores = lk.Scores(rng.normal(1, 1, shape(13)), rng.normal(-1, 1.5, shape(17)))
    w = rng.normal(0.3, 0.4, systems + 1)
    log_odds, rule, h = -0.8, ScoringRule(a, b), 1e-5
    sums = NewtonSums.of(scores, w, log_odds, rule)
    assert (sums.target.n, sums.nontarget.n) == (13, 17)
    for side in ("target", "nontarget"):
        values = getattr(scores, side).reshape(-1, systems)
        cost = rule.miss if side == "target" else rule.fa

        def loss(v, values=values, cost=cost):
            return float(np.sum(cost(values @ v[:-1] + v[-1] + log_odds)))

        def gradient(v, side=side):
            return getattr(NewtonSums.of(scores, v, log_odds, rule), side).gradient

        found = getattr(sums, side)
        steps = h * np.eye(systems + 1)
        assert_allclose(found.loss, loss(w), rtol=1e-12)
        assert_allclose(
            found.gradient, [(loss(w + s) - loss(w - s)) / (2 * h) for s in steps], rtol=1e-6, atol=1e-7
        )
        assert_allclose(
            found.hessian,
            [(gradient(w + s) - gradient(w - s)) / (2 * h) for s in steps],
            rtol=1e-6,
            atol=1e-7,
        )
        assert_array_equal(found.hessian, found.hessian.T)


def test_logistic_newton_sums_against_mpmath():
    scores = lk.Scores([1.5, -0.5, 30.0], [-2.0, 0.25])
    slope, offset, log_odds = 0.8, -0.3, 1.1
    sums = NewtonSums.of(scores, [slope, offset], log_odds)
    with mpmath.workdps(40):
        for side, sign, values in (("target", -1, scores.target), ("nontarget", 1, scores.nontarget)):

            def loss(a, b, sign=sign, values=values):
                terms = (
                    mpmath.log1p(mpmath.exp(sign * (a * float(x) + b + mpmath.mpf(log_odds)))) for x in values
                )
                return mpmath.fsum(terms)

            def part(i, j, loss=loss):
                return float(mpmath.diff(loss, (mpmath.mpf(slope), mpmath.mpf(offset)), (i, j)))

            found = getattr(sums, side)
            assert_allclose(found.loss, part(0, 0), rtol=1e-14)
            assert_allclose(found.gradient, [part(1, 0), part(0, 1)], rtol=1e-12)
            assert_allclose(found.hessian, [[part(2, 0), part(1, 1)], [part(1, 1), part(0, 2)]], rtol=1e-12)
