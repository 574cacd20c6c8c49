"""Costs of evaluations that mix known and unknown impostors, for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.scores.source import ScoreSource
    from llrkit.theory.operating_points import OperatingPoint, Preset

NEEDS_SHARE = (
    "--known needs a cost that mixes known and unknown non-targets (--point sre12), or their "
    "share (--p-known)"
)


@dataclass(frozen=True)
class KnownCost:
    """A cost with the share of non-targets that are known; without one there is no number."""

    name: str
    p_known: float | None = None
    min: float | None = None
    act: float | None = None


def known_costs(
    trials: ScoreSource,
    points: Sequence[OperatingPoint | str],
    known: str,
    p_known: float | None,
    allow_unconfirmed: bool,
) -> list[KnownCost]:
    """Minimum and actual cost of every point with the two kinds of non-targets weighted."""
    from llrkit.theory.operating_points import cost_of

    costs = [cost_of(point, allow_unconfirmed=allow_unconfirmed) for point in points]
    mixing = [cost for cost in costs if p_known is not None or cost.p_known is not None]
    if not mixing:
        raise InputError(NEEDS_SHARE)
    return [_known_cost_at_point(trials, cost, known, p_known, mixed=cost in mixing) for cost in costs]


def _known_cost_at_point(
    trials: ScoreSource, cost: Preset, known: str, p_known: float | None, *, mixed: bool
) -> KnownCost:
    from llrkit.metrics.costs import c_primary

    if not mixed:
        return KnownCost(cost.name)
    least, actual = (
        c_primary(trials, evaluation=cost, actual=actual, known=known, p_known=p_known)
        for actual in (False, True)
    )
    return KnownCost(cost.name, cost.p_known if p_known is None else p_known, least, actual)


def words_on_known(cost: KnownCost) -> str:
    """One line for people."""
    if cost.p_known is None:
        return f"{cost.name} does not mix known and unknown non-targets (--p-known gives their share)"
    return (
        f"{cost.name}, {100 * cost.p_known:g} % of non-targets known: minimum {cost.min:.4f}, "
        f"actual {cost.act:.4f}"
    )
