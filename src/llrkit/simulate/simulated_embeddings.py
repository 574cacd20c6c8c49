"""Embeddings of simulated speakers with splits, sides and durations, as real ones come in files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llrkit._arguments import not_negative, takes, whole_number
from llrkit._arrays import Array
from llrkit._random import RNG, seed_of
from llrkit.recognize.embeddings import Embeddings
from llrkit.simulate.corpus import Corpus, Recordings
from llrkit.simulate.simulated_people import DURATIONS, GENDERS
from llrkit.simulate.speaker_population import Population


@takes(population=Population)
def simulate_embeddings(
    population: Population,
    *,
    n_background: int = 400,
    n_speakers: int = 40,
    n_sessions: int = 4,
    durations: Sequence[float] = DURATIONS,
    shift: float = 0.3,
    rougher: float = 1.02,
    rng: RNG = 0,
) -> Embeddings:
    """Embeddings of three sets of speakers: 'train' for a recognizer, 'dev' to calibrate, 'eval' to evaluate.

    The columns are those that ``llrkit reproduce real --embeddings`` takes: split, side (A enrolls, B tests),
    duration (the longest is called full), gender. The background has whole recordings only.

    Parameters
    ----------
    population
        The population that is sampled.
    n_background, n_speakers
        Speakers in 'train', and in 'dev' and 'eval' each.
    n_sessions
        Recordings of each speaker on each side.
    durations
        Durations of speech in seconds.
    shift, rougher
        How far the domain of 'eval' is from the others.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> voices = Population.between_eers(0.05, 0.25, dim=30)
    >>> simulate_embeddings(voices, n_background=20, n_speakers=4, n_sessions=2)
    Embeddings(240 rows of 30 dimensions, 28 speakers; columns split, side, gender, duration)
    """
    seed = seed_of(rng)
    whole_number(n_sessions, 1, "n_sessions")
    not_negative(rougher, "rougher")
    full = max(durations, default=DURATIONS[-1])
    background = Corpus(population, 0, seed).recordings(
        "train", n_speakers=n_background, n=2 * n_sessions * n_background, durations=[full]
    )
    tables = [_embedding_rows(background, "train", "A", full)]
    for split, corpus in (
        ("dev", Corpus(population, 1, seed)),
        ("eval", Corpus(population.rougher(rougher), 2, seed, shift)),
    ):
        for side in ("A", "B"):
            recordings = corpus.recordings(
                side, n_speakers=n_speakers, n=n_sessions * n_speakers, durations=durations
            )
            tables.append(_embedding_rows(recordings, split, side, full))
    joined = {key: np.concatenate([rows[key] for rows in tables]) for key in tables[0]}
    return Embeddings(
        joined.pop("vectors"),
        joined.pop("ids"),
        joined.pop("speakers"),
        {name: joined[name] for name in joined},
    )


def _embedding_rows(recordings: Recordings, split: str, side: str, full: float) -> dict[str, Array]:
    names = {d: "full" if d == full else f"{d:g}" for d in recordings.vectors}
    genders = np.array(GENDERS)[recordings.speaker % 2]
    n = len(recordings) * len(names)
    return {
        "vectors": np.concatenate(list(recordings.vectors.values())),
        "ids": np.array([f"{recording}-{name}" for name in names.values() for recording in recordings.names]),
        "speakers": np.array(recordings.speaker_names * len(names)),
        "split": np.full(n, split),
        "side": np.full(n, side),
        "gender": np.tile(genders, len(names)),
        "duration": np.repeat(list(names.values()), len(recordings)),
    }
