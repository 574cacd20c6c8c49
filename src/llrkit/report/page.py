"""The interactive HTML page of a report: one file that opens without a network and stays small.

Lines are thinned to fewer points that look the same. This is for display only: the numbers of a
report are never taken from thinned lines. A line is thinned in units of its axes, so that no point of it
moves by more than a share ``tolerance`` of the width or height shown: at 0.0004 a quarter of a pixel in a
plot of 640 pixels. Points are dropped by the method of Ramer (1972) and of Douglas and Peucker (1973); the
points that stay are exact.

The panel of operating points computes with exact error rates, not with pictures. Rates are counts
over a whole number. The page gets the counts, as differences from one prior to the next, and divides as we
do, so its rates are ours to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Never, cast

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from llrkit import plot
from llrkit._version import __version__
from llrkit.base.arguments import FloatArray, of_kind, yes_or_no
from llrkit.base.files import write_atomically
from llrkit.base.text import Json, printable, spelled
from llrkit.errors import InputError
from llrkit.fits.training_checks import TiedScores
from llrkit.metrics.curves import BAYES_LOG_ODDS
from llrkit.multiclass.choose import Idempotence
from llrkit.multiclass.evaluation import ClassEvaluation, PairHistogram, class_rows, class_sentence, rows
from llrkit.plot.picture import ROLE_COLORS, SYSTEM_COLORS, Axis, Band, Line, Mark, Picture
from llrkit.plot.plotly_renderer import PAGE_POLICY, plain_figure, plotly_javascript
from llrkit.report.document import HTML, Provenance, Section, provenance, script_json, trusted
from llrkit.report.sections import SystemReport
from llrkit.report.tables import TextTable, format_table, summary_table, text_tables
from llrkit.trust.bands import CurveBands
from llrkit.trust.calibration_check import CalibrationCheck
from llrkit.verbs.compare import Comparison
from llrkit.verbs.evaluate import Evaluation

Indices = npt.NDArray[np.int64]

TOLERANCE = 4e-4
LONG = 4096
"""Lines longer than this are first reduced to the places where they enter and leave small cells."""

FAR = 1e6
"""Widths of the picture beyond which it makes no difference how far away a point is."""


def thin_picture(picture: Picture, *, tolerance: float = TOLERANCE, at_least: int = 100) -> Picture:
    """The picture with thinner lines; ``at_least`` so many points of a line stay to be pointed at."""
    wide, high = _shown_range(picture, picture.x, "x"), _shown_range(picture, picture.y, "y")
    marks = tuple(_thin_mark(mark, wide, high, tolerance, at_least) for mark in picture.marks)
    return replace(picture, marks=marks)


def thin_line(x: FloatArray, y: FloatArray, tolerance: float) -> Indices:
    """Which points of a line to keep so that none of the others is further than ``tolerance`` from it.

    Examples
    --------
    >>> thin_line(np.arange(5.0), np.array([0.0, 0.01, 0.0, 3.0, 6.0]), 0.1).tolist()
    [0, 2, 4]
    """
    points = np.column_stack([x, y]).astype(np.float64)
    # Gaps are drawn as gaps, so a line that has any is left as it is.
    if len(points) <= 2 or not np.isfinite(points).all():
        return np.arange(len(points), dtype=np.int64)
    points = np.clip(points, -FAR, FAR)  # to choose by; squares of more would overflow
    kept: Indices = np.arange(len(points), dtype=np.int64)
    if len(points) > LONG:
        # Very long lines would be cut point by point for long; the grid takes them down to what can be
        # seen first.
        kept = _ends_of_cells(points, tolerance / 4.0)
        tolerance /= 2.0  # the other half covers what the cells cost: at most their diagonal, 0.36 of it all
        points = points[kept]
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    first: Indices = np.array([0])
    last: Indices = np.array([len(points) - 1])
    while True:  # all pieces of the line at once
        long = last - first >= 2
        first, last = first[long], last[long]
        if len(first) == 0:
            return kept[keep]
        middle, first, last = _pieces_cut(points, first, last, tolerance)
        keep[middle] = True


def _pieces_cut(
    points: FloatArray, first: Indices, last: Indices, tolerance: float
) -> tuple[Indices, Indices, Indices]:
    """Pieces of a line, each cut at its furthest point if that is too far: where, and both ends of all."""
    inner = last - first - 1
    start = np.cumsum(inner) - inner
    piece = np.repeat(np.arange(len(first)), inner)
    # The inner points of all pieces in one array, each with the number of its piece.
    inside = np.arange(len(piece)) - start[piece] + first[piece] + 1
    away = _distances_to_segment(points[inside], points[first][piece], points[last][piece])
    furthest = np.maximum.reduceat(away, start)
    at_furthest = np.flatnonzero(away == furthest[piece])
    # Of equally distant points the first, as the recursive method takes it.
    at_furthest = at_furthest[np.unique(piece[at_furthest], return_index=True)[1]]
    cut = furthest > tolerance
    middle = inside[at_furthest][cut]
    return middle, np.concatenate([first[cut], middle]), np.concatenate([middle, last[cut]])


def _ends_of_cells(points: FloatArray, cell: float) -> Indices:
    """The first and the last point of every stay in a cell of an even grid."""
    cells = np.floor(points / cell)
    moved = np.any(cells[1:] != cells[:-1], axis=1)
    return np.flatnonzero(np.append(True, moved) | np.append(moved, True)).astype(np.int64)


def _distances_to_segment(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """From each point to its segment."""
    along, to = end - start, points - start
    square = np.einsum("ij,ij->i", along, along)
    # A piece whose ends coincide has no direction; any share gives the distance to that point.
    share = np.einsum("ij,ij->i", to, along) / np.where(square > 0.0, square, 1.0)
    off = to - np.clip(share, 0.0, 1.0)[:, None] * along
    return np.asarray(np.hypot(off[:, 0], off[:, 1]))


def _thin_mark(mark: Mark, wide: float, high: float, tolerance: float, at_least: int) -> Mark:
    if isinstance(mark, Band):
        # Both limits keep the same places, or the band could not be drawn.
        kept = np.union1d(
            *(thin_line(mark.x / wide, limit / high, tolerance) for limit in (mark.low, mark.high))
        )
        return replace(mark, x=mark.x[kept], low=mark.low[kept], high=mark.high[kept])
    if not isinstance(mark, Line):
        return mark
    kept = thin_line(mark.x / wide, mark.y / high, tolerance)
    if mark.hover:  # points to point at, where the line is straight
        even = np.linspace(0, len(mark.x) - 1, min(at_least, len(mark.x))).astype(np.int64)
        kept = np.union1d(kept, even)
    hover = tuple(
        replace(line, values=tuple(line.values[i] for i in kept) if isinstance(line.values, tuple)
                else line.values[kept])
        for line in mark.hover
    )  # fmt: skip
    return replace(mark, x=mark.x[kept], y=mark.y[kept], hover=hover)


def _shown_range(picture: Picture, axis: Axis, name: str) -> float:
    if axis.limits is not None:
        return axis.limits[1] - axis.limits[0]
    lines = [getattr(mark, name) for mark in picture.marks if isinstance(mark, Line)]
    values = np.concatenate([np.empty(0), *lines])
    finite = values[np.isfinite(values)]
    # Where an axis has no limits, the lines decide what is shown.
    return float(np.ptp(finite)) or 1.0 if len(finite) else 1.0


def exact_rates(evaluation: Evaluation) -> dict[str, Json]:
    """Actual and best error rates on the grid of log-odds and at the operating points."""
    curve, n_target, n_nontarget = evaluation.bayes_error, evaluation.n_target, evaluation.n_nontarget
    marks = evaluation.marks
    return {
        "actual_miss": encoded_counts(curve.actual_p_miss, n_target),
        "actual_fa": encoded_counts(curve.actual_p_fa, n_nontarget),
        "best_miss": encoded_counts(curve.minimum_p_miss, n_target),
        "best_fa": encoded_counts(curve.minimum_p_fa, n_nontarget),
        "points": [
            [float(rate) for rate in rates]
            for rates in zip(
                marks.actual_p_miss, marks.actual_p_fa, marks.best_p_miss, marks.best_p_fa, strict=True
            )
        ],
    }


def encoded_counts(rates: FloatArray, n: float) -> dict[str, Json]:
    """Counts as a first value and steps, where that gives the very same rates; else the rates.

    Examples
    --------
    >>> encoded_counts(np.array([0.5, 0.25, 0.25]), 4)
    {'n': 4, 'steps': [2, -1, 0]}
    >>> encoded_counts(np.array([0.5, 1 / 3]), 4)
    {'rates': [0.5, 0.3333333333333333]}
    """
    counts = np.rint(rates * n)
    # Exactly equal, so that the page divides to the very same rates; weights, say, do not.
    if float(n).is_integer() and np.array_equal(counts / n, rates):
        steps = np.diff(counts, prepend=0.0).astype(np.int64)
        return {"n": int(n), "steps": steps.tolist()}
    return {"rates": rates.tolist()}


DIGITS = 4
"""Coordinates are rounded to 10^-4 of what an axis shows, less than a tenth of a pixel."""
PIXELS = 640
"""Width of a plot, to say in pixels what thinning may change."""
COARSEST, STEP = 0.01, 1.3
"""Of the second thinning: the tolerance at which it gives up, and by what it grows each time."""


def page_figures(
    pictures: Sequence[Picture], *, n_systems: int = 1, room: int = 2_000_000
) -> tuple[list[dict[str, object]], float]:
    """Pictures for the page, and by how many pixels thinning may have moved a line.

    That is a quarter of a pixel. Where the figures would take more than ``room`` characters, what is left
    is thinned a second time, as little as it takes.
    """
    at_least = max(12, min(100, 400 // n_systems))  # many systems share the room that hover values take
    once = [thin_picture(picture, tolerance=TOLERANCE, at_least=at_least) for picture in pictures]
    figures, again = [_page_figure(picture) for picture in once], 0.0
    while len(script_json(figures)) > room and again < COARSEST:
        again = STEP * again or TOLERANCE
        # From the pictures thinned once, not twice: every round starts afresh with a coarser tolerance.
        twice = [thin_picture(picture, tolerance=again, at_least=at_least) for picture in once]
        figures = [_page_figure(picture) for picture in twice]
    return figures, PIXELS * (TOLERANCE + again)  # the shifts add up


def _page_figure(picture: Picture) -> dict[str, object]:
    """A figure with what the page says of it, its coordinates rounded."""
    figure = plain_figure(picture)
    for name, limits in (("x", picture.x.limits), ("y", picture.y.limits)):
        traces = [trace for trace in figure["data"] if name in trace]
        places = [cast("list[float | None]", trace[name]) for trace in traces]
        known = [value for coordinates in places for value in coordinates if value is not None]
        width = limits[1] - limits[0] if limits else float(np.ptp(known)) if known else 0.0
        # Relative to what the axis shows: a fixed number of decimals would be too few or too many.
        decimals = DIGITS - math.floor(math.log10(width)) if width > 0 and math.isfinite(width) else 12
        for trace, coordinates in zip(traces, places, strict=True):
            trace[name] = [None if value is None else round(value, decimals) for value in coordinates]
    layout = figure["layout"]
    # The page has the title as a heading, which screen readers announce.
    del layout["title"]
    layout["margin"] = {"l": 60, "r": 15, "t": 15, "b": 50}
    return {
        "kind": picture.kind,
        "title": picture.title,
        "equal": picture.equal,
        "labels": len(list(picture.labels())) if layout["showlegend"] else 0,
        **figure,
    }


NOTHING: Mapping[str, Never] = MappingProxyType({})
LARGEST_DATA = 2_950_000
"""Characters of data in a page: with plotly's 4.8 million and the text it stays below 8 million."""


def write_report(
    results: Evaluation | Comparison | Mapping[str, Evaluation],
    path: str | Path,
    *,
    title: str = "Evaluation of detection scores",
    by: str = "condition",
    comparison: Comparison | None = None,
    bands: Mapping[str, CurveBands] = NOTHING,
    checks: Mapping[str, CalibrationCheck] = NOTHING,
    ties: Mapping[str, TiedScores] = NOTHING,
    first: Sequence[Section] = (),
    sections: Sequence[Section] = (),
    cautions: Sequence[str] = (),
    llrs: bool = False,
    made_from: Provenance | None = None,
    words: str = "nist",
    base_10: bool = False,
) -> None:
    """Write evaluations as one HTML page: verdicts, numbers, interactive plots, methods, provenance.

    A path that ends in ``.docx`` gets a Word document instead, which can be edited (extra ``docx``).
    The page opens without a network and makes no request. Its size does not grow with the number of
    trials: lines are thinned for display, see ``thin_picture``; all numbers are exact.

    Parameters
    ----------
    results
        An Evaluation, a Comparison of calibrators, or a dict of Evaluations by system.
    path
        Where the page is written.
    title
        Title of the page.
    by
        What the groups of the evaluations are, for headings.
    comparison
        Calibrators compared, as a section beside the systems.
    bands, checks
        By system: confidence bands (:func:`llrkit.trust.curve_bands`) and tests of calibration
        (:func:`llrkit.check_calibration`).
    ties
        By system: which scores are clipped, saturated or tied, for the advice
        (``TiedScores.of_source(trials)``).
    first, sections
        More sections with words, tables and pictures: before the systems, and after their curves.
    cautions
        Sentences that a reader must not miss, shown above the verdicts.
    llrs
        Whether the scores are LLRs that a calibration made, for the words at the axes.
    made_from
        Files, command and date; see ``provenance``.
    words
        The vocabulary of text, tables and plots: 'nist', 'forensic' or 'biometrics'.
    base_10
        Show LLRs, thresholds and log-odds to base ten; the JSON that the page offers stays in nats.

    Examples
    --------
    >>> import tempfile
    >>> import llrkit as lk
    >>> file = Path(tempfile.mkdtemp()) / "report.html"
    >>> lk.write_report(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), file)
    >>> file.stat().st_size < 8_000_000
    True
    """
    of_kind(title, str, "title")
    of_kind(by, str, "by")
    for name, value in (("bands", bands), ("checks", checks), ("ties", ties)):
        of_kind(value, Mapping, name)
    yes_or_no(llrs, "llrs")
    yes_or_no(base_10, "base_10")
    report = SystemReport(
        results, title, by, comparison, bands, checks, ties, first, sections, cautions, llrs, made_from,
        words, base_10,
    )  # fmt: skip
    if str(path).lower().endswith(".docx"):
        from llrkit.report.layouts import evaluation_document

        evaluation_document(report).write_word(path)
    else:
        write_atomically(path, report_page(report))


def report_page(report: SystemReport) -> str:
    """The page as text."""
    systems, said, unit = report.systems, report.said, report.unit
    what = report.what or ("method" if isinstance(report.results, Comparison) else "system")
    table = summary_table(systems, row_title=what)
    own = [said.section(section) for section in (*report.own_sections(), *report.sections)]
    pictures: list[Picture] = []
    shown = [_section_for_template(one, i, pictures) for i, one in enumerate((*report.first, *own))]
    first = next(iter(systems.values()))
    data: dict[str, object] = {
        "title": report.title,
        "systems": list(systems),
        "colors": {"systems": SYSTEM_COLORS, "roles": ROLE_COLORS},
        "grid": {"first": float(BAYES_LOG_ODDS[0]), "step": 0.01, "n": len(BAYES_LOG_ODDS)},
        "points": [{**asdict(r.point), "log_odds": r.point.log_odds} for r in first.points],
        "rates": [exact_rates(result) for result in systems.values()],
        "csv": format_table(table, "csv"),
        "json": {
            "schema": "llrkit.report/1",
            "systems": spelled({name: result.to_dict() for name, result in systems.items()}),
        },
        "words": [said.text(text) for text in ("Target prior", "cost of a miss", "of a false alarm")],
        "unit": {"nats": unit.nats, "suffix": f" {unit.suffix}" if unit.base_10 else ""},
    }
    # what the rest of the data leaves of the page is for figures
    room = LARGEST_DATA - len(script_json(data))
    data["figures"], moved = page_figures(pictures, n_systems=len(systems), room=room)
    page = HTML.get_template("page.html.j2").render(
        title=report.title,
        version=__version__,
        policy=Markup(PAGE_POLICY),
        what=what,
        several=f"{what}es" if what.endswith("s") else f"{what}s",
        systems=list(systems),
        counts=sorted({e.n_target + e.n_nontarget for e in systems.values()}),
        base_10=unit.base_10,
        say=said.text,
        cautions=[said.text(caution) for caution in report.cautions],
        first=shown[: len(report.first)],
        headline=said.text(report.lead),
        verdicts=[
            replace(
                one, word=said.text(one.word), said=said.text(one.said), todo=tuple(map(said.text, one.todo))
            )
            for one in report.verdicts()
        ],
        numbers=[said.table(one) for one in text_tables(table)],
        conventions={name: said.text(value) for name, value in first.conventions.items()},
        points=[result.point for result in first.points],
        sections=shown[len(report.first) :],
        methods=said.text(report.methods()),
        moved=moved,
        provenance=report.made_from or provenance(),
        style=trusted("report.css"),
        # Read as a file of the package, never from the network (docs/notes/decisions-interfaces.md).
        plotly=Markup(plotly_javascript()),
        program=trusted("plots.js", "panel.js", "page.js"),
        data=script_json(data),
    )
    return printable(page)


def _section_for_template(section: Section, i: int, pictures: list[Picture]) -> dict[str, object]:
    """A section as the template takes it; its pictures join the others."""
    drawn = []
    for picture in section.pictures:
        drawn.append({"id": f"figure{len(pictures)}", "title": picture.title, "told": picture.described})
        pictures.append(picture)
    return {
        "id": f"section{i}", "title": section.title, "paragraphs": section.paragraphs,
        "tables": section.text_tables, "figures": drawn, "small": section.small, "note": section.note,
        "hint": section.hint, "banner": section.banner,
    }  # fmt: skip


MOST_CLASSES = 12
"""Curves of more classes than this could not be told apart: those with the largest EER are drawn."""


def write_class_report(
    result: ClassEvaluation,
    path: str | Path,
    *,
    pairs: Sequence[PairHistogram] = (),
    idempotence: Idempotence | None = None,
    title: str = "Evaluation of several classes",
    made_from: Provenance | None = None,
) -> None:
    """Write an evaluation of several classes as one HTML page that needs nothing else.

    It has the numbers of all classes together, the confusion matrix, the calibration of each class, DET
    curves of each class against the others, histograms of pairs, and for each class what
    :func:`llrkit.write_report` has for a system. The evaluation must have looked at detection.

    Examples
    --------
    >>> import tempfile
    >>> import llrkit as lk
    >>> from llrkit.report.page import write_class_report
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> file = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_class_report(lk.multiclass.evaluate(scores), file, pairs=lk.multiclass.pair_histograms(scores))
    >>> file.stat().st_size < 8_000_000
    True
    """
    detections = {one.name: one.detection for one in result.per_class if one.detection is not None}
    if not detections:
        raise InputError("the evaluation has no detections: evaluate with detection=True")
    # The worst classes are those that a reader wants to see.
    worst = sorted(detections, key=lambda name: -detections[name].eer)[:MOST_CLASSES]
    shown = {
        name: Evaluation.from_measurements(detection)
        for name, detection in detections.items()
        if name in worst
    }
    cautions = []
    if len(shown) < len(detections):
        cautions.append(
            f"Of {len(detections)} classes the {len(shown)} with the largest EER are drawn one by one; the "
            "tables have all."
        )
    report = SystemReport(
        shown, title, first=_class_sections(result, pairs, idempotence), cautions=cautions,
        made_from=made_from, headline=class_sentence(result), what="class",
    )  # fmt: skip
    write_atomically(path, report_page(report))


def _class_sections(
    result: ClassEvaluation, pairs: Sequence[PairHistogram], idempotence: Idempotence | None
) -> list[Section]:
    header, table = class_rows(result)
    numbers = TextTable(("all classes", "", ""), tuple(rows(result)))
    each = TextTable(tuple(header), tuple(tuple(row) for row in table), numeric=True)
    sections = [
        Section(
            "All classes together",
            (
                "Cllr is the cross-entropy of the posteriors at the prior, each class weighted by its prior. "
                "Refined numbers are after a calibration fitted to the same trials: what they leave is "
                "discrimination.",
            ),
            [numbers, each],
            [
                plot.confusion(result, renderer="none"),
                plot.class_calibration(result, renderer="none"),
                plot.class_det(result, renderer="none"),
            ],
        )
    ]
    if pairs:
        drawn = [plot.pair_histogram(one, renderer="none") for one in pairs]
        words = ("The pairs that are confused most often: LLRs of one class against the other.",)
        sections.append(Section("Pairs of classes", words, pictures=drawn, small=True))
    if idempotence is not None:
        words = (
            "If LLRs over the last class are Gaussian and calibrated, their means follow from their "
            "covariances; points off the diagonal need calibration, or are not Gaussian.",
        )
        picture = plot.class_idempotence(idempotence, renderer="none")
        sections.append(Section("Idempotence", words, pictures=[picture]))
    return sections
