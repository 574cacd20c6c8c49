"""What the documentation shows runs: Python blocks as scripts, and notebooks cell by cell."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import run as command

from llrkit.jobs.plot import PLOTS

ROOT = Path(__file__).parents[1]
RUN_NOTEBOOK = ROOT / "tests" / "support" / "run_notebook.py"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# those with prompts are doctests, which run with all others
SCRIPTS = [
    pytest.param(block, id=f"{page.stem}-{i}")
    for page in PAGES
    for i, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
    if ">>>" not in block
]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("block", SCRIPTS)
def test_python_blocks_run_as_scripts(block, tmp_path, need):
    need("dask")
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.3
    (tmp_path / "trials").mkdir()
    table = pl.DataFrame({"score": rng.normal(2.0 * labels, 1.0), "label": labels})
    for part in (0, 1):
        table[200 * part : 200 * part + 200].write_parquet(tmp_path / "trials" / f"{part}.parquet")
    script = tmp_path / "script.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr[-2000:]
    assert "EER" in done.stdout


def run(path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")}
    done = subprocess.run(
        [sys.executable, RUN_NOTEBOOK, path], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def nbformat(need):
    need("nbclient"), need("ipykernel")
    return need("nbformat")


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_of_the_docs_run_and_show_every_plot(path, nbformat):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells), "clear the outputs before you commit"
    plots = 0
    for cell, outputs in zip(cells, run(path), strict=True):
        assert ["error"] not in outputs
        asked = len(re.findall(r"lk\.plot\.", cell.source)) - cell.source.count('renderer="plotly"')
        assert sum("image/png" in output for output in outputs) == asked, cell.source
        plots += asked
    assert plots >= 4


@pytest.mark.parametrize("first", ["", "%matplotlib inline\n", "import matplotlib.pyplot as plt\n"])
def test_every_plot_shows_however_a_notebook_begins(first, tmp_path, nbformat):
    begin = f"{first}import llrkit as lk\nfrom drawn import examples\ndata = dict(examples())"
    names = sorted(PLOTS) if not first else ["det", "histogram"]
    cells = [begin, *(f"lk.plot.{name}(data[{name!r}]);" for name in names)]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbformat.write(book, tmp_path / "plots.ipynb")
    shown = run(tmp_path / "plots.ipynb")[1:]
    assert [sum("image/png" in output for output in outputs) for outputs in shown] == [1] * len(names)


def test_the_first_example_of_the_readme_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split("## Five lines of Python")[1].split("```")[1].strip()
    rng = np.random.default_rng(0)
    labels = rng.random(300) < 0.3
    names = {"scores": rng.normal(2.0 * labels, 1.0), "labels": labels, "new_scores": [0.5, 2.0]}
    exec(block, names)
    assert len(names["llrs"]) == 2
    assert names["result"].n_target == labels.sum()


def test_the_commands_of_the_readme_end_in_the_verdict_that_it_tells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## Five commands")[1].split("\n## ")[0]
    block, told = text.split("```")[1:]
    commands = [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line]
    (shift,) = re.findall(r"`llrkit (shift [^`]*)`", told)
    said = {}
    for words in [*commands, shift.split()]:
        code, out, err = command(*words)
        assert code == 0, err
        said[words[0]] = out + err
    page = re.sub(r"<script.*?</script>", "", (tmp_path / "report.html").read_text(), flags=re.DOTALL)
    assert "no error found" in page
    assert "miscalibrated" not in page
    assert "No shift was found: " in said["shift"]
