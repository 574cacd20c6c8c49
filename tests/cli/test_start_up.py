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
pytestmark = pytest.mark.slow
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


def test_evaluating_a_small_table_imports_no_scipy(table):
    modules, printed = imported("evaluate", table)
    assert "Cllr" in printed
    assert not modules & {*NEVER, "scipy", "scipy.special", "scipy.optimize"}
    modules, _ = imported("theory", "--help")
    assert not modules & {*NEVER, "numpy", "polars", "scipy"}


def test_calibrating_by_logistic_regression_imports_little(table, tmp_path):
    modules, _ = imported("calibrate", table, "--method", "logistic", "--output", tmp_path / "map.json")
    assert not modules & set(NEVER)
    assert (tmp_path / "map.json").exists()
