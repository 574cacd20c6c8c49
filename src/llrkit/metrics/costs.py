"""Costs of LLRs as they are: Cllr, actual and primary costs, HTER, and compound LLRs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, Counts, FloatArray, of_kind, share, yes_or_no
from llrkit.core.cells import collect_again, count_on, require_both_classes, score_indexes
from llrkit.core.counting import count_bins, count_blocks, in_order_if_kept
from llrkit.core.groups import grouped, positions_by_value, trials_with_value, truth_of
from llrkit.core.losses import LossSums, ScoringRule, scoring_rule
from llrkit.core.numerics import LN2, binary_entropy, logit, probability, sigmoid
from llrkit.core.pav import PavBlocks, error_path, pav_blocks
from llrkit.core.summaries import Moments, SummaryBase
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics.discrimination import min_cllr, min_dcf_from_blocks
from llrkit.scores import AnyTrials, Labels, Scores, ScoreSource, as_source
from llrkit.scores.source import require_column
from llrkit.theory.operating_points import OperatingPoint, Point, Preset, cost_of, operating_point

if TYPE_CHECKING:
    from llrkit.scores import Trials


def losses_at(source: ScoreSource, log_odds: ArrayLike = 0.0, thresholds: ArrayLike = ()) -> LossSums:
    """Losses of a source at given priors and thresholds; both classes must be there."""
    # sorted where counting would sort anyway, so that the next metric finds the order already there
    losses = in_order_if_kept(source).reduce(LossSums.at(log_odds, thresholds))
    require_both_classes(losses.n_target, losses.n_nontarget)
    return losses


def cllr(source: AnyTrials, labels: Labels | None = None) -> float:
    """Cost of the log-likelihood-ratio, in bits.

    ``1/2 [mean_target log2(1 + e^-x) + mean_nontarget log2(1 + e^x)]`` (Brümmer & du Preez 2006). 0 is
    perfect, 1 is what LLR = 0 everywhere gives; inf when an infinite LLR is wrong.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.cllr(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), 13)
    0.7139542076921
    """
    return float(cross_entropy_from_losses(losses_at(as_source(source, labels)))[0] / LN2)


def cllr_cal(source: AnyTrials, labels: Labels | None = None) -> float:
    """The part of Cllr that is lost to calibration: ``cllr - min_cllr``.

    A perfectly calibrated system also shows a loss, since the minimum is taken on the same trials.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.cllr_cal(lk.Scores([0.0], [0.0]))
    0.0
    """
    source = as_source(source, labels)
    return cllr(source) - min_cllr(source)


def cross_entropy_from_losses(losses: LossSums) -> FloatArray:
    """Prior-weighted cross-entropy in nats at each prior log-odds of the losses."""
    # 1 - prior would lose its digits at large log-odds
    prior, other = sigmoid(losses.log_odds), sigmoid(-losses.log_odds)
    target = losses.target_loss / losses.n_target
    # each class by its own number: the prior, not the test set, says how often it occurs
    nontarget = losses.nontarget_loss / losses.n_nontarget
    return np.asarray(prior * target + other * nontarget)


def cross_entropy(
    source: AnyTrials, labels: Labels | None = None, *, prior: float, normalized: bool = True
) -> float:
    """Empirical cross-entropy of the posteriors at any prior.

    ``p mean_target softplus(-x - logit p) + (1 - p) mean_nontarget softplus(x + logit p)``, by default
    divided by the same with x = 0, the entropy of the prior; otherwise in bits. At prior 1/2 it is Cllr.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    prior
        Prior probability of a target.
    normalized
        Divide by the cross-entropy of the prior alone.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.metrics.cross_entropy(lk.Scores([0.0], [0.0]), prior=0.1), 12)
    1.0
    """
    source = as_source(source, labels)
    yes_or_no(normalized, "normalized")
    prior = probability(prior, "prior")
    value = cross_entropy_from_losses(losses_at(source, logit(prior)))[0]
    return float(value / (binary_entropy(prior) if normalized else LN2))


def act_dcf(source: AnyTrials, labels: Labels | None = None, *, point: Point) -> float:
    """Normalized detection cost at the Bayes threshold, where calibrated LLRs should be cut.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    point
        Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the name
        of a preset.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.act_dcf(lk.Scores([0.0], [0.0]), point="sre10")
    1.0
    """
    source = as_source(source, labels)
    point = operating_point(point)
    losses = losses_at(source, thresholds=[point.threshold])
    return point.cost(float(losses.p_miss[0]), float(losses.p_fa[0]))  # integers are divided only here


def rule_cost(
    source: AnyTrials,
    labels: Labels | None = None,
    rule: ScoringRule | str | tuple[float, float] = "log",
    prior: float = 0.5,
) -> float:
    """Expected cost under a proper scoring rule of the Beta family, at a prior.

    ``p mean_target C_miss(q) + (1 - p) mean_nontarget C_fa(q)`` with ``q = sigmoid(x + logit p)``
    (Brümmer & Doddington 2013). ``rule`` is "log", "brier", "boosting", ..., or a pair ``(a, b)``.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    rule
        Scoring rule: ``"log"``, ``"brier"``, another name, or a pair (a, b) of the Beta family.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.metrics.rule_cost(lk.Scores([0.0], [0.0]), rule="brier", prior=0.5)
    0.75
    """
    source = as_source(source, labels)
    costs, prior = scoring_rule(rule), probability(prior, "prior")
    log_odds = float(logit(prior))

    def sums(chunk: Scores) -> FloatArray:
        # 64 bits: costs of the boosting rule grow like exp(-z / 2)
        z = [index.values.astype(np.float64, copy=False) + log_odds for index in score_indexes(chunk)]
        return np.array([costs.miss(z[0]).sum(), chunk.n_target, costs.fa(z[1]).sum(), chunk.n_nontarget])

    target, n_target, nontarget, n_nontarget = map(float, source.reduce(sums))
    require_both_classes(n_target, n_nontarget)
    return prior * target / n_target + (1.0 - prior) * nontarget / n_nontarget


Weights: TypeAlias = dict[Hashable, tuple[float, float]]


def nist_weights(sizes: Weights) -> Weights:
    """Weights of the targets and non-targets of each condition: largest count over own count, as NIST.

    Examples
    --------
    >>> nist_weights({"clean": (10, 100), "noisy": (5, 400)})
    {'clean': (1.0, 4.0), 'noisy': (2.0, 1.0)}
    """
    # NIST counts every condition as if it had as many trials as the largest
    largest = [max(size[class_index] for size in sizes.values()) for class_index in (0, 1)]
    return {
        # a condition without a class has no rate to weight
        key: (largest[0] / size[0] if size[0] else 0.0, largest[1] / size[1] if size[1] else 0.0)
        for key, size in sizes.items()
    }


def scaled_to_size(weights: Weights, sizes: Weights) -> Weights:
    """The same weights, scaled so that each class keeps its number of trials."""
    scale = []
    for class_index in (0, 1):
        weighted = sum(weights[key][class_index] * sizes[key][class_index] for key in sizes)
        scale.append(sum(size[class_index] for size in sizes.values()) / weighted if weighted else 0.0)
    return {key: (t * scale[0], n * scale[1]) for key, (t, n) in weights.items()}


def c_primary(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    evaluation: str | Preset | OperatingPoint | float,
    actual: bool = True,
    known: str | None = None,
    p_known: float | None = None,
    partition: str | Sequence[str] | None = None,
    dataset: str | None = None,
    allow_unconfirmed: bool = False,
) -> float:
    """Primary cost of a NIST evaluation: the mean of normalized DCFs at its operating points.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    evaluation
        Name of a preset: "sre12", "sre16", "sre21", ... A preset with one point is that point. Or an
        operating point, or a prior.
    actual
        At the Bayes thresholds (default) or at the best thresholds (``False``).
    known
        Name of a column that is true (or 1) for non-target trials of known impostors. Pfa is then
        ``p_known Pfa_known + (1 - p_known) Pfa_unknown`` as in SRE12.
    p_known
        The share of known impostors; by default the preset's.
    partition
        Name of a column whose values are given equal weight in each class, as NIST does from SRE16 on;
        with several names, all combinations of their values.
    dataset
        For "sre18", whose cost is the mean of those of two sets: the column that holds "cmn2" or "vast".
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.c_primary(lk.Scores([0.0], [0.0]), evaluation="sre12")
    1.0
    """
    source = as_source(source, labels)
    yes_or_no(actual, "actual")
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
    # before the preset is looked up: "sre18" is a name for two presets, not one of its own
    if isinstance(evaluation, str) and evaluation.lower() in COMPOSED:
        options = {"actual": actual, "partition": partition, "allow_unconfirmed": allow_unconfirmed}
        return _mean_over_sets(source, COMPOSED[evaluation.lower()], dataset, options)
    if dataset is not None:
        raise InputError(f"{evaluation!r} has one set only; dataset is for {', '.join(COMPOSED)}")
    chosen_preset = cost_of(evaluation, allow_unconfirmed=allow_unconfirmed)
    if known is not None and partition is not None:
        raise InputError("give either known or partition, not both")
    if known is not None:
        weights = _known_weights(chosen_preset, p_known)
        return _weighted_cost(source, chosen_preset, actual, known, weights)
    if p_known is not None:
        raise InputError("p_known needs the name of the column that marks known non-targets (known=...)")
    if partition is not None:
        return _weighted_cost(source, chosen_preset, actual, partition, nist_weights)
    if actual:
        losses = losses_at(source, thresholds=[point.threshold for point in chosen_preset.points])
        return _mean_actual_cost(
            chosen_preset, [(losses.n_target, losses.n_nontarget, losses.n_miss, losses.n_fa)]
        )
    return _mean_minimum_cost(chosen_preset, count_blocks(source))


COMPOSED = {"sre18": {"cmn2": "sre18-cmn2", "vast": "sre18-vast"}}
"""Evaluations whose cost is the mean of those of several sets: value of the column -> preset."""


def _mean_over_sets(
    source: ScoreSource, presets: dict[str, str], dataset: str | None, options: Mapping[str, Any]
) -> float:
    if dataset is None:
        raise InputError(f"the cost is a mean over sets: give the column that holds {' or '.join(presets)}")
    key_of = {
        str(key): key for key in source.with_columns(dataset).reduce(grouped(Moments.of, dataset)).groups
    }
    by_name = {name.strip().lower(): key for name, key in key_of.items()}
    if set(by_name) != set(presets):
        raise InputError(f"column {dataset!r} must hold {' and '.join(presets)}, saw {', '.join(key_of)}")
    costs = [
        c_primary(trials_with_value(source, dataset, by_name[set_name]), evaluation=name, **options)
        for set_name, name in presets.items()
    ]
    return float(np.mean(costs))


GroupWeights = Callable[[Weights], Weights]


def _weighted_cost(
    source: ScoreSource,
    chosen_preset: Preset,
    actual: bool,
    column: str | Sequence[str],
    weights_of: GroupWeights,
) -> float:
    """The cost with every group of a column weighted; the weights follow from the class counts."""
    wide = source.with_columns(*([column] if isinstance(column, str) else column))
    # errors of a group are multiplied by its weight; nothing has to be counted per weight
    if actual:
        thresholds = [point.threshold for point in chosen_preset.points]
        losses = wide.reduce(grouped(LossSums.at(thresholds=thresholds), column)).groups
        weights = weights_of({key: (group.n_target, group.n_nontarget) for key, group in losses.items()})
        rows = [
            (group.n_target * wt, group.n_nontarget * wn, group.n_miss * wt, group.n_fa * wn)
            for group, (wt, wn) in ((losses[key], weights[key]) for key in losses)
        ]
        return _mean_actual_cost(chosen_preset, rows)
    # one grid for all groups, so that their weighted counts can be added
    counts = wide.reduce(grouped(count_on(collect_again(source)), column))
    weights = weights_of({key: (group.n_target, group.n_nontarget) for key, group in counts.groups.items()})
    total = reduce(add, (group.weighted(*weights[key]) for key, group in counts.groups.items()))
    require_both_classes(total.n_target, total.n_nontarget)
    return _mean_minimum_cost(chosen_preset, pav_blocks(total.bins()))


def _mean_actual_cost(chosen_preset: Preset, rows: Sequence[tuple[float, float, Counts, Counts]]) -> float:
    n_target, n_nontarget = sum(row[0] for row in rows), sum(row[1] for row in rows)
    require_both_classes(n_target, n_nontarget)
    p_miss = np.sum([row[2] for row in rows], axis=0) / n_target
    p_fa = np.sum([row[3] for row in rows], axis=0) / n_nontarget
    costs = [
        point.cost(float(m), float(f)) for point, m, f in zip(chosen_preset.points, p_miss, p_fa, strict=True)
    ]
    return float(np.mean(costs))


def _mean_minimum_cost(chosen_preset: Preset, blocks: PavBlocks) -> float:
    return float(np.mean([min_dcf_from_blocks(blocks, point) for point in chosen_preset.points]))


def _known_weights(chosen_preset: Preset, p_known: float | None) -> GroupWeights:
    share = chosen_preset.p_known if p_known is None else p_known
    # `not` catches NaN
    if share is None or not 0.0 <= share <= 1.0:
        raise InputError(f"{chosen_preset.name}: p_known must be given, between 0 and 1; got {p_known!r}")

    def weights(sizes: Weights) -> Weights:
        n_known = sum(n for key, (_, n) in sizes.items() if _is_known(key))
        n_unknown = sum(n for key, (_, n) in sizes.items() if not _is_known(key))
        if (share > 0 and n_known == 0) or (share < 1 and n_unknown == 0):
            missing = "known" if n_known == 0 else "unknown"
            raise EmptyClassError(f"there are no {missing} non-targets, but p_known is {share:g}")
        # shares of the false-alarm rate over the trials they are spread on; targets are not weighted
        known = share / n_known if n_known else 0.0
        unknown = (1.0 - share) / n_unknown if n_unknown else 0.0
        return {key: (1.0, known if _is_known(key) else unknown) for key in sizes}

    return weights


def _is_known(value: object) -> bool:
    text = str(value).strip().lower()
    # a column read as numbers holds 1.0 and 0.0
    known = {"known": True, "1.0": True, "unknown": False, "0.0": False}.get(text, truth_of(text))
    if known is None:
        raise InputError(
            f"the column of known non-targets must hold true/false or known/unknown, saw {value!r}"
        )
    return known


def eer_threshold(source: AnyTrials, labels: Labels | None = None) -> float:
    """The score at which Pmiss and Pfa differ least when it is the threshold; the lowest one of several.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.metrics.eer_threshold(lk.Scores([1.0, 2.0], [-1.0, 0.0]))
    1.0
    """
    source = as_source(source, labels)
    bins = count_bins(source)
    roc = error_path(bins)
    # whole numbers, so that equal differences are recognized as equal
    gap = roc.n_miss * roc.n_nontarget - roc.n_fa * roc.n_target
    after = int(np.argmax(gap >= 0))  # some point is: at the last one everything is missed
    run = after - 1  # the bin in which the ROC crosses Pmiss = Pfa
    if after == 0 or bins.low[run] == bins.high[run]:  # one score, or a tie: no threshold lies inside
        return float(roc.threshold[np.argmin(np.abs(gap))])
    # a run of one class: its inner thresholds are not in the counts, so look at its scores
    inside = source.reduce(ScoresBetween.at(float(bins.low[run]), float(bins.high[run])))
    cuts, first = np.unique(inside.values, return_index=True)
    # distinct scores: how many trials of the run lie below each
    below = (np.cumsum(inside.times) - inside.times)[first]
    # a trial of the run adds a miss, or takes a false alarm away
    step = roc.n_nontarget if bins.target[run] else roc.n_target
    gaps = np.append(gap[run] + below * step, gap[after])
    return float(np.append(cuts, roc.threshold[after])[np.argmin(np.abs(gaps))])


@dataclass(frozen=True, eq=False)
class ScoresBetween(SummaryBase):
    """The scores of both classes in a closed interval, sorted, and how often each counts."""

    values: FloatArray
    times: Array

    @classmethod
    def at(cls, low: float, high: float) -> Callable[[Scores], ScoresBetween]:
        """A summarizer for an interval."""

        def make(chunk: Scores) -> ScoresBetween:
            both = np.concatenate([chunk.target, chunk.nontarget]).astype(np.float64, copy=False)
            inside = np.sort(both[(both >= low) & (both <= high)])
            return cls(inside, np.ones(len(inside), dtype=np.int64))

        return make

    def __add__(self, other: ScoresBetween) -> ScoresBetween:
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")
        return ScoresBetween(values[order], np.concatenate([self.times, other.times])[order])

    def __mul__(self, weight: float) -> ScoresBetween:
        return ScoresBetween(self.values, self.times * weight)


def hter(source: AnyTrials, labels: Labels | None = None, *, dev: AnyTrials) -> float:
    """Half total error rate, ``(Pmiss + Pfa) / 2``, at the EER threshold of development data.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    dev
        The development trials, given in the same ways; arrays as a pair ``(scores, labels)``.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.metrics.hter(lk.Scores([0.5, 3.0], [-2.0, 1.5]), dev=lk.Scores([1.0, 2.0], [-1.0, 0.0]))
    0.5
    """
    source = as_source(source, labels)
    losses = losses_at(source, thresholds=[eer_threshold(dev)])
    return float(losses.p_miss[0] + losses.p_fa[0]) / 2.0


def compound_llr(llr: ArrayLike, p_known: float = 0.5) -> FloatArray:
    """LLRs against "another enrolled speaker or an unknown one", from LLRs against "unknown".

    ``L'_i = L_i / [p_known / (N - 1) sum_{j != i} L_j + (1 - p_known)]`` for the N enrolled speakers in
    the last axis, computed in the log domain.

    Parameters
    ----------
    llr
        LLRs of each segment against all models, the models along the last axis.
    p_known
        Prior probability that an impostor is one of the enrolled speakers.

    Examples
    --------
    >>> compound_llr([2.0, -1.0, -3.0], p_known=0.0)
    array([ 2., -1., -3.])
    """
    x = np.asarray(llr, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] < 2:
        raise InputError(
            f"compound_llr needs the LLRs of at least two enrolled speakers, got shape {x.shape}"
        )
    if np.isnan(x).any() or (x == np.inf).any():  # inf - inf has no value
        raise InputError("compound_llr: an LLR is NaN or +inf")
    share(p_known, "p_known")
    n = x.shape[-1]
    # each sum leaves one speaker out: summed over the others, never by subtraction, which would cancel
    # N x (N - 1) numbers for each segment, which is what leaving out one of N takes
    others = np.broadcast_to(x[..., None, :], (*x.shape, n))[..., ~np.eye(n, dtype=bool)].reshape(
        *x.shape, n - 1
    )
    with np.errstate(divide="ignore"):  # log(0) = -inf drops that term
        log_known = np.log(p_known) - np.log(n - 1) + np.logaddexp.reduce(others, axis=-1)
        log_unknown = np.log1p(-p_known)
    return np.asarray(x - np.logaddexp(log_known, log_unknown))


def compound_trials(trials: Trials, *, p_known: float = 0.5, enroll: str = "", test: str = "") -> Trials:
    """LLRs against "another enrolled speaker or an unknown one", for a table with all models of each segment.

    The models that a test segment was compared with are the enrolled speakers; every one must occur once, and
    at least two must. Segments that share a model must share all of them: men may have been compared with men
    and women with women, but a missing pair is an error. The LLRs are in the new column
    ``compound_llr``, which becomes the score.

    Parameters
    ----------
    trials
        A table with the LLRs of every test segment against all models.
    p_known
        The share of known impostors among non-targets, as in :func:`llrkit.metrics.compound_llr`.
    enroll, test
        The columns with the models and the test segments; by default those of the table.

    Examples
    --------
    >>> import llrkit as lk
    >>> table = {"score": [2.0, -1.0, -3.0], "label": [1, 0, 0], "model": ["a", "b", "c"], "test": ["x"] * 3}
    >>> trials = lk.Trials(table, enroll="model", test="test")
    >>> compound_trials(trials).table["compound_llr"].round(3).to_list()
    [2.503, -1.859, -3.892]
    """
    from llrkit.scores import Trials  # imports polars, which the metrics of arrays do without

    of_kind(trials, Trials, "trials")
    share(p_known, "p_known")
    if trials.roles.n_systems != 1:
        raise InputError(f"compound LLRs are of one system, got {trials.roles.n_systems}")
    models, segments = enroll or trials.enroll, test or trials.test
    if models is None or segments is None:
        raise InputError("compound LLRs need the columns of the models and of the test segments")
    for name in (models, segments):
        require_column(name, trials.table.columns, trials.origin)
    score = np.asarray(trials.table[trials.score[0]].to_numpy(), dtype=np.float64)
    model = trials.table[models].to_list()
    llrs = np.empty(len(score))
    # as objects: NumPy would turn mixed ids into text
    by_segment = positions_by_value(np.array(trials.table[segments].to_list(), dtype=object))
    enrolled: dict[Hashable, tuple[object, frozenset[Hashable]]] = {}  # of a model: first segment, its models
    for segment, rows in by_segment.items():
        seen: set[Hashable] = set()
        for row in rows.tolist():
            if model[row] in seen:
                raise InputError(
                    f"{trials.place(row)}: model {model[row]!r} was compared with segment {segment!r} more "
                    "than once; a compound LLR needs one LLR of each enrolled speaker"
                )
            seen.add(model[row])
        if len(rows) < 2:
            raise InputError(
                f"{trials.place(int(rows[0]))}: segment {segment!r} was compared with one model only; a "
                "compound LLR needs at least two enrolled speakers"
            )
        models_here = frozenset(seen)
        for one in models_here:  # a segment that shares some models with an earlier one must share them all
            # the first segment that a model occurs with fixes its set of models
            other, expected = enrolled.setdefault(one, (segment, models_here))
            if expected == models_here:
                continue
            lacking, has = (segment, other) if expected - models_here else (other, segment)
            absent = min(map(str, (expected - models_here) or (models_here - expected)))
            raise InputError(
                f"{trials.place(int(rows[0]))}: segment {str(lacking)!r} was not compared with model "
                f"{absent!r}, segment {str(has)!r} was; a compound LLR needs one LLR of each enrolled speaker"
            )
        llrs[rows] = compound_llr(score[rows], p_known)
    columns = {name: trials.table[name] for name in trials.table.columns}
    return Trials(
        {**columns, "compound_llr": llrs},
        score="compound_llr",
        label=trials.label,
        enroll=models,
        test=segments,
        origin=trials.origin,
    )
