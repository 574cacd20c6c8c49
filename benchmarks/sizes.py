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
    found = lk.compare_systems(scores, points=POINTS, speakers=speakers)
    return {
        words: found[name].p_value if name in found.differences else math.nan
        for name, words in NUMBERS.items()
    }


def rejections(runs: Iterator[dict[str, float]]) -> dict[str, tuple[int, int]]:
    """How many p-values are up to 5 %, and how many runs have one, by name."""
    rejected: Counter[str] = Counter()
    tested: Counter[str] = Counter()
    for p_values in runs:
        for name, p in p_values.items():
            tested[name] += not math.isnan(p)
            rejected[name] += p <= LEVEL
    return {name: (rejected[name], n) for name, n in tested.items()}


def cell(rejected: int, tested: int, runs: int) -> str:
    """Percentage of the p-values; in brackets how many runs had a test, if not all."""
    return (f"{100 * rejected / tested:.1f}" if tested else "-") + ("" if tested == runs else f" ({tested})")


class Independent(Design):
    """Trials that share nothing; every target has speakers of its own."""

    @property
    def name(self) -> str:
        return f"{self.speakers} targets"


def independent(n_target: int, seed: int) -> lk.Scores:
    """Independent trials of two equally good systems, ten non-targets for a target."""
    rng = np.random.default_rng([seed, n_target])
    classes = []
    for sign, n in ((1.0, n_target), (-1.0, 10 * n_target)):
        x = sign * MEAN + math.sqrt(0.5) * rng.normal(size=(n, 1)) + math.sqrt(0.5) * rng.normal(size=(n, 2))
        classes.append(2.0 * MEAN * x)
    return lk.Scores(*classes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    coverage.add_options(parser, seed=20)
    parser.add_argument("--only", choices=["check", "power", "compare", "independent"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", lk.LlrkitWarning)
    coverage.MOST_NONTARGETS = MOST_NONTARGETS
    seeds = range(1000 * options.seed, 1000 * options.seed + options.runs)
    chosen = list(coverage.designs(options))

    def checks(design: Design, slope: float) -> Iterator[dict[str, float]]:
        for seed in seeds:
            scores = design.trials(np.random.default_rng(seed))
            yield check_once(calibrated(scores, design, slope), seed)

    def show(part: str, title: str, rows: dict[Design, Callable[[], Iterator[dict[str, float]]]]) -> None:
        if options.only not in (None, part):
            return
        print(f"\n{title}\n", flush=True)
        for i, (design, runs) in enumerate(rows.items()):
            cells = rejections(runs())
            if i == 0:
                print(f"| | {' | '.join(cells)} |\n|---|" + "--:|" * len(cells))
            texts = [cell(*counts, options.runs) for counts in cells.values()]
            print(f"| {design.name} | {' | '.join(texts)} |", flush=True)
            coverage.add_row(options, part, design, cells)

    print(f"Rejections at 5 % (verdicts: at their own levels), percent of {options.runs} runs")
    show("check", "Calibrated LLRs", {design: lambda d=design: checks(d, 1.0) for design in chosen})
    many = [design for design in chosen if design.speakers == 100]
    show("power", f"LLRs times {SLOPE}", {design: lambda d=design: checks(d, SLOPE) for design in many})
    rows = {
        design: lambda d=design: (compare_once(two_systems(d, seed), SIDES) for seed in seeds)
        for design in chosen
    }
    show("compare", "Two equally good systems, speakers given", rows)
    rows = {
        Independent(n): lambda n=n: (compare_once(independent(n, seed), None) for seed in seeds)
        for n in TARGETS
    }
    show("independent", "Two equally good systems, independent trials", rows)


if __name__ == "__main__":
    main()
