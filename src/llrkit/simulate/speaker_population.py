"""Embeddings of simulated speakers: what a speaker, a recording and every second of speech add."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llrkit._arguments import whole_number
from llrkit.core.bracketed_root import bracketed_root
from llrkit.core.elementary_functions import probit
from llrkit.errors import InputError
from llrkit.simulate.simulated_people import DURATIONS
from llrkit.theory.plda_pair import PLDALLR


@dataclass(frozen=True)
class Population:
    """An embedding space in which short segments are noisier.

    The embedding of the first d seconds of a recording is ``gender + y + e + n(d)`` in ``dim`` dimensions,
    each of them normal with the variances ``between`` (y, the speaker), ``channel`` (e, the recording) and
    ``noise / d`` (n, the mean of d seconds of speech; a longer segment contains the shorter ones). The
    correlation of two recordings of a speaker is ``b / sqrt(T_i T_j)`` with ``T(d) = b + channel +
    noise / d``, so exact PLDA LLRs follow :meth:`pair`.

    With ``shrinks`` an embedding is a posterior mean, as an i-vector is: all of it is multiplied by
    ``(b + channel) / T(d)``, so the less speech, the closer it is to zero, and the total variance
    ``(b + channel)^2 / T(d)`` falls instead of rising. The correlation stays, and so does :meth:`pair`.

    Examples
    --------
    >>> voices = Population.between_eers(eer_full=0.03, eer_short=0.25)
    >>> round(voices.pair(100, 100).eer, 4), round(voices.pair(5, 5).eer, 4)
    (0.03, 0.25)
    >>> round(voices.between, 4), round(voices.total(100.0), 4)
    (0.3558, 1.0)
    >>> points = replace(voices, shrinks=True)
    >>> [round(one.total(5.0) / one.total(100.0), 2) for one in (voices, points)]
    [2.65, 0.38]
    """

    dim: int
    """Number of dimensions."""
    between: float
    """Variance of speakers in each dimension."""
    channel: float
    """Variance of the recordings of a speaker."""
    noise: float
    """Variance of one second of speech; that of d seconds is ``noise / d``."""
    gender_gap: float = 2.0
    """Distance between the means of the genders."""
    shrinks: bool = False
    """Whether short segments shrink towards zero, as posterior means do."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        whole_number(self.dim, 2, "dim")
        if not (self.between > 0.0 and self.channel > 0.0 and self.noise >= 0.0 and self.gender_gap >= 0.0):
            raise InputError("between and channel must be above 0, noise and gender_gap at least 0")

    @classmethod
    def between_eers(
        cls,
        eer_full: float = 0.029,
        eer_short: float = 0.26,
        *,
        dim: int = 100,
        short: float = DURATIONS[0],
        full: float = DURATIONS[-1],
    ) -> Population:
        """The population whose exact PLDA LLRs have these EERs for whole and for short segments.

        The total variance of a whole segment is 1. The defaults are the two ends of the paper's range (van
        Leeuwen & Brümmer 2013, section 4.1).

        Parameters
        ----------
        eer_full
            Equal error rate of two whole segments.
        eer_short
            Equal error rate of two short segments.
        dim
            Number of dimensions.
        short
            Duration of a short segment in seconds.
        full
            Duration of a whole segment in seconds.
        """
        if not 0.0 < eer_full < eer_short < 0.5 or not 0.0 < short < full < np.inf:
            raise InputError(
                f"the EER must rise as segments get shorter: got {eer_full!r} at {full!r} s, "
                f"{eer_short!r} at {short!r} s"
            )
        between, weak = (_correlation_of_eer(eer, dim) for eer in (eer_full, eer_short))
        noise = (between / weak - 1.0) / (1.0 / short - 1.0 / full)
        channel = 1.0 - between - noise / full
        if not channel > 0.0:
            raise InputError(
                f"an EER of {eer_full!r} in {dim} dimensions leaves no room for the noise of {full!r} s; "
                "take more dimensions or a longer full duration"
            )
        return cls(dim, between, channel, noise)

    def total(self, duration: float) -> float:
        """The variance of a segment in each dimension: ``T(d)``, unless it shrinks.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return self.shrinkage(duration) ** 2 * self._unshrunk(duration)

    def shrinkage(self, duration: float) -> float:
        """What a segment is multiplied by.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return (self.between + self.channel) / self._unshrunk(duration) if self.shrinks else 1.0

    def _unshrunk(self, duration: float) -> float:
        return self.between + self.channel + self.noise / duration

    def correlation(self, enroll: float, test: float) -> float:
        """Correlation of two recordings of one speaker, cut to these durations.

        Parameters
        ----------
        enroll
            Duration of the enrollment segment in seconds.
        test
            Duration of the test segment in seconds.
        """
        return self.between / float(np.sqrt(self._unshrunk(enroll) * self._unshrunk(test)))

    def pair(self, enroll: float, test: float) -> PLDALLR:
        """The exact LLRs of segments of these durations, whose model knows both.

        Parameters
        ----------
        enroll
            Duration of the enrollment segment in seconds.
        test
            Duration of the test segment in seconds.
        """
        return PLDALLR.isotropic(self.correlation(enroll, test), self.dim)

    def rougher(self, factor: float) -> Population:
        """The same speakers with recordings and speech that vary ``factor`` times as much.

        Parameters
        ----------
        factor
            How many times the variance grows.
        """
        return replace(self, channel=self.channel * factor, noise=self.noise * factor)


def _correlation_of_eer(eer: float, dim: int) -> float:
    """The correlation at which exact PLDA LLRs in ``dim`` dimensions have a given EER."""
    limit = float(-2.0 * probit(eer)) / dim**0.5  # what it tends to as the dimensions grow in number
    low, high = 0.3 * min(limit, 1.0), min(1.5 * limit, 1.0 - 1e-6)
    return bracketed_root(lambda rho: PLDALLR.isotropic(rho, dim).eer - eer, low, high, within=1e-9)
