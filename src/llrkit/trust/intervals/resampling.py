"""Resampling: how often each speaker, recording and trial is drawn in a replicate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import IntArray
from llrkit._format import counted
from llrkit._random import checked_seed
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.roles import POSITION
from llrkit.trust.intervals.speakers import Speakers, find_speakers

FEWEST_SPEAKERS = 5
"""With fewer, most replicates hold the same speakers again, or nobody to compare them with."""
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SpeakerIndices:
    """The numbers of the speakers of each trial and, if known, of its recordings."""

    first: IntArray
    second: IntArray
    left: IntArray | None = None
    right: IntArray | None = None

    def ordered(self, order: npt.NDArray[np.intp]) -> SpeakerIndices:
        """The same trials in another order."""
        indices = (self.first, self.second, self.left, self.right)
        return SpeakerIndices(*(None if index is None else index[order] for index in indices))  # type: ignore[arg-type]


@dataclass(frozen=True)
class SpeakerResampling:
    """Draws speakers with replacement (Poh, Martin & Bengio 2007), and their recordings if they are known.

    A trial between two speakers counts ``m_p m_q`` times, one within a speaker ``m_p`` times, where m is
    how often a speaker was drawn. With recordings, each drawn speaker's recordings are drawn with
    replacement too, and speakers' numbers are replaced by those of the recordings.
    """

    speakers: Speakers
    recordings: Speakers | None = None
    speaker_of: IntArray | None = None
    """Speaker of each recording."""
    seed: int = 0

    @property
    def units(self) -> int:
        """What a number of degrees of freedom is counted from."""
        return self.speakers.n

    @property
    def n_speakers(self) -> int:
        """How many speakers there are."""
        return self.speakers.n

    @property
    def columns(self) -> tuple[str, ...]:
        """What each chunk must carry."""
        more = self.recordings.columns if self.recordings is not None else ()
        return tuple(dict.fromkeys((*self.speakers.columns, *more)))

    def speaker_indices(self, chunk: Scores, class_index: int) -> SpeakerIndices:
        """The speakers and recordings of the trials of one class of a chunk."""
        first, second = self.speakers.of(chunk, class_index)
        if self.recordings is None:
            return SpeakerIndices(first, second)
        left, right = self.recordings.of(chunk, class_index)
        return SpeakerIndices(first, second, left, right)

    def draw(self, replicate: int) -> Draw:
        """The multiplicities of one replicate; the same whatever else was drawn before."""
        rng = np.random.default_rng([self.seed, replicate])
        n = self.speakers.n
        times = np.bincount(rng.integers(n, size=n), minlength=n + 1)
        times[n] = 1  # nobody: the second speaker of a trial within one speaker
        if self.speaker_of is None:
            return Draw(n, times.astype(np.float64))
        return Draw(n, times.astype(np.float64), *_draw_recordings(times[:n], self.speaker_of, rng))


@dataclass(frozen=True)
class Draw:
    """How often each speaker was drawn, and each recording in each copy of its speaker."""

    n: int
    speakers: Weights
    recordings: Weights | None = None
    copies: tuple[Weights, ...] = ()

    def weights(self, indices: SpeakerIndices) -> Weights:
        """How often each trial counts.

        Examples
        --------
        >>> Draw(2, np.array([2.0, 3.0, 1.0])).weights(SpeakerIndices(np.array([0, 1]), np.array([1, 2])))
        array([6., 3.])
        """
        if self.recordings is None or indices.left is None or indices.right is None:
            weights = self.speakers[indices.first]
            weights *= self.speakers[indices.second]
            return weights
        weights = self.recordings[indices.left] * self.recordings[indices.right]
        within = np.flatnonzero(indices.second == self.n)
        left, right = indices.left[within], indices.right[within]
        # both sides of such a trial belong to the same copy of the speaker
        weights[within] = sum((copy[left] * copy[right] for copy in self.copies), np.zeros(len(within)))
        return weights


def _draw_recordings(
    times: IntArray, speaker_of: IntArray, rng: np.random.Generator
) -> tuple[Weights, tuple[Weights, ...]]:
    """Multiplicities of the recordings, for each copy of the speakers and together; 1 for nobody."""
    count = np.bincount(speaker_of, minlength=len(times))
    by_speaker = np.argsort(speaker_of, kind="stable")
    start = np.cumsum(count) - count
    copies = []
    for copy in range(int(times.max())):
        drawn = np.flatnonzero(times > copy)
        owner = np.repeat(drawn, count[drawn])
        picked = by_speaker[start[owner] + rng.integers(count[owner])]
        times_drawn = np.bincount(picked, minlength=len(speaker_of) + 1).astype(np.float64)
        times_drawn[-1] = 1.0  # a trial between a recording and itself, or with one column only
        copies.append(times_drawn)
    total = np.sum(copies, axis=0)
    total[-1] = 1.0
    # nobody's copy counts once for each speaker drawn, which is what a trial within a speaker needs
    return total, tuple(copies)


def speaker_resampling(
    source: ScoreSource,
    speakers: str | Sequence[str],
    recordings: str | Sequence[str] | None = None,
    seed: int = 0,
) -> SpeakerResampling:
    """Prepare resampling of the speakers in one or two columns, and of the recordings in as many others."""
    seed = checked_seed(seed)
    speaker_set = find_speakers(source, speakers)
    if speaker_set.n < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {counted(speaker_set.n, 'speaker')} in {' and '.join(speaker_set.columns)}; "
            f"resampling them needs at least {FEWEST_SPEAKERS}"
        )
    if recordings is None:
        return SpeakerResampling(speaker_set, seed=seed)
    recording_set = find_speakers(source, recordings)
    if len(recording_set.columns) != len(speaker_set.columns):
        raise InputError(
            "as many columns of recordings as of speakers are needed: "
            f"{recording_set.columns}, {speaker_set.columns}"
        )
    owners = source.with_columns(*speaker_set.columns, *recording_set.columns).reduce(
        _RecordingSpeakers.at(speaker_set, recording_set)
    )
    return SpeakerResampling(speaker_set, recording_set, owners.checked(recording_set), int(seed))


@dataclass(frozen=True, eq=False)
class _RecordingSpeakers(SummaryBase):
    """The smallest and the largest number of a speaker that each recording occurs with."""

    low: IntArray
    high: IntArray

    @classmethod
    def at(cls, speakers: Speakers, recordings: Speakers) -> Callable[[Scores], _RecordingSpeakers]:
        def make(chunk: Scores) -> _RecordingSpeakers:
            low = np.full(recordings.n, speakers.n)
            high = np.full(recordings.n, -1)
            for class_index in (0, 1):
                first, second = speakers.of(chunk, class_index)
                left, right = recordings.of(chunk, class_index)
                second, right = (
                    np.where(second == speakers.n, first, second),
                    np.where(right == recordings.n, left, right),
                )
                for speaker, recording in ((first, left), (second, right)):
                    np.minimum.at(low, recording, speaker)
                    np.maximum.at(high, recording, speaker)
            return cls(low, high)

        return make

    def __add__(self, other: _RecordingSpeakers) -> _RecordingSpeakers:
        return _RecordingSpeakers(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def __mul__(self, weight: float) -> _RecordingSpeakers:
        return self

    def checked(self, recordings: Speakers) -> IntArray:
        """The speaker of each recording, refusing a recording of two."""
        wrong = np.flatnonzero(self.low != self.high)
        if len(wrong):
            name = list(recordings.number_of)[wrong[0]]
            raise InputError(f"recording {name!r} belongs to more than one speaker")
        return self.low


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
