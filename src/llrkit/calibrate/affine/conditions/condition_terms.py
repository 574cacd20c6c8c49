"""Smooth functions of the conditions of a trial: quadratics of their logarithms, say, on a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Columns
from llrkit.calibrate.option_checks import finite_numbers, names_of
from llrkit.errors import InputError

BASES = ("log", "inverse", "linear")
MOST_CONDITIONS = 4
Powers = tuple[tuple[int, ...], ...]


def condition_names(conditions: object) -> tuple[str, ...]:
    """The columns of the conditions, from a list of names or from text with commas.

    Examples
    --------
    >>> condition_names("enroll_seconds,test_seconds")
    ('enroll_seconds', 'test_seconds')
    """
    typed = conditions.split(",") if isinstance(conditions, str) else names_of(conditions, "conditions")
    names = tuple(name.strip() for name in typed)
    if not 1 <= len(names) <= MOST_CONDITIONS or not all(names):
        raise InputError(f"conditions are the names of 1 to {MOST_CONDITIONS} columns, got {conditions!r}")
    if len(set(names)) < len(names):
        raise InputError(f"conditions name a column twice: {', '.join(names)}")
    return names


def condition_values(columns: Columns, names: Sequence[str], basis: str) -> FloatArray:
    """The conditions of each trial as finite numbers that the basis takes, shape (n, conditions)."""
    values = [finite_numbers(columns[name], name, "a condition") for name in names]
    if basis != "linear":
        for name, value in zip(names, values, strict=True):
            if len(value) and value.min() <= 0.0:
                raise InputError(
                    f"column {name!r}: the basis {basis!r} takes values above 0, got {value.min():g}; "
                    "the basis 'linear' takes all"
                )
    return np.stack(values, axis=1)


def quadratic_powers(n: int) -> Powers:
    """Powers of a full quadratic in ``n`` conditions: constant, linear, then products and squares.

    Examples
    --------
    >>> quadratic_powers(2)
    ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    """
    picks = [pick for degree in (0, 1, 2) for pick in combinations_with_replacement(range(n), degree)]
    return tuple(tuple(pick.count(i) for i in range(n)) for pick in picks)


@dataclass(frozen=True, eq=False)
class ConditionTerms:
    """The terms whose sums the class moments are: products of powers of the conditions.

    Each condition is transformed by the ``basis`` and moved to -1 ... 1 on ``low`` to ``high``, its range in
    training.
    A condition beyond that range counts as its end: a quadratic must not be extrapolated.

    Examples
    --------
    >>> terms = ConditionTerms(("seconds",), "log", np.array([5.0]), np.array([45.0]), ((0,), (1,), (2,)))
    >>> terms.of({"seconds": np.array([5.0, 15.0, 45.0, 900.0])}).round(9)
    array([[ 1., -1.,  1.],
           [ 1.,  0.,  0.],
           [ 1.,  1.,  1.],
           [ 1.,  1.,  1.]])
    >>> terms.names
    ['1', 'log seconds', '(log seconds)^2']
    """

    columns: tuple[str, ...]
    basis: str
    low: FloatArray
    high: FloatArray
    powers: Powers

    def of(self, columns: Columns) -> FloatArray:
        """The terms of each trial, shape (n, terms)."""
        return self.at(self.units(columns))

    def units(self, columns: Columns) -> FloatArray:
        """The conditions of each trial on -1 ... 1."""
        values = condition_values(columns, self.columns, self.basis)
        within = self._transformed(np.clip(values, self.low, self.high))
        first, last = self._transformed(self.low), self._transformed(self.high)
        return np.clip((2.0 * within - first - last) / (last - first), -1.0, 1.0)

    def _transformed(self, values: FloatArray) -> FloatArray:
        if self.basis == "log":
            return np.asarray(np.log(values))
        return 1.0 / values if self.basis == "inverse" else values

    def at(self, units: FloatArray) -> FloatArray:
        """The terms of conditions that are on -1 ... 1 already."""
        terms = [np.prod(units ** np.array(powers), axis=1) for powers in self.powers]
        return np.stack(terms, axis=1)

    @property
    def names(self) -> list[str]:
        """The terms in words; the conditions in them run from -1 to 1."""
        shown = {"log": "log {}", "inverse": "1/{}", "linear": "{}"}[self.basis]
        return [_term_name([shown.format(name) for name in self.columns], powers) for powers in self.powers]

    @property
    def ranges(self) -> dict[str, list[float]]:
        """Smallest and largest value of each condition in training."""
        ends = zip(self.columns, self.low.tolist(), self.high.tolist(), strict=True)
        return {name: [low, high] for name, low, high in ends}


def _term_name(names: Sequence[str], powers: Sequence[int]) -> str:
    factors = [
        name if power == 1 else f"({name})^{power}"
        for name, power in zip(names, powers, strict=True)
        if power
    ]
    return " x ".join(factors) or "1"
