"""Scores, trials, and the one abstraction between data and mathematics: the score source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llrkit.scores.arrays import Scores
from llrkit.scores.source import ScoreSource, Summary

if TYPE_CHECKING:
    from llrkit.scores.trials import Trials

__all__ = ["ScoreSource", "Scores", "Summary", "Trials"]


def __getattr__(name: str) -> object:
    if name == "Trials":  # imports polars, which arrays alone do not need
        from llrkit.scores.trials import Trials

        return Trials
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
