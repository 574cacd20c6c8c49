"""From scores to trials: the way back from two arrays with columns to a table with one row per trial."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from llrkit._arrays import Array
from llrkit.errors import InputError
from llrkit.scores.arrays import Scores
from llrkit.scores.trials import Trials

WORDS = ("target", "nontarget")


def trials_of(chunks: Iterable[Scores], *, enroll: str | None = None, test: str | None = None) -> Trials:
    """Trials of consecutive chunks of scores: in each the targets first, all columns beside the scores.

    Codes of a column with categories become the values they stand for. Scores of several systems are
    named ``score_1``, ``score_2``, ...

    Examples
    --------
    >>> scores = Scores([2.0], [-1.0, 0.5], {"sex": ([1], [0, 1])}, categories={"sex": ["f", "m"]})
    >>> trials_of([scores]).table.rows()
    [('m', 2.0, 'target'), ('f', -1.0, 'nontarget'), ('m', 0.5, 'nontarget')]
    """
    tables, systems = [], ["score"]
    for chunk in chunks:
        if chunk.n_systems > 1:
            systems = [f"score_{i + 1}" for i in range(chunk.n_systems)]
        tables.append(_table_of_chunk(chunk, systems))
    if not tables:
        raise InputError("there are no chunks to make trials of")
    return Trials(pl.concat(tables), score=systems, enroll=enroll, test=test)


def _table_of_chunk(chunk: Scores, systems: list[str]) -> pl.DataFrame:
    columns = [
        _column_of_chunk(name, np.concatenate(values), chunk) for name, values in chunk.columns.items()
    ]
    scores = np.concatenate([chunk.target, chunk.nontarget]).reshape(-1, len(systems))
    columns += [pl.Series(name, scores[:, i]) for i, name in enumerate(systems)]
    labels = np.repeat(np.array([0, 1], dtype=np.uint32), [chunk.n_target, chunk.n_nontarget])
    columns.append(pl.Series("label", WORDS).gather(pl.Series(labels)))
    return pl.DataFrame(columns)


def _column_of_chunk(name: str, values: Array, chunk: Scores) -> pl.Series:
    if name not in chunk.categories:
        return pl.Series(name, values)
    return pl.Series(name, chunk.categories[name]).gather(pl.Series(values.astype(np.uint32))).alias(name)
