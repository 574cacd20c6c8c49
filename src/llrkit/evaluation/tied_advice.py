"""What follows for calibration where scores saturate or tie."""

from __future__ import annotations

from collections.abc import Sequence

from llrkit.calibrate.tied_scores import TiedScores
from llrkit.evaluation.advice import Advice

_SHAPED = ("cmlg", "gaussian", "nig", "bayes")


def advice_for_ties(tied: TiedScores | None, advice: Sequence[Advice]) -> list[Advice]:
    """The advice for continuous scores, changed where scores are clipped, saturated or tied.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> tied = TiedScores.of(Scores([1.0] * 9, [0.0] * 9 + [1.0]))
    >>> advice_for_ties(tied, [("nig", True, "skewed classes")])
    [('nig', False, 'saturated or tied scores have no such density: see the lines above')]
    """
    if tied is None or not tied.sentences():
        return list(advice)
    before = "log-odds instead of probabilities" if tied.within_0_and_1 else "the scores before they were cut"
    changed: list[Advice] = []
    for name, advised, why in advice:
        if name in _SHAPED:
            advised, why = False, "saturated or tied scores have no such density: see the lines above"
        elif name == "pav":
            advised, why = True, "follows saturated and tied scores, whatever their scale"
        elif name == "logistic":
            advised, why = False, f"no straight line leads to saturated or tied scores: take {before}, or PAV"
        changed.append((name, advised, why))
    return changed
