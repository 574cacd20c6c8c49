"""How often 95 % bands of curves, and intervals of single LLRs, cover: the designs of ``coverage.py``.

Bands of the DET (Pmiss at a false-alarm rate), of Tippett curves and of the cross-entropy hold at each point
by itself, and so they are looked at in a few points. Single LLRs are those of a straight line by logistic
regression: ``line`` by ``map_uncertainty``, ``band`` by ``llr_band``. The truth is the value in the
population.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import llrkit as lk
from llrkit.core.numerics import probit

# the script beside this one, not the package of that name
_spec = importlib.util.spec_from_file_location("coverage_designs", Path(__file__).with_name("coverage.py"))
assert _spec is not None
assert _spec.loader is not None
coverage = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = coverage
_spec.loader.exec_module(coverage)
Design, SIDES = coverage.Design, coverage.SIDES

FALSE_ALARMS = (0.02, 0.1)
LLRS = (-2.0, 0.0, 2.0)
LOG_ODDS = (-2.0, 0.0)
SCORES = (-6.0, 0.0, 6.0)
MOST_NONTARGETS = 10_000


def ends(scores: lk.Scores) -> Iterator[tuple[str, float, float]]:
    """Name and both ends of every interval."""
    result = lk.evaluate(scores)
    bands = lk.trust.curve_bands(scores, result=result, speakers=SIDES)
    det, tippett, ece = bands.det, bands.tippett, bands.ece
    order = np.argsort(det.p_fa, kind="stable")
    for rate in FALSE_ALARMS:
        at = probit(rate), probit(det.p_fa[order])
        low, high = (float(np.interp(at[0], at[1], end[order])) for end in (det.lower, det.upper))
        yield f"Pmiss at Pfa {rate:g}", low, high
    for llr in LLRS:
        # the curve is that of its next LLR up to there
        i = int(np.searchsorted(tippett.llr, llr))
        if i < len(tippett.llr):
            yield f"targets above {llr:g}", float(tippett.target_lower[i]), float(tippett.target_upper[i])
            yield (
                f"non-targets above {llr:g}",
                float(tippett.nontarget_lower[i]),
                float(tippett.nontarget_upper[i]),
            )
    for odds in LOG_ODDS:
        low, high = (float(np.interp(odds, ece.log_odds, end)) for end in (ece.lower, ece.upper))
        yield f"ECE at {odds:g}", low, high
    line = lk.trust.map_uncertainty(scores, speakers=SIDES)
    band = lk.trust.llr_band(scores, speakers=SIDES, at=SCORES)
    for i, score in enumerate(SCORES):
        yield f"line at {score:g}", *line.interval(score)[1:]
        yield f"band at {score:g}", float(band.lower[i]), float(band.upper[i])


@cache
def truth(heavy: bool, genders: int) -> dict[str, float]:
    """The values in the population, by name."""
    population = Design(1, heavy=heavy, genders=genders).population(np.random.default_rng(9))
    target, nontarget = np.sort(population.target), np.sort(population.nontarget)
    values = {}
    for rate in FALSE_ALARMS:
        values[f"Pmiss at Pfa {rate:g}"] = float(np.mean(target < np.quantile(nontarget, 1.0 - rate)))
    for llr in LLRS:
        values[f"targets above {llr:g}"] = float(np.mean(target >= llr))
        values[f"non-targets above {llr:g}"] = float(np.mean(nontarget >= llr))
    for odds in LOG_ODDS:
        prior = 1.0 / (1.0 + math.exp(-odds))
        losses = np.logaddexp(0.0, -target - odds).mean(), np.logaddexp(0.0, nontarget + odds).mean()
        values[f"ECE at {odds:g}"] = float((prior * losses[0] + (1.0 - prior) * losses[1]) / math.log(2.0))
    line = lk.fit_logistic(population)
    for score in SCORES:
        values[f"line at {score:g}"] = values[f"band at {score:g}"] = line.a * score + line.b
    return values


def covered_runs(design: Design, runs: int, seed: int) -> dict[str, tuple[int, int]]:
    """How many runs cover, and how many have an interval, by name."""
    wanted = truth(design.heavy, design.genders)
    covered, counted = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
    for run in range(runs):
        scores = design.trials(np.random.default_rng([seed, design.speakers, run]))
        for name, low, high in ends(scores):
            if not (math.isnan(low) or math.isnan(high)):
                counted[name] += 1
                covered[name] += low <= wanted[name] <= high
    return {name: (covered[name], n) for name, n in counted.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    coverage.add_options(parser, seed=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore", lk.LlrkitWarning)
    coverage.MOST_NONTARGETS = MOST_NONTARGETS
    start = time.perf_counter()
    error = 100 * math.sqrt(0.95 * 0.05 / options.runs)
    print(f"{options.runs} runs a design, seed {options.seed}, Monte-Carlo error {error:.1f} points")
    names = list(truth(False, 1))
    print(f"| design | {' | '.join(names)} |\n|---|" + "--:|" * len(names), flush=True)
    for design in coverage.designs(options):
        cells = covered_runs(design, options.runs, options.seed)
        texts = [
            (f"{100 * covered / n:.1f}" if n else "-") + ("" if n == options.runs else f" ({n})")
            for covered, n in cells.values()
        ]
        print(f"| {design.name} | {' | '.join(texts)} |", flush=True)
        coverage.add_row(options, "curves", design, cells)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
