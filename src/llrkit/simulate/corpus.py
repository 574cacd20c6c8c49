"""Corpora of simulated recordings: other speakers, other recordings, and perhaps another domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit._random import checked_seed
from llrkit.errors import InputError
from llrkit.simulate.block_source import block_rng
from llrkit.simulate.simulated_people import DURATIONS
from llrkit.simulate.speaker_population import Population

_ROWS = 1024  # recordings drawn with one generator
_SPACE, _SPEAKERS, _RECORDINGS = range(3)  # second part of the spawn keys; the first is the corpus


@dataclass(frozen=True, eq=False)
class Recordings:
    """Embeddings of recordings, once for each duration they were cut to.

    ``speaker`` holds codes; even ones are female, odd ones male.
    """

    corpus: str
    """The name of the corpus."""
    side: str
    """``"enroll"``, ``"test"`` or ``"train"``."""
    speaker: IntArray
    """The code of the speaker of each recording."""
    vectors: Mapping[float, FloatArray]
    """Duration in seconds -> embeddings, shape (recordings, dimensions)."""

    def __len__(self) -> int:
        return len(self.speaker)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each recording."""
        return tuple(f"{self.corpus}-{self.side}{i}" for i in range(len(self)))

    @property
    def speaker_names(self) -> tuple[str, ...]:
        """The speaker of each recording."""
        return tuple(f"{self.corpus}-spk{code}" for code in self.speaker.tolist())


@dataclass(frozen=True)
class Corpus:
    """Recordings of one corpus: its number selects the speakers, ``shift`` moves its domain.

    Two corpora of one seed share the embedding space, not the speakers. ``shift`` moves all embeddings in a
    direction of the corpus's own; a population that is :meth:`~Population.rougher` makes the recordings
    vary more. Either makes scores of a model trained elsewhere miscalibrated.

    Examples
    --------
    >>> corpus = Corpus(Population.between_eers(dim=40), number=1, seed=3)
    >>> tests = corpus.recordings("test", n_speakers=4, n=10)
    >>> len(tests), tests.vectors[5.0].shape, tests.speaker_names[1]
    (10, (10, 40), 'corpus1-spk1')
    """

    population: Population
    """Where speakers and recordings are drawn from."""
    number: int
    """Which speakers: corpora with different numbers share none."""
    seed: int = 0
    """The embedding space, and everything that is drawn."""
    shift: float = 0.0
    """How far all embeddings are moved."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        checked_seed(self.seed)
        if self.number < 0 or not 0.0 <= self.shift < np.inf:
            raise InputError(f"number and shift must not be negative, got {self.number}, {self.shift}")

    @property
    def name(self) -> str:
        """Its number in words."""
        return f"corpus{self.number}"

    def speakers(self, n: int) -> FloatArray:
        """What is common to all recordings of each of ``n`` speakers: gender and voice.

        Parameters
        ----------
        n
            Number of speakers.
        """
        space = self.population
        voices = np.concatenate(
            [
                np.sqrt(space.between) * rng.standard_normal((rows, space.dim))
                for rows, rng in self._blocks(n, _SPEAKERS)
            ]
        )
        sign = np.where(np.arange(n) % 2 == 0, 0.5, -0.5)[:, None]
        return np.asarray(voices + space.gender_gap * sign * self._direction(0, 0))

    def recordings(
        self, side: str, *, n_speakers: int, n: int, durations: Sequence[float] = DURATIONS
    ) -> Recordings:
        """``n`` recordings dealt to the speakers in turn, each cut to all durations.

        Another ``side`` ("enroll", "test", "train") gives other recordings of the same speakers.

        Parameters
        ----------
        side
            ``"enroll"``, ``"test"`` or ``"train"``: other recordings of the same speakers.
        n_speakers
            Number of speakers.
        n
            Number of recordings.
        durations
            Durations of speech in seconds.
        """
        if n_speakers < 2 or n_speakers % 2 or n < 1:
            raise InputError(
                f"an even number of speakers and at least one recording are needed, got {n_speakers}, {n}"
            )
        seconds = sorted({float(d) for d in durations})
        if not seconds or not (seconds[0] > 0.0 and seconds[-1] < np.inf):
            raise InputError(f"durations must be finite numbers of seconds above 0, got {durations!r}")
        space, speaker = self.population, np.arange(n) % n_speakers
        whole = self.speakers(n_speakers)[speaker] + self.shift * self._direction(self.number, 1)
        cuts: dict[float, list[FloatArray]] = {d: [] for d in seconds}
        first = 0
        for rows, rng in self._blocks(n, _RECORDINGS, *side.encode()):
            base = whole[first : first + rows]
            base = base + np.sqrt(space.channel) * rng.standard_normal(base.shape)
            heard, spoken = np.zeros_like(base), 0.0
            for d in seconds:  # the first d seconds contain all shorter cuts
                heard = heard + np.sqrt(space.noise * (d - spoken)) * rng.standard_normal(base.shape)
                spoken = d
                cuts[d].append(space.shrinkage(d) * (base + heard / d))
            first += rows
        vectors = {d: _read_only_embeddings(np.concatenate(blocks)) for d, blocks in cuts.items()}
        return Recordings(self.name, side, _read_only_embeddings(speaker), MappingProxyType(vectors))

    def _blocks(self, n: int, *key: int) -> Iterator[tuple[int, np.random.Generator]]:
        for start in range(0, n, _ROWS):
            yield min(_ROWS, n - start), block_rng(self.seed, self.number, *key, start // _ROWS)

    def _direction(self, corpus: int, which: int) -> FloatArray:
        drawn = block_rng(self.seed, corpus, _SPACE, which).standard_normal(self.population.dim)
        return np.asarray(drawn / np.linalg.norm(drawn))


def _read_only_embeddings(array: Array) -> Array:
    array.flags.writeable = False
    return array
