"""How much fit_best loses on new trials: smooth populations, halves of real sets, saturated and tied scores.

    OMP_NUM_THREADS=1 python benchmarks/regret.py ../shared/data            # about half an hour
    OMP_NUM_THREADS=1 python benchmarks/regret.py ../shared/data --fast     # a few minutes

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
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

import llrkit as lk
from llrkit.choose.methods import CANDIDATES, fit_quietly

SIZES = ((100, 1_000), (500, 5_000))
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

    def classes(name: str, frame: pl.DataFrame, score: str, target: pl.Expr) -> tuple[str, np.ndarray, np.ndarray]:
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
