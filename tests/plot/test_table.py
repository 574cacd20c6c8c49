"""The table of plots has no missing cell, and both renderers draw the same."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import examples
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.jobs.plot import PLOTS
from llrkit.plot.picture import Line, Picture
from llrkit.plot.plotly_renderer import plain_figure

EXAMPLES = list(dict(examples()).items())
"""The last example of each plot: that of several systems, where there is one."""


def test_the_table_lists_every_plot():
    assert sorted(PLOTS) == sorted(set(lk.plot.__all__) - {"STYLE", "Look", "ece"})
    assert {name for name, _ in EXAMPLES} == set(PLOTS)


@pytest.mark.parametrize(("name", "data"), EXAMPLES)
def test_both_renderers_draw_the_lines_of_the_picture(name, data):
    draw = PLOTS[name]
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
    assert plain_figure(draw(data, renderer="none")) == plain_figure(picture)  # nothing given was changed
    plt.close("all")
