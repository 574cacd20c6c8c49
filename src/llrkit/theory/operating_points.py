"""Odds and operating points: Bayes' rule, the presets of evaluations, and verbal scales.

An operating point says what an error costs and how often a target comes. It is mathematics without data, so
it lives here, where both the closed forms and the metrics can reach it. Presets are data: each carries its
source, and one whose definition could not be confirmed is refused unless asked for with
``allow_unconfirmed=True``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import cast, overload

import numpy as np

from llrkit.base.arguments import FloatArray, Numbers, number_or_array, positive, yes_or_no
from llrkit.base.text import did_you_mean
from llrkit.core.numerics import logit, probability, sigmoid
from llrkit.errors import InputError, NaNScoreError, UnconfirmedPresetError, UnknownNameError
from llrkit.results.vocabulary import LN10


@overload
def log_odds(p: float) -> float: ...
@overload
def log_odds(p: Numbers) -> FloatArray: ...
def log_odds(p: float | Numbers) -> float | FloatArray:
    """Log-odds of a probability, ``log(p / (1 - p))`` in nats; infinite at 0 and 1.

    Parameters
    ----------
    p
        Probabilities.

    Examples
    --------
    >>> log_odds(0.5), round(log_odds(0.01), 6)
    (0.0, -4.59512)
    """
    return number_or_array(logit(_checked_probabilities(p)))


@overload
def probability_from_log_odds(x: float) -> float: ...
@overload
def probability_from_log_odds(x: Numbers) -> FloatArray: ...
def probability_from_log_odds(x: float | Numbers) -> float | FloatArray:
    """Probability with given log-odds, ``1 / (1 + e^-x)``.

    Parameters
    ----------
    x
        Log-odds in nats.

    Examples
    --------
    >>> round(probability_from_log_odds(log_odds(0.3)), 15)
    0.3
    """
    return number_or_array(sigmoid(x))


@overload
def posterior(llr: float, prior: float) -> float: ...
@overload
def posterior(llr: Numbers, prior: float) -> FloatArray: ...
def posterior(llr: float | Numbers, prior: float) -> float | FloatArray:
    """Posterior probability of a target, ``P r / (P r + 1 - P) = sigmoid(llr + logit P)``.

    The likelihood ratio is sufficient: whatever was observed, its LLR and the prior are all that matters.

    Parameters
    ----------
    llr
        LLRs in nats.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> posterior(np.log(99.0), 0.01)
    0.5
    """
    return number_or_array(sigmoid(np.asarray(llr, dtype=np.float64) + log_odds(probability(prior, "prior"))))


@overload
def llr_from_posterior(p: float, prior: float) -> float: ...
@overload
def llr_from_posterior(p: Numbers, prior: float) -> FloatArray: ...
def llr_from_posterior(p: float | Numbers, prior: float) -> float | FloatArray:
    """LLR in nats that takes a prior to a posterior, ``logit p - logit P``; the inverse of :func:`posterior`.

    Parameters
    ----------
    p
        Posterior probabilities of a target.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> round(llr_from_posterior(0.5, 0.01), 12)  # log 99
    4.595119850135
    """
    return number_or_array(logit(_checked_probabilities(p)) - log_odds(probability(prior, "prior")))


@overload
def posterior_log_odds(llr: float, prior: float) -> float: ...
@overload
def posterior_log_odds(llr: Numbers, prior: float) -> FloatArray: ...
def posterior_log_odds(llr: float | Numbers, prior: float) -> float | FloatArray:
    """Posterior log-odds, the odds form of Bayes' rule: ``llr + logit P``.

    Parameters
    ----------
    llr
        LLRs in nats.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> posterior_log_odds(2.0, 0.5)
    2.0
    """
    return number_or_array(np.asarray(llr, dtype=np.float64) + log_odds(probability(prior, "prior")))


def _checked_probabilities(p: float | Numbers) -> FloatArray:
    values = np.asarray(p, dtype=np.float64)
    if not np.all((values >= 0.0) & (values <= 1.0)):  # NaN fails both comparisons
        raise InputError(f"a probability must lie between 0 and 1, got {p!r}")
    return values


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The prior of a target and the costs of the two errors.

    ``Cdet = c_miss * p_target * Pmiss + c_fa * (1 - p_target) * Pfa``; only the effective prior matters
    for decisions: accept when ``llr >= threshold`` with ``threshold = -logit(effective_prior)``.

    Examples
    --------
    >>> point = OperatingPoint(p_target=0.01, c_miss=10, c_fa=1)
    >>> round(point.effective_prior, 4), round(point.threshold, 4), round(point.beta, 4)
    (0.0917, 2.2925, 9.9)
    >>> point.default_cost
    0.1
    """

    p_target: float
    """Prior probability of a target."""
    c_miss: float = 1.0
    """Cost of a miss."""
    c_fa: float = 1.0
    """Cost of a false alarm."""
    name: str = ""
    """Name of the point in tables."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_target", probability(self.p_target, "p_target"))
        for field in ("c_miss", "c_fa"):
            object.__setattr__(self, field, positive(getattr(self, field), field))
        if not self.name:
            label = f"P={self.p_target:g}"
            if (self.c_miss, self.c_fa) != (1.0, 1.0):
                label += f",Cmiss={self.c_miss:g},Cfa={self.c_fa:g}"
            object.__setattr__(self, "name", label)

    @property
    def miss_weight(self) -> float:
        """What Pmiss is multiplied by in the cost: ``c_miss * p_target``."""
        return self.c_miss * self.p_target

    @property
    def fa_weight(self) -> float:
        """What Pfa is multiplied by in the cost: ``c_fa * (1 - p_target)``."""
        return self.c_fa * (1.0 - self.p_target)

    @property
    def default_cost(self) -> float:
        """Cost of the better of "always reject" and "always accept"; the normalizer of DCFs."""
        return min(self.miss_weight, self.fa_weight)

    @property
    def beta(self) -> float:
        """``(c_fa / c_miss) (1 - p_target) / p_target``, the odds against a target, costs included."""
        # a ratio of costs times a ratio of priors: each stays in range where the products might not
        return self.c_fa / self.c_miss * ((1.0 - self.p_target) / self.p_target)

    @property
    def effective_prior(self) -> float:
        """The prior that, with unit costs, leads to the same decisions."""
        return self.miss_weight / (self.miss_weight + self.fa_weight)

    @property
    def log_odds(self) -> float:
        """Logit of the effective prior (``plo`` in BOSARIS)."""
        return -math.log(self.beta)  # not by way of the effective prior, which may round to 1

    @property
    def threshold(self) -> float:
        """The Bayes threshold: accept when the LLR is at least this."""
        return math.log(self.beta)

    def cost(self, p_miss: float, p_fa: float, *, normalized: bool = True) -> float:
        """Detection cost of a pair of error rates, by default divided by ``default_cost``.

        Parameters
        ----------
        p_miss
            Miss rate, between 0 and 1.
        p_fa
            False-alarm rate, between 0 and 1.
        normalized
            Divide by the cost of deciding without scores.

        Examples
        --------
        >>> OperatingPoint(0.001).cost(0.5, 0.0001)
        0.5999
        """
        if not normalized:
            return self.miss_weight * p_miss + self.fa_weight * p_fa
        # dividing first keeps "reject all" at exactly 1
        return p_miss + self.beta * p_fa if self.beta >= 1.0 else p_miss / self.beta + p_fa


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
_P_KNOWN = {"sre12": 0.5}  # docs/notes/decisions-data.md


def _points_of_preset(name: str, costs: tuple[tuple[float, float, float], ...]) -> tuple[OperatingPoint, ...]:
    names = [name] if len(costs) == 1 else [f"{name}:P={prior:g}" for prior, _, _ in costs]
    return tuple(OperatingPoint(*cost, name=label) for cost, label in zip(costs, names, strict=True))


PRESETS: dict[str, Preset] = {
    name: Preset(name, _points_of_preset(name, costs), source, confirmed, _P_KNOWN.get(name))
    for name, costs, confirmed, source in _TABLE
}


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
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
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
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
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
        if fields[0][:1] not in set("0123456789.+-"):  # no name of a preset begins so
            return None
        try:
            return [float(field[:-1]) / 100.0 if field.endswith("%") else float(field) for field in fields]
        except ValueError:
            return []  # meant as numbers, but it is not: the caller says what is accepted
    given = point if isinstance(point, (tuple, list)) else (point,)
    # True is a Real, but no prior
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
    # three numbers that are not all priors were meant as one point with its costs
    if numbers is not None and len(numbers) == 3 and not all(0.0 < number < 1.0 for number in numbers):
        text = ", ".join(f"{number:g}" for number in numbers)
        raise InputError(f"({text}) is read as three priors; one operating point with costs is [({text})]")
    return [cost_of(point, allow_unconfirmed=allow_unconfirmed) for point in several]


ENFSI = (
    (2.0, "no support for either"),
    (10.0, "weak"),
    (100.0, "moderate"),
    (1_000.0, "moderately strong"),
    (10_000.0, "strong"),
    (1_000_000.0, "very strong"),
    (math.inf, "extremely strong"),
)
"""Likelihood ratios below each value, and the word for them (ENFSI guideline, 2015)."""


def verbal_scale(llr: float, *, log10: bool = False) -> str:
    """The strength of evidence in words, by the bands of the ENFSI guideline (2015).

    LR 1 to 2: no support for either; 2 to 10: weak; 10 to 100: moderate; to 1,000: moderately strong; to
    10,000: strong; to 1,000,000: very strong; beyond: extremely strong. An LR below 1 supports the
    other hypothesis as much as its inverse supports this one.

    Parameters
    ----------
    llr
        Natural-log LLR, or a log10 LLR with ``log10=True``.
    log10
        The LLR is to base ten.

    Examples
    --------
    >>> verbal_scale(5.0), verbal_scale(-3.5, log10=True), verbal_scale(0.3)
    ('moderately strong support for the same source', 'strong support for different sources',
     'no support for either')
    """
    value = float(llr) * (LN10 if yes_or_no(log10, "log10") else 1.0)
    if math.isnan(value):
        raise NaNScoreError("the LLR is NaN")
    word = verbal_word(value)
    if word is None:
        return ENFSI[0][1]
    return f"{word} support for {'the same source' if value > 0.0 else 'different sources'}"


def verbal_word(llr: float) -> str | None:
    """The strength of a natural-log LLR in words, without saying what is supported; None for no support.

    Examples
    --------
    >>> verbal_word(-5.0), verbal_word(0.1)
    ('moderately strong', None)
    """
    # an infinite LLR is below no edge
    word = next(word for edge, word in ENFSI if abs(llr) < math.log(edge) or edge == math.inf)
    return None if word == ENFSI[0][1] else word
