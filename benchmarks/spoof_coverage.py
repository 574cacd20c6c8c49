"""How often 95 % intervals of a-DCFs, and of the FNMR at an FMR, cover: speakers with effects of their own.

Targets, non-targets and spoofs of speakers who are compared with each other; effects are those of
``coverage.py``, and a spoof imitates one speaker. The truth is the value in the population, from 4 million
independent trials of each kind. Designs have at least 40 speakers and expect 30 or more errors of each kind.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import llrkit as lk
from llrkit import biometrics, spoof

Array = npt.NDArray[np.float64]
COSTS = spoof.SpoofCosts("plain", 0.8, 0.1, 0.1, 1.0, 4.0, 4.0)
MEANS = {"target": 2.0, "nontarget": -2.0, "spoof": -1.0}
SPEAKER, CHANCE, SCALE = 0.6, 1.2, 2.0
FMRS = (0.1, 0.02)
POPULATION = 4_000_000


@dataclass(frozen=True)
class Design:
    """How many speakers, and how heavy the tails of their effects are."""

    speakers: int
    heavy: bool = False

    @property
    def name(self) -> str:
        return f"{self.speakers} speakers, {'heavy tails' if self.heavy else 'Gaussian'}"

    def effects(self, n: int, rng: np.random.Generator) -> Array:
        return rng.standard_t(4, n) / math.sqrt(2.0) if self.heavy else rng.normal(size=n)

    def trials(self, rng: np.random.Generator) -> dict[str, object]:
        """Eight sessions a speaker: all targets, 8,000 non-targets, 8,000 spoofs."""
        easy, wolf, weak = (self.effects(self.speakers, rng) for _ in range(3))
        p = np.repeat(np.arange(self.speakers), 28)
        i, j = rng.integers(0, self.speakers, (2, 8_000))
        i, j = i[i != j], j[i != j]
        k = rng.integers(0, self.speakers, 8_000)
        score = np.concatenate([
            MEANS["target"] + SPEAKER * easy[p],
            MEANS["nontarget"] + SPEAKER * (wolf[i] + wolf[j]) / math.sqrt(2.0),
            MEANS["spoof"] + SPEAKER * weak[k],
        ])  # fmt: skip
        score += CHANCE * rng.normal(size=len(score))
        kinds = np.repeat(["target", "nontarget", "spoof"], [len(p), len(i), len(k)])
        left, right = np.concatenate([p, i, k]), np.concatenate([p, j, k])
        return {"sasv": SCALE * score, "label": kinds, "left": left, "right": right}

    def population(self) -> dict[str, Array]:
        rng = np.random.default_rng(9)
        n, two = POPULATION, math.sqrt(2.0)
        effects = {
            "target": self.effects(n, rng),
            "nontarget": (self.effects(n, rng) + self.effects(n, rng)) / two,
            "spoof": self.effects(n, rng),
        }
        return {
            kind: SCALE * (MEANS[kind] + SPEAKER * effect + CHANCE * rng.normal(size=n))
            for kind, effect in effects.items()
        }


def truth(design: Design) -> dict[str, float]:
    """The numbers of the population, from sorted scores."""
    scores = {kind: np.sort(values) for kind, values in design.population().items()}
    n = POPULATION

    def cost(threshold: Array) -> Array:
        p_miss = np.searchsorted(scores["target"], threshold) / n
        others = [1.0 - np.searchsorted(scores[kind], threshold) / n for kind in ("nontarget", "spoof")]
        return COSTS.costs(p_miss, *others)

    grid = np.linspace(-6.0, 10.0, 4001)
    numbers = {"min a-DCF": float(cost(grid).min()), "act a-DCF": float(cost(np.array([COSTS.threshold]))[0])}
    for fmr in FMRS:
        threshold = np.quantile(scores["nontarget"], 1.0 - fmr)
        numbers[f"FNMR at FMR {fmr:g}"] = float(np.searchsorted(scores["target"], threshold)) / n
    return numbers


def ends(design: Design, rng: np.random.Generator) -> dict[str, tuple[float, float] | None]:
    """The intervals of one set of trials."""
    table = design.trials(rng)
    result = spoof.evaluate(spoof.SpoofTrials(table), [COSTS], speakers=("left", "right"))
    intervals: dict[str, tuple[float, float] | None] = {
        f"{kind} a-DCF": result.intervals.get(f"a_dcf.0.{kind}") for kind in ("min", "act")
    }
    kept = np.asarray(table["label"]) != "spoof"
    two = lk.Trials({name: np.asarray(column)[kept] for name, column in table.items()}, score="sasv")
    rates = biometrics.verification_rates(two, fmr=FMRS, speakers=("left", "right"))
    return intervals | {f"FNMR at FMR {row.wanted:g}": row.fnmr_interval for row in rates.rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--speakers", type=int, nargs="+", default=[40, 100])
    parser.add_argument("--tails", choices=["Gaussian", "heavy"], nargs="+", default=["Gaussian", "heavy"])
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    runs = asked.runs
    for speakers in asked.speakers:
        for heavy in (tails == "heavy" for tails in asked.tails):
            design, start = Design(speakers, heavy), time.perf_counter()
            wanted, rng = truth(design), np.random.default_rng([asked.seed, speakers, heavy])
            covered, had = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
            for _ in range(runs):
                for name, pair in ends(design, rng).items():
                    if pair is not None:
                        had[name] += 1
                        covered[name] += pair[0] <= wanted[name] <= pair[1]
            shown = ", ".join(
                f"{name} {100 * covered[name] / max(had[name], 1):.1f} % of {had[name]}" for name in wanted
            )
            print(f"{design.name}: {shown} ({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
