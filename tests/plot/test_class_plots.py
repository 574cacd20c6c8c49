"""Plots of several classes: what is drawn is what was given."""

import numpy as np
import pytest
from drawn import lines, some_classes
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.numerics import probit

mc = lk.multiclass
SCORES = some_classes()
RESULT = mc.evaluate(SCORES)


def test_class_det_lines_are_probits_of_the_rates():
    drawn = lines(lk.plot.class_det(RESULT))
    for name in SCORES.classes:
        found = lk.evaluate(mc.detection(SCORES, name))
        line = drawn[f"{name}: EER {100 * found.eer:.2f} %"]
        x, y = line.get_data()
        inside = np.abs(x) < 8
        expected = found.det.for_probit_axes()
        assert_allclose(x[inside], probit(expected.p_fa)[inside], rtol=1e-12)
        there = np.abs(y) < 8
        assert_allclose(y[there], probit(expected.p_miss)[there], rtol=1e-12)
    first, second = (lk.plot.class_det(one).lines[1] for one in (mc.class_dets(RESULT), RESULT))
    assert_array_equal(first.get_xydata(), second.get_xydata())


def test_confusion_cells_are_shares_of_the_true_class():
    axes = lk.plot.confusion(RESULT)
    counts = RESULT.confusion.counts
    assert_allclose(axes.images[0].get_array()[::-1], 100 * counts / counts.sum(axis=1, keepdims=True))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["en", "de", "nl", "fr"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fr", "nl", "de", "en"]
    written = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    assert float(written[(0, 3)]) == pytest.approx(100 * counts[0, 0] / counts[0].sum(), abs=0.5)


def test_class_calibration_points():
    drawn = lines(lk.plot.class_calibration(RESULT))
    picture = mc.class_calibration(RESULT)
    assert_array_equal(drawn["actual"].get_ydata(), picture.actual)
    assert_array_equal(drawn["refined"].get_ydata(), picture.refined)
    assert_allclose(drawn["guessing"].get_ydata(), 2.0)  # log2 of four classes


def test_pair_histogram_areas_are_one():
    (curve,) = mc.pair_histograms(SCORES, [("en", "nl")])
    axes = lk.plot.pair_histogram(curve)
    for patch, density in zip(
        axes.patches, (curve.histogram.nontarget_density, curve.histogram.target_density), strict=True
    ):
        heights, edges, _ = patch.get_data()
        assert_array_equal(heights, density)
        assert_allclose((heights * np.diff(edges)).sum(), 1.0, rtol=1e-12)
    assert axes.get_xlabel() == "LLR of en against nl (nats)"


def test_class_idempotence_points_and_band():
    found = mc.idempotence(SCORES)
    axes = lk.plot.class_idempotence(found)
    drawn = lines(axes)
    for j, name in enumerate(SCORES.classes):
        assert_array_equal(drawn[f"trials of {name}"].get_ydata(), found.observed[j])
        assert_array_equal(drawn[f"trials of {name}"].get_xdata(), found.expected[j])
    assert_array_equal(*drawn["calibrated"].get_data())
    shown = f"p = {found.p_value:.2g}" if found.p_value >= 0.001 else "p < 0.001"
    assert axes.get_title().endswith(shown)


def test_what_cannot_be_drawn_is_named():
    for name in ("class_det", "confusion", "class_calibration", "pair_histogram", "class_idempotence"):
        with pytest.raises(lk.InputError):
            getattr(lk.plot, name)(lk.Scores([1.0], [0.0]))
