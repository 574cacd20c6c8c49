"""Times llrkit beside its peers on sets of every size and shape, like for like, and the start of commands.

``python benchmarks/bench_shapes.py`` prints CPU milliseconds and writes everything to ``out/shapes.json``;
``python docs/make_benchmarks.py`` makes the tables of the documentation from it.
Each figure is the best of several runs, all of a row in turns, since the machine may be shared; CPU time says
more there than wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import llrkit as lk
from bench import memory_of, trial_set
from bench_files import in_turns

SIZES = (200, 1_000, 10_000, 60_000, 1_000_000, 10_000_000)
SHAPES = [(n, round(n * share)) for n in SIZES for share in (0.01, 0.5)] + [(10_000_000, 7_169)]
TWO_SORTS = "two np.sort, two threads"
JSON = Path("out/shapes.json")
BARE = ["-c", "import numpy, polars"]
PROGRAM = ["-c", "from llrkit.cli import main; main()"]


def three_metrics(target: np.ndarray, nontarget: np.ndarray) -> tuple[float, float, float]:
    """EER, Cllr and minimum Cllr, called one after another."""
    scores = lk.Scores(target, nontarget)
    return lk.eer(scores), lk.cllr(scores), lk.min_cllr(scores)


def calls(n: int, n_target: int) -> dict[str, Callable[[], Any]]:
    """What is timed on a set, by name; those of a package that is not installed are left out."""
    target, nontarget = trial_set(n, n_target)
    values = np.concatenate([target, nontarget])
    labels = np.repeat([1, 0], [n_target, n - n_target])
    named: dict[str, Callable[[], Any]] = {
        "np.sort": lambda: np.sort(values),
        TWO_SORTS: lambda: both_sorted(values, values),
        "AUC, llrkit": lambda: lk.auc(lk.Scores(target, nontarget)),
        "three, llrkit": lambda: three_metrics(target, nontarget),
        "everything, llrkit": lambda: lk.evaluate(lk.Scores(target, nontarget)),
    }
    try:
        from sklearn.metrics import roc_auc_score

        named["AUC, scikit-learn"] = lambda: roc_auc_score(labels, values)
    except ImportError:
        pass
    try:
        import torch
        from torchmetrics.functional.classification import binary_auroc

        scores, truth = torch.from_numpy(values), torch.from_numpy(labels)
        named["AUC, torchmetrics"] = lambda: binary_auroc(scores, truth)
    except ImportError:
        pass
    try:
        from llreval.quick_eval import tarnon_2_eer_cllr_mincllr

        named["three, llreval"] = lambda: tarnon_2_eer_cllr_mincllr(target, nontarget)
    except ImportError:
        pass
    try:
        from lir.data.models import LLRData
        from lir.metrics import cllr, cllr_min

        data = LLRData(features=values[:, None] / np.log(10.0), labels=labels)
        named["two, lir"] = lambda: (cllr(data), cllr_min(data))
    except ImportError:
        pass
    return named


def both_sorted(*arrays: np.ndarray) -> list[np.ndarray]:
    """Each array sorted in a thread of its own."""
    with ThreadPoolExecutor(len(arrays)) as pool:
        return list(pool.map(np.sort, arrays))


def shape(n: int, n_target: int) -> dict[str, Any]:
    """The figures of one set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = calls(n, n_target)
        for call in named.values() if n <= 60_000 else ():
            call()  # import and warm up
        rows = in_turns(named, max(5, min(100, 300_000 // n)))
    row = {"n": n, "n_target": n_target, "rows": rows}
    if n >= 1_000_000:
        row["peak_extra_mib"] = memory_of(n, n_target)
    print(n, n_target, {name: round(1e3 * row["cpu"], 2) for name, row in rows.items()}, flush=True)
    return row


def start_up(repeat: int) -> dict[str, Any]:
    """Commands on 2,000 trials beside a bare import of the libraries."""
    target, nontarget = trial_set(2_000, 200)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "scores.csv"
        lines = [f"{x:.6f},{int(i < 200)}" for i, x in enumerate([*target, *nontarget])]
        table.write_text("score,label\n" + "\n".join(lines) + "\n")
        commands = {
            "evaluate": ["evaluate"],
            "calibrate --method logistic": ["calibrate", "--method", "logistic", "-o", "map.json"],
            "calibrate --method best": ["calibrate", "--method", "best", "-o", "map.json"],
            "report": ["report", "-o", "report.html"],
            "plot det": ["plot", "det", "-o", "det.png"],
        }

        def run(*arguments: str) -> None:
            for old in folder.glob("*.[jhp]*"):
                old.unlink()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=folder)

        def command(words: list[str]) -> Callable[[], None]:
            return lambda: run(*PROGRAM, *words, "scores.csv")

        timed = {"import numpy, polars": lambda: run(*BARE)}
        timed |= {name: command(words) for name, words in commands.items()}
        return in_turns(timed, repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger sets")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each command")
    options = parser.parse_args()
    figures = {
        "versions": {"llrkit": lk.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "shapes": [shape(n, n_target) for n, n_target in SHAPES if n <= options.largest],
        "start": start_up(options.repeat),
    }
    JSON.parent.mkdir(parents=True, exist_ok=True)
    JSON.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
