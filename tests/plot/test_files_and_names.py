"""Figures as files, and names that are shown as they are."""

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from drawn import some_evaluation

import llrkit as lk
from llrkit.plot.matplotlib_renderer import save
from llrkit.plot.picture import STYLE

RESULT = some_evaluation()
NASTY = ["<img src=x onerror=alert(1)>", "_hidden", "$x$ 100 % & more", "%{x}", "a\nb", "</script>"]


def test_matplotlib_shows_names_as_they_are():
    axes = lk.plot.tippett(dict.fromkeys(NASTY, RESULT))
    axes.figure.canvas.draw()
    texts = axes.get_legend().get_texts()
    shown = [text.get_text().replace("\N{ZERO WIDTH SPACE}", "").replace(r"\$", "$") for text in texts]
    assert [text for text in shown if text in NASTY] == NASTY
    assert not any(text.get_usetex() for text in texts)


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


@pytest.mark.parametrize(
    "ending",
    ["svg", pytest.param("pdf", marks=pytest.mark.slow), pytest.param("png", marks=pytest.mark.slow)],
)
def test_files_are_written_and_the_same_each_time(tmp_path, ending):
    picture = lk.plot.det(RESULT, renderer="none")
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        save(picture, file)
    first = files[0].read_bytes()
    assert first[:4] == {"pdf": b"%PDF", "svg": b"<?xm", "png": b"\x89PNG"}[ending]
    assert first == files[1].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"0.{ending}", f"1.{ending}"]


@pytest.mark.parametrize("name", ["a.docx", "a", "a.tiff"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(lk.InputError):
        save(lk.plot.det(RESULT, renderer="none"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_fonts_are_embedded_and_nothing_is_set_for_others():
    before = dict(matplotlib.rcParams)
    lk.plot.det(RESULT)
    assert dict(matplotlib.rcParams) == before
    style = matplotlib.rc_params_from_file(STYLE, use_default_template=False)
    assert style["pdf.fonttype"] == 42
    assert style["figure.figsize"][0] == 3.4
