"""evaluate(): all numbers of a set of trials, with intervals if asked for."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import reduce
from operator import add
from types import MappingProxyType

from llrkit.base.arguments import RNG, names_of, seed_of, whole_number, yes_or_no
from llrkit.core.cells import Grid, collect_again
from llrkit.core.groups import By, bona_fide_and_spoofs, class_to_share, trials_with_values
from llrkit.core.numerics import probability
from llrkit.core.summaries import Both, Moments, both, grouped
from llrkit.errors import EmptyClassError, InputError, PooledClassesWarning, TooFewTrialsError
from llrkit.metrics.costs import nist_weights, scaled_to_size
from llrkit.metrics.measure import (
    measure,
    measurement_summarizer,
    measurements_from_summaries,
    resolve_points,
    with_groups,
)
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory.operating_points import Points
from llrkit.trust.identity_tests import check_speakers, count_in_judged_cells, judged_edges
from llrkit.trust.influence import LARGEST_LOSS, REASONS, functionals
from llrkit.trust.jackknife import Uncertainty
from llrkit.trust.speakers import Columns, find_speakers, kind_asked_for, require_columns
from llrkit.verbs.evaluation_result import Evaluation, group_name, warn_of

KINDS = ("none", "trial", "speaker", "bootstrap")


def evaluate(
    source: AnyTrials,
    labels: Labels | None = None,
    points: Points = ("sre08", "sre10"),
    *,
    by: By | None = None,
    shared: str | None = None,
    threshold_from: AnyTrials | None = None,
    ece: bool = False,
    allow_unconfirmed: bool = False,
    equalize: Columns | None = None,
    ci: str | None = None,
    speakers: Columns | None = None,
    recordings: Columns | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    rng: RNG = 0,
) -> Evaluation:
    """Evaluate scores read as natural-log LLRs: all metrics and curves, exactly, in two passes.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    points
        Operating points, as objects or names of presets. A preset that averages several points also
        gives a primary cost.
    by
        Name of a column: each of its values is evaluated as well (``.groups``, whose keys are the values
        as they are, in their natural order). With several columns each combination, whose key is a tuple.
    shared
        For ``by``: the class that all groups share, ``"target"`` (or ``"bonafide"``) or ``"nontarget"`` (or
        ``"spoof"``), so that each attack is evaluated against all bona fide trials. Values that mark the
        shared class (``-``, ``bonafide``) do not form groups. If the labels distinguish targets, non-targets
        and spoofs, ``"bonafide"`` and ``"spoof"`` make two classes of them: targets and non-targets are bona
        fide. Chosen automatically if no group has both classes and one class has only its marker;
        ``.shared`` of the result says so.
    threshold_from
        Development trials whose equal-error threshold is applied to these (half total error rate).
    ece
        Also compute the ECE curve (one more pass).
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.
    equalize
        A column, or several: each of its values (each combination of theirs) gets the same weight in
        each class, as NIST does, however many trials it has.
    ci
        Intervals for the numbers: ``"none"``; ``"trial"``, as if trials were independent (too short where
        they share speakers); ``"speaker"``, a jackknife: every number without each speaker, one more
        pass; ``"bootstrap"``, speakers drawn with replacement, or trials where no speakers are given (then
        as if trials were independent). By default ``"speaker"`` if ``speakers``
        are given, otherwise ``"none"``.
    speakers
        For the last two: the column, or the two columns, with the speakers of the two sides of a trial.
    recordings
        For the bootstrap: columns with the recordings, which are then drawn within speakers.
    level
        Confidence level.
    replicates, rng
        Number of bootstrap samples, and their random generator or seed.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), points=["sre08"])
    >>> print(f"EER {result.eer:.4f}, Cllr {result.cllr:.4f}, of it calibration {result.cllr_cal:.4f}")
    EER 0.2308, Cllr 0.7140, of it calibration 0.1786
    >>> result.points[0].act_dcf
    0.75
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 40, 3000), rng.integers(0, 40, 3000)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=3000),
    ...                     "label": left == right, "left": left, "right": right})
    >>> evaluation = lk.evaluate(trials, ci="speaker", speakers=("left", "right"))
    >>> [round(end, 3) for end in evaluation.intervals["cllr"]]
    [0.384, 0.509]
    """
    source = as_source(source, labels)
    threshold_from = None if threshold_from is None else as_source(threshold_from)
    yes_or_no(ece, "ece")
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
    seed = seed_of(rng)
    ci = kind_asked_for(ci, speakers, "none")
    require_columns(ci, KINDS, speakers, recordings, trials=True)
    probability(level, "level")
    whole_number(replicates, 1, "replicates")
    # kinds of trials (spoofs) are regrouped first; the evaluation proper then sees two classes
    if shared is not None and by is not None:
        regrouped = bona_fide_and_spoofs(source, shared)
        if regrouped is not source:
            if threshold_from is not None:
                threshold_from = bona_fide_and_spoofs(threshold_from, shared)
            with warnings.catch_warnings():  # of kinds that are taken as one: these are what they are
                warnings.simplefilter("ignore", PooledClassesWarning)
                result = evaluate(
                    regrouped, points=points, by=by, shared=class_to_share(shared),
                    threshold_from=threshold_from, ece=ece, allow_unconfirmed=allow_unconfirmed,
                    equalize=equalize, ci=ci, speakers=speakers, recordings=recordings, level=level,
                    replicates=replicates, rng=seed,
                )  # fmt: skip
            assert result.shared is not None
            return replace(result, shared=replace(result.shared, of_kinds=True))
    if not (by or speakers or equalize):
        source = source.in_order()  # no sum depends on how the trials came
    if equalize:
        # equalized evaluations have no intervals (docs/notes/decisions-statistics.md)
        if ci != "none" or threshold_from is not None or ece:
            raise InputError("equalize cannot be combined with ci, threshold_from or ece")
        result = equalized(
            source, equalize, points, by=by, shared=shared, allow_unconfirmed=allow_unconfirmed
        )
    else:
        measured = measure(
            source, points, by=by, shared=shared, threshold_from=threshold_from, ece=ece,
            allow_unconfirmed=allow_unconfirmed,
        )  # fmt: skip
        result = Evaluation.from_measurements(measured)
    if ci != "none":
        result = _with_intervals(result, source, ci, speakers, recordings, level, replicates, seed)
    warn_of(result)
    return result


def _with_intervals(
    result: Evaluation,
    source: ScoreSource,
    ci: str,
    speakers: Columns | None,
    recordings: Columns | None,
    level: float,
    replicates: int,
    seed: int,
) -> Evaluation:
    """The evaluation and its groups with intervals and, where speakers are known, the test of calibration."""
    # imported here: half of what a small set takes to evaluate otherwise
    from llrkit.trust.bootstrap import bootstrap, speaker_resampling, trial_resampling
    from llrkit.trust.intervals import closed_form, intervals_and_cells

    def of_trials(trials: ScoreSource, evaluation: Evaluation) -> Evaluation:
        if ci == "trial":
            return replace(evaluation, uncertainty=closed_form(trials, evaluation, None, level))
        if speakers is None:  # a bootstrap of trials; those of a group are drawn with all others
            drawn = trial_resampling(source, seed)
            return replace(evaluation, uncertainty=bootstrap(trials, evaluation, drawn, level, replicates))
        # squares of losses beyond LARGEST_LOSS overflow, and the test rests on them
        testable = evaluation.cllr < LARGEST_LOSS
        cells = None
        if ci == "bootstrap":
            resampling = speaker_resampling(trials, speakers, recordings, seed)
            people = resampling.speakers
            uncertainty = bootstrap(trials, evaluation, resampling, level, replicates)
        else:
            people = find_speakers(trials, speakers)
            if testable:  # the pass for the intervals counts what the test needs
                inner = judged_edges(evaluation)[1:-1]
                uncertainty, cells = intervals_and_cells(trials, evaluation, people, level, inner)
            else:
                uncertainty = closed_form(trials, evaluation, people, level)
        evaluation = replace(evaluation, uncertainty=uncertainty)
        if not testable:
            return evaluation
        try:
            cells = cells or count_in_judged_cells(trials, evaluation, people)
            return replace(evaluation, tested=check_speakers(evaluation, cells))
        # intervals are known, the test is not: the verdict falls back on independent trials
        except TooFewTrialsError:
            return evaluation

    groups = {}
    for name, group in result.groups.items():
        if result.shared is None:
            values = name if len(result.by) > 1 and isinstance(name, tuple) else (name,)
            trials = trials_with_values(source, result.by, values)
        else:
            trials = result.shared.trials_of(source, result.by[0], name)
        try:
            groups[name] = of_trials(trials, group)
        # a small group must not cost the others their intervals
        except TooFewTrialsError as error:
            names = (number.name for number in functionals(group).numbers)
            none = Uncertainty(ci, level, {}, no_interval=REASONS | dict.fromkeys(names, str(error)))
            groups[name] = replace(group, uncertainty=none)
    return replace(of_trials(source, result), groups=MappingProxyType(groups))


def equalized(
    source: ScoreSource,
    columns: Columns,
    points: Points = ("sre08", "sre10"),
    *,
    by: By | None = None,
    shared: str | None = None,
    allow_unconfirmed: bool = False,
) -> Evaluation:
    """Evaluate with every value of a column, or combination of several, given the same weight in each class.

    Error counts and losses of each condition are weighted before they are added, so every number and
    curve is that of an evaluation in which all conditions have the same number of trials. Weights are
    those of NIST, scaled so that the weighted trials number as many as there are. Two passes.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> clean, noisy = [4.0, 3.0, 5.0, -1.0], [1.0]
    >>> condition = (["clean"] * 4 + ["noisy"], ["clean", "noisy"])
    >>> scores = Scores(clean + noisy, [-2.0, 0.0], {"condition": condition})
    >>> equalized(scores, "condition", [0.5]).points[0].p_miss  # one of 4 clean targets, no noisy one
    0.125
    """
    names = names_of(columns, "equalize")
    if not names:
        raise InputError("equalize needs the name of at least one column")
    operating_points = resolve_points(points, allow_unconfirmed)
    wide = source.with_columns(*names)
    # the grid of all trials serves every condition, so that counts can be added after weighting
    moments, grid, groups = wide.reduce(both(Moments.of, Grid.of, grouped(Moments.of, names))).summaries
    grid = collect_again(source, grid)
    by_condition = wide.reduce(grouped(measurement_summarizer(moments, grid, operating_points), names)).groups
    if not by_condition:
        raise EmptyClassError("there are no trials")
    counts = {key: summaries.summaries[0] for key, summaries in by_condition.items()}
    sizes = {key: (float(count.n_target), float(count.n_nontarget)) for key, count in counts.items()}
    weights = scaled_to_size(nist_weights(sizes), sizes)
    first = reduce(add, (groups.groups[key].weighted(*weights[key]) for key in by_condition))
    second = reduce(
        add,
        (
            Both((counts[key].weighted(*weights[key]), look.summaries[1].weighted(*weights[key])))
            for key, look in by_condition.items()
        ),
    )
    measured = measurements_from_summaries(first, second, operating_points)
    measured = with_groups(measured, source, by, points, allow_unconfirmed, shared)

    # Kish: unequal weights say less than as many equal ones
    def information(of_class: int) -> float:
        """Effective trials of a class by Kish, (sum w)^2 / sum w^2, over their number."""
        w = [(weights[key][of_class], sizes[key][of_class]) for key in weights]
        total = sum(n * weight for weight, n in w)
        return float(total / sum(n * weight**2 for weight, n in w)) if total > 0.0 else 1.0

    by_name = {group_name(key): weights[key] for key in sorted(weights, key=str)}
    return replace(
        Evaluation.from_measurements(measured),
        equalized=names,
        condition_weights=MappingProxyType(by_name),
        information=(information(0), information(1)),
    )
