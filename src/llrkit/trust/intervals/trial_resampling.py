"""Bootstrap of trials: each class drawn with replacement, as if trials were independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._random import checked_seed
from llrkit.core.moments import Moments
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.roles import POSITION
from llrkit.trust.intervals.resample import FEWEST_SPEAKERS, Draw, SpeakerIndices

MOST_TRIALS = 2_000_000
"""Each replicate holds a number for every trial."""


@dataclass(frozen=True)
class TrialResampling:
    """Draws as many targets as there are, and as many non-targets, with replacement.

    Examples
    --------
    >>> drawn = TrialResampling(2, 3).draw(0).speakers
    >>> drawn[:2].sum(), drawn[2:5].sum()
    (np.float64(2.0), np.float64(3.0))
    """

    n_target: int
    n_nontarget: int
    seed: int = 0
    columns: tuple[str, ...] = (POSITION,)
    n_speakers: None = None

    @property
    def units(self) -> int:
        """What a number of degrees of freedom is counted from: the trials of the smaller class."""
        return min(self.n_target, self.n_nontarget)

    def speaker_indices(self, chunk: Scores, class_index: int) -> SpeakerIndices:
        """The number of each trial of a class; targets come first."""
        first = chunk.columns[POSITION][class_index] + (self.n_target if class_index else 0)
        return SpeakerIndices(first, np.full(len(first), self.n_target + self.n_nontarget))

    def draw(self, replicate: int) -> Draw:
        """How often each trial was drawn; the same whatever else was drawn before."""
        rng = np.random.default_rng([self.seed, replicate])
        sizes = (self.n_target, self.n_nontarget)
        times = [np.bincount(rng.integers(n, size=n), minlength=n) for n in sizes]
        return Draw(sum(sizes), np.concatenate([*times, [1]]).astype(np.float64))


def trial_resampling(source: ScoreSource, seed: int = 0) -> TrialResampling:
    """Prepare resampling of the trials of a source."""
    seed = checked_seed(seed)
    if source.roles.weight is not None:
        raise InputError("ci='bootstrap' without speakers draws trials that count once; these have weights")
    moments = source.reduce(Moments.of)
    sizes = [round(one.count) for one in (moments.target, moments.nontarget)]
    if min(sizes) < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {min(sizes)} trials of a class; resampling them needs at least {FEWEST_SPEAKERS}"
        )
    if sum(sizes) > MOST_TRIALS:
        raise InputError(
            f"ci='bootstrap' without speakers draws all trials, at most {MOST_TRIALS:,}, got {sum(sizes):,}; "
            "ci='trial' gives intervals in closed form"
        )
    return TrialResampling(sizes[0], sizes[1], int(seed))
