import math

import brute
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

import llrkit as lk
from llrkit.metrics.curves import BAYES_LOG_ODDS
from llrkit.metrics.theory_costs import zoo_curve

TOY = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
RNG = np.random.default_rng(8)
TIED = lk.Scores(np.round(RNG.normal(2, 2, 60) * 4) / 4, np.round(RNG.normal(-2, 2, 90) * 4) / 4)


def test_roc_vertices_of_a_toy_set():
    curve = lk.evaluate(TOY).roc
    assert curve.kind == "roc"
    assert_allclose(curve.p_miss, [0, 0, 0.25, 0.25, 0.5, 0.5, 1])
    assert_allclose(curve.p_fa, [1, 0.6, 0.4, 0.2, 0.2, 0, 0])
    assert_array_equal(curve.threshold, [-3, -1, 0, 0.5, 1, 2, np.inf])
    assert (curve.n_target, curve.n_nontarget) == (4, 5)


def test_hull_vertices_of_a_toy_set():
    curve = lk.evaluate(TOY).rocch
    assert curve.kind == "rocch"
    assert_allclose(curve.p_miss, [0, 0, 0.25, 0.5, 1])
    assert_allclose(curve.p_fa, [1, 0.6, 0.2, 0, 0])


def test_roc_holds_every_operating_point_against_brute_force():
    curve = lk.evaluate(TIED).roc
    target, nontarget = TIED.target.tolist(), TIED.nontarget.tolist()
    everything = [(float(m), float(f)) for m, f in brute.error_rates(target, nontarget)]
    kept = list(zip(curve.p_miss.tolist(), curve.p_fa.tolist(), strict=True))
    assert set(kept) <= set(everything)
    # what was left out lies on a straight run of one class
    for m, f in everything:
        i = next(
            i
            for i in range(len(kept) - 1)
            if kept[i][0] <= m <= kept[i + 1][0] and kept[i][1] >= f >= kept[i + 1][1]
        )
        (m0, f0), (m1, f1) = kept[i], kept[i + 1]
        assert (m, f) in kept or m0 == m1 or f0 == f1


def test_rule_of_30():
    scores = lk.Scores(np.arange(60.0), np.arange(-300.0, 300.0))
    assert lk.evaluate(scores).roc.rule_of_30 == (0.5, 0.05)


def test_rule_of_30_of_bayes_errors_against_counting():
    scores = lk.Scores(np.linspace(-4, 8, 400), np.linspace(-8, 4, 700))
    curve = lk.evaluate(scores).bayes_error
    enough = [
        plo for plo in BAYES_LOG_ODDS
        if (scores.target < -plo).sum() >= 30 and (scores.nontarget >= -plo).sum() >= 30
    ]  # fmt: skip
    assert curve.rule_of_30 == (enough[0], enough[-1])


def test_rule_of_30_when_there_never_are_30_errors():
    assert lk.evaluate(TOY).bayes_error.rule_of_30 == (np.inf, -np.inf)


def test_bayes_error_against_brute_force_at_all_log_odds():
    curve = lk.evaluate(TIED).bayes_error
    assert_array_equal(curve.log_odds, np.linspace(-10, 10, 2001))
    target, nontarget = TIED.target.tolist(), TIED.nontarget.tolist()
    p = 1 / (1 + np.exp(-curve.log_odds))
    q = 1 / (1 + np.exp(curve.log_odds))
    m, f = np.array([[float(m), float(f)] for m, f in brute.error_rates(target, nontarget)]).T
    least = (p[:, None] * m + q[:, None] * f).min(axis=1)
    miss = np.array([(TIED.target < -plo).mean() for plo in curve.log_odds])
    fa = np.array([(TIED.nontarget >= -plo).mean() for plo in curve.log_odds])
    assert_allclose(curve.minimum, least, rtol=1e-13)
    assert_allclose(curve.actual_p_miss, miss, rtol=1e-15)
    assert_allclose(curve.actual_p_fa, fa, rtol=1e-15)
    assert_allclose(curve.actual, p * miss + q * fa, rtol=1e-13)
    assert_allclose(curve.reference, np.minimum(p, q), rtol=1e-13)
    assert_allclose(curve.normalized_actual, (p * miss + q * fa) / np.minimum(p, q), rtol=1e-12)
    assert_allclose(curve.normalized_minimum, least / np.minimum(p, q), rtol=1e-12)


def test_area_under_bayes_error_is_cllr():
    # M-07 on the curve itself; beyond +-10 the error is at most e^-10
    scores = lk.Scores(RNG.normal(2, 2, 4000), RNG.normal(-2, 2, 4000))
    result = lk.evaluate(scores)
    curve = result.bayes_error
    for error, wanted in ((curve.actual, result.cllr), (curve.minimum, result.min_cllr)):
        area = np.sum((error[1:] + error[:-1]) / 2 * np.diff(curve.log_odds)) / (2 * math.log(2))
        assert_allclose(area, wanted, rtol=2e-3)


def test_ece_curve():
    curve = lk.evaluate(TIED, ece=True).ece
    assert lk.evaluate(TIED).ece is None
    assert_allclose(curve.log10_odds, np.linspace(-3, 3, 61), atol=1e-14)
    middle = 30
    assert_allclose(curve.system[middle], lk.cllr(TIED), rtol=1e-13)
    assert_allclose(curve.pav[middle], lk.min_cllr(TIED), rtol=1e-13)
    p = 1 / (1 + np.exp(-curve.log_odds))
    assert_allclose(curve.reference, -p * np.log2(p) - (1 - p) * np.log2(1 - p), rtol=1e-10)
    assert (curve.pav <= curve.system + 1e-14).all()
    assert (curve.pav <= curve.reference + 1e-14).all()


def test_ece_curve_against_ramos_formula():
    # M-24: p mean_tar log2(1 + 1/(r o)) + (1 - p) mean_non log2(1 + r o)
    curve = lk.evaluate(TIED, ece=True).ece
    target, nontarget = TIED.target.tolist(), TIED.nontarget.tolist()
    for i in (0, 47):
        odds = 10.0 ** np.linspace(-3, 3, 61)[i]
        p = odds / (1 + odds)
        system = p * np.mean(np.log2(1 + 1 / (np.exp(TIED.target) * odds)))
        system += (1 - p) * np.mean(np.log2(1 + np.exp(TIED.nontarget) * odds))
        assert_allclose(curve.system[i], system, rtol=1e-11)
        assert_allclose(curve.pav[i], brute.min_cross_entropy(target, nontarget, p), rtol=1e-11)


def test_ece_of_an_infinitely_wrong_llr_is_infinite():
    curve = lk.evaluate(lk.Scores([1.0, -np.inf], [0.0, 2.0]), ece=True).ece
    assert np.isinf(curve.system).all()
    assert np.isfinite(curve.pav).all()


@pytest.mark.parametrize("scores", [TIED, TOY, lk.Scores([3.0, 4.0], [1.0, 2.0]), lk.Scores([0.0], [0.0])])
def test_tippett_against_counting(scores):
    curve = lk.evaluate(scores).tippett
    assert (np.diff(curve.llr) >= 0).all()
    assert_array_equal(
        curve.llr[[0, -1]], [min(*scores.target, *scores.nontarget), max(*scores.target, *scores.nontarget)]
    )
    found = curve.target_at_or_above, curve.nontarget_at_or_above
    expected = [(own >= curve.llr[:, None]).mean(axis=1) for own in (scores.target, scores.nontarget)]
    assert_allclose(found, expected, atol=1e-15)
    assert_allclose(curve.target_below, 1 - curve.target_at_or_above, rtol=1e-15)
    assert_allclose(curve.misleading, [(scores.target < 0).mean(), (scores.nontarget >= 0).mean()])


def test_histogram_against_numpy():
    scores = lk.Scores(RNG.normal(2, 1, 700), np.append(RNG.normal(-1, 2, 900), [np.inf, -np.inf, -np.inf]))
    curve = lk.evaluate(scores).histogram
    finite = scores.nontarget[np.isfinite(scores.nontarget)]
    everything = np.append(scores.target, finite)
    edges = np.linspace(everything.min(), everything.max(), 129)
    assert_allclose(curve.edges, edges, atol=1e-12)
    assert_array_equal(curve.target, np.histogram(scores.target, edges)[0])
    assert_array_equal(curve.nontarget, np.histogram(finite, edges)[0])
    assert (curve.n_target, curve.n_nontarget) == (700, 903)
    width = edges[1] - edges[0]
    assert_allclose((curve.target_density * width).sum(), 1.0, rtol=1e-12)
    assert_allclose((curve.nontarget_density * width).sum(), 900 / 903, rtol=1e-12)


@pytest.mark.parametrize(
    ("target", "nontarget"),
    [([np.inf], [-np.inf]), ([np.inf, 1.0], [-np.inf]), ([np.inf], [np.inf]), ([0.0], [0.0]), ([5.0], [5.0])],
)
def test_curves_of_degenerate_sets(target, nontarget):
    result = lk.evaluate(lk.Scores(target, nontarget), ece=True)
    for curve in (result.roc, result.rocch, result.bayes_error, result.tippett, result.pav, result.histogram):
        for values in curve.to_dict().values():
            assert not np.isnan(np.asarray(values, dtype=float) if not isinstance(values, str) else 0.0).any()
    assert result.histogram.target.sum() == np.isfinite(target).sum()


# The slope of the DET


def normal_quantiles(n):
    return ndtri((np.arange(n) + 0.5) / n)


@pytest.mark.parametrize(("sd_target", "sd_nontarget"), [(1, 1), (2, 1), (1, 2), (0.7, 1.9)])
def test_det_slope_of_gaussian_quantiles_against_closed_form(sd_target, sd_nontarget):
    x = normal_quantiles(20_000)
    found = lk.metrics.det_slope(
        lk.Scores(1.2 * sd_target + sd_target * x, -1.2 * sd_nontarget + sd_nontarget * x)
    )
    # probit Pmiss = (t - m_tar) / s_tar, probit Pfa = (m_non - t) / s_non
    assert_allclose(found.slope, -sd_nontarget / sd_target, rtol=2e-3)
    distance = (-1.2 * sd_nontarget - 1.2 * sd_target) / sd_target
    assert_allclose(found.intercept, distance, rtol=2e-3)


def slopes_both_ways(target, nontarget):
    return (
        lk.metrics.det_slope(lk.Scores(target, nontarget)).slope,
        lk.metrics.det_slope(lk.Scores(-np.asarray(nontarget), -np.asarray(target))).slope,
    )


@pytest.mark.slow
@settings(max_examples=150)
@given(st.integers(0, 10_000), st.sampled_from([23, 46, 1000]), st.sampled_from([24, 40, 1000]))
def test_det_slope_is_inverted_by_swapping_the_classes(seed, n_target, n_nontarget):
    rng = np.random.default_rng(seed)
    target = np.round(rng.normal(0.7, 1.5, n_target), 1)
    nontarget = np.round(rng.normal(-0.7, 1, n_nontarget), 1)
    slope, swapped = slopes_both_ways(target, nontarget)
    assume(abs(slope) > 1e-9)  # a flat DET has a test of its own
    assert_allclose(slope * swapped, 1.0, rtol=1e-10)


def test_det_slope_is_inverted_when_the_corner_of_the_range_is_met():
    # at half the targets missed the non-targets run out: Pmiss = 0.5 while Pfa passes 0.001
    slope, swapped = slopes_both_ways([-1.0, -1.0, 3.0, 4.0, -3.0, 5.0], [-2.5, -2.0, -1.5, 0.0, 1.0, 2.0])
    assert -5 < slope < -0.01
    assert_allclose(slope * swapped, 1.0, rtol=1e-10)


def test_det_slope_of_a_flat_det_is_not_made_of_rounding():
    # one target below a run of non-targets, the others above: Pmiss is 1/5 all the way
    slope, swapped = slopes_both_ways([-3.0, 5.0, 6.0, 7.0, 8.0], np.arange(-2.0, 5.0))
    assert slope == 0.0 or math.isnan(slope)
    assert math.isinf(swapped) or math.isnan(swapped)


def test_det_slope_of_separated_classes_is_nan():
    for target, nontarget in (([2.0, 3.0], [0.0, 1.0]), ([0.0], [1.0]), ([np.inf], [-np.inf])):
        found = lk.metrics.det_slope(lk.Scores(target, nontarget))
        assert math.isnan(found.slope)
        assert math.isnan(found.intercept)


def test_the_reference_of_the_cross_entropy_curve_has_its_digits_at_any_log_odds():
    odds = [-700.0, -38.0, -2.0, 2.0, 36.0, 38.0, 700.0]
    with mpmath.workdps(700):  # 1 - p is e^-700
        priors = [1 / (1 + mpmath.exp(-mpmath.mpf(z))) for z in odds]
        wanted = [float(-p * mpmath.log(p, 2) - (1 - p) * mpmath.log(1 - p, 2)) for p in priors]
    assert_allclose(lk.metrics.cross_entropy_curve(TOY, log_odds=odds).reference, wanted, rtol=1e-12)


def test_speakers_of_a_zoo_may_be_numbers_and_text():
    who = {"who": ([2, 1, 0, 0], [0, 1, 2])}
    scores = lk.Scores([4.0, 2.0, 3.0, 6.0], [-1.0, 0.0, -4.0], who, categories={"who": ("s10", "s9", 7)})
    curve = zoo_curve(scores, "who")
    assert curve.speakers == ("7", "s9", "s10")
    assert_array_equal(curve.target_mean, [4.0, 2.0, 4.5])
    assert_array_equal(curve.nontarget_mean, [-4.0, 0.0, -1.0])
