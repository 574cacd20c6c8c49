"""An evaluation of several classes as one HTML page: the numbers, then each class against the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llrkit import plot
from llrkit._atomic import write_atomically
from llrkit.errors import InputError
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.multiclass.class_curves import PairHistogram
from llrkit.multiclass.class_evaluation_result import ClassEvaluation, class_rows, class_sentence, rows
from llrkit.multiclass.class_idempotence import Idempotence
from llrkit.report.html_page import report_page
from llrkit.report.provenance import Provenance
from llrkit.report.report_tables import TextTable
from llrkit.report.section_types import Section

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
    >>> from llrkit.report.class_page import write_class_report
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> file = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_class_report(lk.multiclass.evaluate(scores), file, pairs=lk.multiclass.pair_histograms(scores))
    >>> file.stat().st_size < 8_000_000
    True
    """
    detections = {one.name: one.detection for one in result.per_class if one.detection is not None}
    if not detections:
        raise InputError("the evaluation has no detections: evaluate with detection=True")
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
    page = report_page(
        shown,
        title=title,
        by="condition",
        comparison=None,
        first=_class_sections(result, pairs, idempotence),
        sections=(),
        cautions=cautions,
        made_from=made_from,
        headline=class_sentence(result),
        what="class",
    )
    write_atomically(path, page)


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
