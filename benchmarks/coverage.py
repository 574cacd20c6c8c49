"""How often 95 % intervals cover: speakers with effects of their own, compared with each other.

A score is the sum of what the class, the speakers, the sessions, the pair of speakers and chance contribute.
Speakers have equally many sessions or between 2 and 15; effects are Gaussian or heavy-tailed (Student t
with 4 degrees of freedom); with two genders scores are shifted by gender, and speakers are compared within
their gender. The truth is the value in the population: from theory where there is a closed form, else from
4 million independent trials of each class.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

import llrkit as lk
from llrkit.metrics.measure import measure
from llrkit.trust.bootstrap import bootstrap, speaker_resampling
from llrkit.trust.intervals import closed_form
from llrkit.trust.jackknife import Uncertainty, exact_number
from llrkit.trust.speakers import find_speakers

Array = npt.NDArray[np.float64]

EER = 0.1
MEAN = -float(ndtri(EER))
"""Of the targets, and of the non-targets with the other sign: both classes have variance 1."""
SPEAKER, SPEAKERS, SESSION, PAIR, CHANCE = 0.4, 0.15, 0.1, 0.1, 0.4
"""Variances: of a speaker in targets; in non-targets of each speaker and of the pair; of each session."""
SHIFT = 0.3
POINTS = (lk.OperatingPoint(0.2), lk.OperatingPoint(0.01))
NUMBERS = {
    "cllr": "Cllr", "min_cllr": "min Cllr", "eer": "EER", "eer_roc": "EER (ROC)", "auc": "AUC",
    "points.0.act_dcf": "act 0.2", "points.0.min_dcf": "min 0.2",
    "points.1.act_dcf": "act 0.01", "points.1.min_dcf": "min 0.01",
    "points.0.p_miss": "Pmiss 0.2", "points.0.p_fa": "Pfa 0.2", "points.1.p_fa": "Pfa 0.01",
}  # fmt: skip
SIDES = ("left", "right")
POPULATION = 4_000_000
MOST_NONTARGETS = 60_000


@dataclass(frozen=True)
class Design:
    """How many speakers there are, and what they are like."""

    speakers: int
    unequal: bool = False
    heavy: bool = False
    genders: int = 1

    @property
    def sessions(self) -> str:
        return "2 to 15" if self.unequal else "8"

    @property
    def effects_name(self) -> str:
        return "heavy tails" if self.heavy else "Gaussian"

    @property
    def name(self) -> str:
        return (
            f"{self.speakers} speakers, {self.sessions} sessions, {self.effects_name}, "
            f"{self.genders} gender(s)"
        )

    def effects(self, n: int, rng: np.random.Generator) -> Array:
        """Random effects of variance 1."""
        return rng.standard_t(4, n) / math.sqrt(2.0) if self.heavy else rng.normal(size=n)

    def trials(self, rng: np.random.Generator) -> lk.Scores:
        """LLRs of all pairs of sessions within a gender, or of some 60,000 non-targets of them."""
        n = rng.integers(2, 16, self.speakers) if self.unequal else np.full(self.speakers, 8)
        speaker = np.repeat(np.arange(self.speakers), n)
        i, j = np.triu_indices(len(speaker), 1)
        p, q = speaker[i], speaker[j]
        share = MOST_NONTARGETS * self.genders / len(p)
        kept = (p == q) | ((p % self.genders == q % self.genders) & (rng.random(len(p)) < share))
        i, j, p, q = i[kept], j[kept], p[kept], q[kept]
        easy, wolf = self._of_speakers(self.speakers, rng)
        session, pair = self.effects(len(speaker), rng), self.effects(self.speakers**2, rng)
        x = math.sqrt(SESSION) * (session[i] + session[j]) + math.sqrt(CHANCE) * rng.normal(size=len(p))
        same = p == q
        alone = MEAN + math.sqrt(SPEAKER) * easy[p]
        between = (
            -MEAN + math.sqrt(SPEAKERS) * (wolf[p] + wolf[q]) + math.sqrt(PAIR) * pair[p * self.speakers + q]
        )
        x += np.where(same, alone, between) + self._gender(p)
        return lk.Scores.from_labels(2.0 * MEAN * x, same, {"left": p, "right": q})

    def population(self, rng: np.random.Generator) -> lk.Scores:
        """LLRs of trials that share nothing."""
        n, gender = POPULATION, self._gender(np.arange(POPULATION))
        rest = [
            math.sqrt(SESSION) * (self.effects(n, rng) + self.effects(n, rng))
            + math.sqrt(CHANCE) * rng.normal(size=n) + gender
            for _ in range(2)
        ]  # fmt: skip
        target = MEAN + math.sqrt(SPEAKER) * self._of_speakers(n, rng)[0] + rest[0]
        wolves = self._of_speakers(n, rng)[1] + self._of_speakers(n, rng)[1]
        between = -MEAN + math.sqrt(SPEAKERS) * wolves + math.sqrt(PAIR) * self.effects(n, rng) + rest[1]
        return lk.Scores(2.0 * MEAN * target, 2.0 * MEAN * between)

    def _of_speakers(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """How easily speakers are recognized, and taken for others: correlated by one half."""
        wolf = self.effects(n, rng)
        return 0.5 * wolf + math.sqrt(0.75) * self.effects(n, rng), wolf

    def _gender(self, speaker: npt.NDArray[np.int64]) -> Array:
        return np.asarray(SHIFT * (1.0 - 2.0 * (speaker % 2)) if self.genders == 2 else 0.0)


@cache
def truth(heavy: bool, genders: int) -> dict[str, float]:
    """The values the intervals should cover, by name of the number."""
    if heavy or genders == 2:
        found = measure(Design(1, heavy=heavy, genders=genders).population(np.random.default_rng(9)), POINTS)
        return {name: exact_number(found, name) for name in NUMBERS}
    model = lk.theory.GaussianLLR.from_eer(EER)
    values = {"cllr": model.cllr, "min_cllr": model.cllr, "eer": EER, "eer_roc": EER, "auc": model.auc}
    for i, point in enumerate(POINTS):
        cost = model.act_dcf(point)
        values |= {f"points.{i}.act_dcf": cost, f"points.{i}.min_dcf": cost}
        values[f"points.{i}.p_miss"] = float(model.p_miss(point.threshold))
        values[f"points.{i}.p_fa"] = float(model.p_fa(point.threshold))
    return values


@dataclass
class Tally:
    """How often a number had an interval that covered, and otherwise a bound that held."""

    covered: int = 0
    too_low: int = 0
    too_high: int = 0
    bound_held: int = 0
    bound_failed: int = 0
    nothing: int = 0
    width: float = 0.0

    def count(self, used: Uncertainty, name: str, true: float) -> None:
        """Add one run."""
        if name in used.intervals:
            low, high = used.intervals[name]
            self.too_low += high < true
            self.too_high += low > true
            self.covered += low <= true <= high
            self.width += high - low
        elif name in used.upper_bound:
            held = true <= used.upper_bound[name]
            self.bound_held += held
            self.bound_failed += not held
        else:
            self.nothing += 1

    @property
    def n(self) -> int:
        return self.covered + self.too_low + self.too_high

    def cell(self) -> str:
        """Percentage that covers; where some runs have no interval, how many have, and bounds that hold."""
        runs = self.n + self.bound_held + self.bound_failed + self.nothing
        shown = f"{100 * self.covered / self.n:.1f}" if self.n else "-"
        if self.n == runs:
            return shown
        bounds = self.bound_held + self.bound_failed
        held = f", bound {100 * self.bound_held / bounds:.0f}" if bounds else ""
        return f"{shown} ({100 * self.n / runs:.0f} % of runs{held})"

    def to_dict(self) -> dict[str, float]:
        return vars(self) | {"width": self.width / max(self.n, 1)}


def uncertainty(scores: lk.Scores, kind: str, seed: int, replicates: int) -> Uncertainty:
    """The intervals of one set of trials, as :func:`llrkit.evaluate` makes them."""
    result = measure(scores, POINTS)
    if kind == "bootstrap":
        return bootstrap(scores, result, speaker_resampling(scores, SIDES, seed=seed), 0.95, replicates)
    speakers = find_speakers(scores, SIDES) if kind == "speaker" else None
    return closed_form(scores, result, speakers, 0.95)


def coverage(
    design: Design, runs: int, kinds: Sequence[str] = ("speaker",), seed: int = 1, replicates: int = 300
) -> dict[str, dict[str, Tally]]:
    """Tallies by kind of interval and name of the number."""
    key = (seed, design.speakers, design.unequal, design.heavy, design.genders)
    rng, wanted = np.random.default_rng([int(part) for part in key]), truth(design.heavy, design.genders)
    found = {kind: {name: Tally() for name in NUMBERS} for kind in kinds}
    for run in range(runs):
        scores = design.trials(rng)
        for kind in kinds:
            used = uncertainty(scores, kind, run, replicates)
            for name, tally in found[kind].items():
                tally.count(used, name, wanted[name])
    return found


def add_options(parser: argparse.ArgumentParser, seed: int) -> None:
    """The options of every script that runs these designs."""
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--speakers", type=int, nargs="+", default=[15, 30, 100])
    parser.add_argument("--tails", choices=["Gaussian", "heavy tails"], help="only the designs with these")
    parser.add_argument("--sessions", choices=["8", "2 to 15"], help="only the designs with so many")
    parser.add_argument("--genders", type=int, choices=[1, 2], help="only the designs with so many")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--rows", type=Path, help="a file to which each row is added as a line of JSON")


def designs(options: argparse.Namespace) -> Iterator[Design]:
    """The designs that the options leave, Gaussian ones first."""
    for heavy, n, genders, unequal in product((False, True), options.speakers, (1, 2), (False, True)):
        design = Design(n, unequal, heavy, genders)
        if (
            options.tails in (None, design.effects_name)
            and options.sessions in (None, design.sessions)
            and options.genders in (None, genders)
        ):
            yield design


def add_row(options: argparse.Namespace, table: str, design: Design, cells: dict[str, Any]) -> None:
    """Add a row to the file of rows, from which ``trust_tables.py`` makes the tables of the pages."""
    if options.rows is None:
        return
    row = {
        "table": table, "speakers": design.speakers, "sessions": design.sessions,
        "effects": design.effects_name, "genders": design.genders, "seed": options.seed,
        "runs": options.runs, "cells": cells,
    }  # fmt: skip
    with options.rows.open("a") as file:
        file.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, seed=1)
    parser.add_argument("--kinds", nargs="+", default=["speaker"], choices=["trial", "speaker", "bootstrap"])
    parser.add_argument("--replicates", type=int, default=300, help="of each bootstrap")
    options = parser.parse_args()
    error = 100 * math.sqrt(0.95 * 0.05 / options.runs)
    print(f"{options.runs} runs a design, seed {options.seed}, Monte-Carlo error {error:.1f} points")
    print("| design | kind | " + " | ".join(NUMBERS.values()) + " |")
    print("|---|---|" + "--:|" * len(NUMBERS), flush=True)
    start = time.perf_counter()
    for design in designs(options):
        found = coverage(design, options.runs, options.kinds, options.seed, options.replicates)
        for kind, tallies in found.items():
            cells = [tally.cell() for tally in tallies.values()]
            print(f"| {design.name} | {kind} | " + " | ".join(cells) + " |", flush=True)
            add_row(
                options, kind, design, {NUMBERS[name]: tally.to_dict() for name, tally in tallies.items()}
            )
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
