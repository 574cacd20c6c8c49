"""The paper's figures: what is drawn is what was given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import lines
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, ndtri

import llrkit as lk
from llrkit.fits.mixtures import MixingCurve
from llrkit.metrics.theory_costs import family_pairs, theory_costs, theory_costs_of
from llrkit.plot.cost_plots import CllrScatter
from llrkit.verbs.compare import PriorScan
from llrkit.verbs.conditions import HeatMap


def test_two_gaussians_are_normal_densities():
    axes = lk.plot.two_gaussians(lk.theory.GaussianLLR.from_mu(2.0))
    drawn = lines(axes)
    for label, mean in (("same source, e(x)", 2.0), ("different sources, d(x)", -2.0)):
        x, y = drawn[label].get_data()
        assert_allclose(y, np.exp(-((x - mean) ** 2) / 8.0) / np.sqrt(8.0 * np.pi), rtol=1e-12)
    assert [text.get_text() for text in axes.texts] == ["mean −2.00", "mean +2.00"]
    assert axes.get_title() == "Calibrated LLRs with an EER of 15.87 %"  # Phi(-1)


def test_scatter_draws_the_points_and_the_diagonal():
    x, y = np.array([0.1, 0.35, 0.8]), np.array([0.12, 0.34, 0.81])
    axes = lk.plot.cllr_scatter(CllrScatter("CMLG", "logistic regression", x, y))
    drawn = lines(axes)
    assert_array_equal(drawn["3 trial lists"].get_xydata(), np.column_stack([x, y]))
    assert_array_equal(*drawn["equal"].get_data())
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_xlabel() == "Cllr, CMLG (bits)"


def test_prior_scan_draws_each_method():
    scan = PriorScan([-4.0, 0.0, 4.0], {"logistic": [0.24, 0.27, 0.35], "CMLG": [0.24, 0.39, 0.59]}, 0.2426)
    drawn = lines(lk.plot.prior_scan(scan))
    assert list(drawn) == ["best threshold", "logistic", "CMLG"]
    assert_array_equal(drawn["CMLG"].get_xydata(), [[-4, 0.24], [0, 0.39], [4, 0.59]])
    assert_array_equal(drawn["best threshold"].get_ydata(), [0.2426, 0.2426])


def test_heat_map_writes_the_values():
    values = np.array([[0.26, 0.215, 0.135], [0.215, 0.166, 0.088]])
    axes = lk.plot.heat_map(
        HeatMap(values, ("5 s", "10 s"), ("5 s", "10 s", "full"), value_name="EER", percent=True)
    )
    assert_array_equal(axes.images[0].get_array(), 100 * values)
    written = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert written[(2, 0)] == "13.5"
    assert written[(0, 1)] == "21.5"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["5 s", "10 s", "full"]
    assert axes.get_ylabel() == "enrollment"
    small = lk.plot.heat_map(HeatMap([[0.0062, 0.0018]], ("A01",), ("a", "b"), percent=True))
    assert [text.get_text() for text in small.texts] == ["0.62", "0.18"]


def test_drawing_into_given_axes_returns_them():
    _, (left, right) = plt.subplots(1, 2)
    scan = PriorScan([0.0, 1.0], {"CMLG": [0.3, 0.4]})
    assert lk.plot.prior_scan(scan, ax=right) is right
    assert len(left.lines) == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PriorScan([0.0, 1.0], {"CMLG": [0.3]}), "costs"),
        (lambda: CllrScatter("a", "b", [1.0], [1.0, 2.0]), "lengths differ"),
        (lambda: HeatMap([[1.0]], ("a", "b"), ("c",)), "2 rows and 1 column"),
    ],
)
def test_curves_that_do_not_fit_are_refused(make, words):
    with pytest.raises(lk.InputError, match=words):
        make()


def test_curves_cannot_be_written_to():
    scan = PriorScan([0.0, 1.0], {"CMLG": [0.3, 0.4]})
    with pytest.raises(ValueError):
        scan.log_odds[0] = 1.0
    with pytest.raises(ValueError):
        scan.costs["CMLG"][0] = 1.0


def test_mixing_draws_shares_and_their_sum():
    curve = MixingCurve([0.0, 1.0, 9.0], [0.1, 0.3, 0.6])
    axes = lk.plot.mixing(curve)
    steps, *stems = (line.get_xydata() for line in axes.lines[:4])
    assert_allclose(np.unique(steps[:, 1]), [0.0, 0.1, 0.4, 1.0])
    assert_allclose([stem[1, 1] for stem in stems], curve.weights)
    assert_allclose([stem[0, 0] for stem in stems][1:], np.log([1.0, 9.0]))
    # the tick of an EER of 10 % stands at the mu whose Gaussian pair has it
    ticks = dict(zip((label.get_text() for label in axes.get_xticklabels()), axes.get_xticks(), strict=True))
    assert_allclose(np.exp(ticks["10"]), lk.theory.GaussianLLR.from_eer(0.1).mu, rtol=1e-9)


def test_theory_draws_every_family_and_list():
    curve = theory_costs("sre10", {"easy": (0.05, 0.8), "hard": (0.2, 0.99)})
    drawn = lines(lk.plot.theory(curve))
    assert list(drawn) == [*curve.costs, "2 measured lists"]
    assert_allclose(drawn["2 measured lists"].get_xydata(), [[ndtri(0.05), 0.8], [ndtri(0.2), 0.99]])
    gaussian = drawn["Gaussian"].get_xydata()
    # Bayes decisions at the prior 0.001 of N(+-s^2/2, s^2) with s = -2 probit EER
    sigma, threshold = -2.0 * gaussian[:, 0], np.log(999.0)
    p_miss, p_fa = ndtr(threshold / sigma - sigma / 2), ndtr(-threshold / sigma - sigma / 2)
    assert_allclose(gaussian[:, 1], p_miss + 999.0 * p_fa, rtol=1e-9)


@pytest.mark.slow
def test_the_difference_of_cllr_is_drawn_beside_its_sentence():
    curve = theory_costs("Cllr", {"one": (0.05, 0.19), "perfect": (0.0, 0.0), "useless": (0.5, 1.0)})
    assert_allclose(curve.predicted[1:], [0.0, 1.0])
    difference = curve.beyond_gaussian()
    drawn = lines(lk.plot.theory(difference))
    assert_allclose(drawn["Gaussian"].get_ydata(), 0.0, atol=1e-15)
    assert_allclose(drawn["3 measured lists"].get_ydata(), [0.19 - lk.theory.cllr_from_eer(0.05), 0.0, 0.0])
    assert "at most 0.022 bits" in difference.sentence
    assert "root mean square" in curve.sentence
    with pytest.raises(lk.InputError):
        theory_costs("sre10").beyond_gaussian()


def test_families_are_those_of_theory_against_simulation():
    rng = np.random.default_rng(5)
    for name, pairs in family_pairs().items():
        eers = np.array([pair.eer for pair in pairs])
        assert np.all(np.diff(eers) > 0), name
        assert eers[0] < 0.005, name
        assert eers[-1] > 0.35, name
        pair = pairs[len(pairs) // 2]
        target, nontarget = pair.rvs(20_000, 20_000, rng)
        assert_allclose(lk.eer(lk.Scores(target, nontarget)), pair.eer, atol=0.01)
        assert_allclose(lk.min_cllr(lk.Scores(target, nontarget)), pair.cllr, atol=0.02)


def test_measured_systems_are_put_on_all_their_costs():
    scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(2_000, 20_000, np.random.default_rng(1)))
    found = lk.evaluate(scores, points=["sre08", "sre12"])
    curves = theory_costs_of({"mine": found})
    names = [curve.cost_name for curve in curves]
    assert names[0] == "Cllr"
    assert names[2:] == ["minimum DCF (sre08)", "C_primary (sre12)"]
    assert_allclose(
        [curves[0].list_costs[0], curves[2].list_costs[0], curves[3].list_costs[0]],
        [
            found.min_cllr,
            lk.min_dcf(scores, point="sre08"),
            lk.c_primary(scores, evaluation="sre12", actual=False),
        ],
    )
    pair = lk.theory.GaussianLLR.from_eer(found.eer)
    assert_allclose(curves[3].predicted, pair.c_primary("sre12"))
    assert_allclose(curves[0].rms, abs(pair.cllr - found.min_cllr))
    assert_allclose(curves[0].rms_share, abs(pair.cllr - found.min_cllr) / found.min_cllr)
    with pytest.raises(lk.InputError):
        theory_costs_of({})
