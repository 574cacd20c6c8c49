"""What plots are given: one evaluation or curve, or several by the name of their system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from llrkit._format import number
from llrkit.errors import InputError
from llrkit.metrics.measurements import Measurements
from llrkit.plot.picture import Legend
from llrkit.trust.intervals.curve_bands import CurveBands

C = TypeVar("C")
B = TypeVar("B")
Systems: TypeAlias = C | Measurements | Mapping[str, C | Measurements]
"""What a plot of a kind of curve is given: such a curve, an evaluation, or several by system."""
Bands: TypeAlias = B | CurveBands | Mapping[str, B | CurveBands] | None
"""Confidence bands of one system, or of several by system."""
NOT_OF_EVALUATIONS = {"reliability": "lk.reliability_curve(scores, labels) gives one"}
"""Plots of curves that an Evaluation does not have, and what makes them."""


@dataclass(frozen=True, eq=False)
class PlottedSystem(Generic[C]):
    """A curve to draw, of whom, and the evaluation it is from if there is one."""

    name: str
    curve: C
    evaluation: Measurements | None = None

    def labeled(self, *numbers: str) -> str:
        """The name followed by numbers, as the legend has it."""
        return ": ".join(text for text in (self.name, ", ".join(numbers)) if text)


def systems_of(
    data: Systems[C], kinds: type[C] | tuple[type[C], ...], of: Callable[[Measurements], C], plot: str
) -> list[PlottedSystem[C]]:
    """The systems to draw, whatever form they were given in."""
    named = data if isinstance(data, Mapping) else {"": data}
    systems = [_plotted_system(str(name), value, kinds, of, plot) for name, value in named.items()]
    if not systems:
        raise InputError(f"{plot}: there is nothing to draw, the dict of systems is empty")
    return systems


def _plotted_system(
    name: str,
    value: object,
    kinds: type[C] | tuple[type[C], ...],
    of: Callable[[Measurements], C],
    plot: str,
) -> PlottedSystem[C]:
    if isinstance(value, kinds):
        return PlottedSystem(name, value)
    if isinstance(value, Measurements):
        return PlottedSystem(name, of(value), value)
    words = [kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    raise InputError(
        f"{plot} draws {'a' if plot in NOT_OF_EVALUATIONS else 'an Evaluation,'} {' or '.join(words)}, "
        "or a dict of those by system; "
        f"got {type(value).__name__}"
        + (f" for {name!r}" if name else "")
        + f"; {NOT_OF_EVALUATIONS.get(plot, 'lk.evaluate(scores, labels) gives an Evaluation')}"
    )


def legend_of(systems: Sequence[object], place: Legend) -> Legend:
    """Where a legend covers no curve: beside a single one, under the plot of several."""
    return place if len(systems) == 1 else "below"


def bands_of(
    bands: Bands[B],
    systems: list[PlottedSystem[C]],
    kind: type[B],
    of: Callable[[CurveBands], B],
    plot: str,
) -> dict[str, B]:
    """Confidence bands by system, whether given for one system or for several."""
    if bands is None:
        return {}
    named = bands if isinstance(bands, Mapping) else {systems[0].name: bands}
    unknown = set(map(str, named)) - {system.name for system in systems}
    if unknown:
        raise InputError(
            f"{plot}: there are bands for systems that are not drawn: {', '.join(sorted(unknown))}"
        )
    by_system: dict[str, B] = {}
    for name, given in named.items():
        band = of(given) if isinstance(given, CurveBands) else given
        if not isinstance(band, kind):
            words = f"{kind.__name__} or CurveBands, got {type(band).__name__}"
            raise InputError(f"{plot}: bands of {str(name)!r} must be {words}")
        by_system[str(name)] = band
    return by_system


def in_words(
    systems: list[PlottedSystem[C]], *numbers: tuple[str, Callable[[Measurements], float], str]
) -> str:
    """The systems with their numbers, for the description of a picture."""
    told = []
    for system in systems:
        values = []
        if system.evaluation is not None:
            for name, of, unit in numbers:
                value = of(system.evaluation)
                values.append(
                    f"{name} {number(100 * value, 2)} %" if unit == "%" else f"{name} {number(value)}{unit}"
                )
        told.append(system.labeled(*values) or "one system")
    return "; ".join(told)


def require_kind(value: object, kind: type[C], plot: str) -> C:
    """What a plot of one kind of result was given, if it is one."""
    if not isinstance(value, kind):
        raise InputError(f"{plot} draws a {kind.__name__}, got {type(value).__name__}")
    return value
