"""Plots of evaluations: the drawn lines are the numbers, found here from the scores themselves."""

import numpy as np
import pytest
from drawn import lines, some_evaluation, some_scores
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import llrkit as lk
from llrkit.trust.bands import DetBand
from llrkit.trust.null import LlrCurve
from llrkit.verbs.compare import ScoreToLlr

SCORES = some_scores()
RESULT = some_evaluation()
T, N = SCORES.target, SCORES.nontarget


def rates(thresholds):
    """Pmiss and Pfa, counted one by one."""
    return (np.array([np.mean(t > T) for t in thresholds]), np.array([np.mean(t <= N) for t in thresholds]))


def line_of(axes, start):
    return next(line for label, line in lines(axes).items() if label.startswith(start))


def test_det_lines_are_probits_of_the_rates():
    axes = lk.plot.det({"mine": RESULT})
    x, y = line_of(axes, "mine: EER").get_data()
    p_miss, p_fa = rates(np.sort(np.concatenate([T, N])))
    corners = np.column_stack([norm.ppf(p_fa), norm.ppf(p_miss)])
    inside = np.abs(corners).max(axis=1) < 8
    drawn = np.column_stack([x, y])
    # every vertex that is drawn inside is one of the exact rates, and the steps go through all of them
    for vertex in drawn[np.abs(drawn).max(axis=1) < 8]:
        assert np.abs(corners - vertex).max(axis=1).min() < 1e-12
    low, high = np.minimum(drawn[:-1], drawn[1:]) - 1e-12, np.maximum(drawn[:-1], drawn[1:]) + 1e-12
    for corner in corners[inside]:
        assert ((low <= corner) & (corner <= high)).all(axis=1).any()


def test_det_marks_operating_points_at_their_rates():
    axes = lk.plot.det(RESULT)
    marked = [line.get_xydata()[0] for line in axes.lines if line.get_linestyle() == "None"]
    threshold = np.log(9.9)  # sre08: log of 0.99 / (10 * 0.01)
    actual = norm.ppf([np.mean(threshold <= N), np.mean(threshold > T)])
    thresholds = np.append(np.unique(np.concatenate([T, N])), np.inf)
    p_miss, p_fa = rates(thresholds)
    best = np.argmin(p_miss + 9.9 * p_fa)
    for expected in (actual, norm.ppf([p_fa[best], p_miss[best]])):
        assert min(np.abs(mark - expected).max() for mark in marked if np.isfinite(mark).all()) < 1e-12
    without = lk.plot.det(RESULT, points=False)
    assert not [line for line in without.lines if line.get_linestyle() == "None"]


def test_det_hull_is_below_the_steps_and_straight_in_rates():
    hull = line_of(lk.plot.det(RESULT, curve="hull", points=False), "EER")
    inside = np.abs(hull.get_xydata()).max(axis=1) < 6
    p_fa, p_miss = norm.cdf(hull.get_xydata()[inside].T)
    vertices_fa, vertices_miss = RESULT.rocch.p_fa[::-1], RESULT.rocch.p_miss[::-1]
    assert_allclose(p_miss, np.interp(p_fa, vertices_fa, vertices_miss), atol=1e-12)
    steps = RESULT.roc
    between = (steps.p_fa > p_fa.min()) & (steps.p_fa < p_fa.max())
    under = np.interp(steps.p_fa[between], p_fa[::-1], p_miss[::-1])
    assert np.all(under <= steps.p_miss[between] + 1e-12)
    assert np.any(under < steps.p_miss[between] - 1e-3)
    assert np.abs(np.diff(hull.get_xydata()[inside], axis=0)).max() < 0.051  # no long chord on probit axes


def corners_of(axes):
    return [part.get_paths()[0].vertices for part in axes.collections if part.get_paths()]


def is_corner(corners, x, y):
    return np.abs(corners - [x, y]).max(axis=1).min() < 1e-12


def test_det_band_is_where_it_was_given():
    p_fa = np.array([0.3, 0.1, 0.01, 0.001])
    lower, upper = np.array([0.02, 0.1, 0.2, np.nan]), np.array([0.05, 0.2, 0.4, np.nan])
    band = DetBand(0.95, p_fa, 0.5 * (lower + upper), lower, upper)
    (corners,) = corners_of(lk.plot.det({"mine": RESULT}, bands={"mine": band}))
    for x, low, high in zip(p_fa[:3], lower, upper, strict=False):
        assert is_corner(corners, *norm.ppf([x, low]))
        assert is_corner(corners, *norm.ppf([x, high]))
    assert not is_corner(corners[:, :1], norm.ppf(0.001), norm.ppf(0.001))  # too few errors: no band
    assert len(lk.plot.det(RESULT, bands=band).collections) == 1


@pytest.mark.parametrize("style", ["above", "crossing"])
def test_bands_of_an_evaluation_lie_around_its_curves(style):
    bands = lk.trust.curve_bands(SCORES, result=RESULT)
    target, nontarget = corners_of(lk.plot.tippett(RESULT, style=style, log10=True, bands=bands))
    some = 300
    x = bands.tippett.llr[some] / np.log(10)
    edge = bands.tippett.target_upper[some]
    assert is_corner(target, x, edge if style == "above" else 1 - edge)
    assert is_corner(nontarget, x, bands.tippett.nontarget_lower[some])
    (ece,) = corners_of(lk.plot.ece({"A": RESULT}, bands={"A": bands}))
    assert is_corner(ece, bands.ece.log_odds[10] / np.log(10), bands.ece.upper[10])


def test_bands_of_others_are_refused():
    bands = lk.trust.curve_bands(SCORES, result=RESULT)
    with pytest.raises(lk.InputError):
        lk.plot.det({"A": RESULT}, bands={"B": bands})
    with pytest.raises(lk.InputError):
        lk.plot.tippett({"A": RESULT}, bands={"A": bands.det})


def test_roc_lines_are_the_rates():
    x, y = line_of(lk.plot.roc(RESULT), "AUC").get_data()
    p_miss, p_fa = rates(np.append(np.sort(np.concatenate([T, N])), np.inf))
    for vertex in np.column_stack([x, y]):
        assert np.abs(np.column_stack([p_fa, 1 - p_miss]) - vertex).max(axis=1).min() < 1e-12
    auc = np.mean((T[:, None] > N).astype(float))
    assert_allclose(np.trapezoid(y[::-1], x[::-1]), auc)


def error_at(log_odds, thresholds):
    prior = 1 / (1 + np.exp(-log_odds))
    p_miss, p_fa = rates(thresholds)
    return prior * p_miss + (1 - prior) * p_fa


def test_ape_lines_are_errors():
    axes = lk.plot.ape(RESULT)
    log_odds, actual = line_of(axes, "Cllr").get_data()
    some = slice(0, None, 97)
    assert_allclose(actual[some], error_at(log_odds[some], -log_odds[some]), atol=1e-12)
    best = next(line for line in axes.lines if line.get_label().startswith("_") and len(line.get_xdata()) > 9)
    candidates = np.append(np.unique(np.concatenate([T, N])), np.inf)
    for place in (300, 1000, 1600):
        every = [error_at(log_odds[place], [t])[0] for t in candidates]
        assert_allclose(best.get_ydata()[place], min(every), rtol=1e-10)


def test_bayes_error_lines():
    log_odds, actual = line_of(lk.plot.bayes_error(RESULT), "Cllr").get_data()
    for place in (400, 1000, 1500):
        prior = 1 / (1 + np.exp(-log_odds[place]))
        assert_allclose(actual[place], lk.act_dcf(SCORES, point=float(prior)), rtol=1e-10)


def test_ece_lines_are_cross_entropies():
    axes = lk.plot.ece(RESULT)
    x, y = line_of(axes, "Cllr").get_data()
    for place in (0, 30, 45):
        odds = x[place] * np.log(10)
        prior = 1 / (1 + np.exp(-odds))
        loss = prior * np.mean(np.log2(1 + np.exp(-(T + odds)))) + (1 - prior) * np.mean(
            np.log2(1 + np.exp(N + odds))
        )
        assert_allclose(y[place], loss, rtol=1e-12)
    with pytest.raises(lk.InputError):
        lk.plot.ece(lk.evaluate(SCORES))


@pytest.mark.parametrize("log10", [False, True])
@pytest.mark.parametrize("style", ["above", "crossing"])
def test_tippett_lines_are_shares_of_trials(style, log10):
    axes = lk.plot.tippett(RESULT, style=style, log10=log10)
    unit = np.log(10) if log10 else 1.0
    x, y = line_of(axes, "targets").get_data()
    p_miss, p_fa = rates(RESULT.tippett.llr[::100])
    assert_allclose(x[::100] * unit, RESULT.tippett.llr[::100], rtol=1e-12)
    assert_allclose(y[::100], 1 - p_miss if style == "above" else p_miss, atol=1e-12)
    assert_allclose(line_of(axes, "non-targets").get_ydata()[::100], p_fa)


def test_pav_steps_are_the_blocks():
    axes = lk.plot.pav({"PAV": RESULT, "map": ScoreToLlr([-1.0, 1.0], [-2.0, 2.5])})
    x, y = lines(axes)["PAV"].get_data()
    assert np.all(np.diff(x) >= 0)
    for left, right, llr in zip(x[::2], x[1::2], y[::2], strict=True):
        inside_t, inside_n = (np.sum((left <= z) & (z <= right)) for z in (T, N))
        if inside_t and inside_n:
            assert_allclose(llr, np.log(inside_t / len(T)) - np.log(inside_n / len(N)))
    assert_array_equal(lines(axes)["map"].get_xydata(), [[-1.0, -2.0], [1.0, 2.5]])
    assert_array_equal(*lines(axes)["LLR = score"].get_data())


def test_histogram_areas_and_prediction():
    axes = lk.plot.histogram(RESULT)
    for patch, values in zip(axes.patches, (N, T), strict=True):
        heights, edges, _ = patch.get_data()
        counted, _ = np.histogram(values, edges)
        assert_allclose(heights, counted / len(values) / np.diff(edges), atol=1e-12)
    sigma = -2 * norm.ppf(RESULT.eer)
    for name, sign in (("non-targets with EER", -1), ("targets with EER", 1)):
        drawn = line_of(axes, name)
        x = drawn.get_xdata()
        assert_allclose(drawn.get_ydata(), norm.pdf(x, sign * sigma**2 / 2, sigma), rtol=1e-10)
    assert not lines(lk.plot.histogram(RESULT, predicted=False))


def test_histogram_cuts_bars_of_bounded_llrs_and_says_how_many_trials_they_hold():
    rng = np.random.default_rng(3)
    t, n = np.clip(rng.normal(4, 3, 400), -3, 3), np.clip(rng.normal(-4, 3, 500), -3, 3)
    axes = lk.plot.histogram(lk.evaluate(lk.Scores(t, n)), predicted=False)
    held = np.histogram(n, bins=axes.patches[0].get_data()[1])[0][0] / 500
    assert held > 0.5  # more than half of the non-targets are at the lower bound
    assert f"bar cut: {100 * held:.0f} % of non-targets at the lowest LLRs" in lines(axes)
    inside = max(patch.get_data()[0][1:-1].max() for patch in axes.patches)
    assert_allclose(axes.get_ylim()[1], 1.1 * inside)
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0  # it hides no curve


def test_det_of_classes_without_overlap_shows_the_upper_limits_of_both_rates():
    axes = lk.plot.det(lk.evaluate(lk.Scores(np.arange(1.0, 31.0), -np.arange(1.0, 201.0))))
    (label,) = (label for label in lines(axes) if "no errors" in label)
    miss, fa = 1 - 0.05 ** (1 / 30), 1 - 0.05 ** (1 / 200)  # no error is seen with a probability of 5 %
    limits = f"95 % upper limits Pmiss {100 * miss:.2f} %, Pfa {100 * fa:.2f} %"
    assert label == f"no errors in 30 + 200 trials, {limits}"
    assert_allclose(lines(axes)[label].get_xydata(), [norm.ppf([fa, miss])], rtol=1e-9)
    for (low, high), place in zip((axes.get_xlim(), axes.get_ylim()), norm.ppf([fa, miss]), strict=True):
        assert low < place < high
    assert not [label for label in lines(lk.plot.det(RESULT)) if "no errors" in label]


def test_idempotence_lines_and_band():
    x = np.array([-2.0, 0.0, 2.0])
    axes = lk.plot.idempotence(LlrCurve("pav", x, np.array([-np.inf, 0.1, 3.0]), x - 1, x + 1))
    y = lines(axes)["pav"].get_ydata()
    assert_array_equal(y[1:], [0.1, 3.0])
    assert y[0] < axes.get_ylim()[0]  # infinite: off the picture
    assert is_corner(corners_of(axes)[0], 2.0, 3.0)
    assert axes.get_xlim() == axes.get_ylim()
    several = lk.plot.idempotence([LlrCurve(name, x, x, x - 1, x + 1) for name in ("logistic", "pav")])
    assert len(several.collections) == 1  # one band, that of the first
    assert "logistic: 95 % if calibrated" in several.get_legend_handles_labels()[1]
    with pytest.raises(lk.InputError):
        lk.plot.idempotence([])


def test_det_of_equal_scores_does_not_claim_that_there_are_no_errors():
    axes = lk.plot.det(lk.evaluate(lk.Scores(np.full(5, 1.5), np.full(9, 1.5))))
    assert not [label for label in lines(axes) if "no errors" in label]
