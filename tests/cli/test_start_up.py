"""A command imports what it needs: the start of the program is most of what a small file takes."""

import json
import subprocess
import sys

import pytest

RUN = """
import json, sys
sys.argv = ["llrkit", *json.loads(sys.argv[1])]
from llrkit.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
NEVER = ("matplotlib", "plotly", "scipy.stats", "dask", "distributed", "sklearn", "pandas", "torch", "jinja2")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """2,000 trials, some of them between the classes."""
    path = tmp_path_factory.mktemp("small") / "scores.csv"
    lines = [
        f"{(i * 37 % 101) / 12.0 - (1.0 if i % 10 == 0 else 7.0)},{int(i % 10 == 0)}" for i in range(2000)
    ]
    path.write_text("score,label\n" + "\n".join(lines) + "\n")
    return path


def imported(*arguments):
    """The modules that a command has imported when it ends, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps([str(one) for one in arguments])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(json.loads(done.stderr.splitlines()[-1])), done.stdout


def imported_by_special():
    """What ``scipy.special`` itself imports: scipy 1.13 took linear algebra along."""
    program = "import json, sys, scipy.special; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_evaluating_a_small_table_imports_no_scipy(table):
    modules, printed = imported("evaluate", table)
    assert "Cllr" in printed
    assert {"numpy", "polars", "llrkit.evaluation.evaluate"} <= modules
    assert not modules & {*NEVER, "scipy", "scipy.special", "scipy.optimize"}
    assert not modules & {"llrkit.trust.intervals.bootstrap", "llrkit.theory.gaussian_pair"}


def test_a_command_imports_no_other_command(table):
    modules, _ = imported("theory", "--eer", "5%")
    others = {name for name in modules if name.startswith("llrkit.cli.")}
    assert not others & {
        f"llrkit.cli.{name}" for name in ("calibrate", "recognize", "simulate", "app", "fuse")
    }


def test_pictures_and_reports_import_no_statistics_of_scipy(table, tmp_path):
    heavy = {"scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.linalg"} - imported_by_special()
    assert {"scipy.stats", "scipy.optimize"} <= heavy
    drawn, _ = imported("plot", "det", table, "--output", tmp_path / "det.png")
    assert "matplotlib.figure" in drawn
    assert not drawn & {*heavy, "matplotlib.pyplot", "plotly"}
    told, _ = imported("report", table, "--output", tmp_path / "report.html")
    assert "jinja2" in told
    assert not told & {*heavy, "plotly", "matplotlib"}


def test_calibrating_by_logistic_regression_imports_little(table, tmp_path):
    modules, _ = imported("calibrate", table, "--method", "logistic", "--output", tmp_path / "map.json")
    assert not modules & set(NEVER)
    assert (tmp_path / "map.json").exists()
