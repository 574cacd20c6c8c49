"""How much fit_best loses on new trials: smooth populations, halves of real sets, saturated and tied scores.

    OMP_NUM_THREADS=1 python benchmarks/regret.py ../shared/data            # about half an hour
    OMP_NUM_THREADS=1 python benchmarks/regret.py ../shared/data --fast     # a few minutes
    python benchmarks/regret.py ../shared/data --kind real --size 1 --rows regret_rows.jsonl   # in pieces
    python benchmarks/regret.py ../shared/data --tables regret_rows.jsonl   # the tables of all pieces

Every set is drawn from or halved several times. A map is fitted on 100 targets and 1,000 non-targets (and on
500 and 5,000) and evaluated on trials that were not drawn: 20,000 new ones of a population, or the other half
of a real set. Two figures are printed:

- against R = min(1, Cllr of logistic regression), infinite where that refuses: the share of splits above
  max(1.10 R, R + 0.02), and the number above max(1.25 R, R + 0.05);
- regret: the mean Cllr of fit_best over the splits of a set, divided by the lowest mean that a single method
  has on the same splits, minus 1. A method that refuses one split is not the best of that set.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

import llrkit as lk
from llrkit.fits.folds import CANDIDATES, fit_quietly

SIZES = ((100, 1_000), (500, 5_000))
LIMITS = (0.03, 0.01)
"""Of the regret, by size."""
POPULATIONS = 30
HELD_OUT = 20_000
Classes = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Set:
    """A name, a kind, and a way to draw a training and an evaluation part."""

    name: str
    kind: str
    split: Callable[[np.random.Generator, tuple[int, int]], tuple[Classes, Classes]]


# --- the sets ---------------------------------------------------------------------------------------------


def population(seed: int) -> Set:
    """Two classes of one to three sinh-arcsinh-transformed Gaussians: skewed, light- and heavy-tailed."""
    rng = np.random.default_rng((7, seed))
    gap, parts = rng.uniform(1.0, 4.5), rng.integers(1, 4)
    shares = rng.dirichlet(np.full(parts, 3.0))
    shape = [
        (
            rng.normal(0.0, 0.7, parts) + (gap if target else 0.0),
            np.exp(rng.normal(0.0, 0.25, parts) + (0.15 * rng.normal() if target else 0.0)),
            rng.normal(0.0, 0.25, parts),
            np.exp(rng.uniform(-0.5, 0.2, parts)),
        )
        for target in (True, False)
    ]

    def draw(rng: np.random.Generator, n: int, target: bool) -> np.ndarray:
        location, scale, skew, tail = shape[0 if target else 1]
        part = rng.choice(parts, n, p=shares)
        z = np.arcsinh(rng.normal(size=n))
        return np.asarray(location[part] + scale[part] * np.sinh((z + skew[part]) / tail[part]))

    def split(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Classes, Classes]:
        train = draw(rng, size[0], True), draw(rng, size[1], False)
        return train, (draw(rng, HELD_OUT, True), draw(rng, HELD_OUT, False))

    return Set(f"population {seed + 1}", "smooth", split)


def halved(name: str, kind: str, target: np.ndarray, nontarget: np.ndarray) -> Set:
    """A random half of the trials trains, as many of them as asked for; the other half evaluates."""

    def split(rng: np.random.Generator, size: tuple[int, int]) -> tuple[Classes, Classes]:
        train, test = [], []
        for values, n in ((target, size[0]), (nontarget, size[1])):
            order = rng.permutation(len(values))
            half = len(values) // 2
            train.append(values[order[: min(n, half)]])
            test.append(values[order[half : half + HELD_OUT]])
        return (train[0], train[1]), (test[0], test[1])

    return Set(name, kind, split)


def sigmoid(s: np.ndarray) -> np.ndarray:
    """Probabilities in single precision: the surest of them are exactly 1."""
    return expit(8.0 * s).astype(np.float32).astype(np.float64)


VARIANTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "real": lambda s: s,
    "saturated": sigmoid,
    "rounded": lambda s: np.round(expit(2.0 * s), 2),
    "clipped": lambda s: np.clip(s, -1.0, 1.0),
}


def variants(name: str, target: np.ndarray, nontarget: np.ndarray) -> Iterator[Set]:
    """A real set as it is, through a sigmoid, rounded to two digits of a probability, and clipped.

    Scores are standardized first: 0 halfway between the medians of the classes, 1 the mean of their spreads.
    """
    middle = 0.5 * (np.median(target) + np.median(nontarget))
    spread = 0.5 * (target.std() + nontarget.std())
    for kind, change in VARIANTS.items():
        yield halved(
            f"{name} {kind}", kind, change((target - middle) / spread), change((nontarget - middle) / spread)
        )


def real_sets(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Every set of scores with labels in the folder: name, targets, non-targets."""

    def table(path: str) -> pl.DataFrame:
        return pl.read_csv(data / path, separator="\t", infer_schema_length=None)

    def classes(
        name: str, frame: pl.DataFrame, score: str, target: pl.Expr
    ) -> tuple[str, np.ndarray, np.ndarray]:
        found = frame.filter(pl.col(score).is_not_null() & pl.col(score).is_not_nan())
        parts = (found.filter(target)[score], found.filter(~target)[score])
        return name, *(part.to_numpy().astype(np.float64) for part in parts)

    labeled = pl.col("target").cast(pl.String).str.to_lowercase().is_in(["1", "true"])
    vox = table("voxceleb1_o/voxceleb1_o_4systems.tsv.gz")
    for score in ("ivector_cosine", "ivector_lda", "ivector_plda", "resnet_aam"):
        yield classes(f"vox {score}", vox, score, labeled)
    yield classes("sre08", table("sre08_tno/tno2008.tsv.gz"), "score", labeled)
    yield classes("evalita", table("evalita09_ru/ru.2009.table.gz"), "score", labeled)
    with np.load(data / "spkr_shift_psr/spkr_verif.npz") as arrays:
        for part in ("trn", "tst"):
            posterior, target = arrays[f"{part}_logpost"].astype(np.float64), arrays[f"{part}_target"] == 1
            score = posterior[:, 1] - posterior[:, 0]
            yield f"psr {part}", score[target], score[~target]
    for part in ("dev", "eval"):
        tandem = table(f"asvspoof2019_la/tandem_{part}.tsv.gz").filter(pl.col("label") != "spoof")
        for score in ("asv_xvector", "asv_ecapa"):
            yield classes(f"{score} {part}", tandem, score, pl.col("label") == "target")
        cm = table(f"asvspoof2019_la/cm_{part}.tsv.gz")
        for score in [name for name in cm.columns if name.startswith("cm_")]:
            yield classes(f"{score} {part}", cm, score, pl.col("label") == "bonafide")
    for name in ("sst2_gpt2", "sst2_gpt2_4shot", "pneumoniamnist_resnet50"):
        with np.load(data / f"multiclass_expected_cost/{name}.npz") as arrays:
            logits, target = arrays["logits"].astype(np.float64), arrays["target"] == 1
            score = logits[:, 1] - logits[:, 0]
            yield name, score[target], score[~target]
    columns = [
        pl.read_csv(data / f"nfi_cartridge_llr/LLR_{part}.csv", has_header=False).to_series().to_numpy()
        for part in ("KM", "KNM")
    ]
    yield "cartridges", columns[0], columns[1]


def all_sets(data: Path) -> list[Set]:
    """The populations, then the real sets and what was made of them."""
    made = [population(seed) for seed in range(POPULATIONS)]
    for name, target, nontarget in real_sets(data):
        made += variants(name, target, nontarget)
    return made


# --- the measurement --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """Cllr on the held-out part of one split: of fit_best, and of every single method that did not refuse."""

    set: Set
    size: tuple[int, int]
    best: float
    single: dict[str, float]

    @property
    def reference(self) -> float:
        """The smaller of 1 and logistic regression; 1 where that refuses."""
        return min(1.0, self.single.get("logistic", math.inf))

    def to_dict(self, seed: int, split: int) -> dict[str, object]:
        """A line of a file of rows."""
        return {
            "set": self.set.name, "size": list(self.size), "seed": seed, "split": split, "best": self.best,
            "single": self.single,
        }  # fmt: skip

    def exceeds(self, factor: float, plus: float) -> bool:
        """Whether fit_best is above ``max(factor R, R + plus)``."""
        return self.best > max(factor * self.reference, self.reference + plus)


def measured(one: Set, size: tuple[int, int], seed: tuple[int, ...]) -> Row:
    """Fit and evaluate everything on one split."""
    (target, nontarget), (new_target, new_nontarget) = one.split(np.random.default_rng(seed), size)
    train, new = lk.Scores(target, nontarget), lk.Scores(new_target, new_nontarget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        best = lk.cllr(lk.fit_best(train).on(new))
        single = {}
        for method in CANDIDATES:
            try:
                single[method] = lk.cllr(fit_quietly(method, train, {}).on(new))
            except lk.LlrkitError:
                continue
    return Row(one, size, best, single)


def regret_of(rows: list[Row]) -> tuple[float, float]:
    """The mean Cllr of fit_best over the splits of a set, and the lowest mean of a single method on them."""
    singles = [
        float(np.mean([row.single[method] for row in rows]))
        for method in CANDIDATES
        if all(method in row.single for row in rows)
    ]
    return float(np.mean([row.best for row in rows])), min(singles, default=1.0)


def table(rows: list[Row], limit: float) -> list[str]:
    """A line for each kind of set, and the sets that lose most."""
    lines = [
        "| sets | splits | mean Cllr | best single | regret | median set | sets above "
        f"{100 * limit:.0f} % | above 1.10 R | above 1.25 R |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    worst = []
    for kind in ("smooth", *VARIANTS, "all"):
        mine = [row for row in rows if kind in (row.set.kind, "all")]
        if not mine:
            continue
        by_set = {
            name: regret_of([row for row in mine if row.set.name == name])
            for name in dict.fromkeys(row.set.name for row in mine)
        }
        got, single = (sum(pair[i] for pair in by_set.values()) / len(by_set) for i in (0, 1))
        ratios = {name: pair[0] / max(pair[1], 1e-12) - 1.0 for name, pair in by_set.items()}
        above = [sum(row.exceeds(*limits) for row in mine) for limits in ((1.10, 0.02), (1.25, 0.05))]
        lines.append(
            f"| {kind} | {len(mine)} | {got:.4f} | {single:.4f} | {100 * (got / single - 1):+.1f} % "
            f"| {100 * float(np.median(list(ratios.values()))):+.1f} % "
            f"| {sum(ratio > limit for ratio in ratios.values())} of {len(ratios)} "
            f"| {100 * above[0] / len(mine):.1f} % | {above[1]} |"
        )
        if kind == "all":
            worst = sorted(by_set, key=lambda name: -(by_set[name][0] - by_set[name][1]))[:8]
            lines += ["", "Largest losses in bits:"]
            lines += [f"- {name}: {by_set[name][0]:.4f}, best single {by_set[name][1]:.4f}" for name in worst]
    return lines


def rows_of(path: Path, sets: list[Set], size: tuple[int, int]) -> list[Row]:
    """The rows of one size in a file; of a split that was measured again, the last one."""
    by_name = {one.name: one for one in sets}
    newest = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if tuple(row["size"]) == size:
            found = Row(by_name[row["set"]], size, row["best"], row["single"])
            newest[row["set"], row["seed"], row["split"]] = found
    return list(newest.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=2, help="of each set")
    parser.add_argument("--seed", type=int, default=1, help="of the splits; the populations stay the same")
    parser.add_argument("--size", type=int, choices=(0, 1), action="append", help="100+1,000 or 500+5,000")
    parser.add_argument("--fast", action="store_true", help="every fifth set, one split")
    parser.add_argument("--kind", choices=["smooth", *VARIANTS], help="only the sets of this kind")
    parser.add_argument("--rows", type=Path, help="a file to which each split is added as a line of JSON")
    parser.add_argument("--tables", type=Path, help="measure nothing, print the tables of such a file")
    options = parser.parse_args()
    sets = all_sets(options.data)
    if options.tables is not None:
        for size, limit in zip(SIZES, LIMITS, strict=True):
            if rows := rows_of(options.tables, sets, size):
                print(f"\n{size[0]:,} + {size[1]:,} trials\n")
                print("\n".join(table(rows, limit)))
        return
    for which in options.size or (0, 1):
        size, limit, start, rows = SIZES[which], LIMITS[which], time.perf_counter(), []
        for split in range(1 if options.fast else options.splits):
            for number, one in enumerate(sets):
                if options.kind not in (None, one.kind):
                    continue
                # 5 and the four versions of a set have no common factor
                if not options.fast or number % 5 == 0:
                    rows.append(measured(one, size, (options.seed, number, size[0], split)))
                    if options.rows is not None:
                        with options.rows.open("a") as file:
                            file.write(json.dumps(rows[-1].to_dict(options.seed, split)) + "\n")
            seconds = time.perf_counter() - start
            print(f"\n{size[0]:,} + {size[1]:,} trials, {split + 1} splits, {seconds:.0f} s\n")
            print("\n".join(table(rows, limit)), flush=True)


if __name__ == "__main__":
    main()
