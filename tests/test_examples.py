"""Every example of the gallery runs, and every plot is in one."""

import re
import runpy
from pathlib import Path

import pytest

from llrkit.plot.all_plots import PLOTS

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").rglob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_examples_run_and_draw(path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    runpy.run_path(str(path))
    drawn = len(plt.get_fignums())
    plt.close("all")
    assert drawn == len(re.findall(r"lk\.plot\.\w+\(", path.read_text(encoding="utf-8"))) > 0


def test_every_plot_has_an_example():
    text = "".join(path.read_text(encoding="utf-8") for path in EXAMPLES if path.parent.name == "plots")
    assert set(PLOTS) - set(re.findall(r"lk\.plot\.(\w+)\(", text)) == set()


def test_there_are_the_ten_commonest_analyses():
    assert sum(path.parent.name == "analyses" for path in EXAMPLES) >= 10
