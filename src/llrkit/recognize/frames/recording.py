"""A recording, or a stretch of one: which file, from when to when, and where somebody is known to speak."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from llrkit._arrays import Array
from llrkit.errors import FileFormatError

_WIDTH, _STEP = 0.025, 0.010  # seconds
_MOST_EXTRA = 3
"""Frames by which a speech file may differ from the audio: programs treat the last window differently."""


@dataclass(frozen=True, eq=False)
class Recording:
    """An audio file, or the part of it from ``start`` to ``end`` seconds.

    Parameters
    ----------
    path
        The file.
    start, end
        The part that is meant; to the end of the file by default.
    turns
        Where somebody speaks, as pairs of start and end in seconds from the start of the *file* (RTTM).
    speech
        Which frames of the part are speech, one every 10 ms (a voice activity file of Kaldi).

    Examples
    --------
    >>> talk = Recording(Path("a.wav"), 10.0, 12.0, turns=((10.5, 11.0),))
    >>> mask = talk.speech_mask(198)
    >>> int(mask.sum()), int(np.argmax(mask))
    (50, 49)
    """

    path: Path
    start: float = 0.0
    end: float | None = None
    turns: tuple[tuple[float, float], ...] | None = None
    speech: Array | None = None

    def __post_init__(self) -> None:
        if not (self.start >= 0.0 and (self.end is None or self.end > self.start)):
            raise FileFormatError(f"{self.path}: there is nothing from {self.start} s to {self.end} s")

    @property
    def name(self) -> str:
        """What messages call it."""
        if self.start == 0.0 and self.end is None:
            return str(self.path)
        return f"{self.path} from {self.start:g} s" + ("" if self.end is None else f" to {self.end:g} s")

    def speech_mask(self, n_frames: int) -> Array | None:
        """Which of the frames are speech; None where that has to be found out.

        Parameters
        ----------
        n_frames
            Number of frames of the recording.
        """
        if self.speech is not None:
            if abs(len(self.speech) - n_frames) > _MOST_EXTRA:
                raise FileFormatError(
                    f"{self.name}: {n_frames} frames, but its voice activity has {len(self.speech)}"
                )
            mask = np.zeros(n_frames, dtype=bool)
            n = min(n_frames, len(self.speech))
            mask[:n] = self.speech[:n] > 0
            return mask
        if self.turns is None:
            return None
        middle = self.start + _WIDTH / 2.0 + _STEP * np.arange(n_frames)
        mask = np.zeros(n_frames, dtype=bool)
        for start, end in self.turns:
            mask |= (middle >= start) & (middle < end)
        return mask
