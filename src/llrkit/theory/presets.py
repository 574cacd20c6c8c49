"""Presets of evaluations by name, and whatever else a user may give for an operating point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import cast

from llrkit._arguments import takes
from llrkit._format import did_you_mean
from llrkit.errors import InputError, UnconfirmedPresetError, UnknownNameError
from llrkit.theory.operating_points import OperatingPoint


@dataclass(frozen=True, slots=True)
class Preset:
    """A named cost of an evaluation: one operating point, or several whose costs are averaged."""

    name: str
    """Name of the preset."""
    points: tuple[OperatingPoint, ...]
    """Operating points whose costs are averaged."""
    source: str
    """Where the definition comes from."""
    confirmed: bool = True
    """Whether the definition could be confirmed."""
    p_known: float | None = None
    """Share of known impostors among non-target trials, where the evaluation mixes two kinds."""

    @property
    def averages(self) -> bool:
        """Whether the cost is a mean over several operating points."""
        return len(self.points) > 1


_RECIPES = "as used in public recipes; the evaluation plan itself was not at hand"

# name, (prior, Cmiss, Cfa) of each point, confirmed, source
_TABLE: tuple[tuple[str, tuple[tuple[float, float, float], ...], bool, str], ...] = (
    ("sre08", ((0.01, 10, 1),), True, "NIST SRE 1996 to 2008: Cmiss=10, Cfa=1, Ptarget=0.01"),
    ("sre10", ((0.001, 1, 1),), True, "NIST SRE 2010 core: Cmiss=1, Cfa=1, Ptarget=0.001"),
    ("sre12", ((0.01, 1, 1), (0.001, 1, 1)), True,
     "NIST SRE 2012: mean of Ptarget=0.01 and 0.001, known and unknown impostors mixed"),
    ("sre16", ((0.01, 1, 1), (0.005, 1, 1)), True, "NIST SRE 2016: mean of Ptarget=0.01 and 0.005"),
    ("sre18-cmn2", ((0.01, 1, 1), (0.005, 1, 1)), False, f"NIST SRE 2018, CMN2: {_RECIPES}"),
    ("sre18-vast", ((0.05, 1, 1),), False, f"NIST SRE 2018, VAST: {_RECIPES}"),
    ("sre19-cts", ((0.01, 1, 1), (0.005, 1, 1)), False, f"NIST SRE 2019, CTS: {_RECIPES}"),
    ("sre19-av", ((0.05, 1, 1),), False, f"NIST SRE 2019, audio-visual: {_RECIPES}"),
    ("sre20", ((0.05, 1, 1),), False, f"NIST SRE 2020 CTS challenge: {_RECIPES}"),
    ("sre21", ((0.01, 1, 1), (0.05, 1, 1)), True, "NIST SRE 2021: mean of Ptarget=0.01 and 0.05"),
    ("sre24", ((0.01, 1, 1), (0.05, 1, 1)), False, "NIST SRE 2024: believed to be as 2021"),
    ("evalita09", ((0.5, 10, 1),), True, "EVALITA 2009: Cmiss=10, Cfa=1, Ptarget=0.5"),
    ("voxceleb", ((0.01, 1, 1),), True,
     "VoxCeleb (Nagrani et al. 2017) and the recipes after it: Ptarget=0.01, Cmiss=1, Cfa=1"),
    ("voxsrc", ((0.05, 1, 1),), True,
     "VoxSRC 2020 to 2023, README of the organizers' scoring code: Ptarget=0.05, Cmiss=1, Cfa=1"),
    ("asvspoof5", ((0.95, 1, 10),), True,
     "ASVspoof 5 track 1, the organizers' evaluation package: Pspoof=0.05 (bona fide 0.95), Cmiss=1, Cfa=10"),
)  # fmt: skip
_P_KNOWN = {"sre12": 0.5}


def _points_of_preset(name: str, costs: tuple[tuple[float, float, float], ...]) -> tuple[OperatingPoint, ...]:
    names = [name] if len(costs) == 1 else [f"{name}:P={prior:g}" for prior, _, _ in costs]
    return tuple(OperatingPoint(*cost, name=label) for cost, label in zip(costs, names, strict=True))


PRESETS: dict[str, Preset] = {
    name: Preset(name, _points_of_preset(name, costs), source, confirmed, _P_KNOWN.get(name))
    for name, costs, confirmed, source in _TABLE
}


@takes()
def preset(name: str, *, allow_unconfirmed: bool = False) -> Preset:
    """The cost of an evaluation by name.

    Parameters
    ----------
    name
        Name of the evaluation, such as ``"sre08"``.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> preset("sre12").averages
    True
    >>> preset("sre24")
    Traceback (most recent call last):
    llrkit.errors.UnconfirmedPresetError: preset 'sre24' is not confirmed (NIST SRE 2024: believed to be as
    2021); pass allow_unconfirmed=True (--allow-unconfirmed) to use it, or give the operating point yourself
    """
    try:
        entry = PRESETS[name.lower()]
    except (KeyError, AttributeError):
        meant = did_you_mean(name, PRESETS)
        raise UnknownNameError(f"unknown operating point {name!r}{meant}; accepted are {ACCEPTED}") from None
    if not (entry.confirmed or allow_unconfirmed):
        raise UnconfirmedPresetError(
            f"preset {entry.name!r} is not confirmed ({entry.source}); pass allow_unconfirmed=True "
            "(--allow-unconfirmed) to use it, or give the operating point yourself"
        )
    return entry


Point = OperatingPoint | str | float | tuple[float, float, float]
"""One operating point: itself, a name, a prior, or a prior with the costs of a miss and a false alarm."""
AnyPoint = Preset | Point
Points = AnyPoint | Sequence[AnyPoint]


@takes()
def operating_point(point: Point, *, allow_unconfirmed: bool = False) -> OperatingPoint:
    """One operating point: itself, a prior, a prior and two costs, or the name of a preset.

    Parameters
    ----------
    point
        Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the name
        of a preset.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> operating_point("sre10").p_target
    0.001
    >>> operating_point((0.01, 10, 1)) == operating_point("0.01,10,1")
    True
    >>> operating_point("sre12")
    Traceback (most recent call last):
    llrkit.errors.InputError: 'sre12' averages 2 operating points; use c_primary for it, or one point
    """
    entry = cost_of(point, allow_unconfirmed=allow_unconfirmed)
    if entry.averages:
        raise InputError(
            f"{entry.name!r} averages {len(entry.points)} operating points; use c_primary for it, "
            "or one point"
        )
    return entry.points[0]


@takes()
def cost_of(point: AnyPoint, *, allow_unconfirmed: bool = False) -> Preset:
    """One cost, whichever way it is given: a preset, its name, or an operating point.

    Parameters
    ----------
    point
        Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the name
        of a preset.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> [point.name for point in cost_of("sre12").points], cost_of(0.01).name
    (['sre12:P=0.01', 'sre12:P=0.001'], 'P=0.01')
    """
    if isinstance(point, Preset):
        return point
    numbers = _prior_and_costs(point)
    if isinstance(point, str) and numbers is None:
        return preset(point, allow_unconfirmed=allow_unconfirmed)
    one = point if isinstance(point, OperatingPoint) else _point_of_numbers(numbers, point)
    return Preset(one.name, (one,), "an operating point")


def point_of_text(text: str) -> OperatingPoint | None:
    """The operating point of ``"0.01"``, ``"1%"`` or ``"0.01,10,1"``; None of a name.

    Examples
    --------
    >>> point_of_text("5%,10,1").p_target, point_of_text("sre08")
    (0.05, None)
    """
    numbers = _prior_and_costs(text)
    return None if numbers is None else _point_of_numbers(numbers, text)


def _prior_and_costs(point: object) -> list[float] | None:
    """The prior, and the costs if they were given; None of what is not numbers."""
    if isinstance(point, str):
        fields = [field.strip() for field in point.split(",")]
        if fields[0][:1] not in set("0123456789.+-"):
            return None
        try:
            return [float(field[:-1]) / 100.0 if field.endswith("%") else float(field) for field in fields]
        except ValueError:
            return []  # meant as numbers, but it is not: the caller says what is accepted
    given = point if isinstance(point, (tuple, list)) else (point,)
    numbers = [float(value) for value in given if isinstance(value, Real) and not isinstance(value, bool)]
    return numbers if len(numbers) == len(given) else None


def _point_of_numbers(numbers: list[float] | None, given: object) -> OperatingPoint:
    if numbers is None or len(numbers) not in (1, 3) or not 0.0 < numbers[0] < 1.0:
        raise InputError(f"expected an operating point, got {given!r}; accepted are {ACCEPTED}")
    prior, c_miss, c_fa = [*numbers, 1.0, 1.0][:3]
    return OperatingPoint(prior, c_miss, c_fa)


ACCEPTED = (
    "a prior strictly between 0 and 1 (0.01), a prior and the costs of a miss and of a false alarm "
    f"((0.01, 10, 1) or '0.01,10,1'), an OperatingPoint, and the names {', '.join(PRESETS)}"
)


def costs_of(points: Points, *, allow_unconfirmed: bool = False) -> list[Preset]:
    """Several costs; one that is not in a list is a list of one.

    Examples
    --------
    >>> [cost.name for cost in costs_of([0.5, "sre08"])], costs_of("0.01")[0].name
    (['P=0.5', 'sre08'], 'P=0.01')
    >>> costs_of((0.01, 10, 1))
    Traceback (most recent call last):
    llrkit.errors.InputError: (0.01, 10, 1) is read as three priors; one operating point with costs is
    [(0.01, 10, 1)]
    """
    if isinstance(points, (str, OperatingPoint, Preset, Real)):
        return [cost_of(cast(AnyPoint, points), allow_unconfirmed=allow_unconfirmed)]
    try:
        several = list(cast("Sequence[AnyPoint]", points))
    except TypeError:
        raise InputError(f"expected operating points, got {points!r}; accepted are {ACCEPTED}") from None
    numbers = _prior_and_costs(tuple(several))
    if numbers is not None and len(numbers) == 3 and not all(0.0 < number < 1.0 for number in numbers):
        text = ", ".join(f"{number:g}" for number in numbers)
        raise InputError(f"({text}) is read as three priors; one operating point with costs is [({text})]")
    return [cost_of(point, allow_unconfirmed=allow_unconfirmed) for point in several]
