"""Draws the picture of the README from a table of scores that several systems gave the same trials.

    python docs/make_pictures.py voxceleb1_o_4systems.tsv.gz --label-column target \
        --systems ivector_cosine,ivector_lda,ivector_plda,resnet_aam
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import llrkit as lk
from llrkit.core.special import probit

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
TICKS = np.array([0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4])


def draw_det(axes: plt.Axes, results: dict[str, lk.Evaluation]) -> None:
    """DET curves on probit axes, the minimum-cost point of SRE08 marked."""
    for colour, (name, result) in zip(COLOURS, results.items(), strict=False):
        det, hull = result.det, result.rocch
        axes.plot(det.probit_fa, det.probit_miss, color=colour, label=f"{name}: EER {100 * result.eer:.1f} %")
        best = np.argmin(hull.p_miss + 9.9 * hull.p_fa)
        axes.plot(hull.probit_fa[best], hull.probit_miss[best], "o", color=colour, markersize=5)
    axes.plot([-4, 1], [-4, 1], color="0.8", linewidth=0.8, zorder=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(probit(TICKS), [f"{100 * t:g}" for t in TICKS])
    axes.set(xlim=probit([0.0008, 0.45]), ylim=probit([0.0008, 0.45]), aspect="equal")
    axes.set(xlabel="false alarms (%)", ylabel="misses (%)", title="DET")
    axes.legend(fontsize=8, loc="upper right")


def draw_bayes_error(axes: plt.Axes, result: lk.Evaluation, name: str) -> None:
    """Normalised Bayes error: what the system costs and what it could cost."""
    curve = result.bayes_error
    shown = np.abs(curve.log_odds) <= 7
    x = curve.log_odds[shown]
    axes.plot(x, curve.normalised_actual[shown], color=COLOURS[1], label="scores read as LLRs")
    axes.plot(x, curve.normalised_minimum[shown], color=COLOURS[0], label="best possible threshold")
    axes.axhline(1.0, color="0.6", linewidth=0.8, linestyle="--", label="no recogniser")
    axes.set(
        xlim=(-7, 7), ylim=(0, 1.4), xlabel="prior log-odds", ylabel="normalised Bayes error", title=name
    )
    axes.legend(fontsize=8)


def main() -> None:
    """Evaluate every system, draw the picture, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table")
    parser.add_argument("--systems", required=True)
    parser.add_argument("--label-column", default="label")
    parser.add_argument("-o", "--output", default="docs/pictures/det.png")
    options = parser.parse_args()
    results = {
        name: lk.evaluate(lk.read_trials(options.table, score=name, label=options.label_column))
        for name in options.systems.split(",")
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    draw_det(left, results)
    third = list(results)[2]
    draw_bayes_error(
        right,
        results[third],
        f"{third}: Cllr {results[third].cllr:.3f}, minimum {results[third].min_cllr:.3f}",
    )
    Path(options.output).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output, dpi=110)
    print("| system | EER | Cllr | min Cllr | lost to calibration | min DCF SRE08 | act DCF SRE08 |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, r in results.items():
        point = r.points[0]
        print(
            f"| {name} | {100 * r.eer:.2f} % | {r.cllr:.3f} | {r.min_cllr:.3f} | {r.cllr_cal:.3f} "
            f"| {point.min_dcf:.3f} | {point.act_dcf:.3f} |"
        )


if __name__ == "__main__":
    main()
