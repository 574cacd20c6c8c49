"""A calibration adapted to other scores, with few labels or none.

A few labeled trials of the new domain add a line after the map, as far from no change as they make certain.
The LLRs ``x`` of a map become ``(1 + u) x + v`` with normal priors on ``u`` and ``v`` around 0. Several
widths of these priors are tried, and the lines they lead to are averaged, each with the probability of the
labels under its priors as weight (empirical Bayes, by Laplace's approximation). Half of the weight before any
label is seen belongs to no change at all, and narrow priors have more than wide ones. With no label it is the
map itself, with many it is logistic regression. One trial far out can still turn the line, so that a map
which is believed in follows it only as far as trials that were left out confirm it (:func:`confirmed_line`).

How far the labels are followed depends on what the scores say. If they are as in training, or say how they
moved, the map is believed in, and a line after it must be confirmed by labels that were left out. If there
are too few scores to look at, less is asked for. If the scores have moved and do not say how, the map as it
is deserves no belief: the labels alone decide, and LLRs are bounded by what so few can show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.base.text import as_object
from llrkit.core.cells import require_both_classes
from llrkit.core.histograms import ScoreHistogram
from llrkit.core.numerics import sigmoid, softplus
from llrkit.core.summaries import Sample
from llrkit.errors import AdaptationError, TooFewTrialsError
from llrkit.maps.bounds import bound_sources
from llrkit.maps.knots import KnotMap, thin_knots
from llrkit.maps.map import AffineMap, ComposedMap, Map
from llrkit.maps.training_range import TrainingDensities
from llrkit.scores import AnyTrials, ScoreSource, as_source
from llrkit.shift import shift_check
from llrkit.shift.ladder import RUNGS, Climb

SLOPES = (0.03, 0.1, 0.3, 0.8)
"""Standard deviations of the prior of the slope that are tried."""
OFFSETS = (0.03, 0.3, 1.0, 3.0, 10.0)
"""The same of the offset, in nats."""
NO_CHANGE = 0.5
"""Probability before any label that the map is right as it is."""
WIDER = 0.7
"""How much less probable the next wider prior is."""
MOST_KEPT = 100_000
FOLDS = 20
"""Parts that are left out in turn; each trial is one of its own where there are fewer."""
MOST_LEFT_OUT = 2_000
"""Trials of a class that are left out in turn; of more, an evenly spread part."""
PARTS = (0.25, 0.5, 0.75, 1.0)
"""How much of the line may be taken."""
HELP = (
    "About 50 labeled trials of each class of the new domain are enough to adapt (labeled, --labeled); "
    "without labels, a bound by groups (groups, --groups) limits the LLRs"
)
Both = tuple[FloatArray, FloatArray]
"""Of targets and of non-targets, one number for each trial."""


def fit_adapted(
    train: Map | AnyTrials,
    unlabeled: AnyTrials,
    *,
    share: float | Sequence[float] | None = None,
    labeled: AnyTrials | None = None,
    speakers: str | Sequence[str] | None = None,
) -> Map:
    """Adapt a calibration to a new domain by the unlabeled scores of that domain.

    The scores are described by the training classes after a move, on the lowest rung of a ladder that does so
    adequately: no shift; a common affine move; a move per class; free spread; free shape. The adapted map is
    the trained one after the line that undoes the move, at the top of the ladder the ratio of the densities.
    If there is no shift beyond chance, or none that matters, the map is returned as it is; its ``details``
    say so in ``adaptation``.

    Where the scores do not tell how they moved, :class:`llrkit.errors.AdaptationError` says why: the share of
    targets at the end of what is possible, one mode, a hard edge, a mixture that does not fit (new attacks,
    say), too few scores.

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
    >>> trained = lk.calibrate(dev, bound="none").map
    >>> adapted = lk.fit_adapted(trained, test)  # its labels are not looked at
    >>> adapted.details["adaptation"]["rung"]
    'common move'
    >>> round(lk.cllr(trained.on(test)), 2), round(lk.cllr(adapted.on(test)), 2)
    (1.73, 0.08)
    """
    shares, setting = shift_check.shares_of(share), shift_check.ShiftSetting.of(train, speakers)
    adapted, refusal, standing = setting.fitted, "", Standing.DESCRIBED
    # too few scores to look at are no refusal where labels are given: labels then decide by themselves
    try:
        new, test, reached = setting.climbed(unlabeled, speakers, shares)
    except TooFewTrialsError as error:
        refusal, standing = str(error), Standing.NOT_LOOKED_AT
        said = f"{error}."
    else:
        check = shift_check.check_from(setting, new, test, reached)
        said = check.text
        if reached.refusal:
            standing = Standing.REFUSED
            refusal = f"the scores do not show how they changed: {reached.refusal}"
        else:
            adapted = _adapted_by_rung(setting, new, reached, check)
    # labels come last, because what the scores say decides how far labels are followed
    if labeled is not None:
        return with_few_labels(setting.fitted, adapted, as_source(labeled), standing, said)
    if refusal:
        raise AdaptationError(f"{refusal}. {HELP}")
    return adapted


def _adapted_by_rung(
    setting: shift_check.ShiftSetting,
    new: shift_check.NewScores,
    reached: Climb,
    check: shift_check.ShiftCheck,
) -> Map:
    """The map of the rung that was reached."""
    fitted = setting.fitted
    told = {key: value for key, value in check.to_dict().items() if key not in ("refusal", "is_harmful")}
    # notes of an earlier adaptation by labels do not belong to this map
    earlier = {key: value for key, value in fitted.details.items() if key != "few_labels"}
    details = {**earlier, "adaptation": told}
    if len(reached.steps) == 1:
        return replace(fitted, details=details)
    mixture = reached.last.mixture
    low, high = (float(new.histogram.centers[end]) for end in (0, -1))
    origin = {**fitted.provenance, "low": low, "high": high}
    # the gap of the training scores is not that of the moved ones
    origin.pop("gap", None)
    trained = setting.densities.histogram
    # the adapted map records moved densities, so later scores are compared with the domain it was adapted to
    moved = [
        replace(new.histogram, count=(masses * counted.total).round(3), n_neg_inf=0, n_pos_inf=0)
        for masses, counted in zip(mixture.masses, (trained.target, trained.nontarget), strict=True)
    ]
    shared: dict[str, Any] = {
        "method": f"adapted {fitted.method}",
        "details": details,
        "reading": fitted.reading,
        "densities": TrainingDensities(ScoreHistogram(*moved), setting.densities.of).to_plain(),
    }
    second: Map
    if reached.free is not None:
        # free shapes have no line; the density ratio itself is the map
        score, llr_at, _ = thin_knots(mixture.at, reached.free, enough=1e-3)
        made = KnotMap(score=score, llr_at=llr_at, **shared, provenance=origin)
        if setting.densities.of != "LLRs":
            return made
        # densities of LLRs were counted after the first map, so what is fitted follows that one
        first, second = shift_check.counted_map(fitted)[0], replace(made, reading=None, densities=None)
    else:
        slope, offset = reached.last.line
        line = AffineMap(a=slope, b=offset, method="move")
        if setting.densities.of == "LLRs":
            first, then = shift_check.counted_map(fitted)
            second = ComposedMap(first=line, second=then, method="move")
        else:
            first, second = replace(line, provenance=origin, reading=fitted.reading), fitted
    return ComposedMap(first=first, second=second, **shared, provenance=fitted.provenance)


# the margins were chosen with the six real sets in view: evidence alone followed one target far out, to 0.25
# bits for 0.10 (docs/notes/decisions-fits.md)
class Standing(Enum):
    """What the unlabeled scores say of a map; the value is how many standard errors speak against it."""

    DESCRIBED = 2.0
    NOT_LOOKED_AT = 1.0
    REFUSED = 0.0


def with_few_labels(fitted: Map, adapted: Map, few: ScoreSource, standing: Standing, said: str = "") -> Map:
    """The map as it was, or after its move, followed by the line that a few labels ask for.

    ``said`` is what the unlabeled scores tell, for the record.

    Examples
    --------
    >>> import llrkit as lk
    >>> few = lk.Scores([7.0, 5.0, 6.0], [1.0, -0.5, 2.0])
    >>> as_it_was = AffineMap(a=1.0, b=-3.0)
    >>> with_few_labels(as_it_was, as_it_was, few, Standing.REFUSED).high  # log(1 + 3)
    1.3862943611198906
    """
    start = adapted
    if adapted is not fitted:
        # moved or not is asked of the labels first; a line comes after the better of the two
        moved, unmoved = (losses(*few_llrs(one.on(few))) for one in (adapted, fitted))
        if sure_gain(moved, unmoved, standing.value) > 0.0:  # the labels speak against the move
            start = fitted
    llrs = few_llrs(start.on(few))
    n_target, n_nontarget = len(llrs[0]), len(llrs[1])
    is_refused = standing is Standing.REFUSED
    # a map that nothing speaks for is given no margin: ten labels
    # would otherwise keep one that is off by 4 bits
    line = shrunk_line(*llrs) if is_refused else confirmed_line(llrs, standing.value)
    told: shift_check.FewLabels = {
        "n_target": n_target,
        "n_nontarget": n_nontarget,
        "slope": line.slope,
        "offset": line.offset,
        "start": "moved"
        if start is not fitted and as_object(start.details["adaptation"])["rung"] != RUNGS[0]
        else "as it was",
        "unlabeled": said,
    }
    details = {key: value for key, value in start.details.items() if start is adapted or key != "adaptation"}
    after = AffineMap(a=line.slope, b=line.offset, method="few labels")
    # densities that the new scores do not have would find a shift wherever this map is used
    known = shift_check.densities_of(start) if standing is Standing.DESCRIBED and start is adapted else None
    first: Map = start
    second: Map = after
    if known is not None and known.of == "LLRs":  # which are counted after the first map
        first, second = shift_check.counted_map(start)
        second = ComposedMap(first=second, second=after, method="few labels")
    followed = ComposedMap(
        first=first,
        second=second,
        method=f"{start.method}+few labels",
        details={**details, "few_labels": told},
        provenance=start.provenance,
        reading=start.reading,
        densities=None if known is None else known.to_plain(),
    )
    if not is_refused:
        return followed
    # few labels cannot support LLRs beyond log(1 + n)
    bounded = bound_sources(followed, n_sources=(n_target, n_nontarget))
    told["low"], told["high"] = bounded.low, bounded.high
    return replace(bounded, details={**bounded.details, **details, "few_labels": told})


def few_llrs(llrs: ScoreSource) -> Both:
    """The LLRs of a few labeled trials; infinite ones are held at a thousand."""
    sample = llrs.reduce(lambda chunk: Sample.of(chunk, MOST_KEPT, MOST_KEPT)).scores()
    require_both_classes(len(sample.target), len(sample.nontarget))
    # a loss must stay finite to be compared; a thousand nats is as bad as infinity
    target, nontarget = (
        np.clip(values.astype(np.float64), -1e3, 1e3) for values in (sample.target, sample.nontarget)
    )
    return target, nontarget


def losses(target: FloatArray, nontarget: FloatArray) -> Both:
    """The loss of each trial by its LLR, in nats."""
    return softplus(-target), softplus(nontarget)


def sure_gain(before: Both, after: Both, margin: float) -> float:
    """By how much the mean loss gets smaller, less ``margin`` standard errors; the classes count alike.

    Examples
    --------
    >>> one, two = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    >>> sure_gain((one, two), (np.zeros(2), two), 0.0)
    1.0
    >>> sure_gain((one, two), (np.zeros(2), two), 2.0)  # of 2 and 1 on average, less 2 x 0.5
    0.0
    """
    gains = [old - new for old, new in zip(before, after, strict=True)]
    mean = 0.5 * sum(float(each.mean()) for each in gains)
    if margin == 0.0:
        return mean
    # one trial has no standard error
    if min(len(each) for each in gains) < 2:
        return -math.inf
    return mean - margin * 0.5 * math.sqrt(sum(float(each.var(ddof=1)) / len(each) for each in gains))


class ShrunkLine(NamedTuple):
    """A line after a map."""

    slope: float
    offset: float


def confirmed_line(few: Both, margin: float) -> ShrunkLine:
    """As much of the shrunk line as trials that were left out confirm.

    Twentieths of the trials, or single ones of fewer, are left out in turn and judged by the line of the
    others. Of that line a quarter, a half, three quarters or all is taken, whatever gains most after
    ``margin`` standard errors; nothing if none does.

    Examples
    --------
    >>> few = np.array([3.0, 1.0, 2.5, 4.0, -30.0]), np.array([-2.0, -3.0, -1.0, 0.5, -2.0])
    >>> shrunk_line(*few).slope < 0.1  # one trial does that
    True
    >>> confirmed_line(few, 2.0).slope  # and no other one bears it out
    1.0
    """
    # sorted before it is thinned and dealt, so every fold sees the whole range of LLRs
    kept = [np.sort(each)[:: -(-len(each) // MOST_LEFT_OUT)] for each in few]
    folds = min(FOLDS, max(len(each) for each in kept))
    fold_of = [np.arange(len(each)) % folds for each in kept]
    moved = [np.zeros((len(each), 2)) for each in kept]
    for fold in range(folds):
        rest = [each[number != fold] for each, number in zip(kept, fold_of, strict=True)]
        # a fold that holds all of a class leaves nothing to fit: its trials stay as they are
        if min(len(each) for each in rest) == 0:
            continue
        line = shrunk_line(*rest)
        for number, change in zip(fold_of, moved, strict=True):
            # the change and not the line is kept, so that parts of it can be tried without refitting
            change[number == fold] = line.slope - 1.0, line.offset

    def losses_with(part: float) -> Both:
        return losses(
            *(
                each + part * (change[:, 0] * each + change[:, 1])
                for each, change in zip(kept, moved, strict=True)
            )
        )

    gains = [sure_gain(losses_with(0.0), losses_with(part), margin) for part in PARTS]
    best = int(np.argmax(gains))
    part, line = PARTS[best] if gains[best] > 0.0 else 0.0, shrunk_line(*few)
    # the part was confirmed on folds; the line it is taken of comes from all labels
    return ShrunkLine(1.0 + part * (line.slope - 1.0), part * line.offset)


def shrunk_line(target: FloatArray, nontarget: FloatArray) -> ShrunkLine:
    """The line that a few labeled LLRs ask for.

    Both classes count alike, as in Cllr: each has half of the weight of ``4 / (1/n_t + 1/n_n)`` trials.

    Examples
    --------
    >>> few = shrunk_line(np.array([3.0, 1.0, 2.5]), np.array([-2.0, -3.0, -1.0]))
    >>> round(few.slope, 1), round(few.offset, 1)  # nothing speaks against the map
    (1.0, -0.0)
    >>> rng = np.random.default_rng(1)
    >>> off = shrunk_line(rng.normal(7.0, 2.0, 100), rng.normal(3.0, 2.0, 100))
    >>> round(off.offset)  # the LLRs are 5 too high
    -5
    """
    n = len(target), len(nontarget)
    # four times the harmonic sum: for equal classes all n_t + n_n trials, for unequal ones fewer
    whole = 4.0 / (1.0 / n[0] + 1.0 / n[1])
    x = np.concatenate([target, nontarget])
    sign, weight = np.repeat([1.0, -1.0], n), np.repeat([0.5 * whole / n[0], 0.5 * whole / n[1]], n)
    # a grid of prior widths, averaged by evidence: no single width has to be right
    tried = [_line_at_widths(x, sign, weight, np.array(widths)) for widths in product(SLOPES, OFFSETS)]
    before = np.array([WIDER ** (i + j) for i, j in np.ndindex(len(SLOPES), len(OFFSETS))])
    before = np.append((1.0 - NO_CHANGE) * before / before.sum(), NO_CHANGE)
    unchanged = -float(weight @ softplus(-sign * x))
    log_joint = np.log(before) + np.array([*(one[0] for one in tried), unchanged])
    # the largest exponent is taken out before exp
    share = np.exp(log_joint - log_joint.max())
    slope, offset = (share / share.sum()) @ np.array([*(one[1] for one in tried), np.zeros(2)])
    # labels that turn LLRs around leave none of them
    return ShrunkLine(max(1.0 + float(slope), 0.0), float(offset))


def _line_at_widths(
    x: FloatArray, sign: FloatArray, weight: FloatArray, widths: FloatArray
) -> tuple[float, FloatArray]:
    """Log evidence and most likely line under priors of given widths."""
    precision = 1.0 / widths**2
    features = np.stack([x, np.ones(len(x))], axis=1)

    def value(line: FloatArray) -> float:
        return -float(weight @ softplus(-sign * (x + features @ line))) - 0.5 * float(precision @ line**2)

    line, now = np.zeros(2), value(np.zeros(2))
    hessian = np.diag(precision)
    for _ in range(100):
        p = sigmoid(-sign * (x + features @ line))
        gradient = features.T @ (weight * sign * p) - precision * line
        hessian = features.T @ ((weight * p * (1.0 - p))[:, None] * features) + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        # the objective is concave, but a full step may overshoot
        while value(line + step) < now and np.abs(step).max() > 1e-12:
            step = step / 2.0
        line, before, now = line + step, now, value(line + step)
        if now - before < 1e-12:
            break
    # Laplace: the value at the mode, less half the log-determinant of the Hessian in units of the prior
    evidence = now + 0.5 * float(np.log(precision).sum()) - 0.5 * math.log(float(np.linalg.det(hessian)))
    return evidence, line
