"""How often the verdict on calibration is right: calibrated LLRs of three kinds, and what is made of them.

Trials are independent here; ``sizes.py`` has those that share speakers.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import brentq

import llrkit as lk
from llrkit.metrics.loss_parts import FEWEST, LlrCells, identity_test, misleading_p_value, null_moments
from llrkit.trust.calibration_check import LEVEL

EERS = (0.01, 0.05, 0.2)
SIZES = ((30, 300), (100, 1_000), (300, 3_000), (3_000, 30_000))
CHANGES = {"0.8 x": (0.8, 0.0), "1.25 x": (1.25, 0.0), "x + 0.3": (1.0, 0.3), "x - 0.3": (1.0, -0.3)}
KINDS = ("Gaussian", "gamma", "PLDA")


def pair_with(kind: str, eer: float) -> lk.theory.CalibratedPair:
    """The calibrated pair of a kind with a given equal error rate."""
    if kind == "Gaussian":
        return lk.theory.GaussianLLR.from_eer(eer)
    makers: dict[str, tuple[Callable[[float], lk.theory.CalibratedPair], float, float]] = {
        "gamma": (lambda log_shape: lk.theory.GammaLLR(math.exp(log_shape)), -9.0, 5.0),
        "PLDA": (lambda rho: lk.theory.PLDALLR.isotropic(rho, 20), 0.05, 0.95),
    }
    make, low, high = makers[kind]
    return make(float(brentq(lambda x: make(x).eer - eer, low, high, xtol=1e-6)))


def outcome(cells: LlrCells, level: float = LEVEL) -> str:
    """What the verdict of an evaluation rests on, without the evaluation."""
    moments = null_moments(cells)
    if moments.n_effective >= FEWEST:
        return "evidence" if identity_test(moments).p_value < level else "none_found"
    gap = cells.llr[cells.nontarget > 0].max(), cells.llr[cells.target > 0].min()
    p = misleading_p_value(*gap, int(cells.n_target), int(cells.n_nontarget))
    return "evidence" if p < level else "too_few"


def sets(kind: str, eer: float, size: tuple[int, int], runs: int, seed: int) -> Iterator[LlrCells]:
    """Sets of calibrated trials, drawn many at a time."""
    pair = pair_with(kind, eer)
    rng = np.random.default_rng(seed)
    at_once = max(1, 2_000_000 // sum(size))
    for start in range(0, runs, at_once):
        n = min(at_once, runs - start)
        target, nontarget = pair.rvs(n * size[0], n * size[1], rng)
        for i in range(n):
            yield LlrCells.of(
                target[i * size[0] : (i + 1) * size[0]], nontarget[i * size[1] : (i + 1) * size[1]]
            )


def rates(kind: str, eer: float, size: tuple[int, int], runs: int, seed: int) -> Counter[str]:
    """Outcomes on calibrated LLRs."""
    return Counter(outcome(cells) for cells in sets(kind, eer, size, runs, seed))


def power(kind: str, eer: float, size: tuple[int, int], runs: int, seed: int) -> dict[str, float]:
    """How often evidence is found in LLRs with a wrong scale or offset."""
    counts = dict.fromkeys(CHANGES, 0)
    for cells in sets(kind, eer, size, runs, seed):
        for name, (a, b) in CHANGES.items():
            counts[name] += outcome(cells.mapped(a, b)) == "evidence"
    return {name: n / runs for name, n in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"{options.runs} runs of calibrated LLRs, {options.runs // 5} of others, seed {options.seed}\n")
    print(f"| LLRs | EER | trials | evidence | too few | {' | '.join(CHANGES)} |")
    print("|---|--:|--:|--:|--:|" + "--:|" * len(CHANGES))
    worst = 0.0
    for kind in KINDS:
        for eer in EERS:
            for size in SIZES:
                counts = rates(kind, eer, size, options.runs, options.seed)
                shares = [100 * counts[name] / options.runs for name in ("evidence", "too_few")]
                found = power(kind, eer, size, options.runs // 5, options.seed + 1).values()
                worst = max(worst, shares[0])
                row = " | ".join(f"{share:.1f} %" for share in shares)
                row += " | " + " | ".join(f"{100 * share:.0f} %" for share in found)
                print(f"| {kind} | {eer:.0%} | {size[0]:,} + {size[1]:,} | {row} |", flush=True)
    print(f"\nAt most {worst:.1f} % of calibrated sets are accused; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
