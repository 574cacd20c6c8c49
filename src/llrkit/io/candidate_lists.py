"""Lists of candidates that searches of a gallery returned, as NIST's FRTE 1:N programs write them."""

from __future__ import annotations

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.checks import with_scores
from llrkit.io.reading import PathArg
from llrkit.io.tables import read_table
from llrkit.scores.roles import require_column
from llrkit.scores.trials import Trials

SEARCH, CANDIDATE, MATE, ENROLLED, LABEL = "searchId", "templateId", "mate", "enrolled", "label"
NO_MATE = ("", "-", "none", "NA")


def read_candidates(lists: PathArg, mates: PathArg) -> Trials:
    """Candidates labeled by whether they are the mate of their search.

    ``lists`` has the columns searchId, templateId and score (and may have isAssigned, whose zeros are no
    candidates); ``mates`` has two columns, searchId and the templateId of its mate in the gallery, which is
    ``-`` for searches without one; a header line is allowed.
    """
    table = with_scores(read_table(lists, score=("score",)))
    for name in (SEARCH, CANDIDATE):
        require_column(name, table.table.columns, table.file)
    frame = table.table
    if "isAssigned" in frame.columns:
        assigned = pl.col("isAssigned").cast(pl.String).str.to_lowercase().is_in(["1", "true"])
        frame = frame.filter(assigned)
    key = read_table(mates, columns=(SEARCH, CANDIDATE))
    truth = key.table.select(
        pl.col(SEARCH).cast(pl.String), pl.col(CANDIDATE).cast(pl.String).str.strip_chars().alias(MATE)
    )
    truth = truth.filter(pl.col(SEARCH) != SEARCH)  # a header line
    if truth[SEARCH].is_duplicated().any():
        again = truth.filter(truth[SEARCH].is_duplicated())[SEARCH][0]
        raise FileFormatError(f"{key.file}: the search {again} has more than one mate")
    frame = frame.with_columns(pl.col(SEARCH, CANDIDATE).cast(pl.String))
    joined = frame.join(truth, on=SEARCH, how="left", maintain_order="left")
    unknown = frame.join(truth, on=SEARCH, how="anti")
    if unknown.height:
        raise FileFormatError(f"{key.file}: nothing is said about the search {unknown[SEARCH][0]}")
    has_mate = pl.col(MATE).is_not_null() & ~pl.col(MATE).is_in(NO_MATE)
    silent = truth.filter(has_mate).join(frame, on=SEARCH, how="anti")
    if silent.height:
        raise FileFormatError(f"{table.file}: there are no candidates of the search {silent[SEARCH][0]}")
    labeled = joined.with_columns(
        has_mate.alias(ENROLLED), (has_mate & (pl.col(MATE) == pl.col(CANDIDATE))).alias(LABEL)
    )
    return Trials(labeled, score="score", label=LABEL, enroll=CANDIDATE, test=SEARCH)
