"""ConditionedMap: a line from score to LLR whose slope and offset follow the conditions of a trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.calibrate.affine.conditions.condition_terms import ConditionTerms
from llrkit.calibrate.composite.linear_map import weighted_sum
from llrkit.calibrate.maps import AffineMap, Columns, Map
from llrkit.errors import InputError
from llrkit.theory import GaussianLLR


class _ClassLines(NamedTuple):
    """Means and variances of the classes, one for each trial."""

    mean_target: FloatArray
    mean_nontarget: FloatArray
    variance_target: FloatArray
    variance_nontarget: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ConditionedMap(Map):
    """``llr = a(z) score + b(z)`` for the conditions z of a trial, as :func:`fit_cmlg` makes it of them.

    The mean and the logarithm of the variance of each class are sums of smooth terms of z; slope and offset
    are those of CMLG with these moments. :meth:`at` gives the line of one set of conditions, with standard
    errors.
    """

    columns: list[str]
    """Names of the conditions."""
    basis: str
    """How conditions are transformed: "log", "inverse" or "linear"."""
    low: FloatArray
    """Smallest value of each condition in training."""
    high: FloatArray
    """Largest value of each condition in training."""
    powers: list[list[int]]
    """For each term, the power of each condition in it."""
    alpha: float
    """Weight of the variance of the targets; that of the non-targets has the rest."""
    mean_target: FloatArray
    """Coefficients of the mean of the targets, one for each term."""
    mean_nontarget: FloatArray
    """Coefficients of the mean of the non-targets."""
    log_variance_target: FloatArray
    """Coefficients of the log-variance of the targets."""
    log_variance_nontarget: FloatArray
    """Coefficients of the log-variance of the non-targets."""
    covariance_target: FloatArray
    """Covariance matrix of the coefficients of the targets: those of the mean, then of the log-variance."""
    covariance_nontarget: FloatArray
    """The same of the non-targets."""

    kind: ClassVar[str] = "conditioned"

    @property
    def condition_ranges(self) -> dict[str, list[float]]:
        """Smallest and largest value of each condition in training."""
        return self.terms.ranges

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the conditions."""
        return tuple(self.columns)

    @cached_property
    def terms(self) -> ConditionTerms:
        """What the moments are sums of."""
        powers = tuple(tuple(int(power) for power in term) for term in self.powers)
        return ConditionTerms(tuple(self.columns), self.basis, self.low, self.high, powers)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Each score through the line of its conditions.

        Parameters
        ----------
        scores
            Scores, higher meaning more target-like.
        columns
            Columns that go with the scores, by name.
        """
        slope, offset = self._lines(self.terms.of(columns))
        return slope * scores + offset

    def _lines(self, terms: FloatArray) -> tuple[FloatArray, FloatArray]:
        moments = self._moments(terms)
        variance = self.alpha * moments.variance_target + (1.0 - self.alpha) * moments.variance_nontarget
        slope = (moments.mean_target - moments.mean_nontarget) / variance
        return slope, -slope * (moments.mean_target + moments.mean_nontarget) / 2.0

    def _moments(self, terms: FloatArray) -> _ClassLines:
        return _ClassLines(
            weighted_sum(terms, self.mean_target),
            weighted_sum(terms, self.mean_nontarget),
            np.exp(weighted_sum(terms, self.log_variance_target)),
            np.exp(weighted_sum(terms, self.log_variance_nontarget)),
        )

    def at(self, *in_order: float | Sequence[float], **conditions: float) -> AffineMap:
        """The straight line of one set of conditions; ``details`` has standard errors and what it promises.

        The conditions are given by name, or in the order of ``columns``. One beyond its range in training
        counts as the end of it; ``details["outside"]`` names those.
        The standard errors are those of independent trials (delta method, from the sandwich covariance of the
        coefficients).

        Parameters
        ----------
        *in_order
            The values of the conditions in the order of the columns.
        **conditions
            The value of each condition, by column.

        Examples
        --------
        >>> import llrkit as lk
        >>> rng = np.random.default_rng(1)
        >>> seconds = np.repeat([5.0, 40.0], 500), np.repeat([5.0, 40.0], 5000)
        >>> scores = lk.Scores(rng.normal(np.log(seconds[0])), rng.normal(0.0, 1.0, 10000),
        ...                    {"seconds": seconds})
        >>> fitted = lk.fit_cmlg(scores, conditions=["seconds"])
        >>> fitted.at(seconds=5.0)
        AffineMap(cmlg at seconds 5: llr = 1.70979 * score -1.34661)
        >>> round(fitted.at(seconds=40.0).details["se_a"], 3)
        0.129
        """
        first = in_order[0] if len(in_order) == 1 else None
        values = first if isinstance(first, (tuple, list)) else in_order
        given = {**dict(zip(self.columns, values, strict=False)), **conditions}
        if len(values) + len(conditions) != len(self.columns) or set(given) != set(self.columns):
            raise InputError(f"at() takes one number for each of {', '.join(self.columns)}")
        conditions = given
        ends = self.condition_ranges
        terms = self.terms.of({name: np.array([value]) for name, value in conditions.items()})
        a, b = (float(line[0]) for line in self._lines(terms))
        moments = self._moments(terms)
        mu = a * float(moments.mean_target[0] - moments.mean_nontarget[0]) / 2.0
        pair = GaussianLLR.from_mu(mu) if mu > 0.0 else None
        covariance = self._line_covariance(terms[0], a, moments)
        details: dict[str, object] = {
            "conditions": {name: float(conditions[name]) for name in self.columns},
            "outside": [name for name, (low, high) in ends.items() if not low <= conditions[name] <= high],
            "mean_target": float(moments.mean_target[0]),
            "mean_nontarget": float(moments.mean_nontarget[0]),
            "se_a": math.sqrt(covariance[0, 0]),
            "se_b": math.sqrt(covariance[1, 1]),
            "covariance_ab": float(covariance[0, 1]),
            "mu": mu,
            "eer": pair.eer if pair else 0.5,
            "cllr": pair.cllr if pair else 1.0,
        }
        words = ", ".join(f"{name} {conditions[name]:g}" for name in self.columns)
        return AffineMap(a=a, b=b, method=f"{self.method} at {words}", details=details, reading=self.reading)

    def _line_covariance(self, terms: FloatArray, a: float, moments: _ClassLines) -> FloatArray:
        """Covariance of slope and offset: they are functions of two means and two log-variances."""
        shares = self.alpha * moments.variance_target[0], (1.0 - self.alpha) * moments.variance_nontarget[0]
        v = sum(shares)
        middle = float(moments.mean_target[0] + moments.mean_nontarget[0]) / 2.0
        total = np.zeros((2, 2))
        for sign, share, covariance in (
            (1.0, shares[0], self.covariance_target),
            (-1.0, shares[1], self.covariance_nontarget),
        ):
            of_slope = np.concatenate([sign / v * terms, -a * share / v * terms])
            of_offset = -middle * of_slope - a / 2.0 * np.concatenate([terms, np.zeros_like(terms)])
            gradient = np.stack([of_slope, of_offset])
            total += gradient @ covariance @ gradient.T
        return total

    def __repr__(self) -> str:
        ranges = self.terms.ranges
        ends = [{name: values[i] for name, values in ranges.items()} for i in (0, 1)]
        lines = [self.at(**end) for end in ends]
        shown = "; ".join(
            f"{line.a * self.input_factor:.4g} * score {line.b:+.4g} "
            f"at {', '.join(f'{value:g}' for value in end.values())}"
            for line, end in zip(lines, ends, strict=True)
        )
        return f"ConditionedMap({self.method} given {', '.join(self.columns)}: llr = {shown})"
