"""fit_adapted(): a calibration for a new domain from its unlabeled scores, where these tell enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import numpy.typing as npt

from llrkit._plain import Json
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.knot_map import KnotMap, thin_knots
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.calibrate.recorded_reading import RecordedReading
from llrkit.calibrate.training_densities import TrainingDensities
from llrkit.core.score_histogram import ScoreHistogram
from llrkit.errors import AdaptationError, TooFewTrialsError
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.shift.check_shift import ShiftCheck, ShiftSetting, check_from, shares_of
from llrkit.shift.few_labels import Standing, with_few_labels
from llrkit.shift.ladder import Climb
from llrkit.shift.new_scores import NewScores, counted_map

HELP = (
    "About 50 labeled trials of each class of the new domain are enough to adapt (labeled, --labeled); "
    "without labels, a bound by groups (groups, --groups) limits the LLRs"
)


class Kept(TypedDict):
    """What every adapted map says of itself."""

    method: str
    details: Mapping[str, object]
    reading: RecordedReading | None
    densities: Mapping[str, Json]


@takes_labels
def fit_adapted(
    train: Map | ScoreSource,
    unlabeled: ScoreSource | npt.ArrayLike,
    *,
    share: float | Sequence[float] | None = None,
    labeled: ScoreSource | None = None,
    speakers: str | Sequence[str] | None = None,
) -> Map:
    """Adapt a calibration to a new domain by the unlabeled scores of that domain.

    The scores are described by the training classes after a move, on the lowest rung of a ladder that does so
    adequately: no shift; a common affine move; a move per class; free spread; free shape. The adapted map is
    the trained one after the line that undoes the move, at the top of the ladder the ratio of the densities.
    If there is no shift beyond chance, or none that matters, the map is returned as it is; its ``details``
    say so in ``adaptation``.

    Where the scores do not tell how they moved, :class:`AdaptationError` says why: the share of targets at
    the end of what is possible, one mode, a hard edge, a mixture that does not fit (new attacks, say), too
    few scores.

    Parameters
    ----------
    train
        A map, whose file holds the densities of its training scores; or training trials, for which logistic
        regression is fitted.
    unlabeled
        Scores of the new domain, as the training file held them; or trials, whose labels are not looked at.
    share
        The share of targets among them, or a range of it, if something is known.
    labeled
        A few labeled trials of the new domain, from about ten on: a line after the map, shrunk toward no
        change by empirical Bayes. Where the scores say how they moved, the line is taken only as far as
        labels that were left out confirm it; where they do not, which is no error then, the labels alone
        decide, and LLRs are bounded by ``log(1 + labels of the other class)``.
    speakers
        The column, or the two columns, with the speakers of a trial, see :func:`check_shift`.

    References
    ----------
    Brümmer & Garcia-Romero, "Generative modelling for unsupervised score calibration", ICASSP 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 2_000))
    >>> test = lk.Scores(rng.normal(8.0, 1.5, 500), rng.normal(2.0, 1.5, 9_500))  # 1.5 s + 2
    >>> trained = lk.fit_logistic(dev)
    >>> adapted = lk.fit_adapted(trained, test)  # its labels are not looked at
    >>> adapted.details["adaptation"]["rung"]
    'common move'
    >>> round(lk.cllr(trained.on(test)), 2), round(lk.cllr(adapted.on(test)), 2)
    (1.73, 0.08)
    """
    shares, setting = shares_of(share), ShiftSetting.of(train, speakers)
    adapted, refusal, standing = setting.fitted, "", Standing.DESCRIBED
    try:
        new, test, reached = setting.climbed(unlabeled, speakers, shares, harm=True)
    except TooFewTrialsError as error:
        refusal, standing = str(error), Standing.NOT_LOOKED_AT
        said = f"{error}."
    else:
        check = check_from(setting, new, test, reached)
        said = check.text
        if reached.refusal:
            standing = Standing.REFUSED
            refusal = f"the scores do not show how they changed: {reached.refusal}"
        else:
            adapted = _adapted_by_rung(setting, new, reached, check)
    if labeled is not None:
        return with_few_labels(setting.fitted, adapted, as_source(labeled), standing, said)
    if refusal:
        raise AdaptationError(f"{refusal}. {HELP}")
    return adapted


def _adapted_by_rung(setting: ShiftSetting, new: NewScores, reached: Climb, check: ShiftCheck) -> Map:
    """The map of the rung that was reached."""
    fitted = setting.fitted
    told = {key: value for key, value in check.to_dict().items() if key not in ("refusal", "is_harmful")}
    earlier = {key: value for key, value in fitted.details.items() if key != "few_labels"}
    details = {**earlier, "adaptation": told}
    if len(reached.steps) == 1:
        return replace(fitted, details=details)
    mixture = reached.last.mixture
    low, high = (float(new.histogram.centers[end]) for end in (0, -1))
    origin = {**fitted.provenance, "low": low, "high": high}
    origin.pop("gap", None)
    moved = [
        replace(new.histogram, count=(masses * counted.total).round(3), n_neg_inf=0, n_pos_inf=0)
        for masses, counted in zip(
            mixture.masses,
            (setting.densities.histogram.target, setting.densities.histogram.nontarget),
            strict=True,
        )
    ]
    shared: Kept = {
        "method": f"adapted {fitted.method}",
        "details": details,
        "reading": fitted.reading,
        "densities": TrainingDensities(ScoreHistogram(*moved), setting.densities.of).to_plain(),
    }
    if reached.free is not None:
        score, llr_at, _ = thin_knots(mixture.at, reached.free, enough=1e-3)
        made: Map = KnotMap(score=score, llr_at=llr_at, **shared, provenance=origin)
        if setting.densities.of == "LLRs":
            after = replace(made, reading=None, densities=None)
            first, _ = counted_map(fitted)
            return ComposedMap(first=first, second=after, **shared, provenance=fitted.provenance)
        return made
    slope, offset = reached.last.line
    if setting.densities.of == "LLRs":
        first, then = counted_map(fitted)
        second = ComposedMap(first=AffineMap(a=slope, b=offset, method="move"), second=then, method="move")
        return ComposedMap(first=first, second=second, **shared, provenance=fitted.provenance)
    line = AffineMap(a=slope, b=offset, method="move", provenance=origin, reading=fitted.reading)
    return ComposedMap(first=line, second=fitted, **shared, provenance=fitted.provenance)
