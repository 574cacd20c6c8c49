"""The tables of the experiments for people: every list, and what the paper says beside what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from llrkit._format import number, percent
from llrkit.evaluation.alpha_scan import NAMES
from llrkit.experiments.list_results import POOLED, ListTable
from llrkit.experiments.paper_values import PAPER
from llrkit.experiments.prior_scan import ScanCase

Table = tuple[list[str], list[list[str]]]


def list_table(table: ListTable, *, labels: tuple[str, str] = ("enroll", "test")) -> Table:
    """Header and rows, one for each list, then mean and standard deviation."""
    pooled = not np.isnan(table.column(POOLED[0])).all()
    header = [*labels, "targets", "non-targets", "EER", "raw", "CMLG", "logistic", "min", "from EER", "slope"]
    header += ["pooled CMLG", "pooled log."] if pooled else []
    names = ["raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer"]
    rows = []
    for result in table.lists:
        cells = [result.enroll, result.test, f"{result.n_target:,}", f"{result.n_nontarget:,}"]
        cells += _numbers(result.eer, [getattr(result, name) for name in names], result.det_slope)
        rows.append(cells + ([number(getattr(result, name), 3) for name in POOLED] if pooled else []))
    for word, stats in (("mean", table.mean), ("sd", table.std)):
        cells = [word, "", "", "", *_numbers(stats["eer"], [stats[n] for n in names], stats["det_slope"])]
        rows.append(cells + ([number(stats[name], 3) for name in POOLED] if pooled else []))
    return header, rows


def _numbers(eer: float, costs: Sequence[float], slope: float) -> list[str]:
    return [percent(eer, 1), *(number(cost, 3) for cost in costs), number(slope, 2)]


def paper_table(table: ListTable) -> Table:
    """What was found beside what the paper reports.

    Examples
    --------
    >>> from llrkit.experiments.list_results import ListResult, ListTable
    >>> result = ListResult(enroll="5", test="5", n_target=9, n_nontarget=90, eer=0.1, raw_cllr=2.0,
    ...                     cmlg=0.36, logistic=0.37, min_cllr=0.35, cllr_from_eer=0.345, det_slope=-1.0)
    >>> header, rows = paper_table(ListTable((result,)))
    >>> rows[1]
    ['mean Cllr, CMLG', '0.360', '0.375']
    """
    mean, eers = table.mean, table.column("eer")
    slopes = f"{mean['det_slope']:.2f} ± {table.std['det_slope']:.2f}"
    rows = [
        ["EER", f"{100 * eers.min():.1f} to {percent(eers.max(), 1)}",
         f"{100 * PAPER['eer_min']:.1f} to {percent(PAPER['eer_max'], 0)}"],
        ["mean Cllr, CMLG", number(mean["cmlg"], 3), number(PAPER["cmlg"], 3)],
        ["mean Cllr, logistic regression", number(mean["logistic"], 3), number(PAPER["logistic"], 3)],
        ["mean minimum Cllr", number(mean["min_cllr"], 3), number(PAPER["min_cllr"], 3)],
        ["mean Cllr of raw scores", number(mean["raw_cllr"], 3), "-"],
        ["correlation of the two", number(table.correlation, 4), "highly correlated"],
        ["Cllr from the EER, RMS from minimum", number(table.rms_cllr_from_eer, 4),
         number(PAPER["rms_cllr_from_eer"], 3)],
        ["slope of the DET", slopes, f"{PAPER['det_slope']:.2f} ± {PAPER['det_slope_std']:.2f}"],
        ["evaluated trials", f"{table.trials:,}", f"{PAPER['eval_trials']:,.0f}"],
    ]  # fmt: skip
    return ["", "here", "paper"], rows


def scan_table(cases: Sequence[ScanCase]) -> Table:
    """The cost of every case and method at each of the log-odds, then the minimum."""
    header = ["log-odds of alpha"]
    header += [f"{case.name}, {name}" for case in cases for name in ("CMLG", "logistic")]
    columns = [case.curve.costs[shown] for case in cases for shown in NAMES.values()]
    rows = [
        [f"{x:g}", *(number(float(column[i])) for column in columns)]
        for i, x in enumerate(cases[0].curve.log_odds)
    ]
    lowest: list[Any] = [number(case.curve.minimum or 0.0) for case in cases for _ in NAMES]
    return header, [*rows, ["best threshold", *lowest]]


def verdict(table: ListTable) -> str:
    """What the table says about the paper's claim, in a sentence."""
    gap = table.mean["cmlg"] - table.mean["logistic"]
    loss = max(table.mean["cmlg"], table.mean["logistic"]) - table.mean["min_cllr"]
    if abs(gap) < 0.005:
        said = "CMLG calibrates as well as logistic regression"
    else:
        better = "worse" if gap > 0 else "better"
        said = f"CMLG calibrates {better} than logistic regression, by {abs(gap):.3f} bits in the mean"
    return f"{said}; at most {loss:.3f} bits are lost to calibration in the mean of {len(table.lists)} lists."
