"""evaluate(): all numbers of a set of trials, with intervals if asked for."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import MappingProxyType

from llrkit.base.arguments import RNG, seed_of, whole_number, yes_or_no
from llrkit.core.functions import probability
from llrkit.core.groups import By, bona_fide_and_spoofs, class_to_share, trials_with_values
from llrkit.errors import InputError, PooledClassesWarning, TooFewTrialsError
from llrkit.metrics.measure import measure, with_groups
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory.odds import Points
from llrkit.trust.identity_tests import check_speakers, count_in_judged_cells, judged_edges
from llrkit.trust.influence import LARGEST_LOSS
from llrkit.trust.jackknife import Uncertainty
from llrkit.trust.speakers import Columns, Speakers, find_speakers, kind_asked_for, require_columns
from llrkit.verbs.evaluation import Evaluation, warn_of

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
    source
        Scores, trials, or any other score source.
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
    if shared is not None and by is not None:
        regrouped = bona_fide_and_spoofs(as_source(source), shared)
        if regrouped is not source:
            with warnings.catch_warnings():  # of kinds that are taken as one: these are what they are
                warnings.simplefilter("ignore", PooledClassesWarning)
                dev = threshold_from
                if dev is not None:
                    dev = bona_fide_and_spoofs(as_source(dev), shared)
                result = evaluate(
                    regrouped, points=points, by=by, shared=class_to_share(shared), threshold_from=dev,
                    ece=ece,
                    allow_unconfirmed=allow_unconfirmed, equalize=equalize, ci=ci, speakers=speakers,
                    recordings=recordings, level=level, replicates=replicates, rng=seed,
                )  # fmt: skip
            assert result.shared is not None
            return replace(result, shared=replace(result.shared, of_kinds=True))
    if isinstance(source, ScoreSource) and not (by or speakers or equalize):
        source = source.in_order()  # no sum depends on how the trials came
    if equalize:
        if ci != "none" or threshold_from is not None or ece:
            raise InputError("equalize cannot be combined with ci, threshold_from or ece")
        from llrkit.verbs.conditions import equalized

        result = equalized(source, equalize, points, allow_unconfirmed=allow_unconfirmed)
        grouped = Evaluation.from_measurements(
            with_groups(result, source, by, points, allow_unconfirmed, shared)
        )
        result = replace(
            result,
            groups=grouped.groups,
            skipped_groups=grouped.skipped_groups,
            shared=grouped.shared,
            by=grouped.by,
        )
        warn_of(result)
        return result
    result = Evaluation.from_measurements(
        measure(
            source,
            points,
            by=by,
            shared=shared,
            threshold_from=threshold_from,
            ece=ece,
            allow_unconfirmed=allow_unconfirmed,
        )
    )
    if ci == "none":
        warn_of(result)
        return result

    # imported here: half of what a small set takes to evaluate otherwise
    from llrkit.trust.bootstrap import bootstrap, speaker_resampling, trial_resampling
    from llrkit.trust.influence import REASONS, functionals
    from llrkit.trust.intervals import closed_form

    def with_intervals(trials: ScoreSource, evaluation: Evaluation) -> Evaluation:
        if ci == "trial":
            return replace(evaluation, uncertainty=closed_form(trials, evaluation, None, level))
        if speakers is None:  # a bootstrap of trials; those of a group are drawn with all others
            made = bootstrap(trials, evaluation, trial_resampling(source, seed), level, replicates)
            return replace(evaluation, uncertainty=made)
        if ci == "bootstrap":
            resampling = speaker_resampling(trials, speakers, recordings, seed)
            made = bootstrap(trials, evaluation, resampling, level, replicates)
            return _tested_by_speaker(replace(evaluation, uncertainty=made), trials, resampling.speakers)
        return _intervals_by_speaker(evaluation, trials, find_speakers(trials, speakers), level)

    groups = {}
    of_value: ScoreSource
    for name, group in result.groups.items():
        column, *others = result.by
        if result.shared is None:
            values = name if others and isinstance(name, tuple) else (name,)
            of_value = trials_with_values(source, result.by, values)
        else:
            of_value = result.shared.trials_of(source, column, name)
        try:
            groups[name] = with_intervals(of_value, group)
        except TooFewTrialsError as error:
            names = (number.name for number in functionals(group).numbers)
            none = Uncertainty(ci, level, {}, no_interval=REASONS | dict.fromkeys(names, str(error)))
            groups[name] = replace(group, uncertainty=none)
    result = replace(with_intervals(source, result), groups=MappingProxyType(groups))
    warn_of(result)
    return result


def _intervals_by_speaker(
    result: Evaluation, source: ScoreSource, speakers: Speakers, level: float
) -> Evaluation:
    """The evaluation with intervals and the test of calibration, both from one more pass."""
    from llrkit.trust.intervals import closed_form, intervals_and_cells

    if result.cllr >= LARGEST_LOSS:
        return replace(result, uncertainty=closed_form(source, result, speakers, level))
    made, cells = intervals_and_cells(source, result, speakers, level, judged_edges(result)[1:-1])
    result = replace(result, uncertainty=made)
    try:
        return replace(result, tested=check_speakers(result, cells))
    except TooFewTrialsError:
        return result


def _tested_by_speaker(result: Evaluation, source: ScoreSource, speakers: Speakers) -> Evaluation:
    """The evaluation with the test of calibration that takes shared speakers into account."""
    if result.cllr >= LARGEST_LOSS:
        return result
    try:
        cells = count_in_judged_cells(source, result, speakers)
        return replace(result, tested=check_speakers(result, cells))
    except TooFewTrialsError:
        return result
