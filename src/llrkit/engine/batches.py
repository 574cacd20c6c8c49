"""From a batch of rows of a table to a chunk of scores: the same for files and for a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from llrkit.scores import Scores
from llrkit.scores.source import POSITION
from llrkit.scores.trials import ROW, Trials

COUNTED = (ROW, POSITION)
"""Columns that are not stored but follow from where a trial stands."""


@dataclass(frozen=True)
class Roles:
    """Which columns hold the scores and the label, and what else each chunk carries."""

    score: tuple[str, ...] = ("score",)
    label: str = "label"
    carried: tuple[str, ...] = ()

    @property
    def stored(self) -> list[str]:
        """The columns that have to be read, each once."""
        return list(dict.fromkeys((*self.score, self.label, *(n for n in self.carried if n not in COUNTED))))

    def carrying(self, names: tuple[str, ...]) -> Roles:
        """The same roles with other columns carried."""
        return replace(self, carried=names)


@dataclass(frozen=True)
class Before:
    """How many rows, targets and non-targets come before a batch."""

    rows: int = 0
    n_target: int = 0
    n_nontarget: int = 0

    @classmethod
    def of(cls, chunk: Scores) -> Before:
        """What a chunk adds to those that come after it."""
        return cls(chunk.n_target + chunk.n_nontarget, chunk.n_target, chunk.n_nontarget)

    def __add__(self, other: Before) -> Before:
        return Before(
            self.rows + other.rows,
            self.n_target + other.n_target,
            self.n_nontarget + other.n_nontarget,
        )


def chunk_of(
    batch: pl.DataFrame, roles: Roles, before: Before, *, origin: str = "", first_line: int | None = None
) -> Scores:
    """The scores of a batch with the columns its roles carry; either class may be empty."""
    trials = Trials(
        batch,
        score=roles.score,
        label=roles.label,
        carried=roles.carried,
        origin=origin,
        first_line=first_line,
    )
    mask = trials.is_target
    columns: dict[str, tuple[Any, Any]] = {}
    categories: dict[str, tuple[Any, ...]] = {}
    offsets = {ROW: (before.rows, before.rows), POSITION: (before.n_target, before.n_nontarget)}
    for name in roles.carried:
        values, names = trials.coded(name)
        columns[name] = (values[mask], values[~mask])
        if name in COUNTED:
            columns[name] = tuple(
                np.add(part, n) for part, n in zip(columns[name], offsets[name], strict=True)
            )
        if names is not None:
            categories[name] = tuple(names)
    scores = trials.score_array
    return Scores.part(scores[mask], scores[~mask], columns, categories)
