"""Identification: what searches of a gallery found, as data, as tables and in words."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from llrkit._arrays import FloatArray, IntArray
from llrkit._format import percent
from llrkit._plain import Json
from llrkit.biometrics.rules_of_thumb import support
from llrkit.biometrics.verification_result import small_rate
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve
from llrkit.metrics.threshold_choice import Range


@dataclass(frozen=True, eq=False)
class Cmc(Curve):
    """Cumulative match characteristic: the share of mated searches whose mate is within each rank."""

    rank: IntArray
    """Ranks, from 1 on."""
    rate: FloatArray
    """Share of mated searches whose mate is within the rank."""


@dataclass(frozen=True)
class OpenSetRow:
    """Error rates of searches at the threshold for one FPIR."""

    wanted: float
    threshold: float
    fpir: float
    fnir: float
    n_false_positives: int
    n_missed: int
    fpir_interval: Range
    fnir_interval: Range

    @property
    def dir(self) -> float:
        """Detection and identification rate: 1 - FNIR."""
        return 1.0 - self.fnir


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """The result of :func:`llrkit.biometrics.identification`."""

    n_mated: int
    """Number of mated searches."""
    n_nonmated: int
    """Number of non-mated searches."""
    cmc: Cmc
    """The cumulative match characteristic."""
    intervals: Mapping[int, Range]
    """Of the identification rates at the ranks that were asked for."""
    open_set: tuple[OpenSetRow, ...]
    """Empty without non-mated searches."""
    rank: int
    """Number of candidates among which a mate must be."""
    level: float
    """Confidence level of the intervals."""
    n_subjects: int | None
    """Number of subjects; None if searches are taken as independent."""
    factor: float = 1.0
    """What scores of the file were multiplied by: -1 for distances."""

    def rank_rate(self, rank: int) -> float:
        """Share of mated searches whose mate is among the first so many candidates.

        Parameters
        ----------
        rank
            Number of candidates that are looked at.
        """
        if rank < 1:
            raise InputError("ranks begin at 1")
        return float(self.cmc.rate[min(rank, len(self.cmc.rate)) - 1])

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        ranks = [
            {"rank": k, "rate": self.rank_rate(k), "interval": list(ends)}
            for k, ends in self.intervals.items()
        ]
        rows = [asdict(row) | {"dir": row.dir, "threshold": row.threshold / self.factor}
                for row in self.open_set]  # fmt: skip
        return {
            "n_mated": self.n_mated, "n_nonmated": self.n_nonmated, "ranks": ranks,
            "cmc": self.cmc.rate.tolist(), "open_set": rows, "rank": self.rank, "level": self.level,
            "n_subjects": self.n_subjects, "notes": self.notes,
        }  # fmt: skip

    def rank_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the identification rates."""
        rows = [
            [str(k), percent(self.rank_rate(k)), f"[{percent(low)}, {percent(high)}]"]
            for k, (low, high) in self.intervals.items()
        ]
        return ["rank", "identified", ""], rows

    def open_set_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of the errors at given FPIRs."""
        header = ["FPIR", "threshold", f"FNIR (rank {self.rank})", "", "DIR", "false positives", "missed"]
        rows = [
            [
                f"{row.wanted:g}", _shown_threshold(row.threshold / self.factor), small_rate(row.fnir),
                f"[{small_rate(row.fnir_interval[0])}, {small_rate(row.fnir_interval[1])}]",
                small_rate(row.dir), support(row.n_false_positives, self.n_nonmated),
                support(row.n_missed, self.n_mated),
            ]
            for row in self.open_set
        ]  # fmt: skip
        return header, rows

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the rates."""
        how = (
            "as if searches were independent"
            if self.n_subjects is None
            else f"leaving out each of {self.n_subjects:,} subjects in turn"
        )
        told = [f"intervals at {100 * self.level:g} % {how}", "ties count against the mate"]
        if not self.open_set:
            told.append("all searches are mated: there is no FPIR")
        return told

    def __repr__(self) -> str:
        header, rows = self.rank_table()
        lines = [f"{self.n_mated:,} mated, {self.n_nonmated:,} non-mated searches"]
        lines += ["  ".join(line).rstrip() for line in (header, *rows)]
        if self.open_set:
            header, rows = self.open_set_table()
            lines += ["", *("  ".join(line).rstrip() for line in (header, *rows))]
        return "\n".join(lines)


def _shown_threshold(threshold: float) -> str:
    """A threshold in a table.

    The lowest threshold above a score of 0 is the smallest number there is, whose digits mean nothing.

    Examples
    --------
    >>> _shown_threshold(1.25), _shown_threshold(5e-324), _shown_threshold(-5e-324)
    ('1.25', 'just above 0', 'just below 0')
    """
    if 0.0 < abs(threshold) < sys.float_info.min:
        return "just above 0" if threshold > 0.0 else "just below 0"
    return f"{threshold:.6g}"
