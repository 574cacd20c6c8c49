"""Every metric against trying every threshold, in exact fractions, on small sets full of ties."""

import math
from fractions import Fraction
from itertools import pairwise

import brute
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import llrkit as lk
from llrkit.core.cells import count_trials
from llrkit.core.pav import pav_blocks
from llrkit.metrics.discrimination import best_errors

MANY = settings(max_examples=200)
SOME = settings(max_examples=60)
INF = math.inf

tied = st.sampled_from([-INF, -3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 2.5, INF])
finite_tied = st.sampled_from([-3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 2.5])
spread = st.floats(-50, 50, allow_nan=False)

# any two sets of scores, also those the wrong way round
pytestmark = pytest.mark.filterwarnings(
    "ignore::llrkit.errors.ReversedScoresWarning", "ignore::llrkit.errors.ScaleWarning"
)


def lists(values, most=12):
    return st.lists(values, min_size=1, max_size=most)


@st.composite
def separated(draw):
    """Separable or reversed scores, possibly touching."""
    low = draw(lists(st.sampled_from([-4.0, -2.0, -1.0, 0.0])))
    high = draw(lists(st.sampled_from([0.0, 1.0, 3.0, 7.0])))
    return (high, low) if draw(st.booleans()) else (low, high)


SETS = st.one_of(
    st.tuples(lists(tied), lists(tied)),
    st.tuples(lists(st.integers(0, 3).map(float), 20), lists(st.integers(0, 3).map(float), 20)),
    st.tuples(lists(spread), lists(spread)),
    st.tuples(lists(tied, 1), lists(tied)),
    st.tuples(lists(tied), lists(tied, 1)),
    separated(),
)
POINTS = [
    (Fraction(1, 2), 1, 1),
    (Fraction(1, 100), 10, 1),
    (Fraction(1, 1000), 1, 1),
    (Fraction(9, 10), 1, 5),
]


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """A pool of threads for each of ten thousand tiny sets would be most of the running time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLRKIT_THREADS", "1")
        yield


@SOME
@given(SETS)
@example(([0.0], [0.0]))
@example(([1.0], [0.0]))
@example(([0.0], [1.0]))
@example(([INF], [-INF]))
@example(([-INF, 0.0], [INF, 0.0]))
def test_order_metrics_against_brute_force(sets):
    target, nontarget = sets
    scores = lk.Scores.from_classes(target, nontarget)
    assert_allclose(lk.eer(scores), float(brute.eer(target, nontarget)), rtol=1e-13, atol=1e-15)
    assert_allclose(
        lk.metrics.eer_roc(scores), float(brute.eer_roc(target, nontarget)), rtol=1e-13, atol=1e-15
    )
    assert_allclose(lk.auc(scores), float(brute.auc(target, nontarget)), rtol=1e-14)
    assert_allclose(lk.metrics.prbep(scores), float(brute.prbep(target, nontarget)), rtol=1e-13, atol=1e-14)


@SOME
@given(SETS)
def test_min_dcf_against_brute_force(sets):
    target, nontarget = sets
    scores = lk.Scores.from_classes(target, nontarget)
    found = [lk.min_dcf(scores, point=lk.OperatingPoint(float(p), m, f)) for p, m, f in POINTS]
    wanted = [float(brute.min_dcf(target, nontarget, p, m, f)) for p, m, f in POINTS]
    assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


@SOME
@given(SETS)
def test_min_cllr_against_min_max_formula(sets):
    target, nontarget = sets
    assert_allclose(
        lk.min_cllr(lk.Scores.from_classes(target, nontarget)),
        brute.min_cllr(target, nontarget),
        rtol=1e-12,
        atol=1e-14,
    )


@pytest.mark.slow
@MANY
@given(SETS)
def test_pav_map_against_min_max_formula(sets):
    target, nontarget = sets
    curve = lk.evaluate(lk.Scores.from_classes(target, nontarget), points=()).pav
    for value, llr in brute.pav_llrs(target, nontarget).items():
        block = [i for i in range(len(curve.llr)) if curve.low[i] <= value <= curve.high[i]]
        assert len(block) == 1
        assert_allclose(curve.llr[block[0]], llr, rtol=1e-12, atol=1e-12)
    assert (np.diff(curve.low) > 0).all()


@SOME
@given(SETS)
@example(([-INF, INF], [-INF, 0.0]))
@example(([INF], [-INF]))
def test_act_dcf_and_cllr_against_brute_force(sets):
    target, nontarget = sets
    scores = lk.Scores.from_classes(target, nontarget)
    assert_allclose(lk.cllr(scores), brute.cllr(target, nontarget), rtol=1e-12, atol=0)
    for p, m, f in POINTS:
        point = lk.OperatingPoint(float(p), m, f)
        rates = brute.rates_at(target, nontarget, math.log(f * (1 - p) / (m * p)))
        assert_allclose(lk.act_dcf(scores, point=point), float(brute.dcf(*rates, p, m, f)), rtol=1e-13)


@SOME
@given(SETS)
def test_eer_threshold_against_brute_force(sets):
    target, nontarget = sets
    assert lk.metrics.eer_threshold(lk.Scores.from_classes(target, nontarget)) == brute.eer_threshold(
        target, nontarget
    )


@pytest.mark.slow
@settings(max_examples=100)
@given(SETS, SETS)
def test_hter_against_brute_force(dev, sets):
    # the threshold is the library's own, tested above; the errors are counted here
    threshold = lk.metrics.eer_threshold(lk.Scores.from_classes(*dev))
    wanted = sum(brute.rates_at(*sets, threshold)) / 2
    assert_allclose(
        lk.metrics.hter(lk.Scores.from_classes(*sets), dev=lk.Scores.from_classes(*dev)),
        float(wanted),
        rtol=1e-15,
    )


@SOME
@given(SETS)
def test_eer_against_linear_program(sets):
    # Randomize between all thresholds so that the larger of the two error rates is as small as can be.
    rates = np.array([[float(m), float(f)] for m, f in brute.error_rates(*sets)])
    k = len(rates)
    answer = linprog(
        np.append(np.zeros(k), 1.0),
        A_ub=np.column_stack([rates.T, [-1.0, -1.0]]),
        b_ub=[0.0, 0.0],
        A_eq=[np.append(np.ones(k), 0.0)],
        b_eq=[1.0],
        method="highs",
    )
    assert answer.status == 0
    assert_allclose(lk.eer(lk.Scores.from_classes(*sets)), answer.fun, rtol=0, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=100)
@given(SETS)
def test_trapezium_bound_at_all_priors(sets):
    # M-21: the best error rate is at most min(prior, 1 - prior, ROCCH-EER), and reaches the EER somewhere
    scores = lk.Scores.from_classes(*sets)
    curve = lk.evaluate(scores, points=()).bayes_error
    bound = np.minimum(curve.reference, lk.eer(scores))
    assert (curve.minimum <= bound + 1e-15).all()
    assert (curve.minimum <= curve.actual + 1e-15).all()


@pytest.mark.slow
@settings(max_examples=100)
@given(SETS)
def test_eer_is_the_largest_minimum_error_over_priors(sets):
    # M-19; the best vertex changes only at the PAV LLRs, where the piecewise linear maximum lies
    scores = lk.Scores.from_classes(*sets)
    changes = [llr for llr in brute.pav_llrs(*sets).values() if math.isfinite(llr)]
    priors = [1 / (1 + math.exp(llr)) for llr in changes]
    worst = max(
        (min(p * float(m) + (1 - p) * float(f) for m, f in brute.error_rates(*sets)) for p in priors),
        default=0.0,
    )
    assert_allclose(lk.eer(scores), worst, rtol=0, atol=1e-14)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.tuples(lists(finite_tied), lists(finite_tied)))
def test_cllr_against_area_under_bayes_error(sets):
    # M-07: Cllr = 1/(2 ln 2) times the integral of the actual error over prior log-odds; min Cllr likewise
    scores = lk.Scores.from_classes(*sets)
    actual = _area([-x for x in (*sets[0], *sets[1])], lambda plo: _actual_error(sets, plo))
    changes = [-x for x in brute.pav_llrs(*sets).values() if math.isfinite(x)]
    least = _area(changes, lambda plo: _least_error(sets, plo))
    assert_allclose(lk.cllr(scores), actual / (2 * math.log(2)), rtol=1e-9)
    assert_allclose(lk.min_cllr(scores), least / (2 * math.log(2)), rtol=1e-9, atol=1e-15)


def _area(breaks, error):
    nodes, weights = np.polynomial.legendre.leggauss(12)
    inner = sorted({float(x) for x in breaks} | set(np.arange(-48.0, 49.0, 2.0)))
    total = 0.0
    for a, b in pairwise(inner):
        x = (a + b) / 2 + (b - a) / 2 * nodes
        total += (b - a) / 2 * float(weights @ np.array([error(v) for v in x]))
    return total


def _actual_error(sets, plo):
    m = sum(x < -plo for x in sets[0]) / len(sets[0])
    f = sum(x >= -plo for x in sets[1]) / len(sets[1])
    return m / (1 + math.exp(-plo)) + f / (1 + math.exp(plo))


def _least_error(sets, plo):
    counts = brute.error_counts(*sets)
    p, q = 1 / (1 + math.exp(-plo)), 1 / (1 + math.exp(plo))
    return min(m / len(sets[0]) * p + f / len(sets[1]) * q for m, f in counts)


@pytest.mark.slow
@MANY
@given(SETS)
def test_hull_has_no_collinear_vertex_against_brute_force(sets):
    counts = count_trials(lk.Scores.from_classes(*sets))
    blocks = pav_blocks(counts.bins())
    hull = brute.lower_hull(brute.error_counts(*sets))
    wanted = [(m1 - m0, f0 - f1) for (m0, f0), (m1, f1) in pairwise(hull)]
    assert list(zip(blocks.target.tolist(), blocks.nontarget.tolist(), strict=True)) == wanted
    assert (np.diff(blocks.llr) > 0).all()


@pytest.mark.slow
@settings(max_examples=100)
@given(SETS)
def test_best_errors_against_brute_force(sets):
    odds = np.linspace(-6, 6, 25)
    p_miss, p_fa = best_errors(pav_blocks(count_trials(lk.Scores.from_classes(*sets)).bins()), odds)
    for plo, m, f in zip(odds, p_miss, p_fa, strict=True):
        p, q = 1 / (1 + math.exp(-plo)), 1 / (1 + math.exp(plo))
        assert_allclose(p * m + q * f, _least_error(sets, plo), rtol=1e-13, atol=1e-15)


def test_published_vectors():
    # theory.md M-08, checked there against BOSARIS
    scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    assert_allclose(lk.cllr(scores), 0.7139542076921034, rtol=1e-15)
    assert_allclose(lk.min_cllr(scores), 0.5353940099985347, rtol=1e-15)
    assert_allclose(lk.eer(scores), 3 / 13, rtol=1e-15)


def test_published_pav_llrs():
    curve = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), points=()).pav
    assert_allclose(curve.llr, [-INF, math.log(5 / 8), math.log(5 / 4), INF], rtol=1e-15)
    assert_allclose(curve.llr[1:3], [-0.4700036, 0.2231436], atol=5e-8)
    assert_allclose(curve.low, [-3, -1, 0.5, 2])
    assert_allclose(curve.high, [-2, 0, 1, 3])


def test_min_cllr_of_ties_against_hand_count():
    # M-17: optimistic ports say 0.459. Scores 0..3 hold (targets, non-targets) (0,1) (1,2) (2,2) (3,1): the
    # shares 0, 1/3, 1/2, 3/4 already rise, so with 6 + 6 trials the LRs are 0, 1/2, 1, 3.
    log2 = math.log2
    wanted = (1 * log2(3) + 2 * log2(2) + 3 * log2(4 / 3)) / 6 + (2 * log2(3 / 2) + 2 * log2(2) + log2(4)) / 6
    scores = lk.Scores([1, 2, 2, 3, 3, 3], [0, 1, 1, 2, 2, 3])
    assert_allclose(lk.min_cllr(scores), wanted / 2, rtol=1e-15)
    assert_allclose(wanted / 2, 0.833, atol=5e-4)


@pytest.mark.parametrize("at", [0.0, -7.5, INF, -INF])
def test_one_target_and_one_nontarget_tied(at):
    scores = lk.Scores([at], [at])
    assert (lk.min_cllr(scores), lk.eer(scores), lk.metrics.eer_roc(scores), lk.auc(scores)) == (
        1.0,
        0.5,
        0.5,
        0.5,
    )
