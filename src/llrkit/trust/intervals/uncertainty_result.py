"""Uncertainty: the intervals of an evaluation as data; ``closed_form`` and ``bootstrap`` compute them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Never, Protocol, TypeVar

from llrkit._format import counted, two_digits
from llrkit._plain import Json

Range = tuple[float, float]
V = TypeVar("V")


def _empty_mapping() -> Mapping[str, Never]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Uncertainty:
    """Intervals of the numbers of an evaluation, by name.

    Names are those of the JSON, with the place in a list: ``"eer"``, ``"points.0.min_dcf"``,
    ``"primaries.0.act"``, ``"fixed_threshold.hter"``. Every number has either an interval or a reason
    why it has none.

    Examples
    --------
    >>> reasons = {"points.0.act_dcf": "why"}
    >>> uncertainty = Uncertainty("trial", 0.95, {"eer": (0.04, 0.06)}, no_interval=reasons)
    >>> uncertainty.with_prefix("")
    {'intervals': {'eer': [0.04, 0.06]}, 'no_interval': {}}
    >>> uncertainty.with_prefix("points.0.")
    {'intervals': {}, 'no_interval': {'act_dcf': 'why'}}
    """

    kind: str
    """``"trial"``, ``"speaker"`` or ``"bootstrap"``."""
    level: float
    intervals: Mapping[str, Range]
    standard_error: Mapping[str, float] = field(default_factory=_empty_mapping)
    design_effect: Mapping[str, float] = field(default_factory=_empty_mapping)
    """Variance over the variance of as many independent trials; empty where trials are taken as such."""
    no_interval: Mapping[str, str] = field(default_factory=_empty_mapping)
    upper_bound: Mapping[str, float] = field(default_factory=_empty_mapping)
    """One-sided bounds at this level, of numbers without interval because few speakers make the errors."""
    corrected: Mapping[str, float] = field(default_factory=_empty_mapping)
    """Numbers that are fitted to the trials, corrected for what the fit makes them look better by."""
    n_speakers: int | None = None
    notes: tuple[str, ...] = ()

    def with_prefix(self, prefix: str) -> dict[str, Json]:
        """The intervals of the object whose numbers have this prefix, as in the JSON."""

        def own(values: Mapping[str, V]) -> dict[str, V]:
            names = (name for name in values if name.startswith(prefix))
            return {
                name.removeprefix(prefix): values[name] for name in names
                if "." not in name.removeprefix(prefix)
            }  # fmt: skip

        plain: dict[str, Json] = {
            "intervals": {name: list(ends) for name, ends in own(self.intervals).items()},
            "no_interval": own(self.no_interval),
        }
        if self.n_speakers:
            plain["design_effect"] = own(self.design_effect)
        more = {"upper_bound": own(self.upper_bound), "bias_corrected": own(self.corrected)}
        return plain | {name: values for name, values in more.items() if values}

    def settings(self) -> dict[str, Json]:
        """How the intervals were made."""
        return {
            "kind": self.kind, "level": self.level, "n_speakers": self.n_speakers, "notes": list(self.notes)
        }  # fmt: skip


def range_around(value: float, low: float, high: float) -> Range:
    """An interval that holds its value; one around a value corrected for bias may miss it.

    Examples
    --------
    >>> range_around(0.12, 0.05, 0.1)
    (0.05, 0.12)
    """
    return min(low, value), max(high, value)


class _ScaledNumber(Protocol):
    @property
    def value(self) -> float: ...

    @property
    def scale(self) -> str: ...


def reason_for_no_interval(number: _ScaledNumber, variance: float) -> str:
    """Why a number has no interval, if it has none."""
    inside = 0.0 < number.value < (1.0 if number.scale == "rate" else math.inf)
    if not (inside and variance > 0.0):
        return "it is at an end of its range, or does not vary: no standard error can be given"
    return ""


def effect_note(effects: Mapping[str, float], n_speakers: int) -> list[str]:
    """What sharing speakers costs, in words; an estimate that few speakers leave uncertain.

    Examples
    --------
    >>> effect_note({"cllr": 1.893}, 97)
    ['97 speakers; design effect of Cllr about 1.9: as informative as about 53 % as many independent trials']
    """
    if not n_speakers or "cllr" not in effects:
        return []
    effect = effects["cllr"]
    said = f"{counted(n_speakers, 'speaker')}; design effect of Cllr about {two_digits(effect)}"
    if effect > 1.0:
        said += f": as informative as about {two_digits(100 / effect)} % as many independent trials"
    return [said]
