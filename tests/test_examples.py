"""Every example of the gallery runs, and every plot is in one."""

import re
import runpy
from pathlib import Path

import pytest

from llrkit.jobs.plot import PLOTS

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").rglob("*.py"))
DRAWN = re.compile(r"lk\.plot\.(\w+)\(")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_examples_run_and_draw(path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    runpy.run_path(str(path))
    drawn = len(plt.get_fignums())
    plt.close("all")
    assert drawn == len(DRAWN.findall(path.read_text(encoding="utf-8"))) > 0


def test_every_plot_has_an_example():
    shown = {name for path in EXAMPLES for name in DRAWN.findall(path.read_text(encoding="utf-8"))}
    assert set(PLOTS) <= shown
