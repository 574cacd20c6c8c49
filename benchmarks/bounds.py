"""What the default bound costs: cross-validated Cllr with and without it, on the reference sets.

    python benchmarks/bounds.py [../shared/data]

Every trial is calibrated by a map that has seen neither of its speakers, and the map is bounded by the trials
it was trained on. Cllr in bits, and the change against no bound:

- trials: the default of ``bound_map``; every trial is a source
- speakers: ``speakers=``, where they are known; speakers with target trials, pairs with non-target trials
- both pairs: pairs with non-target trials for either limit, for comparison
- both speakers: all speakers of the training trials for either limit, for comparison

Sets without speakers are divided by trial.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import llrkit as lk
from llrkit.core.groups import ValueCounts
from llrkit.fits.folds import crossed_source, training_source
from llrkit.maps.bounds import count_sources
from real_sets import components

SIDES = ("speaker1", "speaker2")
METHODS = ("logistic", "cmlg", "kde", "pav")
Set = tuple[lk.scores.ScoreSource, tuple[str, ...] | None]
Bound = Callable[[lk.Map, lk.scores.ScoreSource], lk.Map]


def table_of(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator="\t", infer_schema_length=None)


def joined_sides(table: pl.DataFrame, left: str, right: list[str]) -> pl.DataFrame:
    """Speakers where they are not given: models and segments that share a target trial are one."""
    table = table.with_columns(
        side1=pl.concat_str(pl.lit("model:"), pl.col(left).cast(pl.String)),
        side2=pl.concat_str(
            pl.lit("test:"), *(pl.col(name).cast(pl.String) for name in right), separator=":"
        ),
    )
    targets = table.filter(pl.col("target").cast(pl.String).str.to_lowercase().is_in(["1", "true"]))
    number_of = components(targets["side1"].to_numpy(), targets["side2"].to_numpy())
    for side in ("side1", "side2"):
        for node in table[side].unique().sort().to_list():
            number_of.setdefault(node, len(number_of) + len(table))
    return table.with_columns(
        speaker1=pl.col("side1").replace_strict(number_of), speaker2=pl.col("side2").replace_strict(number_of)
    )


def voxceleb(data: Path, system: str) -> Set:
    table = table_of(data / "voxceleb1_o/voxceleb1_o_4systems.tsv.gz")
    table = table.with_columns(speaker1=pl.col("enroll").str.head(7), speaker2=pl.col("test").str.head(7))
    return lk.Trials(table, score=system, label="target"), SIDES


def sre08(data: Path) -> Set:
    table = joined_sides(table_of(data / "sre08_tno/tno2008.tsv.gz"), "model", ["test", "chan"])
    return lk.Trials(table, label="target"), SIDES


def evalita(data: Path) -> Set:
    table = table_of(data / "evalita09_ru/ru.2009.table.gz")
    table = table.with_columns(target=pl.col("target").cast(pl.String).str.to_lowercase() == "true")
    return lk.Trials(joined_sides(table, "model", ["test"]), label="target"), SIDES


def shifted(data: Path, part: str) -> Set:
    with np.load(data / "spkr_shift_psr/spkr_verif.npz") as arrays:
        posterior = arrays[f"{part}_logpost"].astype(np.float64)
        return lk.Scores.from_labels(posterior[:, 1] - posterior[:, 0], arrays[f"{part}_target"]), None


def verification(data: Path, part: str) -> Set:
    folder = data / "asvspoof2019_la"
    speaker_of = table_of(folder / f"cm_{part}.tsv.gz").select("utt", speaker2="speaker")
    table = table_of(folder / f"tandem_{part}.tsv.gz").filter(pl.col("label") != "spoof")
    table = table.join(speaker_of, on="utt", how="left").rename({"enroll_speaker": "speaker1"})
    known = table["speaker2"].null_count() == 0
    return lk.Trials(table, score="asv_xvector"), SIDES if known else None


def countermeasure(data: Path, part: str) -> Set:
    table = table_of(data / f"asvspoof2019_la/cm_{part}.tsv.gz")
    return lk.Trials(table, score="cm_lfcc_gmm"), ("speaker",)


SETS: dict[str, Callable[[Path], Set]] = {
    "voxceleb1_o.ivector_cosine": lambda data: voxceleb(data, "ivector_cosine"),
    "voxceleb1_o.ivector_lda": lambda data: voxceleb(data, "ivector_lda"),
    "voxceleb1_o.ivector_plda": lambda data: voxceleb(data, "ivector_plda"),
    "voxceleb1_o.resnet_aam": lambda data: voxceleb(data, "resnet_aam"),
    "sre08_tno": sre08,
    "evalita09_ru": evalita,
    "spkr_shift_psr.trn": lambda data: shifted(data, "trn"),
    "spkr_shift_psr.tst": lambda data: shifted(data, "tst"),
    "asvspoof2019_la.asv": lambda data: verification(data, "eval"),
    "asvspoof2019_la.cm": lambda data: countermeasure(data, "eval"),
}


def by_trials(fitted: lk.Map, source: lk.scores.ScoreSource) -> lk.Map:
    return lk.maps.bound_map(fitted, source)


def by_speakers(columns: tuple[str, ...]) -> Bound:
    return lambda fitted, source: lk.maps.bound_map(fitted, source, speakers=columns)


def by_pairs(columns: tuple[str, ...]) -> Bound:
    def bound(fitted: lk.Map, source: lk.scores.ScoreSource) -> lk.Map:
        return lk.maps.bound_sources(fitted, n_sources=int(count_sources(source, columns).n_nontarget))

    return bound


def by_all_speakers(columns: tuple[str, ...]) -> Bound:
    def bound(fitted: lk.Map, source: lk.scores.ScoreSource) -> lk.Map:
        values = source.with_columns(*columns).reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
        return lk.maps.bound_sources(fitted, n_sources=len(values))

    return bound


def crossed_cllrs(trials: Set, method: str, bounds: dict[str, Bound]) -> dict[str, float]:
    """Cross-validated Cllr without a bound ("none") and with each of these."""
    source, columns = trials
    crossed = lk.cross_calibrate(source, method=method, groups=columns)
    wide = source.with_columns(*dict.fromkeys((*crossed.folds.columns, *(columns or ()))))
    cllrs = {"none": lk.cllr(crossed.source)}
    for name, bound in bounds.items():
        maps = {
            pair: bound(fitted, training_source(wide, crossed.folds, pair))
            for pair, fitted in crossed.maps.items()
        }
        cllrs[name] = lk.cllr(crossed_source(source, crossed.folds, maps))
    return cllrs


def bounds_for(columns: tuple[str, ...] | None) -> dict[str, Bound]:
    bounds: dict[str, Bound] = {"trials": by_trials}
    if columns is not None:
        bounds |= {"speakers": by_speakers(columns), "both pairs": by_pairs(columns)}
        bounds |= {"both speakers": by_all_speakers(columns)}
    return bounds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("data", type=Path, nargs="?", default=beside)
    data = parser.parse_args().data
    if not data.is_dir():
        sys.exit(f"no reference data: {data} is not there")
    names = ("none", "trials", "speakers", "both pairs", "both speakers")
    print("| set | method | " + " | ".join(names) + " |")
    print("|---|---|" + "--:|" * len(names))
    for name, load in SETS.items():
        trials = load(data)
        for method in METHODS:
            try:
                cllrs = crossed_cllrs(trials, method, bounds_for(trials[1]))
            except lk.InputError as error:
                print(f"| {name} | {method} | {error} |")
                continue
            cells = [f"{cllrs['none']:.4f}"] + [
                f"{cllrs[bound]:.4f} ({100 * (cllrs[bound] / cllrs['none'] - 1):+.1f} %)"
                if bound in cllrs
                else "-"
                for bound in names[1:]
            ]
            print(f"| {name} | {method} | " + " | ".join(cells) + " |", flush=True)
        print(f"<!-- {name}: {count_sources(*trials)} -->", flush=True)


if __name__ == "__main__":
    main()
