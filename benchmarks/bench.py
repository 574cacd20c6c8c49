"""Times fits, files, intervals, several classes, embeddings and frames beside the peers, in one run.

Every figure is the best of several runs; ratios are to something simple in the same run, since the machine
may be shared. Metrics of sets of every shape are timed by ``bench_shapes.py``. Writes JSON with everything
that is printed.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import llrkit as lk
from bench_classes import bench_classes
from bench_embeddings import bench_embeddings
from bench_files import bench_files
from bench_frames import bench_frames
from bench_intervals import bench_intervals


def timed(call: Callable[[], Any], repeat: int) -> dict[str, float]:
    """Best wall and CPU seconds of ``repeat`` runs."""
    wall, cpu = [], []
    for _ in range(repeat):
        w, c = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return {"wall": min(wall), "cpu": min(cpu)}


def resident_kib() -> int:
    """Resident memory of this process now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def peak_extra_mib(call: Callable[[], Any]) -> float:
    """Largest growth of resident memory while ``call`` runs, sampled every two milliseconds.

    Only meaningful in a process that has not yet used and freed memory: see :func:`memory_of`.
    """
    before, peak, done = resident_kib(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, resident_kib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        kept = call()
    finally:
        done.set()
        watcher.join()
    del kept
    return max(0, peak - before) / 1024


def everything(target: np.ndarray, nontarget: np.ndarray) -> lk.Evaluation:
    """All scalar metrics and all curves but the ECE."""
    result = lk.evaluate(lk.Scores(target, nontarget), points=["sre08", "sre10", "sre12"])
    for curve in ("det", "roc", "rocch", "pav", "bayes_error", "tippett", "histogram", "det_slope"):
        getattr(result, curve)
    return result


def trial_set(n: int, n_target: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated Gaussian LLRs at EER 5 %."""
    rng = np.random.default_rng(n + n_target)
    model = lk.theory.GaussianLLR.from_eer(0.05)
    return model.target.rvs(n_target, rng), model.nontarget.rvs(n - n_target, rng)


def memory_of(n: int, n_target: int) -> float:
    """Peak extra memory of an evaluation, in a process of its own."""
    command = [sys.executable, __file__, "--memory", str(n), str(n_target)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_memory(n: int, n_target: int) -> None:
    everything(*trial_set(10_000, 1_000))  # import and warm up everything first
    target, nontarget = trial_set(n, n_target)
    print(peak_extra_mib(lambda: everything(target, nontarget)))


def sklearn_logistic(scores: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """scikit-learn's logistic regression with the same class weights, run to the same optimum."""
    from sklearn.linear_model import LogisticRegression

    share = labels.mean()
    weights = np.where(labels == 1, 0.5 / share, 0.5 / (1 - share))
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    model.fit(scores[:, None], labels, sample_weight=weights)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


R_SCRIPT = """
data <- readBin("{path}", "double", n = {values})
n <- length(data) / 2
score <- data[1:n]; label <- data[(n + 1):(2 * n)]
weight <- ifelse(label == 1, 0.5 / sum(label), 0.5 / sum(1 - label)) * n
time <- system.time(fit <- suppressWarnings(glm(label ~ score, family = binomial, weights = weight,
                                               control = glm.control(epsilon = 1e-14))))
cat(time[["elapsed"]], coef(fit), "\\n")
"""


def r_glm(scores: np.ndarray, labels: np.ndarray) -> float | None:
    """Seconds that R's glm takes, or None where R is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.bin"
        np.concatenate([scores, labels.astype(float)]).tofile(path)
        script = R_SCRIPT.format(path=path, values=2 * len(scores))
        done = subprocess.run(["Rscript", "-e", script], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[0])


def bench_fits(name: str, n: int, n_target: int, repeat: int, peers: bool) -> dict[str, Any]:
    """Calibrators beside np.sort, scikit-learn and R."""
    target, nontarget = (3.0 * part + 5.0 for part in trial_set(n, n_target))
    scores = np.concatenate([target, nontarget])
    labels = np.repeat([1, 0], [n_target, n - n_target])
    rows = {
        "np.sort": timed(lambda: np.sort(scores), repeat),
        "llrkit CMLG": timed(lambda: lk.fit_cmlg(lk.Scores(target, nontarget)), repeat),
        "llrkit logistic": timed(lambda: lk.fit_logistic(lk.Scores(target, nontarget)), repeat),
    }
    fitted = lk.fit_logistic(lk.Scores(target, nontarget))
    print(f"\n{name}: {n:,} trials, {n_target:,} targets; {fitted}, {fitted.details['passes']} passes")
    if peers:
        theirs = sklearn_logistic(scores, labels)
        print(f"scikit-learn finds {theirs[0]:.6g} and {theirs[1]:.6g}")
        rows["sklearn LogisticRegression"] = timed(lambda: sklearn_logistic(scores, labels), 1)
        seconds = r_glm(scores, labels) if n < 1_000_000 else None
        if seconds is not None:
            rows["R glm"] = {"wall": seconds, "cpu": seconds}
    sort = rows["np.sort"]
    print(f"{'':30}{'wall s':>9}{'wall / sort':>13}{'x llrkit logistic':>19}")
    for label, row in rows.items():
        row["wall_ratio"] = row["wall"] / sort["wall"]
        row["times_logistic"] = row["wall"] / rows["llrkit logistic"]["wall"]
        print(f"{label:30}{row['wall']:9.4f}{row['wall_ratio']:13.2f}{row['times_logistic']:19.1f}")
    if peers and "R glm" not in rows:
        print("R is not installed (or the set too large for it): no comparison with glm")
    return {"n": n, "n_target": n_target, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="out/bench.json", help="where the figures go")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true", help="leave out the slow peers")
    parser.add_argument("--memory", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print_memory(*options.memory)
        return
    results = {}
    for name, n, n_target in (
        ("fits, the paper's size", 427_375, 20_000),
        ("fits, 10 million", 10_000_000, 7_169),
    ):
        results[name] = bench_fits(name, n, n_target, options.repeat, not options.no_peers)
    results["embeddings"] = bench_embeddings(timed, options.repeat)
    results["files"] = bench_files(options.repeat)
    results["frames to i-vectors"] = bench_frames(timed, options.repeat)
    results["intervals"] = bench_intervals(timed, options.repeat)
    results["several classes"] = bench_classes(timed, options.repeat, not options.no_peers)
    path = Path(options.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    versions = {"llrkit": lk.__version__, "numpy": np.__version__, "python": platform.python_version()}
    path.write_text(json.dumps({"versions": versions, "sets": results}, indent=2) + "\n")
    print(f"\nThe figures are in {path}")


if __name__ == "__main__":
    main()
