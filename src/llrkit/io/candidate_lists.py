"""Lists of candidates that searches of a gallery returned, as NIST's FRTE 1:N programs write them."""

from __future__ import annotations

import math

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.checked_trials import with_scores
from llrkit.io.reading_options import PathArg
from llrkit.io.tables_of_paths import read_table
from llrkit.scores.roles import require_column
from llrkit.scores.trials import Trials

SEARCH, CANDIDATE, MATE, ENROLLED, LABEL = "searchId", "templateId", "mate", "enrolled", "label"
NO_MATE = ("", "-", "none", "NA")


def read_candidates(lists: PathArg, mates: PathArg) -> Trials:
    """Candidates labeled by whether they are the mate of their search.

    ``lists`` has the columns searchId, templateId and score (and may have isAssigned, whose zeros are no
    candidates: a search with nothing else returned nothing); ``mates`` has two columns, searchId and the
    templateId of its mate in the gallery, which is ``-`` for searches without one; a header line is allowed.
    A subject with several templates in the gallery has a line for each of them.
    """
    table = with_scores(read_table(lists, score=("score",)), droppable=False)
    for name in (SEARCH, CANDIDATE):
        require_column(name, table.table.columns, table.file)
    frame = table.table.drop(LABEL, ENROLLED, strict=False).with_columns(
        pl.col(SEARCH, CANDIDATE).cast(pl.String), pl.col("score").cast(pl.Float64)
    )
    if "isAssigned" in frame.columns:
        frame = _returned_candidates(frame)
    key = read_table(mates, columns=(SEARCH, CANDIDATE))
    truth = key.table.select(
        pl.col(SEARCH).cast(pl.String), pl.col(CANDIDATE).cast(pl.String).str.strip_chars().alias(MATE)
    )
    truth = truth.filter(pl.col(SEARCH) != SEARCH)  # a header line
    has_mate = pl.col(MATE).is_not_null() & ~pl.col(MATE).is_in(NO_MATE)
    mated = truth.filter(has_mate).unique()
    both = truth.filter(~has_mate).join(mated, on=SEARCH, how="semi")
    if both.height:
        raise FileFormatError(f"{key.file}: search {both[SEARCH][0]} is listed both with and without a mate")
    unknown = frame.join(truth, on=SEARCH, how="anti")
    if unknown.height:
        raise FileFormatError(f"{key.file}: the key does not mention the search {unknown[SEARCH][0]}")
    silent = truth.join(frame, on=SEARCH, how="anti")
    if silent.height:
        raise FileFormatError(
            f"{table.file}: there are no candidates of the search {silent[SEARCH][0]}; a search that "
            "returned nothing has a line with isAssigned 0"
        )
    pairs = mated.rename({MATE: CANDIDATE}).with_columns(pl.lit(True).alias(LABEL))
    enrolled = mated.select(SEARCH).unique().with_columns(pl.lit(True).alias(ENROLLED))
    labeled = frame.join(pairs, on=[SEARCH, CANDIDATE], how="left", maintain_order="left")
    labeled = labeled.join(enrolled, on=SEARCH, how="left", maintain_order="left")
    labeled = labeled.with_columns(pl.col(LABEL, ENROLLED).fill_null(False))
    return Trials(labeled, score="score", label=LABEL, enroll=CANDIDATE, test=SEARCH)


def _returned_candidates(frame: pl.DataFrame) -> pl.DataFrame:
    """The candidates; a search without any has one that is rejected at every threshold."""
    assigned = pl.col("isAssigned").cast(pl.String).str.to_lowercase().is_in(["1", "true"])
    kept = frame.filter(assigned)
    nothing = frame.join(kept, on=SEARCH, how="anti").unique(SEARCH, maintain_order=True)
    return pl.concat(
        [kept, nothing.with_columns(pl.lit("-").alias(CANDIDATE), pl.lit(-math.inf).alias("score"))]
    )
