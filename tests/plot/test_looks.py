"""Title, legend, limits, names of classes, base ten: of every plot, whichever renderer draws it."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import examples, some_evaluation, some_scores
from numpy.testing import assert_allclose
from scipy.stats import norm

import llrkit as lk
from llrkit.jobs.plot import PLOTS
from llrkit.plot.picture import Stairs

EXAMPLES = dict(examples())
NAMES = ("same <speaker>", "different speakers")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PLOTS))
def test_every_plot_takes_title_legend_limits_and_names(name):
    draw = PLOTS[name]
    assert inspect.signature(draw).parameters["look"].annotation == "Unpack[Look]"
    x, y = (-1.0, 2.0), (0.25, 1.0)
    asked = (
        {"xlim": tuple(norm.cdf(x)), "ylim": tuple(norm.cdf(y))} if "det" in name else {"xlim": x, "ylim": y}
    )
    look = {"title": "My title", "legend": False, "labels": NAMES, **asked}
    axes = draw(EXAMPLES[name], **look)
    assert axes.get_title() == "My title"
    assert axes.get_legend() is None
    assert_allclose([*axes.get_xlim(), *axes.get_ylim()], [*x, *y], rtol=1e-12)
    words = " ".join(text.get_text() for text in axes.findobj(plt.Text))
    assert "target" not in words.replace("target ×", "")
    figure = draw(EXAMPLES[name], renderer="plotly", **look)
    assert figure.layout.title.text == "My title"
    assert_allclose(figure.layout.xaxis.range, x, rtol=1e-12)
    plt.close("all")


def test_limits_of_a_det_are_rates_on_logarithmic_axes_too():
    axes = lk.plot.det(some_evaluation(), axes="log", xlim=(0.01, 0.5), ylim=(0.001, 1.0))
    assert_allclose([*axes.get_xlim(), *axes.get_ylim()], np.log10([0.01, 0.5, 0.001, 1.0]), atol=1e-12)
    with pytest.raises(lk.InputError, match="rates between 0 and 1"):
        lk.plot.det(some_evaluation(), xlim=(0.01, 1.0))
    plt.close("all")


def test_names_of_classes_stand_in_the_legend_and_the_axes():
    axes = lk.plot.histogram(some_evaluation(), labels=NAMES)
    shown = axes.get_legend_handles_labels()[1]
    assert {"same <speaker>", "different speakers"} <= set(shown)
    mine = lk.plot.det({"target-aware": some_evaluation()}, labels=NAMES)  # the user's own word stays
    assert any("target-aware" in text for text in mine.get_legend_handles_labels()[1])
    plt.close("all")


@pytest.mark.parametrize("name", ["histogram", "two_gaussians", "pair_histogram"])
def test_densities_to_base_ten_keep_their_area(name):
    nats, ten = (PLOTS[name](EXAMPLES[name], renderer="none", base=base) for base in (np.e, 10))
    assert "log10" in ten.x.label
    for one, other in zip(nats.marks, ten.marks, strict=True):
        x, y = ("edges", "heights") if isinstance(one, Stairs) else ("x", "y")
        assert_allclose(getattr(other, x) * np.log(10), getattr(one, x), rtol=1e-12)
        if any(isinstance(mark, Stairs) for mark in nats.marks):
            assert_allclose(getattr(other, y) / np.log(10), getattr(one, y), rtol=1e-12)


def test_both_axes_of_a_calibration_plot_go_to_base_ten():
    nats, ten = (lk.plot.idempotence(EXAMPLES["idempotence"], renderer="none", base=b) for b in (np.e, 10))
    assert ten.y.label == "LLR of the LLR (log10)"
    for one, other in zip(nats.marks, ten.marks, strict=True):
        assert_allclose(other.x * np.log(10), one.x, rtol=1e-12)
    assert lk.plot.tippett(some_evaluation(), base=10).get_xlabel() == "log10 likelihood ratio"
    assert lk.plot.bayes_error(some_evaluation(), base=10).get_xlabel() == "prior log10-odds"
    assert lk.plot.cross_entropy(some_evaluation(), base=10).get_xlabel() == "prior log10-odds"
    plt.close("all")


@pytest.mark.parametrize(
    ("look", "words"),
    [
        ({"base": 2}, "base is 10"),
        ({"legend": "middle"}, "known are upper right"),
        ({"xlim": 3}, "pair of numbers"),
        ({"xlim": (2, 1)}, "smaller one first"),
        ({"labels": "same"}, "two names"),
        ({"titel": "Mine"}, "roc has no option 'titel' .did you mean 'title'"),
        ({"axes": "log"}, "roc has no option 'axes'"),
    ],
)
def test_looks_that_cannot_be_are_refused(look, words):
    with pytest.raises(lk.LlrkitError, match=words):
        lk.plot.roc(some_evaluation(), **look)


def test_base_ten_is_refused_where_nothing_is_a_natural_logarithm():
    with pytest.raises(lk.LlrkitError):
        lk.plot.reliability(lk.metrics.reliability_curve(some_scores()), base=10)


def test_reliability_lines_and_band():
    curve = lk.metrics.reliability_curve(some_scores())
    axes = lk.plot.reliability({"mine": curve})
    assert_allclose(axes.lines[-1].get_xydata(), np.column_stack([curve.predicted, curve.observed]))
    corners = axes.collections[0].get_paths()[0].vertices
    assert_allclose(corners[:, 1].max(), curve.upper.max())
    assert "miscalibration" in axes.get_legend_handles_labels()[1][-1]
    plt.close("all")
