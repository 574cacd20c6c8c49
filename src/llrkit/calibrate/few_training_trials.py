"""Few trials of a class: what is said of calibrations that they train."""

from __future__ import annotations

import math

from llrkit._format import counted

FEW_TO_TRAIN = 30
"""Trials of a class with which its mean score is known to 18 % of its spread (1 / sqrt(30))."""


def smaller_class(n_target: int, n_nontarget: int, needed: int) -> str:
    """The class with fewer trials than needed, counted; empty if both have enough.

    Examples
    --------
    >>> smaller_class(3, 40, needed=30), smaller_class(30, 40, needed=30)
    ('3 target trials', '')
    """
    n, name = min((n_target, "target"), (n_nontarget, "non-target"), key=lambda one: one[0])
    return "" if n >= needed else counted(n, f"{name} trial")


def few_to_train(n_target: int, n_nontarget: int) -> str:
    """What is to be said of a calibration that few trials of a class train; empty if both have enough.

    Examples
    --------
    >>> few_to_train(3, 40)
    'only 3 target trials: the mean score of the class is known to 58 % of its spread, so LLRs may be far off'
    """
    few = smaller_class(n_target, n_nontarget, FEW_TO_TRAIN)
    if not few:
        return ""
    known = f"{100 / math.sqrt(min(n_target, n_nontarget)):.0f} % of its spread"
    return f"only {few}: the mean score of the class is known to {known}, so LLRs may be far off"
