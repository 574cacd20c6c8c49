"""evaluate() of several classes: all metrics of the scores as they are and refined, and curves for plots."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from llrkit import errors
from llrkit.base.arguments import FloatArray, of_kind, one_of, whole_number, yes_or_no
from llrkit.base.process import stage, warn_caller
from llrkit.base.text import Json, counted, number, percent, table_beside
from llrkit.core.numerics import LN2
from llrkit.metrics.curves import ErrorCurve, HistogramPair
from llrkit.metrics.discrimination import Curve, curve_columns
from llrkit.metrics.measure import Measurements, measure
from llrkit.multiclass import metrics
from llrkit.multiclass.fits import METHODS
from llrkit.multiclass.maps import ClassMap, ProbabilityRows
from llrkit.multiclass.metrics import CavgPreset, ClassLosses, Confusion, Prior
from llrkit.results.result import Column, Result, flat, html_table, text_table
from llrkit.scores.classes import ClassSource
from llrkit.theory.operating_points import Points

REFINEMENTS = ("temperature", "scale-offset", "vector", "affine")
# As a regularization it keeps the weights of separable classes finite.
_SAFEGUARD = 0.01


@dataclass(frozen=True, eq=False)
class Refinement(Result):
    """A calibration trained on the trials it is applied to, or why there is none."""

    method: str
    map: ClassMap | None
    note: str = ""

    def on(self, source: ClassSource) -> ClassSource:
        """The refined trials."""
        return source if self.map is None else self.map.on(source)


def refine(source: ClassSource, *, prior: Prior = "flat", method: str = "scale-offset") -> Refinement:
    """Calibrate trials on themselves, to see what calibration could give at best.

    ``method`` is "temperature", "scale-offset" (default), "vector" or "affine". Trials that can be told apart
    without error get a slightly regularized fit; where no fit exists, ``map`` is None and ``note`` says why.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    method
        Name of the calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> refined = lk.multiclass.refine(scores, method="temperature").on(scores)
    >>> lk.multiclass.cllr(scores) > lk.multiclass.cllr(refined)
    True
    """
    one_of(method, REFINEMENTS, "refinement")
    fit = METHODS[method]
    with warnings.catch_warnings():
        # The refinement is not the user's calibration; a negative scale shows in its map.
        warnings.simplefilter("ignore", errors.ReversedScoresWarning)
        try:
            return Refinement(method, fit(source, prior=prior))
        except errors.SeparationError:
            fitted = fit(source, prior=prior, regularization=_SAFEGUARD)
            note = f"the classes hardly overlap: refined with regularization={_SAFEGUARD}"
            return Refinement(method, fitted, note)
        except (errors.ConstantScoreError, errors.InfiniteScoreError) as error:
            return Refinement(method, None, str(error))


def refined_cllr(
    source: ClassSource, *, prior: Prior = "flat", method: str = "scale-offset", normalized: bool = False
) -> float:
    """Cllr after the best affine calibration of the same trials: the cost of imperfect discrimination.

    The counterpart of minimum Cllr, for which there is no isotonic regression with more than two classes.
    Biased low on small sets, more so the more parameters the ``method`` has.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    method
        Name of the calibrator.
    normalized
        Divide by the cost of deciding without scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.cllr(scores) > lk.multiclass.refined_cllr(scores)
    True
    """
    yes_or_no(normalized, "normalized")
    share = metrics.class_prior(prior, metrics.count_classes(source))
    refined = refine(source, prior=prior, method=method)
    if refined.map is None:
        return blind_or_missing(refined, share, normalized=normalized)
    losses = refined.on(source).reduce(ClassLosses.at(np.log(share)))
    return metrics.cllr_from_losses(losses, share, normalized=normalized)


def blind_or_missing(refined: Refinement, prior: FloatArray, *, normalized: bool = False) -> float:
    """Refined Cllr where there is no map: scores that are all alike leave the entropy of the prior."""
    # Nothing can be refined where a trial is infinitely sure: there is no finite optimum.
    if "infinite" in refined.note:
        return float("nan")
    return 1.0 if normalized else metrics.entropy(prior) / LN2


CONVENTIONS: Mapping[str, str] = MappingProxyType(dict(table_beside(__file__, "conventions.txt")))


MOST_SHOWN = 20
"""Classes that are shown one by one."""


@dataclass(frozen=True)
class ActualRefined:
    """A number of the scores as they are, and after refinement (nan where that was left out)."""

    name: str
    actual: float
    refined: float = math.nan


@dataclass(frozen=True)
class ClassResult:
    """The numbers of one class."""

    name: str
    n: int
    prior: float
    cllr: ActualRefined
    """Mean loss of its trials in bits: -log2 of the posterior of the class."""
    error_rate: ActualRefined
    detection: Measurements | None = None
    """The class against the others."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Json] = {
            "class": self.name,
            "n": self.n,
            "prior": self.prior,
            "cllr": self.cllr.actual,
            "refined_cllr": self.cllr.refined,
            "error_rate": self.error_rate.actual,
            "refined_error_rate": self.error_rate.refined,
        }
        if self.detection is not None:
            plain["detection"] = {
                name: getattr(self.detection, name) for name in ("eer", "auc", "cllr", "min_cllr", "cllr_cal")
            }
        return plain


@dataclass(frozen=True, eq=False, repr=False)
class ClassEvaluation(Result):
    """The result of :func:`evaluate` for several classes; immutable."""

    classes: tuple[str, ...]
    """Names of the classes."""
    prior: FloatArray
    """Prior of each class."""
    n: int
    """Number of trials."""
    cllr: float
    """Cross-entropy of the posteriors, in bits."""
    cllr_normalized: float
    """Cllr divided by the entropy of the prior."""
    refined_cllr: float
    """Cllr after the best recalibration of the chosen family."""
    error_rate: ActualRefined
    """Rate of wrong decisions, actual and refined."""
    costs: tuple[ActualRefined, ...]
    """Normalized expected costs of the cost matrices that were given."""
    cavgs: tuple[ActualRefined, ...]
    """Average detection costs, actual and refined."""
    confusion: Confusion
    """How often each class was decided for each."""
    per_class: tuple[ClassResult, ...]
    """Numbers of each class against the others."""
    refinement: Refinement | None = None
    """The recalibration behind the refined numbers."""
    conventions: Mapping[str, str] = field(default_factory=lambda: CONVENTIONS)
    """The conventions behind the numbers, by name."""

    @property
    def cllr_cal(self) -> float:
        """What is lost to calibration, in bits: ``cllr - refined_cllr``."""
        return self.cllr - self.refined_cllr

    @property
    def cavg(self) -> float:
        """The first C_avg that was asked for."""
        return self.cavgs[0].actual if self.cavgs else math.nan

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "classes": list(self.classes),
            "n": self.n,
            "prior": dict(zip(self.classes, self.prior.tolist(), strict=True)),
            "cllr": self.cllr,
            "cllr_normalized": self.cllr_normalized,
            "refined_cllr": self.refined_cllr,
            "refinement": "" if self.refinement is None else self.refinement.note or self.refinement.method,
            "error_rate": self.error_rate.actual,
            "refined_error_rate": self.error_rate.refined,
            "costs": [_named_cost(cost) for cost in self.costs],
            "cavg": self.cavg,
            "cavgs": [_named_cost(cost) for cost in self.cavgs],
            "confusion": self.confusion.counts.tolist(),
            "per_class": [one.to_dict() for one in self.per_class],
            "conventions": dict(self.conventions),
        }

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        whole = {
            "class": "all", "n": self.n, "cllr": self.cllr, "refined_cllr": self.refined_cllr,
            "error_rate": self.error_rate.actual, "refined_error_rate": self.error_rate.refined,
        }  # fmt: skip
        return [whole, *(flat(one.to_dict()) for one in self.per_class)]

    def _overview(self) -> list[list[str]]:
        """Name and value of each number, then the classes, of which the first few are shown."""
        refined = "" if self.refinement is None else f" ({number(self.refined_cllr)} refined)"
        rows = [
            ["trials", f"{self.n:,} of {counted(len(self.classes), 'class', 'classes')}"],
            ["Cllr", f"{number(self.cllr)} bits{refined}, normalized {number(self.cllr_normalized)}"],
            ["error rate", percent(self.error_rate.actual)],
        ]
        rows += [[f"Cavg {one.name}".rstrip(), number(one.actual)] for one in self.cavgs]
        return rows + [[f"cost {one.name}", number(one.actual)] for one in self.costs]

    def _classes(self) -> tuple[list[str], list[list[str]]]:
        header = ["class", "trials", "Cllr", "errors"]
        rows = [
            [one.name, f"{one.n:,}", number(one.cllr.actual), percent(one.error_rate.actual)]
            for one in self.per_class[:MOST_SHOWN]
        ]
        if len(self.per_class) > MOST_SHOWN:
            rows.append([f"... and {len(self.per_class) - MOST_SHOWN:,} more", "", "", ""])
        return header, rows

    def __repr__(self) -> str:
        lines = [f"{name:<12}{value}" for name, value in self._overview()]
        return "\n".join([*lines, text_table(*self._classes())])

    def _repr_html_(self) -> str:
        return html_table(["", ""], self._overview(), left=(0, 1)) + html_table(*self._classes())


def _named_cost(cost: ActualRefined) -> dict[str, Json]:
    return {"name": cost.name, "act": cost.actual, "refined": cost.refined}


def rows(result: ClassEvaluation) -> list[tuple[str, str, str]]:
    """The table: name, value, and what it is."""
    blind = percent(1.0 - float(result.prior.max()))
    how = ""
    if result.refinement is not None:
        how = result.refinement.note or f"after {result.refinement.method} fitted to the same trials"
    table = [
        ("trials", f"{result.n:,}", f"of {len(result.classes)} classes"),
        ("Cllr", number(result.cllr), "bits"),
        ("Cllr, normalized", number(result.cllr_normalized), "1 for scores that say nothing"),
        ("refined Cllr", number(result.refined_cllr), how),
        ("Cllr - refined", number(result.cllr_cal), "calibration loss"),
        ("error rate", percent(result.error_rate.actual), f"most probable class; {blind} when guessing"),
        ("refined error rate", percent(result.error_rate.refined), ""),
    ]
    for word, costs in (("cost", result.costs), ("Cavg", result.cavgs)):
        for cost in costs:
            table.append((f"{word} {cost.name}", number(cost.actual), f"refined {number(cost.refined)}"))
    # Numbers that were not computed would be rows of dashes.
    return [row for row in table if row[1] not in ("-", "nan %")]


def class_rows(result: ClassEvaluation) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table with one line per class."""
    header = ["class", "trials", "prior", "Cllr", "refined", "error rate"]
    if result.per_class[0].detection is not None:  # detection is looked at for all classes or for none
        header += ["EER", "det. Cllr", "det. min Cllr"]
    table = []
    for one in result.per_class:
        row = [one.name, f"{one.n:,}", *map(number, (one.prior, one.cllr.actual, one.cllr.refined))]
        row.append(percent(one.error_rate.actual))
        if one.detection is not None:
            row += [percent(one.detection.eer), number(one.detection.cllr), number(one.detection.min_cllr)]
        table.append(row)
    return header, table


def class_sentence(result: ClassEvaluation) -> str:
    """What the numbers mean: how much is lost to discrimination, how much to calibration.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> print(class_sentence(lk.multiclass.evaluate(scores, detection=False)))
    Of Cllr = 0.8418 bits, 0.0148 remain after calibration on the same trials and 0.8269 (98 %) are lost to
    calibration: calibrate these scores.
    """
    if math.isinf(result.cllr):
        return (
            "Cllr is infinite: at least one trial has log-likelihood -inf for its own class, which no amount "
            "of good scores can make up for."
        )
    if math.isnan(result.refined_cllr) or result.cllr <= 0.0:
        return f"Cllr is {number(result.cllr)} bits; guessing costs {number(math.log2(len(result.classes)))}."
    share = result.cllr_cal / result.cllr
    advice = "calibrate these scores"
    if share <= 0.05:
        advice = "the scores can be read as log-likelihoods as they are"
    return (
        f"Of Cllr = {number(result.cllr)} bits, {number(result.refined_cllr)} remain after calibration "
        f"on the same trials and {number(result.cllr_cal)} ({100 * share:.0f} %) are lost to "
        f"calibration: {advice}."
    )


DETECT_UP_TO = 50
"""With more classes, detection is evaluated only when asked for."""


def evaluate(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    costs: Mapping[str, npt.ArrayLike] = MappingProxyType({}),
    cavg: str | CavgPreset | Sequence[str | CavgPreset] = ("lre07", "lre22"),
    refine_by: str | None = "scale-offset",
    detection: bool | None = None,
    points: Points = (0.5, 0.1),
    allow_unconfirmed: bool = False,
) -> ClassEvaluation:
    """Evaluate log-likelihoods of several classes: all metrics, actual and refined.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    prior
        "flat", "counts" or a probability for each class; for Cllr, decisions and costs.
    costs
        Cost matrices by name, as for :func:`expected_cost`.
    cavg
        Presets of :func:`cavg` that average over all classes.
    refine_by
        The calibration whose fit to these very trials shows what calibration could give at best; None
        leaves it out, and with it several passes.
    detection
        Also evaluate each class against the others, two passes each; by default up to 50 classes.
    points
        Operating points of these detections.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.scores.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> result = lk.multiclass.evaluate(scores)
    >>> print(f"Cllr {result.cllr:.3f} bits, refined {result.refined_cllr:.3f}, {result.n} trials")
    Cllr 1.107 bits, refined 0.481, 600 trials
    """
    of_kind(costs, Mapping, "costs")
    counts = metrics.count_classes(source)
    share = metrics.class_prior(prior, counts)
    matrices = {name: metrics.cost_matrix(cost, counts) for name, cost in costs.items()}
    names = (cavg,) if isinstance(cavg, (str, CavgPreset)) else cavg
    presets = [metrics.cavg_preset(name, allow_unconfirmed=allow_unconfirmed) for name in names]
    for preset in presets:
        preset.require_plain()
    k = len(counts.classes)
    detect = k <= DETECT_UP_TO if detection is None else yes_or_no(detection, "detection")
    # A warning and no error: log-likelihoods can look like probabilities by chance, but hardly in every
    # row.
    if source.reduce(ProbabilityRows.of).others == 0.0:
        text = "all rows are between 0 and 1 and sum to 1: are they probabilities? Take their logarithms"
        warn_caller(text, errors.ScaleWarning)
    # one pass counts what all metrics need: decisions of all matrices, detections of all presets
    detected = [metrics.detections_of(preset, k) for preset in presets]
    count = ClassLosses.at(np.log(share), list(matrices.values()), [one for own in detected for one in own])
    refinement: Refinement | None = None
    refined: ClassLosses | None = None
    cllr_at_best = math.nan
    # Steps for the progress: one pass, the refinement, and two passes for each class.
    with stage("evaluating several classes", 1 + bool(refine_by) + detect * k, "steps") as advance:
        actual = source.reduce(count)
        advance(1)
        if refine_by:
            refinement = refine(source, prior=prior, method=refine_by)
            if refinement.map is None:
                cllr_at_best = blind_or_missing(refinement, share)
            else:
                refined = refinement.on(source).reduce(count)
                cllr_at_best = metrics.cllr_from_losses(refined, share)
            advance(1)
        detections = []
        for t in range(k if detect else 0):
            # Each class against an equal mixture of the others, whatever the prior: as Cavg does.
            detections.append(measure(metrics.detection_of(source, t, np.ones(k)), points))
            advance(1)

    def both(name: str, number_of: Callable[[ClassLosses], float]) -> ActualRefined:
        return ActualRefined(name, number_of(actual), math.nan if refined is None else number_of(refined))

    def cost_of(name: str, first: int) -> ActualRefined:
        matrix = matrices[name]
        # The decisions of all matrices stand side by side, see ClassLosses.
        here = slice(first, first + matrix.shape[1])
        return both(name, lambda losses: metrics.cost_from_decisions(losses.decided[:, here], matrix, share))

    def cavg_of(preset: CavgPreset, first: int) -> ActualRefined:
        here = slice(first, first + len(preset.p_target))
        return both(
            preset.name, lambda losses: metrics.cavg_from_detections(preset, losses.accepted[here], losses.n)
        )

    def of_class(i: int, name: str) -> ClassResult:
        return ClassResult(
            name,
            int(actual.n[i]),
            float(share[i]),
            both("cllr", lambda losses: float(losses.loss[i] / losses.n[i] / LN2)),
            both("error_rate", lambda losses: float(1.0 - losses.confused[i, i] / losses.n[i])),
            detections[i] if detections else None,
        )

    # Where the decisions of each matrix, and the detections of each preset, begin.
    first_decision = np.cumsum([0, *(matrix.shape[1] for matrix in matrices.values())]).tolist()
    first_detection = np.cumsum([0, *map(len, detected)]).tolist()
    return ClassEvaluation(
        classes=counts.classes,
        prior=share,
        n=int(actual.n.sum()),
        cllr=metrics.cllr_from_losses(actual, share),
        cllr_normalized=metrics.cllr_from_losses(actual, share, normalized=True),
        refined_cllr=cllr_at_best,
        error_rate=both("error_rate", lambda losses: metrics.error_rate_from_losses(losses, share)),
        costs=tuple(map(cost_of, matrices, first_decision)),
        cavgs=tuple(map(cavg_of, presets, first_detection)),
        confusion=Confusion(counts.classes, actual.confused),
        per_class=tuple(of_class(i, name) for i, name in enumerate(counts.classes)),
        refinement=refinement,
    )


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


def class_dets(evaluation: ClassEvaluation) -> ClassDets:
    """The DET curves of an evaluation that looked at detection.

    Parameters
    ----------
    evaluation
        The evaluation.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> len(lk.multiclass.class_dets(lk.multiclass.evaluate(scores)).curves)
    3
    """
    of_kind(evaluation, ClassEvaluation, "evaluation")
    detections = [one.detection for one in evaluation.per_class if one.detection is not None]
    if not detections:
        raise errors.InputError("the evaluation has no detections: evaluate with detection=True")
    eers = tuple(one.eer for one in detections)
    return ClassDets(evaluation.classes, tuple(one.det for one in detections), eers)


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


def class_calibration(evaluation: ClassEvaluation) -> ClassCalibration:
    """Actual against refined, class by class.

    Parameters
    ----------
    evaluation
        The evaluation.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.class_calibration(lk.multiclass.evaluate(scores)).actual.round(2)
    array([0.  , 0.02, 2.51])
    """
    of_kind(evaluation, ClassEvaluation, "evaluation")
    losses = []
    for one in evaluation.per_class:
        found = one.detection
        detected = (math.nan, math.nan) if found is None else (found.cllr, found.min_cllr)
        losses.append([one.cllr.actual, one.cllr.refined, *detected])
    return ClassCalibration(evaluation.classes, evaluation.prior, *np.array(losses).T)


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
        Trials of several classes, such as :class:`llrkit.scores.ClassScores`.
    pairs
        Pairs of classes.
    most
        Number of pairs, if none are given.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.scores.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> [(one.target, one.other) for one in lk.multiclass.pair_histograms(scores, most=1)]
    [('0', '2')]
    """
    whole_number(most, 0, "most")
    if pairs is None:
        counted = metrics.confusion(source)
        mixed = counted.rates + counted.rates.T
        every = list(combinations(range(len(counted.classes)), 2))
        # Stable: of pairs that are confused equally often the first come first.
        every.sort(key=lambda two: -float(mixed[two]))
        pairs = [(counted.classes[a], counted.classes[b]) for a, b in every[:most]]
    histograms = []
    for target, other in pairs:
        result = measure(metrics.pair(source, target, other), points=())
        histograms.append(PairHistogram(target, other, result.histogram, result.eer))
    return tuple(histograms)
