"""CMLG with alpha = 1/2 and with alpha chosen by cross-validation, on held-out halves of real sets.

    python benchmarks/alpha_choice.py ../shared/data

Prints a table: cost at each operating point on the part that was not trained on, means over halvings.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import polars as pl

import llrkit as lk
from real_sets import HALVINGS, Pairs, asvspoof, both_ways, components, shifted, sre08, voxceleb

POINTS = (0.5, "sre08", 0.01, "sre10", "sre12")


def telephone(data: Path) -> dict[str, Pairs]:
    """The telephone-telephone trials of the SRE08 submission, halved as the whole is."""
    phone = pl.col("mtype").eq("phonecall") & pl.col("ttype").eq("phonecall") & pl.col("tmic").eq("phn")
    return {
        "sre08_tno tel-tel": [
            tuple(lk.Trials(part.table.filter(phone), label="target") for part in pair)
            for pair in sre08(data)["sre08_tno"]
        ]
    }


def evalita(data: Path) -> dict[str, Pairs]:
    """EVALITA 2009: connected components of the target trials stand for speakers."""
    table = pl.read_csv(data / "evalita09_ru/ru.2009.table.gz", separator="\t", infer_schema_length=None)
    table = table.with_columns(
        pl.col("target").cast(pl.String).str.to_lowercase() == "true",
        side1=pl.concat_str(pl.lit("model:"), pl.col("model").cast(pl.String)),
        side2=pl.concat_str(pl.lit("test:"), pl.col("test").cast(pl.String)),
    )
    targets = table.filter(pl.col("target"))
    found = components(targets["side1"].to_numpy(), targets["side2"].to_numpy())
    for side in ("side1", "side2"):
        for node in table[side].unique().sort().to_list():
            found.setdefault(node, len(found) + len(table))
    table = table.with_columns(
        speaker1=pl.col("side1").replace_strict(found), speaker2=pl.col("side2").replace_strict(found)
    )
    pairs = both_ways(table, "speaker1", "speaker2")
    return {"evalita09_ru": [tuple(lk.Trials(part, label="target") for part in pair) for pair in pairs]}


def halves_of_parts(sets: dict[str, Pairs]) -> dict[str, Pairs]:
    """Sets whose two parts differ in domain: each part halved at random, for their speakers are not known."""
    made: dict[str, Pairs] = {}
    for name, [parts] in sets.items():
        for which, part in zip(("first", "second"), parts, strict=True):
            scores, pairs = part.scores() if isinstance(part, lk.Trials) else part, []
            for seed in range(HALVINGS):
                rng = np.random.default_rng(seed)
                t, n = rng.permutation(scores.n_target), rng.permutation(scores.n_nontarget)
                cut = [lk.Scores(scores.target[t[i::2]], scores.nontarget[n[i::2]]) for i in (0, 1)]
                pairs += [tuple(cut), tuple(cut[::-1])]
            made[f"{name}, {which} part"] = pairs
    return made


def best_line(train: lk.scores.ScoreSource) -> lk.Map:
    """Logistic regression, regularized where the classes do not overlap."""
    try:
        return lk.fit_logistic(train)
    except lk.errors.SeparationError:
        return lk.fit_logistic(train, regularization=0.01)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    sets = {
        **telephone(options.data), **sre08(options.data), **voxceleb(options.data), **evalita(options.data),
        **halves_of_parts(shifted(options.data)), **halves_of_parts(asvspoof(options.data)),
    }  # fmt: skip
    print("| set | cost at | alpha = 1/2 | alpha chosen | change | logistic | the weights chosen |")
    print("|---|---|--:|--:|--:|--:|---|")
    warnings.simplefilter("ignore", lk.LlrkitWarning)
    for name, pairs in sets.items():
        for point in POINTS:
            cost = lk.theory.cost_of(point)
            half, auto, logistic, alphas = [], [], [], []
            for train, test in pairs:
                known = isinstance(train, lk.Trials) and "speaker1" in train.columns
                groups = ("speaker1", "speaker2") if known else None
                fitted = lk.fit_cmlg(train, alpha="auto", point=point, groups=groups)
                alphas.append(fitted.options["alpha"])
                for costs, line in (
                    (half, lk.fit_cmlg(train)), (auto, fitted), (logistic, best_line(train)),
                ):  # fmt: skip
                    costs.append(lk.c_primary(line.on(test), evaluation=cost))
            means = [float(np.mean(costs)) for costs in (half, auto, logistic)]
            change = 100 * (means[1] / means[0] - 1)
            shown = f"{min(alphas):.3f} to {max(alphas):.3f}" if len(alphas) > 1 else f"{alphas[0]:.3f}"
            numbers = f"{means[0]:.4f} | {means[1]:.4f} | {change:+.1f} % | {means[2]:.4f}"
            print(f"| {name} | {cost.name} | {numbers} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
