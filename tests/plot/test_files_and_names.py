"""Figures as files, and names that are shown as they are."""

import matplotlib
import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import lines, some_evaluation

import llrkit as lk
from llrkit.plot.matplotlib_renderer import save
from llrkit.plot.style import STYLE
from llrkit.plot.weights_and_speakers import FusionWeights

RESULT = some_evaluation()
NASTY = ["<img src=x onerror=alert(1)>", "_hidden", "$x$ 100 % & more", "%{x}", "a\nb", "</script>"]


@pytest.mark.parametrize("name", NASTY)
def test_matplotlib_shows_names_as_they_are(name):
    axes = lk.plot.tippett({name: RESULT, "other": RESULT})
    axes.figure.canvas.draw()
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown[0].replace("\N{ZERO WIDTH SPACE}", "").replace(r"\$", "$") == name
    assert axes.get_legend().get_texts()[0].get_usetex() is False


@pytest.mark.parametrize("name", NASTY)
def test_plotly_is_given_no_tags_entities_or_templates(name):
    figure = lk.plot.det({name: RESULT}, renderer="plotly")
    names = [trace.name for trace in figure.data if trace.showlegend]
    hover = [trace.hovertemplate for trace in figure.data if trace.hovertemplate]
    for text in [
        *names,
        *(part.replace("<b>", "").replace("</b>", "").replace("<br>", "") for part in hover),
    ]:
        text = text.replace("<extra></extra>", "")
        assert "<" not in text
        assert "$" not in text
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = escaped.replace("%", "&#37;").replace("$", "&#36;")
    assert any(text.startswith(escaped) for text in names)
    assert all(part.count("%{") == part.count("%{customdata[") for part in hover)


def test_plotly_ticks_and_hover_texts_are_escaped():
    figure = lk.plot.fusion_weights(FusionWeights(("<b>A</b>", "B"), [1.0, 2.0]), renderer="plotly")
    assert figure.layout.yaxis.ticktext == ("B", "&lt;b&gt;A&lt;/b&gt;")
    assert figure.data[-1].customdata[0][0] == "&lt;b&gt;A&lt;/b&gt;"


def test_hover_shows_threshold_rates_and_prior_to_four_digits():
    figure = lk.plot.det({"A": RESULT}, renderer="plotly")
    trace = next(trace for trace in figure.data if trace.name.startswith("A"))
    assert [word in trace.hovertemplate for word in ("threshold", "Pmiss", "Pfa", "prior")] == [True] * 4
    assert "Pmiss %{customdata[1]} &#37;<br>" in trace.hovertemplate
    curve = RESULT.det
    assert len(trace.customdata) == len(curve.threshold)
    for i in (0, 5, len(curve.threshold) - 1):
        prior = 1 / (1 + np.exp(curve.threshold[i]))
        exact = (curve.threshold[i], 100 * curve.p_miss[i], 100 * curve.p_fa[i], prior)
        assert [float(shown) for shown in trace.customdata[i]] == [float(f"{x:.4g}") for x in exact]


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_files_are_written_and_the_same_each_time(tmp_path, ending):
    picture = lk.plot.det(RESULT, renderer="none")
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        save(picture, file)
    first = files[0].read_bytes()
    assert first[:4] == {"pdf": b"%PDF", "svg": b"<?xm", "png": b"\x89PNG"}[ending]
    assert first == files[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"0.{ending}", f"1.{ending}"]


@pytest.mark.parametrize(("width", "inches"), [("column", 3.4), ("page", 7.0), (5.0, 5.0)])
def test_figures_have_the_width_of_a_column_or_a_page(tmp_path, width, inches):
    save(lk.plot.bayes_error(RESULT, renderer="none"), tmp_path / "a.png", width=width)
    pixels = matplotlib.image.imread(tmp_path / "a.png").shape
    assert pixels[1] == int(inches * 300)


@pytest.mark.parametrize("name", ["a.docx", "a", "a.tiff"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(lk.InputError, match="pdf, svg or png"):
        save(lk.plot.det(RESULT, renderer="none"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_several_pictures_become_panels(tmp_path):
    pictures = [lk.plot.histogram({name: RESULT}, renderer="none") for name in ("A", "B", "C")]
    save(pictures, tmp_path / "a.svg", width="page")
    assert (tmp_path / "a.svg").stat().st_size > 10_000


def test_fonts_are_embedded_and_nothing_is_set_for_others():
    before = dict(matplotlib.rcParams)
    lk.plot.det(RESULT)
    assert dict(matplotlib.rcParams) == before
    style = matplotlib.rc_params_from_file(STYLE, use_default_template=False)
    assert style["pdf.fonttype"] == 42
    assert style["figure.figsize"][0] == 3.4


def test_the_style_and_many_figures_raise_no_warning():
    with plt.style.context(STYLE):
        plt.figure()
    for _ in range(22):
        lk.plot.tippett(RESULT)
    assert len(plt.get_fignums()) == 23


@pytest.mark.parametrize("name", ["det", "roc"])
def test_axes_of_equal_units_fill_their_figure(name):
    axes = getattr(lk.plot, name)({"A": RESULT, "B": RESULT})
    axes.figure.canvas.draw()
    wide, high = axes.figure.canvas.get_width_height()
    around = axes.get_tightbbox()
    assert around.width > 0.93 * wide
    assert around.height > 0.9 * high
    assert around.y1 < high  # the title is inside
    assert around.y0 > -2


def test_lines_can_be_told_apart_in_gray():
    """Neighboring systems differ in lightness by a tenth at least, or in dashes."""
    axes = lk.plot.det({f"{i}": RESULT for i in range(14)}, points=False)
    drawn = [line for label, line in lines(axes).items() if "EER" in label]
    assert len(drawn) == 14
    looks = {(line.get_color(), str(line.get_linestyle()), str(line._dash_pattern)) for line in drawn}
    assert len(looks) == 14
    light = [np.dot(matplotlib.colors.to_rgb(line.get_color()), (0.299, 0.587, 0.114)) for line in drawn]
    for (a, first), (b, second) in zip(
        zip(light, drawn, strict=True), zip(light[1:], drawn[1:], strict=True), strict=False
    ):
        assert abs(a - b) > 0.1 or first._dash_pattern != second._dash_pattern
