"""Tables and figures of the experiments, and the folder with their page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from llrkit.base.process import tracked
from llrkit.base.text import counted, number, percent
from llrkit.errors import InputError
from llrkit.experiments.durations import DurationsResult
from llrkit.experiments.lists import PAPER, POOLED, SOURCE, ListTable
from llrkit.experiments.prior_scan import PriorScanResult, ScanCase
from llrkit.experiments.real import RealResult
from llrkit.metrics.theory_costs import CLLR, theory_costs
from llrkit.plot.cost_plots import CllrScatter, cllr_scatter, heat_map, prior_scan, two_gaussians
from llrkit.plot.picture import Picture
from llrkit.report.document import Provenance, Section
from llrkit.report.page import write_report
from llrkit.report.sections import section_of
from llrkit.report.tables import TextTable
from llrkit.theory.gaussian import GaussianLLR
from llrkit.verbs.compare import NAMES
from llrkit.verbs.conditions import HeatMap
from llrkit.verbs.evaluate import Evaluation

Table = tuple[list[str], list[list[str]]]


def list_table(table: ListTable, *, labels: tuple[str, str] = ("enroll", "test")) -> Table:
    """Header and rows, one for each list, then mean and standard deviation."""
    costs = ("raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer")
    # Experiments on real scores have no pooled calibration, and its columns would hold nothing.
    pooled = () if np.isnan(table.column(POOLED[0])).all() else POOLED
    header = [*labels, "targets", "non-targets", "EER", "raw", "CMLG", "logistic", "min", "from EER", "slope"]
    header += ["pooled CMLG", "pooled log."] if pooled else []

    def cells(numbers: Mapping[str, float]) -> list[str]:
        shown = [percent(numbers["eer"], 1), *(number(numbers[name], 3) for name in costs)]
        return [*shown, number(numbers["det_slope"], 2), *(number(numbers[name], 3) for name in pooled)]

    rows = [
        [result.enroll, result.test, f"{result.n_target:,}", f"{result.n_nontarget:,}", *cells(vars(result))]
        for result in table.lists
    ]
    rows += [["mean", "", "", "", *cells(table.mean)], ["sd of lists", "", "", "", *cells(table.std)]]
    return header, rows + ([["sd of seeds", "", "", "", *cells(table.sd)]] if len(table.runs) > 1 else [])


def paper_table(table: ListTable) -> Table:
    """What was found beside what the paper reports.

    Examples
    --------
    >>> from llrkit.experiments.lists import ListResult, ListTable
    >>> result = ListResult(enroll="5", test="5", n_target=9, n_nontarget=90, eer=0.1, raw_cllr=2.0,
    ...                     cmlg=0.36, logistic=0.37, min_cllr=0.35, cllr_from_eer=0.345, det_slope=-1.0)
    >>> header, rows = paper_table(ListTable((result,)))
    >>> rows[1]
    ['mean Cllr, CMLG', '0.360', '0.375']
    """
    mean, sd, low, high = table.mean, table.sd, table.summary["eer_min"], table.summary["eer_max"]
    rows = [
        ["EER", f"{100 * low:.1f} to {percent(high, 1)}", _seed_spread(sd, ("eer_min", "eer_max"), 1, 100.0),
         f"{100 * PAPER['eer_min']:.1f} to {percent(PAPER['eer_max'], 0)}"],
    ]  # fmt: skip
    for words, name, digits, paper in (
        ("mean Cllr, CMLG", "cmlg", 3, number(PAPER["cmlg"], 3)),
        ("mean Cllr, logistic regression", "logistic", 3, number(PAPER["logistic"], 3)),
        ("mean minimum Cllr", "min_cllr", 3, number(PAPER["min_cllr"], 3)),
        ("mean Cllr of raw scores", "raw_cllr", 3, "-"),
        ("correlation of the two", "correlation", 6, "highly correlated"),
        ("Cllr from the EER, RMS from minimum", "rms_cllr_from_eer", 4, f"{PAPER['rms_cllr_from_eer']:.3f}"),
    ):
        here = (mean | table.summary)[name]
        rows.append([words, number(here, digits), _seed_spread(sd, (name,), digits), paper])
    rows += [
        ["slope of the DET, mean and sd of lists", f"{mean['det_slope']:.2f} ± {table.std['det_slope']:.2f}",
         _seed_spread(sd, ("det_slope",), 2), f"{PAPER['det_slope']:.2f} ± {PAPER['det_slope_std']:.2f}"],
        ["evaluated trials", f"{table.trials:,}", "", f"{PAPER['eval_trials']:,.0f}"],
    ]  # fmt: skip
    return _seeds_if_several(table, ["", "here", "sd of seeds", "paper"], rows)


def _seed_spread(sd: Mapping[str, float], names: Sequence[str], digits: int, factor: float = 1.0) -> str:
    given = [factor * sd.get(name, float("nan")) for name in names]
    return " and ".join("-" if np.isnan(value) else f"{value:.{digits}f}" for value in given)


def _seeds_if_several(table: ListTable, header: list[str], rows: list[list[str]]) -> Table:
    """The table, without its third column, that of seeds, if there is one seed."""
    if len(table.runs) > 1:
        return header, rows
    return [*header[:2], *header[3:]], [[*row[:2], *row[3:]] for row in rows]


def one_map_table(table: ListTable) -> Table:
    """Mean Cllr of one calibration for each list, and of one for all with and without their durations."""
    names = {
        "logistic": "one for each list, logistic regression",
        "cmlg": "one for each list, CMLG",
        "pooled_logistic": "one for all lists, logistic regression",
        "pooled_cmlg": "one for all lists, CMLG",
        "conditioned_cmlg": "one for all, CMLG given the durations",
        "left_out_cmlg": "the same, trained without the tested list",
        "quality_logistic": "one for all, logistic regression with durations as quality",
    }
    rows = []
    for name, words in names.items():
        loss = float(np.max(table.column(name) - table.column("min_cllr")))
        rows.append([words, number(table.mean[name], 4), _seed_spread(table.sd, (name,), 4), number(loss, 3)])
    return _seeds_if_several(table, ["calibration", "mean Cllr", "sd of seeds", "most lost in a list"], rows)


def shortcut_table(frames: ListTable, embeddings: ListTable) -> Table:
    """The experiment from frames beside the one from embeddings."""
    rows = []
    for words, name, digits, factor in (
        ("smallest EER, %", "eer_min", 1, 100.0),
        ("largest EER, %", "eer_max", 1, 100.0),
        ("mean Cllr, CMLG", "cmlg", 3, 1.0),
        ("mean Cllr, logistic regression", "logistic", 3, 1.0),
        ("mean minimum Cllr", "min_cllr", 3, 1.0),
        ("mean Cllr of raw scores", "raw_cllr", 3, 1.0),
        ("mean Cllr, one CMLG for all lists", "pooled_cmlg", 3, 1.0),
        ("mean Cllr, one CMLG given the durations", "conditioned_cmlg", 3, 1.0),
        ("slope of the DET", "det_slope", 3, 1.0),
        ("Cllr from the EER, RMS", "rms_cllr_from_eer", 4, 1.0),
    ):
        one, other = (factor * (table.mean | table.summary)[name] for table in (frames, embeddings))
        rows.append([words, *(number(value, digits) for value in (one, other, one - other))])
    return ["", "from frames", "from embeddings", "difference"], rows


def scan_table(cases: Sequence[ScanCase]) -> Table:
    """The cost of every case and method at each of the log-odds, then the minimum."""
    header = ["log-odds of alpha"]
    header += [f"{case.name}, {name}" for case in cases for name in ("CMLG", "logistic")]
    columns = [case.curve.costs[shown] for case in cases for shown in NAMES.values()]
    log_odds = enumerate(cases[0].curve.log_odds)
    rows = [[f"{x:g}", *(number(float(column[i])) for column in columns)] for i, x in log_odds]
    lowest = [number(case.curve.minimum or 0.0) for case in cases for _ in NAMES]
    return header, [*rows, ["best threshold", *lowest]]


def verdict(table: ListTable) -> str:
    """What the table says about the paper's claim, in a sentence."""
    gap = table.mean["cmlg"] - table.mean["logistic"]
    loss = max(table.mean["cmlg"], table.mean["logistic"]) - table.mean["min_cllr"]
    # The paper's own difference is 0.001 bits (0.375 and 0.376); below 0.005 none is claimed here.
    if abs(gap) < 0.005:
        said = "CMLG calibrates as well as logistic regression"
    else:
        better = "worse" if gap > 0 else "better"
        said = f"CMLG calibrates {better} than logistic regression, by {abs(gap):.3f} bits in the mean"
    return f"{said}; at most {loss:.3f} bits are lost to calibration in the mean of {len(table.lists)} lists."


PAPER_RANGE = (0.27, 0.60)
HEAT_MAPS = {
    "eer": "EER",
    "cmlg": "Cllr, CMLG",
    "logistic": "Cllr, logistic regression",
    "min_cllr": "minimum Cllr",
}


def scan(case: ScanCase) -> Picture:
    """A cost against the log-odds of the training weight, as in figure 2 of the paper."""
    picture: Picture = prior_scan(case.curve, renderer="none")
    costs = np.concatenate([*case.curve.costs.values(), [case.curve.minimum or np.nan]])
    if not np.isfinite(costs).any():
        return picture
    low, high = min(np.nanmin(costs), PAPER_RANGE[0]), max(np.nanmax(costs), PAPER_RANGE[1])
    # at least the range of the paper's figure, so that a constant looks like one
    limits = float(low) - 0.02, float(high) + 0.02
    return replace(picture, title=f"{picture.title}: {case.name}", y=replace(picture.y, limits=limits))


def heat_maps(table: ListTable, names: Iterable[str] = HEAT_MAPS) -> dict[str, Picture]:
    """A matrix of numbers for every pair of conditions; none where a pair is missing."""
    rows = tuple(dict.fromkeys(result.enroll for result in table.lists))
    columns = tuple(dict.fromkeys(result.test for result in table.lists))
    cells = {(result.enroll, result.test): result for result in table.lists}
    # One column of conditions makes a single row, which is no matrix.
    if len(cells) != len(rows) * len(columns) or columns == ("",):
        return {}
    pictures = {}
    for name in names:
        values = np.array([[getattr(cells[row, column], name) for column in columns] for row in rows])
        curve = HeatMap(values, rows, columns, value_name=HEAT_MAPS[name], percent=name == "eer")
        pictures[name] = heat_map(curve, renderer="none")
    return pictures


PAGE = "index.html"
TITLE = "The experiments of van Leeuwen & Brümmer (2013)"
Shown = Mapping[str, Picture]
_TWO_GAUSSIANS = (
    "If calibrated log-likelihood-ratios are Gaussian, both classes have the same variance and opposite "
    "means, and the variance is twice the mean: the equal error rate says everything. Drawn for the EER "
    "of whole segments."
)


def write_experiments(
    folder: str | Path,
    *,
    durations: DurationsResult | None = None,
    scan: PriorScanResult | None = None,
    real: RealResult | None = None,
    brief: bool = False,
    made_from: Provenance | None = None,
) -> Path:
    """Write the page and figures of some experiments into a folder, which is made; gives the page.

    ``brief`` leaves out the figures as PDF and all heat maps but that of the EER; ``made_from`` is what the
    page says about files and command.
    """
    # Imported late: only the figures need matplotlib.
    from llrkit.plot.matplotlib_renderer import save

    sections: list[tuple[Section, Shown]] = []
    closer: Mapping[str, Evaluation] = {}
    if durations is not None:
        table = durations.table
        # GaussianLLR has no EER of 0 or of 1/2, which tiny simulations can give.
        eer = min(max(table.lists[-1].eer, 1e-4), 0.49)
        gaussians = {"two-gaussians": two_gaussians(GaussianLLR.from_eer(eer), renderer="none")}
        sections.append(
            (Section("Two Gaussians", (_TWO_GAUSSIANS,), pictures=list(gaussians.values())), gaussians)
        )
        about = _about_durations(durations)
        sections.append(_lists_section(table, "Durations", "durations", (about,), brief))
        points = zip(table.column("eer").tolist(), table.column("min_cllr").tolist(), strict=True)
        # One run has no RMS over runs; the plot then computes that of its points.
        rms = table.summary["rms_cllr_from_eer"] if len(table.runs) > 1 else float("nan")
        cllrs = theory_costs(CLLR, dict(zip(_names_of_lists(table), points, strict=True)), rms_of_runs=rms)
        costs = section_of([cllrs, cllrs.beyond_gaussian()])
        names = ("durations-theory", "durations-theory-difference")
        sections.append((costs, dict(zip(names, costs.pictures, strict=True))))
        closer = durations.closer
    if real is not None:
        sections.append(_lists_section(real.table, "Real data", "real", _about_real(real), brief))
        closer = closer or real.closer
    if scan is not None:
        sections.append(_scan_section(scan))
        closer = closer if durations is not None else scan.closer
    if not closer:
        raise InputError("a page needs at least one experiment")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pictures = {name: picture for _, shown in sections for name, picture in shown.items()}
    for name, picture in tracked(pictures.items(), "drawing", len(pictures), "figures"):
        endings = ("svg",) if brief else ("svg", "pdf")
        save(picture, *(place / f"{name}.{ending}" for ending in endings), width=4.5)
    page = place / PAGE
    write_report(closer, page, title=TITLE, first=[section for section, _ in sections], made_from=made_from)
    return page


def _about_durations(result: DurationsResult) -> str:
    lists, seeds = len(result.table.lists), result.seeds
    means = f"the seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"the single seed {seeds[0]}"
    if result.start == "frames":
        return (
            f"{lists} trial lists of simulated frames (scale {result.scale}): background "
            "model, statistics, total variability, i-vectors, length normalization, LDA and PLDA are trained "
            "on whole recordings of a background and score all durations; calibration is trained on one "
            f"corpus and evaluated on another. All numbers are means over {means}."
        )
    return (
        f"{lists} trial lists of two simulated corpora without a speaker in common (scale "
        f"{result.scale}): a PLDA recognizer trained on whole recordings scores length-normalized embeddings "
        "of all durations, calibration is trained on the first corpus and evaluated on the second. All "
        f"numbers are means over {means}. The second half of this page is about the "
        f"list in the middle, 20 s on both sides, of seed {seeds[0]}."
    )


def _names_of_lists(table: ListTable) -> tuple[str, ...]:
    return tuple(f"{result.enroll} / {result.test}".strip(" /") for result in table.lists)


def _about_real(result: RealResult) -> tuple[str, ...]:
    facts = ", ".join(f"{name}: {value}" for name, value in result.about.items())
    said = [f"{counted(len(result.table.lists), 'condition')} of real data ({facts})."]
    if result.regularized:
        where = "Where the training trials could be told apart without error"
        said.append(f"{where}, logistic regression was regularized: {', '.join(result.regularized)}.")
    said += [f"Left out: {name} ({reason})." for name, reason in result.skipped.items()]
    return tuple(said)


def _lists_section(
    table: ListTable, title: str, prefix: str, about: tuple[str, ...], brief: bool
) -> tuple[Section, Shown]:
    costs = table.column("cmlg"), table.column("logistic")
    curve = CllrScatter("CMLG", "logistic regression", *costs, _names_of_lists(table))
    pictures: dict[str, Picture] = {f"{prefix}-cllr": cllr_scatter(curve, renderer="none")}
    for name, picture in heat_maps(table, ("eer",) if brief else HEAT_MAPS).items():
        pictures[f"{prefix}-{name.replace('_', '-')}"] = picture
    tables = [
        _text_table(paper_table(table), f"All lists together, beside {SOURCE}"),
        _text_table(list_table(table), "Every list; Cllr in bits"),
    ]
    if not np.isnan(table.mean["conditioned_cmlg"]):
        tables.insert(1, _text_table(one_map_table(table), "One calibration per list, or one for all; bits"))
    return Section(title, (*about, verdict(table)), tables, list(pictures.values())), pictures


def _scan_section(result: PriorScanResult) -> tuple[Section, Shown]:
    pictures = {f"prior-scan-{case.name}": scan(case) for case in result.cases}
    words = (
        f"{result.cost_name[0].upper()}{result.cost_name[1:]} against the log-odds of alpha, the weight of "
        "targets in CMLG, or of the training prior of logistic regression.",
        *(f"{case.name}: {case.about}." for case in result.cases),
    )
    tables = [_text_table(scan_table(result.cases), result.cost_name)]
    return Section("Prior scan", words, tables, list(pictures.values())), pictures


def _text_table(table: Table, caption: str) -> TextTable:
    header, rows = table
    return TextTable(tuple(header), tuple(tuple(row) for row in rows), caption, numeric=True)
