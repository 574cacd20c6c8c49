"""The duration model: the less speech, the noisier the segment and the weaker the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import probit
from llrkit.errors import InputError
from llrkit.simulate.simulated_people import DURATIONS, People, TrialSpeakers
from llrkit.theory.gaussian_pair import GaussianLLR
from llrkit.theory.mixtures import MixtureLLR


@dataclass(frozen=True)
class DurationModel:
    """How the spread of a segment grows as it gets shorter, ``T(d) = 1 + c (1/d - 1/d_full)``.

    The variance between speakers stays what it is, so the correlation between two segments of a speaker,
    and with it the sigma of calibrated Gaussian LLRs, falls: ``sigma_ij = sigma_full / sqrt(T_i T_j)``.

    Examples
    --------
    >>> model = DurationModel.between(eer_full=0.029, eer_short=0.26)
    >>> [[round(100 * model.pair(i, j).eer, 1) for j in (5, 20, 100)] for i in (5, 20, 100)]
    [[26.0, 17.6, 13.5], [17.6, 8.9, 5.5], [13.5, 5.5, 2.9]]
    """

    sigma_full: float
    """Standard deviation of the LLRs of two whole segments."""
    noise: float
    """The constant c, in seconds."""
    full: float = DURATIONS[-1]
    """Duration of a whole segment, in seconds."""

    @classmethod
    def between(
        cls,
        eer_full: float = 0.029,
        eer_short: float = 0.26,
        *,
        short: float = DURATIONS[0],
        full: float = DURATIONS[-1],
    ) -> DurationModel:
        """The model whose EER is ``eer_full`` for two whole segments, ``eer_short`` for two short ones.

        The defaults are the two ends of the paper's range (van Leeuwen & Brümmer 2013, section 4.1).

        Parameters
        ----------
        eer_full
            Equal error rate of two whole segments.
        eer_short
            Equal error rate of two short segments.
        short
            Duration of a short segment in seconds.
        full
            Duration of a whole segment in seconds.
        """
        if not 0.0 < eer_full < eer_short < 0.5:
            raise InputError(
                f"the EER must rise as segments get shorter, below 0.5: got {eer_full!r} and {eer_short!r}"
            )
        if not 0.0 < short < full < np.inf:
            raise InputError(f"short must be below full, both above 0: got {short!r} and {full!r}")
        sigma_full, sigma_short = (float(-2.0 * probit(eer)) for eer in (eer_full, eer_short))
        return cls(sigma_full, (sigma_full / sigma_short - 1.0) / (1.0 / short - 1.0 / full), full)

    def spread(self, duration: npt.ArrayLike) -> FloatArray:
        """``T(d)``: the variance of a segment, that of a whole one being 1.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return 1.0 + self.noise * (1.0 / np.asarray(duration, dtype=np.float64) - 1.0 / self.full)

    def pair(self, enroll: float, test: float) -> GaussianLLR:
        """The calibrated LLRs of one combination of durations.

        Parameters
        ----------
        enroll
            Duration of the enrollment segment in seconds.
        test
            Duration of the test segment in seconds.
        """
        return GaussianLLR(self.sigma_full / float(np.sqrt(self.spread(enroll) * self.spread(test))))


@dataclass(frozen=True)
class DurationPairs:
    """Calibrated Gaussian LLRs whose strength depends on the durations of both sides of each trial.

    Given to :func:`llrkit.simulate_trials` in place of a pair. Every trial is calibrated, so all
    of them together are a mixture of Gaussian pairs, :meth:`mixture`.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.simulate.independent_trials import simulate_trials
    >>> trials = simulate_trials(DurationPairs(DurationModel.between()), n_target=5000, n_nontarget=50000)
    >>> by = lk.evaluate(trials, by="test_duration").groups
    >>> bool(by[5.0].eer > by[20.0].eer > by[100.0].eer)
    True
    """

    model: DurationModel
    """How the strength of a trial follows from its durations."""

    def draw(
        self, people: People, sides: TrialSpeakers, is_target: bool, rng: np.random.Generator
    ) -> FloatArray:
        """``N(±sigma_ij^2 / 2, sigma_ij^2)`` for the durations i, j of each trial.

        Parameters
        ----------
        people
            The speakers of the trials.
        sides
            The speaker on each side of the trials.
        is_target
            Whether the trials are target trials.
        rng
            A NumPy generator, or a seed.
        """
        enroll, test = people.duration_codes(sides)
        sigma = self._sigmas(people.durations)[enroll, test]
        mu = 0.5 * sigma**2
        return np.asarray(rng.standard_normal(len(sigma)) * sigma + (mu if is_target else -mu))

    def mixture(self, durations: Sequence[float] = DURATIONS) -> MixtureLLR:
        """What trials follow whose combinations of durations are equally frequent.

        Parameters
        ----------
        durations
            Durations of speech in seconds.
        """
        mu = 0.5 * self._sigmas(tuple(durations)).ravel() ** 2
        return MixtureLLR((1.0 / len(mu),) * len(mu), tuple(mu.tolist()))

    def _sigmas(self, durations: tuple[float, ...]) -> FloatArray:
        spread = np.sqrt(self.model.spread(durations))
        return np.asarray(self.model.sigma_full / (spread[:, None] * spread[None, :]))
