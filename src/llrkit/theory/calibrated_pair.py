"""What every pair of calibrated LLR distributions can do, computed once from the two distributions.

A pair is calibrated when the LLR of the LLR is the LLR: ``log target.pdf(x) - log nontarget.pdf(x) = x``.
That one equation gives more than a definition: the Bayes threshold is optimal, so minimum and actual cost
agree; ``Pmiss(t) <= e^t`` and ``Pfa(t) <= e^-t``, so every integral below lives on a short interval; and

    1 - AUC = 1/2 ∫ e^t Pfa(t)^2 dt

because ``dPmiss = -e^t dPfa``. So Cllr and AUC need the two error rates only, never a density.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers
from llrkit._cached import cached_property
from llrkit._random import RNG
from llrkit.core.bracketed_root import bracketed_root
from llrkit.core.elementary_functions import LN2, probit, sigmoid
from llrkit.errors import InputError
from llrkit.theory._quadrature import integrate
from llrkit.theory.distribution import Distribution, Mirrored, Size
from llrkit.theory.presets import AnyPoint, Point, cost_of, operating_point

# beyond |t| = 45 what is left of the integrals is below e^-45, about 3e-20
_REACH = 45.0
_EDGES = np.concatenate((-np.geomspace(_REACH, 0.5, 10), [0.0], np.geomspace(0.5, _REACH, 10)))


class DetLine(NamedTuple):
    """A straight DET curve, ``probit Pmiss = slope * probit Pfa + intercept``.

    Examples
    --------
    >>> DetLine(slope=-1.0, intercept=-3.0).intercept
    -3.0
    """

    slope: float
    """-1 for calibrated Gaussian LLRs."""
    intercept: float
    """The probit of the miss rate where the false-alarm rate is 50 %."""


class CalibratedPair(ABC):
    """Distributions of a calibrated LLR (in nats) under the two hypotheses.

    ``x >= threshold`` accepts, so ``p_miss(t) = P(x < t | target)`` and ``p_fa(t) = P(x >= t | nontarget)``.
    Cllr is in bits, DCFs are normalized. Subclasses give ``target`` and ``nontarget``; the rest follows.

    References
    ----------
    van Leeuwen & Brümmer, "The distribution of calibrated likelihood-ratios in speaker recognition",
    Interspeech 2013.

    Examples
    --------
    >>> from llrkit.theory import GammaLLR
    >>> pair = GammaLLR(shape=1.0)
    >>> round(pair.eer, 6), round(pair.eer_threshold, 4), round(pair.cllr, 6)
    (0.317844, 0.1364, 0.846547)
    """

    @property
    @abstractmethod
    def target(self) -> Distribution:
        """Distribution of the LLR when the sources are the same."""

    @property
    @abstractmethod
    def nontarget(self) -> Distribution:
        """Distribution of the LLR when the sources differ."""

    @property
    def symmetric(self) -> bool:
        """Whether ``target.pdf(x) == nontarget.pdf(-x)``, which puts the EER threshold at 0."""
        return False

    @overload
    def p_miss(self, threshold: float) -> float: ...
    @overload
    def p_miss(self, threshold: Numbers) -> FloatArray: ...
    def p_miss(self, threshold: float | Numbers) -> float | FloatArray:
        """``P(x < threshold | target)``.

        Parameters
        ----------
        threshold
            Threshold; a score at or above it is accepted.
        """
        return self.target.below(threshold)

    @overload
    def p_fa(self, threshold: float) -> float: ...
    @overload
    def p_fa(self, threshold: Numbers) -> FloatArray: ...
    def p_fa(self, threshold: float | Numbers) -> float | FloatArray:
        """``P(x >= threshold | nontarget)``.

        Parameters
        ----------
        threshold
            Threshold; a score at or above it is accepted.
        """
        return self.nontarget.at_least(threshold)

    @overload
    def error_rates(self, threshold: float) -> tuple[float, float]: ...
    @overload
    def error_rates(self, threshold: Numbers) -> tuple[FloatArray, FloatArray]: ...
    def error_rates(self, threshold: float | Numbers) -> tuple[float | FloatArray, float | FloatArray]:
        """``(p_miss, p_fa)`` at a threshold.

        Parameters
        ----------
        threshold
            Threshold; a score at or above it is accepted.
        """
        return self.p_miss(threshold), self.p_fa(threshold)

    @overload
    def log_ratio(self, x: float) -> float: ...
    @overload
    def log_ratio(self, x: Numbers) -> FloatArray: ...
    def log_ratio(self, x: float | Numbers) -> float | FloatArray:
        """``log target.pdf(x) - log nontarget.pdf(x)``: ``x`` again, and NaN where both densities are 0.

        Parameters
        ----------
        x
            LLRs in nats.
        """
        above, under = np.asarray(self.target.logpdf(x)), np.asarray(self.nontarget.logpdf(x))
        empty = (above == -np.inf) & (under == -np.inf)
        out = np.where(empty, np.nan, above - np.where(empty, 0.0, under))
        return float(out) if out.ndim == 0 else out

    @cached_property
    def eer_threshold(self) -> float:
        """Threshold at which both error rates are equal."""
        if self.symmetric:
            return 0.0
        return bracketed_root(lambda t: self.p_miss(t) - self.p_fa(t), -_REACH, _REACH, within=1e-14)

    @cached_property
    def eer(self) -> float:
        """Equal error rate, ``Pmiss = Pfa``, as a fraction."""
        return 0.5 * float(sum(self.error_rates(self.eer_threshold)))

    @cached_property
    def cllr(self) -> float:
        """Cost of the log-likelihood-ratio in bits.

        ``1/(2 ln 2) ∫ [sigmoid(-t) Pmiss(t) + sigmoid(t) Pfa(t)] dt``, the usual definition by parts.
        """
        from scipy.special import expit

        def loss(t: FloatArray) -> FloatArray:
            return np.asarray(expit(-t) * self.p_miss(t) + expit(t) * self.p_fa(t))

        return integrate(loss, self._edges()) / (2.0 * LN2)

    @cached_property
    def auc(self) -> float:
        """Area under the ROC, ties counted half: ``1 - 1/2 ∫ e^t Pfa(t)^2 dt``."""

        def area(t: FloatArray) -> FloatArray:
            return np.asarray(np.exp(t) * self.p_fa(t) ** 2)

        return 1.0 - 0.5 * integrate(area, self._edges())

    @overload
    def bayes_error(self, log_odds: float) -> float: ...
    @overload
    def bayes_error(self, log_odds: Numbers) -> FloatArray: ...
    def bayes_error(self, log_odds: float | Numbers) -> float | FloatArray:
        """Error rate of Bayes decisions at prior log-odds ``log_odds``: ``P Pmiss(-l) + (1 - P) Pfa(-l)``.

        Parameters
        ----------
        log_odds
            Prior log-odds in nats.
        """
        odds = np.asarray(log_odds, dtype=np.float64)
        out = sigmoid(odds) * self.p_miss(-odds) + sigmoid(-odds) * self.p_fa(-odds)
        return float(out) if odds.ndim == 0 else out

    def act_dcf(self, point: Point, *, allow_unconfirmed: bool = False) -> float:
        """Normalized detection cost at the Bayes threshold of an operating point or of a preset's name.

        Parameters
        ----------
        point
            Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the
            name of a preset.
        allow_unconfirmed
            Accept presets whose definition could not be confirmed.
        """
        where = operating_point(point, allow_unconfirmed=allow_unconfirmed)
        return where.cost(*self.error_rates(where.threshold))

    def min_dcf(self, point: Point, *, allow_unconfirmed: bool = False) -> float:
        """Smallest normalized detection cost; equals :meth:`act_dcf`, since the pair is calibrated.

        Parameters
        ----------
        point
            Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the
            name of a preset.
        allow_unconfirmed
            Accept presets whose definition could not be confirmed.
        """
        return self.act_dcf(point, allow_unconfirmed=allow_unconfirmed)

    def c_primary(self, name: AnyPoint, *, allow_unconfirmed: bool = False) -> float:
        """Mean of the normalized costs over the operating points of a preset such as ``"sre12"``.

        There is one kind of non-target here, so a preset that mixes two kinds sees them as equal.

        Parameters
        ----------
        name
            Name of a preset.
        allow_unconfirmed
            Accept presets whose definition could not be confirmed.
        """
        chosen_preset = cost_of(name, allow_unconfirmed=allow_unconfirmed)
        return sum(self.act_dcf(point) for point in chosen_preset.points) / len(chosen_preset.points)

    def det_slope(self, low: float = 0.001, high: float = 0.5) -> float:
        """Slope of the DET by total least squares where both error rates lie in ``[low, high]``.

        The points are the crossings of the DET with the lines ``probit Pmiss - probit Pfa = c`` for ``c``
        on an even grid, so swapping the classes inverts the slope exactly.

        Parameters
        ----------
        low
            Lowest error rate.
        high
            Highest error rate.
        """
        if not 0.0 < low < high < 1.0:
            raise InputError(f"0 < low < high < 1 is needed, got low={low!r}, high={high!r}")
        t = np.linspace(*self._threshold_range(low, high), 501)
        miss, fa = probit(self.p_miss(t)), probit(self.p_fa(t))
        even = np.linspace((miss - fa)[0], (miss - fa)[-1], 1001)
        y, x = np.interp(even, miss - fa, miss), np.interp(even, miss - fa, fa)
        values, vectors = np.linalg.eigh(np.cov(x, y))
        main = vectors[:, int(np.argmax(values))]
        return float(main[1] / main[0])

    def rvs(self, n_target: Size, n_nontarget: Size, rng: RNG = None) -> tuple[FloatArray, FloatArray]:
        """Draw target LLRs and non-target LLRs.

        Parameters
        ----------
        n_target
            Number of target trials.
        n_nontarget
            Number of non-target trials.
        rng
            A NumPy generator, or a seed.
        """
        generator = np.random.default_rng(rng)
        return self.target.rvs(n_target, generator), self.nontarget.rvs(n_nontarget, generator)

    def mirror(self) -> CalibratedPair:
        """The calibrated pair with the classes swapped and ``x`` replaced by ``-x``."""
        return self if self.symmetric else MirrorLLR(self)

    def _edges(self) -> FloatArray:
        """Where to start the integrals over thresholds: error rates have kinks at the ends of the support."""
        ends = np.array([*self.target.support(), *self.nontarget.support()])
        return np.unique(np.concatenate((_EDGES, ends[np.abs(ends) < _REACH])))

    def _threshold_range(self, low: float, high: float) -> tuple[float, float]:
        """Thresholds between which both error rates lie in ``[low, high]``."""

        def solve(level: float, *, miss: bool) -> float:
            rate = self.p_miss if miss else self.p_fa
            return bracketed_root(lambda t: rate(t) - level, -_REACH, _REACH, within=1e-12)

        bottom = max(solve(low, miss=True), solve(high, miss=False))
        top = min(solve(high, miss=True), solve(low, miss=False))
        if not bottom < top:
            raise InputError(f"no threshold has both error rates in [{low:g}, {high:g}] (EER {self.eer:g})")
        return bottom, top


@dataclass(frozen=True)
class MirrorLLR(CalibratedPair):
    """A calibrated pair with classes swapped and the sign of the LLR changed; calibrated as well.

    ``target(x) = of.nontarget(-x)``, ``nontarget(x) = of.target(-x)``.

    Examples
    --------
    >>> from llrkit.theory import GammaLLR
    >>> pair = GammaLLR(0.3)
    >>> round(pair.mirror().eer_threshold + pair.eer_threshold, 12)
    0.0
    """

    of: CalibratedPair
    """The pair that is mirrored."""

    @property
    def target(self) -> Distribution:
        """Minus the non-target LLRs of the original."""
        return Mirrored(self.of.nontarget)

    @property
    def nontarget(self) -> Distribution:
        """Minus the target LLRs of the original."""
        return Mirrored(self.of.target)

    def mirror(self) -> CalibratedPair:
        """The original pair."""
        return self.of
