"""What is done with the cepstra of an utterance: deltas, finding speech, cutting, normalization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._format import counted, not_among
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.option_names import NORMALIZATIONS

FRAMES_PER_SECOND = 100
SILENCE_DB = -70.0
"""Below this level, in dB of full scale, nothing is speech."""
_SMOOTH = 11  # frames whose majority decides whether the middle one is speech


@dataclass(frozen=True)
class FrontEnd:
    """How speech becomes frames: one every 10 ms, from windows of 25 ms.

    Parameters
    ----------
    sample_rate
        Samples per second; None takes each file as it is.
    resample
        Whether a file of another sample rate is resampled (by soxr) or refused.
    channel
        Which channel of files with several, from 0 on; None expects files with one.
    n_ceps, n_bands
        Cepstral coefficients (with the zeroth) and mel bands.
    deltas
        0, 1 or 2: how many time derivatives are appended.
    normalize
        'utterance': mean 0 and variance 1 over the frames that are kept; 'sliding': over ``window`` frames
        around each; 'none'.
    window
        Frames of the sliding normalization.
    speech_range
        Frames are speech when they are at most this many dB below the loud ones; None keeps all frames.
    seconds
        Keep the first seconds of speech only.

    Examples
    --------
    >>> FrontEnd(seconds=5).n_dimensions
    60
    >>> FrontEnd(normalize="whole")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: normalize='whole': expected one of utterance, sliding, none
    """

    sample_rate: int | None = None
    channel: int | None = None
    n_ceps: int = 20
    n_bands: int = 24
    deltas: int = 2
    normalize: str = "utterance"
    window: int = 301
    speech_range: float | None = 30.0
    seconds: float | None = None
    resample: bool = True

    def __post_init__(self) -> None:
        if self.normalize not in NORMALIZATIONS:
            raise UnknownNameError(
                f"normalize={not_among(self.normalize, NORMALIZATIONS, ': expected one of ')}"
            )
        if not 1 <= self.n_ceps <= self.n_bands:
            raise InputError(f"{self.n_ceps} cepstra from {self.n_bands} mel bands: give 1 to {self.n_bands}")
        if self.deltas not in (0, 1, 2):
            raise InputError(f"deltas must be 0, 1 or 2, got {self.deltas}")
        if self.window < 2 or (self.channel is not None and self.channel < 0):
            raise InputError(f"impossible window {self.window} or channel {self.channel}")
        if self.speech_range is not None and not self.speech_range > 0:
            raise InputError(f"the range of speech must be positive dB, got {self.speech_range}")
        if self.seconds is not None and not self.seconds >= 1 / FRAMES_PER_SECOND:
            raise InputError(f"the seconds of speech must be 0.01 at least, got {self.seconds}")

    @property
    def n_dimensions(self) -> int:
        """Numbers per frame."""
        return self.n_ceps * (1 + self.deltas)

    def frames(
        self, cepstra: Array, levels: FloatArray, name: str = "utterance", speech: Array | None = None
    ) -> Array:
        """Frames of an utterance from its cepstra and the level of each in dB of full scale.

        ``speech`` says which of them are speech, where that is known; otherwise it is found by the levels.

        Deltas are made before anything is cut, so that they never reach over a gap; frames that are not
        speech are dropped, then all beyond the first seconds, and only then is normalized: a short segment
        knows no more than itself.

        Parameters
        ----------
        cepstra
            Cepstra, shape (frames, coefficients).
        levels
            Level of each frame in dB of full scale.
        name
            Name of the utterance, for messages.
        speech
            Which frames are speech, if that is known.
        """
        loudest = float(levels.max(initial=-np.inf))
        if loudest < SILENCE_DB:
            raise InputError(f"{name}: silent (loudest 25 ms at {loudest:.0f} dB of full scale)")
        kept = with_deltas(cepstra, self.deltas)
        if speech is not None:
            kept = kept[speech]
        elif self.speech_range is not None:
            kept = kept[is_speech(levels, self.speech_range)]
        if self.seconds is not None:
            kept = kept[: max(1, round(self.seconds * FRAMES_PER_SECOND))]
        if len(kept) < 2:
            raise InputError(f"{name}: no speech found in {counted(len(levels), 'frame')}")
        if self.normalize == "none":
            return np.ascontiguousarray(kept)
        return normalized(kept, self.window if self.normalize == "sliding" else None)


def with_deltas(cepstra: Array, order: int, *, reach: int = 2) -> Array:
    """Append time derivatives: the slope of a regression line over ``2 reach + 1`` frames, again and again.

    Examples
    --------
    >>> with_deltas(np.arange(5.0)[:, None] * 3.0, 1)[:, 1].round(6).tolist()
    [1.5, 2.4, 3.0, 2.4, 1.5]
    """
    orders = [cepstra]
    n, steps = len(cepstra), range(1, reach + 1)
    for _ in range(order):
        padded = np.pad(orders[-1], ((reach, reach), (0, 0)), mode="edge")
        slope = sum(
            (k * (padded[reach + k : reach + k + n] - padded[reach - k : reach - k + n]) for k in steps),
            start=np.zeros_like(cepstra),
        )
        orders.append((slope / (2.0 * sum(k * k for k in steps))).astype(cepstra.dtype))
    return np.concatenate(orders, axis=1)


def is_speech(levels: FloatArray, speech_range: float) -> Array:
    """Which frames are speech, from their level in dB of full scale.

    Those within ``speech_range`` dB of the loud ones (the 95th percentile), and louder than -70 dB;
    decided by the majority of the eleven frames around each, so that clicks are dropped and short gaps kept.

    Examples
    --------
    >>> levels = np.repeat([-80.0, -20.0, -75.0, -25.0], [20, 30, 3, 30])
    >>> int(is_speech(levels, 30.0).sum())
    63
    """
    loud = float(np.percentile(levels, 95.0))
    above = levels > max(loud - speech_range, SILENCE_DB)
    half = _SMOOTH // 2
    votes = np.convolve(np.pad(above.astype(np.float64), half, mode="edge"), np.ones(_SMOOTH), mode="valid")
    return np.asarray(votes > _SMOOTH / 2)


def normalized(frames: Array, window: int | None = None) -> Array:
    """Mean 0 and variance 1 of each dimension over all frames, or over a window around each frame.

    At the ends the window is moved inside, so that it always holds as many frames. A dimension that does not
    vary becomes 0.

    Examples
    --------
    >>> normalized(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    x = frames.astype(np.float64)
    n = len(x)
    x -= x.mean(axis=0)
    size = n if window is None else min(window, n)
    start = np.clip(np.arange(n) - size // 2, 0, n - size)
    sums, squares = (
        np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(values, axis=0)]) for values in (x, x * x)
    )
    mean = (sums[start + size] - sums[start]) / size
    variance = (squares[start + size] - squares[start]) / size - mean**2
    steady = variance <= 1e-12 * (x * x).mean(axis=0)
    scale = np.where(steady, np.inf, np.sqrt(np.where(steady, 1.0, variance)))
    return np.asarray(((x - mean) / scale).astype(frames.dtype))


def level_range(levels: FloatArray) -> float:
    """How far the level of an utterance goes up and down: from its 5th to its 95th percentile, in dB.

    Examples
    --------
    >>> level_range(np.repeat([-40.0, -20.0], 50))
    20.0
    """
    low, high = np.percentile(np.maximum(levels, SILENCE_DB), [5.0, 95.0])
    return float(high - low)


def frame_levels(samples: Array, width: int, step: int) -> FloatArray:
    """Level of each window in dB of full scale (a square wave between -1 and 1 is at 0 dB).

    Examples
    --------
    >>> frame_levels(np.tile([1.0, -1.0], 16), 16, 8).round(2)
    array([0., 0., 0.])
    """
    x = samples.astype(np.float64)
    power = np.concatenate([[0.0], np.cumsum((x - x.mean()) ** 2)])
    starts = np.arange(0, len(x) - width + 1, step)
    mean = np.maximum((power[starts + width] - power[starts]) / width, 1e-20)
    return np.asarray(10.0 * np.log10(mean))
