"""A small set of trials that ships with the package, for examples and first steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llrkit._arrays import Array
from llrkit.errors import UnknownNameError
from llrkit.recognize.backends.cosine import cosine_scores
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.scores.trials import Trials
from llrkit.simulate.simulated_people import GENDERS

SPLITS = ("eval", "dev")
"""Two sets of the same kind; no speaker is in both."""
SYSTEMS = ("plda", "cosine")
CHANNELS = ("telephone", "microphone")
SECONDS = (5, 20, 100)
N_SPEAKERS, N_RECORDINGS, DIM = 40, 5, 24
WITHIN = 0.5
"""Variance within a speaker, of long telephone recordings; that between speakers is 1."""
NOISE = 1.5
"""A recording of d seconds has the variance ``WITHIN + NOISE / d`` ..."""
ROOM_NOISE, ROOM_OFFSET = 0.3, 0.2
"""... plus ``ROOM_NOISE`` where a microphone made it, which also moves it in every dimension."""
DIGITS = 6
"""Of the scores: the last bits of a sum differ between machines."""


def sample_trials(split: str = "eval", *, system: str | Sequence[str] = "plda") -> Trials:
    """A small simulated set of speaker recognition trials, with ids and conditions; for examples.

    40 speakers, 20 of each gender, with five recordings each; all pairs of recordings of one gender are
    compared: 400 target and 9,500 non-target trials. Speakers repeat, so trials depend on each other.
    Two systems score them: a PLDA model that was trained on long telephone recordings, whose LLRs are too
    extreme for the short ones and those from a microphone, and the cosine, whose scores are no LLRs.

    Parameters
    ----------
    split
        'eval', or 'dev': the same kind of trials of other speakers, to train a calibration.
    system
        The column with the scores, 'plda' or 'cosine', or both, ``("plda", "cosine")``, for fusion.

    Returns
    -------
    Trials
        Columns ``enroll``, ``test`` (recordings), ``label``, ``plda``, ``cosine``, ``gender``, and for both
        sides the speaker, the duration in seconds and the channel (``enroll_speaker``, ...);
        ``same_channel`` is yes or no. The trials are always the same.

    Examples
    --------
    >>> import llrkit as lk
    >>> trials = lk.sample_trials()
    >>> trials
    Trials(9,900 rows: plda, label, enroll, test; columns cosine, gender, enroll_speaker, ...)
    >>> print(f"Cllr {lk.cllr(trials):.2f}, of which {lk.cllr_cal(trials):.2f} are lost to calibration")
    Cllr 0.86, of which 0.57 are lost to calibration
    >>> calibrate = lk.fit_logistic(lk.sample_trials("dev"))
    >>> round(lk.cllr(calibrate.on(trials)), 2)
    0.31
    >>> by = lk.evaluate(trials, by="test_duration").groups
    >>> {seconds: round(group.eer, 2) for seconds, group in by.items()}
    {5: 0.11, 20: 0.07, 100: 0.06}
    """
    if split not in SPLITS:
        raise UnknownNameError(f"split must be 'eval' or 'dev', got {split!r}")
    names = tuple(system) if isinstance(system, (list, tuple)) else (system,)
    if not names or not set(names) <= set(SYSTEMS):
        raise UnknownNameError(f"system must be 'plda', 'cosine' or both, got {system!r}")
    rng = np.random.default_rng(20130825 + SPLITS.index(split))
    lists = [_one_gender(split, gender, rng) for gender in GENDERS]
    table = {name: np.concatenate([trials[name] for trials in lists]) for name in lists[0]}
    return Trials(table, score=names[0] if len(names) == 1 else names, enroll="enroll", test="test")


def _one_gender(split: str, gender: str, rng: np.random.Generator) -> dict[str, Array]:
    """All pairs of recordings of the speakers of one gender, the earlier recording of a list first."""
    speaker = np.repeat(np.arange(N_SPEAKERS // len(GENDERS)), N_RECORDINGS)
    n = len(speaker)
    seconds, channel = rng.choice(SECONDS, size=n), rng.integers(len(CHANNELS), size=n)
    voices = rng.standard_normal((N_SPEAKERS // len(GENDERS), DIM))
    deviation = np.sqrt(WITHIN + NOISE / seconds + ROOM_NOISE * channel)
    vectors = voices[speaker] + deviation[:, None] * rng.standard_normal((n, DIM))
    vectors += ROOM_OFFSET * channel[:, None]
    first, second = np.triu_indices(n, 1)
    model = PLDA(np.zeros(DIM), np.eye(DIM), WITHIN * np.eye(DIM))
    scores = {"plda": model.scores(vectors, vectors), "cosine": cosine_scores(vectors, vectors)}
    speakers = np.array([f"{split}-{gender}{i:02d}" for i in range(N_SPEAKERS // len(GENDERS))])[speaker]
    recordings = np.array([f"{name}-{i % N_RECORDINGS + 1}" for i, name in enumerate(speakers)])
    channels = np.array(CHANNELS)[channel]
    return {
        "enroll": recordings[first],
        "test": recordings[second],
        **{name: matrix[first, second].round(DIGITS) for name, matrix in scores.items()},
        "label": np.where(speaker[first] == speaker[second], "target", "nontarget"),
        "gender": np.full(len(first), gender),
        "enroll_speaker": speakers[first],
        "test_speaker": speakers[second],
        "enroll_duration": seconds[first],
        "test_duration": seconds[second],
        "enroll_channel": channels[first],
        "test_channel": channels[second],
        "same_channel": np.where(channel[first] == channel[second], "yes", "no"),
    }
