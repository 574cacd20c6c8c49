"""What ``llrkit apply`` says of scores that are unlike those of training, or whether it refuses them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llrkit.calibrate.maps import Map
from llrkit.core.score_histogram import ClassHistogram, ScoreHistogram
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import ScoreSource
from llrkit.shift.check import ALPHA, Setting, check_from
from llrkit.shift.moved_mixture import SHARES
from llrkit.shift.new_scores import NewScores, as_new_source, densities_of
from llrkit.shift.shift_test import shift_test


def judge_for(fitted: Map, policy: str) -> Callable[[ClassHistogram], str] | None:
    """What judges the scores that a map gets; None where nobody asks, or the map cannot tell."""
    if policy == "ignore":
        return None
    if densities_of(fitted) is None:
        if policy == "error":
            raise InputError(
                "--shift error: the calibration does not hold the densities of its training scores; "
                "calibrate again, or use --shift ignore"
            )
        return None
    return partial(judge_shift, fitted=fitted, policy=policy)


def shift_note(fitted: Map, scores: ScoreSource) -> str:
    """The note about trials that a map is applied to; "" if the map cannot tell."""
    judge = judge_for(fitted, "warn")
    known = densities_of(fitted)
    if judge is None or known is None:
        return ""
    return judge(as_new_source(fitted, scores, known.of).reduce(ScoreHistogram.of).pooled)


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
    setting = Setting.of(fitted)
    try:
        new = NewScores.of_counts(counts, setting.densities.cuts)
    except TooFewTrialsError as error:
        return f"no shift was looked for: {error}" if policy == "error" else ""
    test = shift_test(setting.densities, new)
    if test.p_value >= ALPHA:
        return ""
    check = check_from(setting, test, setting.climb(new, test, SHARES, harm=False))
    if not check.is_harmful:
        return ""
    if policy == "error":
        raise InputError(f"{check.text} Nothing is written (--shift error)")
    return check.text
