"""The paper's figures: what is drawn is what was given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import lines
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.evaluation.alpha_scan import PriorScan
from llrkit.evaluation.condition_map import HeatMap
from llrkit.evaluation.mixing_curve import MixingCurve
from llrkit.plot.paper_figures import CllrScatter


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
        (lambda: HeatMap([[1.0]], ("a", "b"), ("c",)), "2 rows and 1 columns"),
    ],
)
def test_curves_that_do_not_fit_are_refused(make, words):
    with pytest.raises(lk.InputError, match=words):
        make()


def test_curves_cannot_be_written_to():
    scan = PriorScan([0.0, 1.0], {"CMLG": [0.3, 0.4]})
    with pytest.raises(ValueError, match="read-only"):
        scan.log_odds[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
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
