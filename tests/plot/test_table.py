"""The table of plots has no missing cell, and both renderers draw the same."""

import ast
import inspect
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import examples
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.plot.all_plots import PLOTS
from llrkit.plot.picture import Line, Mark, Picture
from llrkit.plot.plotly_renderer import plain_figure

EXAMPLES = list(examples())
TESTS = {
    node.name
    for path in Path(__file__).parent.glob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef)
}
# which test compares what a plot draws with what it was given
TESTED_BY = {
    "det": "test_det_lines_are_probits_of_the_rates",
    "roc": "test_roc_lines_are_the_rates",
    "ape": "test_ape_lines_are_errors",
    "bayes_error": "test_bayes_error_lines",
    "cross_entropy": "test_ece_lines_are_cross_entropies",
    "tippett": "test_tippett_lines_are_shares_of_trials",
    "pav": "test_pav_steps_are_the_blocks",
    "histogram": "test_histogram_areas_and_prediction",
    "idempotence": "test_idempotence_lines_and_band",
    "reliability": "test_reliability_lines_and_band",
    "two_gaussians": "test_two_gaussians_are_normal_densities",
    "cllr_scatter": "test_scatter_draws_the_points_and_the_diagonal",
    "prior_scan": "test_prior_scan_draws_each_method",
    "mixing": "test_mixing_draws_shares_and_their_sum",
    "heat_map": "test_heat_map_writes_the_values",
    "theory": "test_theory_draws_every_family_and_list",
    "fusion_weights": "test_fusion_weights_and_intervals",
    "cmc": "test_cmc_draws_the_rates_of_all_ranks",
    "groups": "test_groups_draw_rates_and_intervals",
    "zoo": "test_zoo_points_quartiles_and_animals",
    "class_det": "test_class_det_lines_are_probits_of_the_rates",
    "confusion": "test_confusion_cells_are_shares_of_the_true_class",
    "class_calibration": "test_class_calibration_points",
    "pair_histogram": "test_pair_histogram_areas_are_one",
    "class_idempotence": "test_class_idempotence_points_and_band",
}


def test_the_table_lists_every_plot():
    assert sorted(PLOTS) == sorted(set(lk.plot.__all__) - {"STYLE", "ece"})
    assert {name for name, _ in EXAMPLES} == set(PLOTS)


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_no_cell_is_missing(name):
    plot = PLOTS[name]
    assert plot.draw is getattr(lk.plot, name)
    assert plot.curves
    assert all(is_dataclass(curve) for curve in plot.curves)
    assert TESTED_BY[name] in TESTS
    if plot.attribute is not None:
        assert hasattr(lk.Evaluation, plot.attribute) or plot.attribute in lk.Evaluation.__dataclass_fields__
    options = inspect.signature(plot.draw).parameters
    assert {"ax", "renderer"} <= set(options)
    assert "Examples" in (plot.draw.__doc__ or "")


@pytest.mark.parametrize(("name", "data"), EXAMPLES)
def test_both_renderers_draw_the_lines_of_the_picture(name, data):
    draw = PLOTS[name].draw
    picture = draw(data, renderer="none")
    assert isinstance(picture, Picture)
    assert picture.kind == name
    assert len(picture.described) > 20
    axes = draw(data)
    interactive = draw(data, renderer="plotly")
    expected = [mark for mark in picture.marks if isinstance(mark, Line)]
    drawn = [line for line in axes.lines if line.get_linestyle() != "None"]
    scatters = [trace for trace in interactive.data if trace.type == "scatter"]
    traces = [trace for trace in scatters if trace.mode == "lines" and trace.fill is None]
    assert len(drawn) == len(traces) == len(expected)
    for line, trace, mark in zip(drawn, traces, expected, strict=True):
        assert_allclose(line.get_xydata(), np.column_stack([mark.x, mark.y]), rtol=0, atol=0)
        there = np.isfinite(mark.x) & np.isfinite(mark.y)
        assert_allclose(np.array(trace.y, dtype=float)[there], np.asarray(mark.y)[there], rtol=0, atol=0)
        assert trace.line.color == line.get_color()
    shown = [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
    assert shown == list(picture.labels()) if picture.legend != "none" else shown == []
    assert axes.get_xlabel() == picture.x.label
    assert interactive.layout.xaxis.title.text.replace("&#37;", "%") == picture.x.label
    plt.close("all")


@pytest.mark.parametrize(("name", "data"), EXAMPLES)
def test_nothing_given_is_changed(name, data):
    before = plain_figure(PLOTS[name].draw(data, renderer="none"))
    PLOTS[name].draw(data)
    assert plain_figure(PLOTS[name].draw(data, renderer="none")) == before


def test_every_kind_of_mark_occurs():
    kinds = {type(mark) for name, data in EXAMPLES for mark in PLOTS[name].draw(data, renderer="none").marks}
    assert kinds == set(get_args(Mark))
