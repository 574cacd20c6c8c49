"""All calibrators on real scores: trained on one part, evaluated on another with no speaker in common.

    python benchmarks/real_sets.py ../shared/data -o docs/real-data.md

Writes a page with one table per set: Cllr of every method on the evaluation part, and what cross-validation
on the training part would have chosen.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl

import llrkit as lk
from llrkit.choose.methods import CANDIDATES, METHODS

HEADER = """# Real data

Every calibrator on real scores, trained on one part and evaluated on another. Where speakers are known no
speaker is in both parts. Made by `benchmarks/real_sets.py`; Cllr in bits.

- `voxceleb1_o`: VoxCeleb1-O, four systems; half of the 40 speakers trains, the other half evaluates, trials
  across the halves are left out.
- `sre08_tno`: NIST SRE 2008, one submission; speakers are not given, so the connected components of the
  target trials over models and test segments stand for them (1,369 of them).
- `spkr_shift_psr`: one corpus trains, another evaluates (a real shift of domain).
- `asvspoof2019_la`: development trains, evaluation has unseen attacks. `asv` is speaker verification
  (x-vector), `cm` the countermeasure (LFCC-GMM): bona fide against spoof.
"""


def components(left: np.ndarray, right: np.ndarray) -> dict[str, int]:
    """Connected components of a graph given by its edges: a number for each node."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for a, b in zip(left, right, strict=True):
        parent[root(a)] = root(b)
    numbers: dict[str, int] = {}
    return {node: numbers.setdefault(root(node), len(numbers)) for node in list(parent)}


def halves(table: pl.DataFrame, one: str, two: str, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split by speaker: trials whose two speakers are both in the first half, and both in the second."""
    speakers = pl.concat([table[one], table[two].alias(one)]).unique().sort()
    order = np.random.default_rng(seed).permutation(len(speakers))
    first = speakers.gather(order[: len(speakers) // 2])
    in_one, in_two = pl.col(one).is_in(first.implode()), pl.col(two).is_in(first.implode())
    return table.filter(in_one & in_two), table.filter(~in_one & ~in_two)


def voxceleb(data: Path) -> dict[str, tuple[lk.Trials, lk.Trials]]:
    table = pl.read_csv(
        data / "voxceleb1_o/voxceleb1_o_4systems.tsv.gz", separator="\t", infer_schema_length=None
    )
    table = table.with_columns(speaker1=pl.col("enroll").str.head(7), speaker2=pl.col("test").str.head(7))
    parts = halves(table, "speaker1", "speaker2")
    return {
        f"voxceleb1_o.{name}": tuple(lk.Trials(part, score=name, label="target") for part in parts)
        for name in ("ivector_cosine", "ivector_lda", "ivector_plda", "resnet_aam")
    }


def sre08(data: Path) -> dict[str, tuple[lk.Trials, lk.Trials]]:
    table = pl.read_csv(data / "sre08_tno/tno2008.tsv.gz", separator="\t", infer_schema_length=None)
    table = table.with_columns(
        side1=pl.concat_str(pl.lit("model:"), pl.col("model").cast(pl.String)),
        side2=pl.concat_str(
            pl.lit("test:"), pl.col("test").cast(pl.String), pl.lit(":"), pl.col("chan").cast(pl.String)
        ),
    )
    targets = table.filter(pl.col("target").cast(pl.String).str.to_lowercase().is_in(["1", "true"]))
    found = components(targets["side1"].to_numpy(), targets["side2"].to_numpy())
    # a model or segment without a target trial is a component of its own
    for side in ("side1", "side2"):
        for node in table[side].unique().to_list():
            found.setdefault(node, len(found) + len(table))
    print(f"sre08_tno: {len(set(found.values())):,} components")
    table = table.with_columns(
        speaker1=pl.col("side1").replace_strict(found), speaker2=pl.col("side2").replace_strict(found)
    )
    parts = halves(table, "speaker1", "speaker2")
    return {"sre08_tno": tuple(lk.Trials(part, label="target") for part in parts)}


def shifted(data: Path) -> dict[str, tuple[lk.Scores, lk.Scores]]:
    with np.load(data / "spkr_shift_psr/spkr_verif.npz") as arrays:
        parts = []
        for part in ("trn", "tst"):
            posterior = arrays[f"{part}_logpost"].astype(np.float64)
            parts.append(lk.Scores.from_labels(posterior[:, 1] - posterior[:, 0], arrays[f"{part}_target"]))
    return {"spkr_shift_psr": tuple(parts)}


def asvspoof(data: Path) -> dict[str, tuple[lk.Trials, lk.Trials]]:
    asv, cm = [], []
    for part in ("dev", "eval"):
        table = pl.read_csv(
            data / f"asvspoof2019_la/tandem_{part}.tsv.gz", separator="\t", infer_schema_length=None
        )
        verification = table.filter(pl.col("label") != "spoof")
        asv.append(lk.Trials(verification, score="asv_xvector"))
        table = pl.read_csv(
            data / f"asvspoof2019_la/cm_{part}.tsv.gz", separator="\t", infer_schema_length=None
        )
        cm.append(lk.Trials(table, score="cm_lfcc_gmm"))
    return {"asvspoof2019_la.asv": tuple(asv), "asvspoof2019_la.cm": tuple(cm)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/real-data.md"))
    options = parser.parse_args()
    sets = {
        **voxceleb(options.data),
        **sre08(options.data),
        **shifted(options.data),
        **asvspoof(options.data),
    }
    columns: dict[str, dict[str, str]] = {}
    notes = []
    for name, (train, test) in sets.items():
        start = time.perf_counter()
        found = lk.compare(train, test, list(METHODS))
        groups = [
            g for g in ("speaker1", "speaker2") if isinstance(train, lk.Trials) and g in train.columns
        ] or None
        chosen = lk.fit_best(train, groups=groups, folds=5)
        cllr = {method: result.cllr for method, result in found.evaluations.items()}
        columns[name] = {method: f"{value:.4f}" for method, value in cllr.items()}
        columns[name] |= dict.fromkeys(found.failed, "-")
        best = min((m for m in CANDIDATES if m in cllr), key=cllr.__getitem__)
        picked = chosen.details["cross_validation"][0]["method"]
        loss = 100 * (cllr[picked] / cllr[best] - 1)
        raw = found.evaluations["raw"]
        notes.append(
            f"| {name} | {raw.n_target:,} + {raw.n_nontarget:,} | {100 * raw.eer:.2f} % | {raw.min_cllr:.4f} "
            f"| {picked} {cllr[picked]:.4f} | {best} {cllr[best]:.4f} | {loss:+.1f} % |"
        )
        print(notes[-1], f"{time.perf_counter() - start:.1f} s", dict(found.failed), flush=True)
    methods = ["raw", *METHODS]
    lines = [HEADER, "| method | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for method in methods:
        lines.append(
            f"| {method} | " + " | ".join(column.get(method, "-") for column in columns.values()) + " |"
        )
    lines += ["", "A dash: the method refused the training scores (classes that do not overlap, say).", ""]
    lines += ["## What cross-validation would have chosen", ""]
    lines += [
        "`fit_best` on the training part (5 folds, speakers disjoint where known) against the best",
        "candidate in hindsight.",
        "",
    ]
    lines += [
        "| set | evaluation trials | EER | min Cllr | chosen | best in hindsight | lost |",
        "|---|--:|--:|--:|---|---|--:|",
        *notes,
        "",
    ]
    options.output.write_text("\n".join(lines))
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
