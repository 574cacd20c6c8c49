"""How often tests reject at 5 % where nothing is wrong, with trials that share speakers, and with what power.

Calibrated LLRs are checked (slope and offset, Cllr - min Cllr, devPAV), and two systems that are equally good
are compared by every number. The designs are those of ``coverage.py``: equal or unequal sessions, Gaussian or
heavy-tailed effects, one or two genders. Gaussian LLRs of one gender are calibrated as they are; others are
mapped by the exact log-ratio of the densities. Two systems share the chance of single trials and half of the
variance of all other effects.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve
from scipy.stats import norm, t

import llrkit as lk

# the script beside this one, not the package of that name
_spec = importlib.util.spec_from_file_location("coverage_designs", Path(__file__).with_name("coverage.py"))
assert _spec is not None
assert _spec.loader is not None
coverage = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = coverage
_spec.loader.exec_module(coverage)
CHANCE, SESSION, SPEAKER, SPEAKERS = coverage.CHANCE, coverage.SESSION, coverage.SPEAKER, coverage.SPEAKERS
MEAN, PAIR, SHIFT = coverage.MEAN, coverage.PAIR, coverage.SHIFT
NUMBERS, POINTS, SIDES = coverage.NUMBERS, coverage.POINTS, coverage.SIDES
Design = coverage.Design

Array = npt.NDArray[np.float64]
LEVEL = 0.05
SLOPE = 1.5
TARGETS = (30, 100, 300)
MOST_NONTARGETS = 10_000
_STEP, _REACH = 0.005, 40.0


@cache
def log_ratio(heavy: bool, genders: int) -> tuple[Array, Array]:
    """Scores in units of the design, and their exact LLRs."""
    x = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)

    def density(*effects: float) -> Array:
        if not heavy:
            return np.asarray(norm.pdf(x))
        total = norm(scale=math.sqrt(CHANCE)).pdf(x)
        for variance in (*effects, SESSION, SESSION):
            total = fftconvolve(total, t(4, scale=math.sqrt(variance / 2.0)).pdf(x), mode="same") * _STEP
        return np.maximum(total, 1e-300)

    target = density(0.25 * SPEAKER, 0.75 * SPEAKER)
    nontarget = density(SPEAKERS, SPEAKERS, PAIR)
    inner = np.linspace(-12.0, 12.0, 6001)
    shifts = (-SHIFT, SHIFT) if genders == 2 else (0.0,)
    logs = [
        np.log(np.mean([np.interp(inner - mean - shift, x, one) for shift in shifts], axis=0))
        for mean, one in ((MEAN, target), (-MEAN, nontarget))
    ]
    return inner, logs[0] - logs[1]


def calibrated(scores: lk.Scores, design: Design, slope: float = 1.0) -> lk.Scores:
    """The scores of a design as calibrated LLRs, times ``slope``."""

    def llr(values: Array) -> Array:
        if not design.heavy and design.genders == 1:
            return slope * values
        return slope * np.interp(values / (2.0 * MEAN), *log_ratio(design.heavy, design.genders))

    return lk.Scores(llr(scores.target), llr(scores.nontarget), scores.columns)


@dataclass(frozen=True)
class System(Design):
    """One of two equally good systems: half of the variance of every effect is its own."""

    own: np.random.Generator = field(default_factory=np.random.default_rng)

    def effects(self, n: int, rng: np.random.Generator) -> Array:
        """Half common, half of its own."""
        return math.sqrt(0.5) * (super().effects(n, rng) + super().effects(n, self.own))


def two_systems(design: Design, seed: int) -> lk.Scores:
    """The same trials scored by two systems."""
    views = []
    for k in (0, 1):
        own = np.random.default_rng([seed, k])
        system = System(design.speakers, design.unequal, design.heavy, design.genders, own)
        views.append(system.trials(np.random.default_rng(seed)))
    target, nontarget = (
        np.column_stack([getattr(view, name) for view in views]) for name in ("target", "nontarget")
    )
    return lk.Scores(target, nontarget, views[0].columns)


def check_once(scores: lk.Scores, seed: int) -> dict[str, float]:
    """P-values of a check by name."""
    found = lk.check_calibration(scores, speakers=SIDES, replicates=59, curves=False, rng=seed)
    line = found.recalibration
    return {
        "slope and offset": math.nan if line is None else line.p_value,
        "Cllr - min": found.p_value("cllr_cal"),
        "devPAV": found.p_value("dev_pav"),
        "verdict": 0.0 if found.verdict.outcome == "evidence" else 1.0,
    }


def compare_once(scores: lk.Scores, speakers: tuple[str, str] | None) -> dict[str, float]:
    """P-values of a comparison by name of the number; nan where there is no test."""
    found = lk.compare_systems(scores, POINTS, speakers=speakers)
    return {
        words: found[name].p_value if name in found.differences else math.nan
        for name, words in NUMBERS.items()
    }


def rejections(runs: Iterator[dict[str, float]]) -> dict[str, str]:
    """Percentage of p-values up to 5 % by name; in brackets how many runs had a test, if not all."""
    rejected: Counter[str] = Counter()
    tested: Counter[str] = Counter()
    names: dict[str, None] = {}
    n = 0
    for p_values in runs:
        n += 1
        for name, p in p_values.items():
            names[name] = None
            tested[name] += not math.isnan(p)
            rejected[name] += p <= LEVEL
    return {
        name: (f"{100 * rejected[name] / tested[name]:.1f}" if tested[name] else "-")
        + ("" if tested[name] == n else f" ({tested[name]})")
        for name in names
    }


def designs() -> list[Design]:
    """All designs."""
    return [
        Design(speakers, unequal, heavy, genders)
        for heavy in (False, True)
        for genders in (1, 2)
        for unequal in (False, True)
        for speakers in (15, 30, 100)
    ]


def independent(n_target: int, seed: int) -> lk.Scores:
    """Independent trials of two equally good systems, ten non-targets for a target."""
    rng = np.random.default_rng([seed, n_target])
    classes = []
    for sign, n in ((1.0, n_target), (-1.0, 10 * n_target)):
        x = sign * MEAN + math.sqrt(0.5) * rng.normal(size=(n, 1)) + math.sqrt(0.5) * rng.normal(size=(n, 2))
        classes.append(2.0 * MEAN * x)
    return lk.Scores(*classes)


def show(title: str, rows: dict[str, Callable[[], Iterator[dict[str, float]]]]) -> None:
    """Print a table, row by row."""
    print(f"\n{title}\n", flush=True)
    header = False
    for name, runs in rows.items():
        start = time.perf_counter()
        cells = rejections(runs())
        if not header:
            print(f"| | {' | '.join(cells)} |\n|---|" + "--:|" * len(cells))
            header = True
        print(f"| {name} | {' | '.join(cells.values())} |", flush=True)
        took = time.perf_counter() - start
        if took > 600:
            print(f"({took:.0f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--speakers", type=int, help="only the designs with so many")
    parser.add_argument("--genders", type=int, help="only the designs with so many")
    parser.add_argument("--tails", choices=["Gaussian", "heavy tails"], help="only the designs with these")
    parser.add_argument("--only", choices=["check", "power", "compare", "independent"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", lk.LlrkitWarning)
    coverage.MOST_NONTARGETS = MOST_NONTARGETS
    seeds = range(1000 * options.seed, 1000 * options.seed + options.runs)
    chosen = [
        design
        for design in designs()
        if options.speakers in (None, design.speakers)
        and options.genders in (None, design.genders)
        and options.tails in (None, "heavy tails" if design.heavy else "Gaussian")
    ]

    def checks(design: Design, slope: float = 1.0) -> Iterator[dict[str, float]]:
        for seed in seeds:
            scores = design.trials(np.random.default_rng(seed))
            yield check_once(calibrated(scores, design, slope), seed)

    def wanted(part: str) -> bool:
        return options.only in (None, part)

    print(f"Rejections at 5 % (verdicts: at their own levels), percent of {options.runs} runs")
    if wanted("check"):
        show("Calibrated LLRs", {design.name: lambda d=design: checks(d) for design in chosen})
    if wanted("power"):
        many = [design for design in chosen if design.speakers == 100]
        show(f"LLRs times {SLOPE}", {design.name: lambda d=design: checks(d, SLOPE) for design in many})
    if wanted("compare"):
        rows = {
            design.name: lambda d=design: (compare_once(two_systems(d, seed), SIDES) for seed in seeds)
            for design in chosen
        }
        show("Two equally good systems, speakers given", rows)
    if wanted("independent"):
        rows = {
            f"{n} targets": lambda n=n: (compare_once(independent(n, seed), None) for seed in seeds)
            for n in TARGETS
        }
        show("Two equally good systems, independent trials", rows)


if __name__ == "__main__":
    main()
