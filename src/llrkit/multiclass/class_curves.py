"""Picture objects of several classes: everything a plot needs, computed once, never by the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from llrkit._arguments import takes, whole_number
from llrkit._arrays import FloatArray
from llrkit._results import Column, Result
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve, curve_columns
from llrkit.metrics.curves import ErrorCurve, HistogramPair
from llrkit.metrics.measure import measure
from llrkit.multiclass.class_evaluation_result import ClassEvaluation
from llrkit.multiclass.class_metrics import confusion
from llrkit.multiclass.one_against_others import pair
from llrkit.scores.class_scores import ClassSource


@dataclass(frozen=True, eq=False)
class ClassDets(Result):
    """The DET curve of each class against the others."""

    classes: tuple[str, ...]
    curves: tuple[ErrorCurve, ...]
    eers: tuple[float, ...]

    def _frame_columns(self) -> Mapping[str, Column]:
        """The points of all curves below each other, with the class in the first column."""
        parts = [curve_columns(one) for one in self.curves]
        columns: dict[str, list[object]] = {"class": [], **{name: [] for name in parts[0]}}
        for of_class, part in zip(self.classes, parts, strict=True):
            columns["class"] += [of_class] * len(part["p_miss"])
            for name, values in part.items():
                columns[name] += values
        return columns


@takes(evaluation=ClassEvaluation)
def class_dets(evaluation: ClassEvaluation) -> ClassDets:
    """The DET curves of an evaluation that looked at detection.

    Parameters
    ----------
    evaluation
        The evaluation.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> len(lk.multiclass.class_dets(lk.multiclass.evaluate(scores)).curves)
    3
    """
    detections = [one.detection for one in evaluation.per_class if one.detection is not None]
    if not detections:
        raise InputError("the evaluation has no detections: evaluate with detection=True")
    return ClassDets(
        evaluation.classes, tuple(one.det for one in detections), tuple(one.eer for one in detections)
    )


@dataclass(frozen=True, eq=False)
class ClassCalibration(Curve):
    """For each class, the mean loss of its trials in bits: as they are, and after refinement."""

    classes: tuple[str, ...]
    prior: FloatArray
    actual: FloatArray
    refined: FloatArray
    detection_cllr: FloatArray
    """Cllr of the class against the others, nan without detection."""
    detection_min_cllr: FloatArray


@takes(evaluation=ClassEvaluation)
def class_calibration(evaluation: ClassEvaluation) -> ClassCalibration:
    """Actual against refined, class by class.

    Parameters
    ----------
    evaluation
        The evaluation.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.class_calibration(lk.multiclass.evaluate(scores)).actual.round(2)
    array([0.  , 0.02, 2.51])
    """
    missing = float("nan")
    rows = [
        (
            one.cllr.actual,
            one.cllr.refined,
            missing if one.detection is None else one.detection.cllr,
            missing if one.detection is None else one.detection.min_cllr,
        )
        for one in evaluation.per_class
    ]
    return ClassCalibration(evaluation.classes, evaluation.prior, *np.array(rows).T)


@dataclass(frozen=True, eq=False)
class PairHistogram(Result):
    """LLRs of one class against another, of the trials of both."""

    target: str
    other: str
    histogram: HistogramPair
    eer: float

    def _frame_columns(self) -> Mapping[str, Column]:
        """The bins of the histogram, with the two classes and their EER in columns."""
        bins = curve_columns(self.histogram)
        n = len(bins["target"])
        return {"class": [self.target] * n, "other": [self.other] * n, "eer": [self.eer] * n, **bins}


def pair_histograms(
    source: ClassSource, pairs: Sequence[tuple[str, str]] | None = None, *, most: int = 6
) -> tuple[PairHistogram, ...]:
    """Histograms of pairwise LLRs; without ``pairs``, of the ``most`` pairs that are confused most often.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    pairs
        Pairs of classes.
    most
        Number of pairs, if none are given.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> [(one.target, one.other) for one in lk.multiclass.pair_histograms(scores, most=1)]
    [('0', '2')]
    """
    whole_number(most, 0, "most")
    if pairs is None:
        counted = confusion(source)
        mixed = counted.rates + counted.rates.T
        every = list(combinations(range(len(counted.classes)), 2))
        every.sort(key=lambda two: -float(mixed[two]))
        pairs = [(counted.classes[a], counted.classes[b]) for a, b in every[:most]]
    histograms = []
    for target, other in pairs:
        result = measure(pair(source, target, other), points=())
        histograms.append(PairHistogram(target, other, result.histogram, result.eer))
    return tuple(histograms)
