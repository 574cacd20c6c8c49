"""Who speaks in each simulated trial: speakers, genders, segments, durations by the trial's number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, IntArray
from llrkit._cached import cached_property
from llrkit._memory import require_memory
from llrkit.errors import InputError

GENDERS = ("f", "m")
DURATIONS = (5.0, 10.0, 20.0, 40.0, 100.0)
"""Seconds of speech: the paper's four short durations, and a whole recording."""


@dataclass(frozen=True, eq=False)
class TrialSpeakers:
    """Codes of both sides of some trials: speakers, and which segment of the test speaker."""

    enroll: IntArray
    test: IntArray
    segment: IntArray


@dataclass(frozen=True)
class People:
    """A trial list without repetitions: every speaker has one model and the same number of test segments.

    Target trial k tests a speaker's model with one of its own segments; non-target trials take segments of
    another speaker of the same gender. Trials are numbered, and who is in a trial follows from its number,
    so that no list is ever kept. Even speakers are female, odd ones male.

    Examples
    --------
    >>> people = People.for_trials(n_target=10, n_nontarget=300)
    >>> people.n_speakers, people.n_segments
    (10, 8)
    >>> sides = people.nontargets(np.arange(300))
    >>> bool(np.all(sides.enroll % 2 == sides.test % 2)), bool(np.any(sides.enroll == sides.test))
    (True, False)
    """

    n_speakers: int
    n_segments: int
    durations: tuple[float, ...] = DURATIONS

    @classmethod
    def for_trials(
        cls,
        n_target: int,
        n_nontarget: int,
        *,
        speakers: int | None = None,
        durations: Sequence[float] = DURATIONS,
    ) -> People:
        """As many speakers and segments as it takes; by default some ten target trials for each speaker."""
        n = 2 * max(5, -(-n_target // 20)) if speakers is None else speakers
        if n < 4 or n % 2:
            raise InputError(f"speakers must be an even number of at least 4 (two of each gender), got {n}")
        if not durations or not all(0.0 < float(d) < np.inf for d in durations):
            raise InputError(f"durations must be finite numbers of seconds above 0, got {durations!r}")
        segments = max(-(-n_target // n), -(-n_nontarget // (n * (n // 2 - 1))))
        return cls(n, segments, tuple(float(d) for d in durations))

    def targets(self, number: IntArray) -> TrialSpeakers:
        """Speakers of target trials by their number."""
        speaker = number % self.n_speakers
        return TrialSpeakers(speaker, speaker, number // self.n_speakers)

    def nontargets(self, number: IntArray) -> TrialSpeakers:
        """Speakers of non-target trials by their number."""
        enroll, rest = number % self.n_speakers, number // self.n_speakers
        others = self.n_speakers // 2 - 1
        step, segment = rest % others, rest // others
        return TrialSpeakers(enroll, (enroll + 2 * (step + 1)) % self.n_speakers, segment)

    def duration_codes(self, sides: TrialSpeakers) -> tuple[IntArray, IntArray]:
        """Which of the durations the model and the test segment of each trial have."""
        n = len(self.durations)
        return sides.enroll % n, (sides.test // n + sides.segment) % n

    @cached_property
    def speaker_names(self) -> tuple[str, ...]:
        """Names of the speakers by their code."""
        require_memory(_NAME_BYTES * self.n_speakers, "the names of the speakers", "simulate fewer speakers")
        return tuple(f"spk{i:0{self._width}d}" for i in range(self.n_speakers))

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """Names of the models by the code of the speaker."""
        require_memory(_NAME_BYTES * self.n_speakers, "the names of the models", "simulate fewer speakers")
        return tuple(f"model{i:0{self._width}d}" for i in range(self.n_speakers))

    @property
    def _width(self) -> int:
        return len(str(self.n_speakers - 1))

    def column(
        self, name: str, target: TrialSpeakers, nontarget: TrialSpeakers
    ) -> tuple[tuple[Array, Array], tuple[str, ...] | None]:
        """A column of some target and non-target trials, and what its codes stand for (or None)."""
        if name == "test":
            return self._segment_names(target, nontarget)
        make, names = self._column_makers[name]
        return (make(target), make(nontarget)), names

    @property
    def _column_makers(self) -> dict[str, tuple[Callable[[TrialSpeakers], Array], tuple[str, ...] | None]]:
        seconds = np.array(self.durations)
        return {
            "enroll": (lambda sides: sides.enroll, self.model_names),
            "enroll_speaker": (lambda sides: sides.enroll, self.speaker_names),
            "test_speaker": (lambda sides: sides.test, self.speaker_names),
            "gender": (lambda sides: sides.enroll % 2, GENDERS),
            "enroll_duration": (lambda sides: seconds[self.duration_codes(sides)[0]], None),
            "test_duration": (lambda sides: seconds[self.duration_codes(sides)[1]], None),
        }

    def _segment_names(
        self, target: TrialSpeakers, nontarget: TrialSpeakers
    ) -> tuple[tuple[IntArray, IntArray], tuple[str, ...]]:
        codes = np.concatenate(
            [trials.test * self.n_segments + trials.segment for trials in (target, nontarget)]
        )
        known, inverse = np.unique(codes, return_inverse=True)  # names of the segments of this block only
        digits = len(str(self.n_segments - 1))
        speakers, segments = (known // self.n_segments).tolist(), (known % self.n_segments).tolist()
        names = self.speaker_names
        segment_names = tuple(f"{names[s]}-{j:0{digits}d}" for s, j in zip(speakers, segments, strict=True))
        n = len(target.test)
        return (inverse[:n], inverse[n:]), segment_names


_NAME_BYTES = 72.0  # of a short text in Python, and of the reference to it
COLUMNS = (
    "enroll", "test", "enroll_speaker", "test_speaker", "gender", "enroll_duration", "test_duration",
)  # fmt: skip
