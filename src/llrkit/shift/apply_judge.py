"""What ``llrkit apply`` says of scores that are unlike those of training, or whether it refuses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Columns, Map
from llrkit.core.score_histogram import ClassHistogram, ScoreHistogram
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.metrics.discrimination import min_cllr
from llrkit.metrics.llr_costs import cllr
from llrkit.scores import ScoreSource
from llrkit.shift.check_shift import ClassMove, ShiftCheck, ShiftSetting, check_from
from llrkit.shift.class_density import ClassDensity
from llrkit.shift.moved_mixture import SHARES
from llrkit.shift.new_scores import NO_DENSITIES, NewScores, as_new_source, counted_map, densities_of
from llrkit.shift.shift_test import ALPHA, shift_test
from llrkit.shift.shift_words import labeled_text


@dataclass(frozen=True, eq=False)
class ShiftJudge:
    """Judges the scores that a map gets, once they are counted."""

    fitted: Map
    policy: str
    of: str

    def values(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """What is counted of scores as files hold them."""
        if self.of == "scores":
            return scores * self.fitted.input_factor
        llrs: FloatArray = counted_map(self.fitted)[0](scores, columns, outside="ignore")
        return llrs

    def __call__(self, counts: ClassHistogram) -> str:
        """A note, or a refusal."""
        return judge_shift(counts, fitted=self.fitted, policy=self.policy)


def judge_for(fitted: Map, policy: str) -> ShiftJudge | None:
    """What judges the scores that a map gets; None where nobody asks, or the map cannot tell."""
    if policy == "ignore":
        return None
    known = densities_of(fitted)
    if known is None:
        if policy == "error":
            raise InputError(
                f"--shift error: the calibration does not hold {NO_DENSITIES}, or use --shift ignore"
            )
        return None
    return ShiftJudge(fitted, policy, known.of)


def shift_note(
    fitted: Map, scores: ScoreSource, llrs: ScoreSource, speakers: str | Sequence[str] | None = None
) -> str:
    """The note about labeled trials that a map made ``llrs`` of; "" if they did not move, or it cannot tell.

    Whether there is a shift is asked as of scores without labels, with their ``speakers`` where these are
    known; how they moved, and what the LLRs lose, is then read from the labels.
    """
    judge = judge_for(fitted, "warn")
    if judge is None:
        return ""
    setting = ShiftSetting.of(fitted)
    try:
        new = NewScores.of(as_new_source(fitted, scores, judge.of), setting.densities.cuts, speakers)
        check = harmful_shift(new, setting)
    except TooFewTrialsError:
        return ""
    return "" if check is None else text_by_labels(fitted, check, scores, llrs)


def text_by_labels(fitted: Map, check: ShiftCheck, scores: ScoreSource, llrs: ScoreSource) -> str:
    """What was found of a shift, with the moves and the loss as the labels of the trials have them."""
    known = ShiftSetting.of(fitted).densities
    counts = as_new_source(fitted, scores, known.of).reduce(ScoreHistogram.of)
    target, nontarget = (
        ClassMove(float((new.mean - old.mean) / old.sd), float(new.sd / old.sd))
        for new, old in (
            (ClassDensity.of(counts.target), ClassDensity.of(known.histogram.target)),
            (ClassDensity.of(counts.nontarget), ClassDensity.of(known.histogram.nontarget)),
        )
    )
    return labeled_text(check, target, nontarget, cllr=cllr(llrs), least=min_cllr(llrs))


def harmful_shift(new: NewScores, setting: ShiftSetting) -> ShiftCheck | None:
    """What scores tell of a shift that costs, or that nothing describes; None if there is none."""
    test = shift_test(setting.densities, new)
    if test.p_value >= ALPHA:
        return None
    check = check_from(setting, new, test, setting.climb(new, test, SHARES, harm=False))
    return check if check.is_harmful else None


def judge_shift(counts: ClassHistogram, *, fitted: Map, policy: str) -> str:
    """A note about scores that have moved so far that it costs, or "" if they have not.

    Speakers are not known here: the test alone would find a shift wherever other people speak, and what
    counts is a harm that is certain, or a move that nothing describes. With the policy "error" the scores are
    refused then.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fitted = lk.fit_cmlg(lk.Scores(rng.normal(4.0, 1.0, 500), rng.normal(0.0, 1.0, 500)))
    >>> new = np.append(rng.normal(4.0, 1.0, 500), rng.normal(0.0, 1.0, 500))
    >>> judge_shift(ClassHistogram.of(new), fitted=fitted, policy="warn")
    ''
    >>> judge_shift(ClassHistogram.of(new + 2.0), fitted=fitted, policy="warn")[:20]
    'A shift: the 1,000 s'
    """
    setting = ShiftSetting.of(fitted)
    try:
        check = harmful_shift(NewScores.of_counts(counts, setting.densities.cuts), setting)
    except TooFewTrialsError as error:
        return f"no shift was looked for: {error}" if policy == "error" else ""
    if check is None:
        return ""
    if policy == "error":
        raise InputError(f"{check.text} Nothing is written (--shift error)")
    return check.text
