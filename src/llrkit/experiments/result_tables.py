"""The tables of the experiments for people: every list, and what the paper says beside what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from llrkit._format import number, percent
from llrkit.evaluation.alpha_scan import NAMES
from llrkit.experiments.list_results import ONE_MAP, POOLED, ListTable
from llrkit.experiments.paper_values import PAPER
from llrkit.experiments.prior_scan import ScanCase
from llrkit.experiments.seed_means import SeedMeans

Table = tuple[list[str], list[list[str]]]
ONE_MAP_NAMES = {
    "pooled_logistic": "one for all lists, logistic regression",
    "pooled_cmlg": "one for all lists, CMLG",
    "conditioned_cmlg": "one for all, CMLG given the durations",
    "left_out_cmlg": "the same, trained without the tested list",
    "quality_logistic": "one for all, logistic regression with durations as quality",
}
assert set(ONE_MAP_NAMES) == set(ONE_MAP)


def list_table(table: ListTable, *, labels: tuple[str, str] = ("enroll", "test")) -> Table:
    """Header and rows, one for each list, then mean and standard deviation."""
    pooled = not np.isnan(table.column(POOLED[0])).all()
    header = [*labels, "targets", "non-targets", "EER", "raw", "CMLG", "logistic", "min", "from EER", "slope"]
    header += ["pooled CMLG", "pooled log."] if pooled else []
    names = ["raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer"]
    rows = []
    for result in table.lists:
        cells = [result.enroll, result.test, f"{result.n_target:,}", f"{result.n_nontarget:,}"]
        cells += _numbers_of_list(result.eer, [getattr(result, name) for name in names], result.det_slope)
        rows.append(cells + ([number(getattr(result, name), 3) for name in POOLED] if pooled else []))
    said: list[tuple[str, Mapping[str, float]]] = [("mean", table.mean), ("sd of lists", table.std)]
    said += [("sd of seeds", table.sd)] if several_seeds(table) else []
    for word, stats in said:
        cells = [
            word,
            "",
            "",
            "",
            *_numbers_of_list(stats["eer"], [stats[n] for n in names], stats["det_slope"]),
        ]
        rows.append(cells + ([number(stats[name], 3) for name in POOLED] if pooled else []))
    return header, rows


def _numbers_of_list(eer: float, costs: Sequence[float], slope: float) -> list[str]:
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
    mean, sd, (low, high) = table.mean, table.sd, table.eer_range
    slopes = f"{mean['det_slope']:.2f} ± {table.std['det_slope']:.2f}"
    rows = [
        ["EER", f"{100 * low:.1f} to {percent(high, 1)}",
         _seed_spread(sd, ("eer_min", "eer_max"), 1, 100.0),
         f"{100 * PAPER['eer_min']:.1f} to {percent(PAPER['eer_max'], 0)}"],
        ["mean Cllr, CMLG", number(mean["cmlg"], 3), _seed_spread(sd, "cmlg"), number(PAPER["cmlg"], 3)],
        ["mean Cllr, logistic regression", number(mean["logistic"], 3), _seed_spread(sd, "logistic"),
         number(PAPER["logistic"], 3)],
        ["mean minimum Cllr", number(mean["min_cllr"], 3), _seed_spread(sd, "min_cllr"),
         number(PAPER["min_cllr"], 3)],
        ["mean Cllr of raw scores", number(mean["raw_cllr"], 3), _seed_spread(sd, "raw_cllr"), "-"],
        ["correlation of the two", number(table.correlation, 6), _seed_spread(sd, "correlation", 6),
         "highly correlated"],
        ["Cllr from the EER, RMS from minimum", number(table.rms_cllr_from_eer, 4),
         _seed_spread(sd, "rms_cllr_from_eer", 4), number(PAPER["rms_cllr_from_eer"], 3)],
        ["slope of the DET, mean and sd of lists", slopes, _seed_spread(sd, "det_slope", 2),
         f"{PAPER['det_slope']:.2f} ± {PAPER['det_slope_std']:.2f}"],
        ["evaluated trials", f"{table.trials:,}", "", f"{PAPER['eval_trials']:,.0f}"],
    ]  # fmt: skip
    if not several_seeds(table):
        return ["", "here", "paper"], [[row[0], row[1], row[3]] for row in rows]
    return ["", "here", "sd of seeds", "paper"], rows


def several_seeds(table: ListTable) -> bool:
    """Whether there is a standard deviation over seeds."""
    return not np.isnan(table.sd.get("cmlg", np.nan))


def _seed_spread(
    sd: Mapping[str, float], names: str | tuple[str, ...], digits: int = 3, factor: float = 1.0
) -> str:
    """Standard deviations over seeds, where there are any."""
    given = [factor * sd.get(name, float("nan")) for name in ((names,) if isinstance(names, str) else names)]
    return " and ".join("-" if np.isnan(value) else f"{value:.{digits}f}" for value in given)


def one_map_table(table: ListTable) -> Table:
    """Mean Cllr of one calibration for each list, and of one for all with and without their durations."""
    names = {
        "logistic": "one for each list, logistic regression",
        "cmlg": "one for each list, CMLG",
        **ONE_MAP_NAMES,
    }
    rows = []
    for name, words in names.items():
        loss = float(np.max(table.column(name) - table.column("min_cllr")))
        rows.append([words, number(table.mean[name], 4), _seed_spread(table.sd, name, 4), number(loss, 3)])
    header = ["calibration", "mean Cllr", "sd of seeds", "most lost in a list"]
    if not several_seeds(table):
        return [*header[:2], header[3]], [[row[0], row[1], row[3]] for row in rows]
    return header, rows


def shortcut_table(frames: SeedMeans, embeddings: SeedMeans) -> Table:
    """The experiment from frames beside the one from embeddings."""
    names = {
        "cmlg": "mean Cllr, CMLG",
        "logistic": "mean Cllr, logistic regression",
        "min_cllr": "mean minimum Cllr",
        "raw_cllr": "mean Cllr of raw scores",
        "pooled_cmlg": "mean Cllr, one CMLG for all lists",
        "conditioned_cmlg": "mean Cllr, one CMLG given the durations",
        "det_slope": "slope of the DET",
    }
    rows = []
    for i, words in enumerate(("smallest EER, %", "largest EER, %")):
        pair = [100.0 * table.eer_range[i] for table in (frames, embeddings)]
        rows.append([words, *(number(value, 1) for value in (*pair, pair[0] - pair[1]))])
    for name, words in names.items():
        pair = [table.mean[name] for table in (frames, embeddings)]
        rows.append([words, *(number(value, 3) for value in (*pair, pair[0] - pair[1]))])
    pair = [table.rms_cllr_from_eer for table in (frames, embeddings)]
    rows.append(["Cllr from the EER, RMS", *(number(value, 4) for value in (*pair, pair[0] - pair[1]))])
    return ["", "from frames", "from embeddings", "difference"], rows


def scan_table(cases: Sequence[ScanCase]) -> Table:
    """The cost of every case and method at each of the log-odds, then the minimum."""
    header = ["log-odds of alpha"]
    header += [f"{case.name}, {name}" for case in cases for name in ("CMLG", "logistic")]
    columns = [case.curve.costs[shown] for case in cases for shown in NAMES.values()]
    rows = [
        [f"{x:g}", *(number(float(column[i])) for column in columns)]
        for i, x in enumerate(cases[0].curve.log_odds)
    ]
    lowest = [number(case.curve.minimum or 0.0) for case in cases for _ in NAMES]
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
