"""The methods that were cross-validated, as a table, and what is wrong with each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llrkit._plain import Json, as_list, as_number, as_object, as_text
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.poor_fit_guard import TOLERATED
from llrkit.choose.cross_validated_loss import MethodLoss
from llrkit.choose.folds import Pair

MANY_AT_BOUNDS = 0.05
"""Share of the LLRs of a class at the bounds from which on a method is said to go beyond the data."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method: its losses, its map of all trials and its maps of the folds, all of them bounded."""

    loss: MethodLoss
    full_map: BoundedMap
    fold_maps: Sequence[Mapping[Pair, BoundedMap]]
    n_regularized: int
    note: str
    """What was done to fit it on all trials, if anything."""

    def flags(self, logistic: MethodLoss | None) -> list[str]:
        """What is wrong with the method, in words."""
        told = [self.note] if self.note else []
        n_folds = sum(len(maps) for maps in self.fold_maps)
        if self.n_regularized:
            told.append(
                f"the classes do not overlap in {self.n_regularized} of {n_folds} folds: regularized "
                "logistic regression there"
            )
        if self.loss.cllr > 1.0:
            told.append("it loses more than LLRs that are all 0")
        elif logistic is not None and self.loss.cllr > logistic.cllr + TOLERATED:
            told.append(f"it loses {self.loss.cllr - logistic.cllr:.2g} bits more than logistic regression")
        for name, share in zip(("target", "non-target"), self.loss.at_bounds.tolist(), strict=True):
            if share > MANY_AT_BOUNDS:
                told.append(f"{100.0 * share:.0f} % of the LLRs of {name} trials are at the bounds")
        return told


@dataclass(frozen=True)
class MethodRow:
    """A method in the table of a cross-validation that a map keeps in its details."""

    method: str
    cllr: float
    standard_error: float | None = None
    """Of the difference from the best method; None where it is not known."""
    reason: str | None = None
    """Why the method could not be cross-validated."""
    flags: tuple[str, ...] = ()
    """What is wrong with it, in words."""

    @classmethod
    def of_details(cls, details: Mapping[str, object]) -> list[MethodRow]:
        """The rows of a map's details, best first.

        Examples
        --------
        >>> row = {"method": "pav", "cllr": 0.2, "standard_error": 0.01}
        >>> MethodRow.of_details({"cross_validation": [row]})
        [MethodRow(method='pav', cllr=0.2, standard_error=0.01, reason=None, flags=())]
        """
        return [cls._of(as_object(row)) for row in as_list(details["cross_validation"])]

    @classmethod
    def _of(cls, row: Mapping[str, Json]) -> MethodRow:
        error, reason = row.get("standard_error"), row.get("reason")
        return cls(
            as_text(row["method"]),
            as_number(row["cllr"]),
            None if error is None else as_number(error),
            None if reason is None else as_text(reason),
            tuple(as_text(flag) for flag in as_list(row.get("flags", ()))),
        )


def table_of(candidates: Mapping[str, Candidate], failed: Mapping[str, str]) -> list[dict[str, Json]]:
    """A row for each method, best first; those that failed, and why, at the end."""
    ranked = sorted(candidates, key=lambda name: candidates[name].loss.cllr)
    best = candidates[ranked[0]].loss
    logistic = candidates["logistic"].loss if "logistic" in candidates else None
    table: list[dict[str, Json]] = []
    for name in ranked:
        flags = candidates[name].flags(logistic)
        table.append(
            {"method": name, **candidates[name].loss.row(best), **({"flags": flags} if flags else {})}
        )
    return table + [{"method": name, "cllr": math.inf, "reason": reason} for name, reason in failed.items()]
