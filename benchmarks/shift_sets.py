"""The sets of benchmarks/shift.py: real ones that shift, halves of sets that do not, and simulated shifts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import llrkit as lk
from real_sets import components


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator="\t", infer_schema_length=None)


def speaker_shift(data: Path) -> tuple[lk.Scores, lk.Scores]:
    """The two corpora of spkr_shift_psr."""
    with np.load(data / "spkr_shift_psr/spkr_verif.npz") as arrays:
        odds = {part: np.diff(arrays[f"{part}_logpost"].astype(np.float64))[:, 0] for part in ("trn", "tst")}
        return tuple(lk.Scores.from_labels(odds[part], arrays[f"{part}_target"]) for part in odds)


def real(data: Path) -> dict[str, tuple[Any, Any, str | None]]:
    """Training part, evaluation part, and the column of speakers or None, of the six sets that shift."""
    sets: dict[str, tuple[Any, Any, str | None]] = {"spkr_shift": (*speaker_shift(data), None)}
    parts = [read(data / f"asvspoof2019_la/tandem_{part}.tsv.gz") for part in ("dev", "eval")]
    parts = [part.filter(pl.col("label") != "spoof") for part in parts]
    for name in ("asv_xvector", "asv_ecapa"):
        sets[name] = (*(lk.Trials(part, score=name) for part in parts), "enroll_speaker")
    parts = [read(data / f"asvspoof2019_la/cm_{part}.tsv.gz") for part in ("dev", "eval")]
    for name in ("cm_lfcc_gmm", "cm_ocsoftmax", "cm_timeemb"):
        sets[name] = (*(lk.Trials(part, score=name) for part in parts), "speaker")
    return sets


def halved_sets(data: Path) -> dict[str, pl.DataFrame]:
    """Sets without a shift, with the columns score, target, speaker1 and speaker2."""
    table = read(data / "voxceleb1_o/voxceleb1_o_4systems.tsv.gz")
    table = table.with_columns(speaker1=pl.col("enroll").str.head(7), speaker2=pl.col("test").str.head(7))
    sets = {
        name: table.select("speaker1", "speaker2", "target", score=name)
        for name in ("ivector_cosine", "ivector_lda", "ivector_plda", "resnet_aam")
    }
    table = read(data / "sre08_tno/tno2008.tsv.gz").with_columns(
        side1=pl.format("model:{}", "model"), side2=pl.format("test:{}:{}", "test", "chan")
    )
    targets = table.filter(pl.col("target").cast(pl.String).str.to_lowercase().is_in(["1", "true"]))
    known = components(targets["side1"].to_numpy(), targets["side2"].to_numpy())
    for side in ("side1", "side2"):  # one without a target trial is a speaker of its own
        for node in table[side].unique().sort().to_list():
            known.setdefault(node, len(known) + len(table))
    sets["sre08"] = table.with_columns(
        speaker1=pl.col("side1").replace_strict(known), speaker2=pl.col("side2").replace_strict(known)
    ).select("speaker1", "speaker2", "target", "score")
    return sets


def halvings(table: pl.DataFrame, n: int) -> Any:
    """Random halves with no speaker in both; trials between the halves are left out."""
    speakers = pl.concat([table["speaker1"], table["speaker2"].alias("speaker1")]).unique().sort()
    for seed in range(n):
        rng = np.random.default_rng([seed, 25])
        chosen = speakers.gather(rng.permutation(len(speakers))[: len(speakers) // 2]).implode()
        one, two = pl.col("speaker1").is_in(chosen), pl.col("speaker2").is_in(chosen)
        yield tuple(
            lk.Trials(part, score="score", label="target")
            for part in (table.filter(one & two), table.filter(~one & ~two))
        )


def gamma_pair(rng: np.random.Generator, n: int, is_target: bool) -> np.ndarray:
    """Scores of a skewed system: the non-targets have a long upper tail."""
    return rng.normal(5.0, 1.2, n) if is_target else rng.gamma(4.0, 0.5, n) - 1.0


def new_population(rng: np.random.Generator, n: int, is_target: bool) -> np.ndarray:
    """Speakers of another population: each has a mean and a spread of its own."""
    speakers = rng.integers(0, 200, n)
    means, spreads = rng.normal(0.0, 0.6, 200), rng.lognormal(0.0, 0.25, 200)
    return (3.4 if is_target else 0.4) + means[speakers] + spreads[speakers] * rng.standard_normal(n)


def normal_pair(rng: np.random.Generator, n: int, is_target: bool) -> np.ndarray:
    return rng.normal(4.0 if is_target else 0.0, 1.0, n)


def codec(rng: np.random.Generator, scores: np.ndarray, is_target: bool) -> np.ndarray:
    """A third of the trials through a codec that pulls scores together and down."""
    coded = rng.random(len(scores)) < 1.0 / 3.0
    return np.where(coded, 0.7 * scores - 0.5, scores)


def simulated() -> list[tuple[str, Any, Any, float]]:
    """Name, training scores by class, new scores by class, share of targets."""

    def moved(change: Any, base: Any = normal_pair) -> Any:
        return lambda rng, n, is_target: change(rng, base(rng, n, is_target), is_target)

    def line(slope: float, offset: float) -> Any:
        return moved(lambda _, s, __: slope * s + offset)

    def per_class(target: tuple[float, float], nontarget: tuple[float, float]) -> Any:
        def change(_: Any, s: np.ndarray, is_target: bool) -> np.ndarray:
            middle, (slope, offset) = (4.0, target) if is_target else (0.0, nontarget)
            return middle + offset + slope * (s - middle)

        return moved(change)

    return [
        ("gain 0.7", normal_pair, line(0.7, 0.0), 0.1),
        ("gain 1.5", normal_pair, line(1.5, 0.0), 0.1),
        ("gain 3", normal_pair, line(3.0, 0.0), 0.02),
        ("offset -1", normal_pair, line(1.0, -1.0), 0.1),
        ("offset +2", normal_pair, line(1.0, 2.0), 0.02),
        ("gain 1.5, offset 2", normal_pair, line(1.5, 2.0), 0.1),
        ("share 0.1 %", normal_pair, line(1.0, 0.0), 0.001),
        ("share 1 %", normal_pair, line(1.0, 0.0), 0.01),
        ("share 50 %", normal_pair, line(1.0, 0.0), 0.5),
        ("offset +1, share 0.1 %", normal_pair, line(1.0, 1.0), 0.001),
        ("offset +1, share 50 %", normal_pair, line(1.0, 1.0), 0.5),
        ("targets lower by 1", normal_pair, per_class((1.0, -1.0), (1.0, 0.0)), 0.1),
        ("non-targets higher by 1", normal_pair, per_class((1.0, 0.0), (1.0, 1.0)), 0.1),
        ("targets spread 1.6", normal_pair, per_class((1.6, 0.0), (1.0, 0.0)), 0.1),
        ("non-targets spread 1.5", normal_pair, per_class((1.0, 0.0), (1.5, 0.0)), 0.1),
        ("both spread and moved", normal_pair, per_class((1.4, 1.0), (0.8, -0.5)), 0.05),
        ("codec, a third", normal_pair, moved(codec), 0.1),
        ("codec, skewed scores", gamma_pair, moved(codec, gamma_pair), 0.1),
        ("skewed scores, gain 1.3", gamma_pair, moved(lambda _, s, __: 1.3 * s, gamma_pair), 0.05),
        ("new population", normal_pair, new_population, 0.1),
    ]
