"""Signs that a recording holds no speech: a level, or a shape of the spectrum, that hardly changes."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.recognize.frames.front_end import level_range

STEADY_DB = 4.0
"""Speech goes up and down by more than this; white noise by about 1 dB, a tone by less."""
STEADY_SHAPE = 3.0
"""Cepstra of speech, averaged over 0.1 s, vary by 10 to 20 (by 4 as loud as the noise it is in), those of
white, pink and brown noise by 1 to 3, whatever happens to the level."""
_BLOCK = 10  # frames
_FEWEST_BLOCKS = 5
_SHAPE = slice(1, 13)  # without the zeroth, which is the level


def shape_change(cepstra: Array) -> float | None:
    """How much the shape of the spectrum changes: standard deviation of cepstra averaged over 0.1 s.

    The mean over twelve coefficients; None of less than half a second.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> vowels = np.repeat(20.0 * rng.normal(size=(10, 20)), 20, axis=0)
    >>> noise = 5.0 * rng.normal(size=(200, 20))
    >>> bool(shape_change(vowels + noise) > 10), bool(shape_change(noise) < STEADY_SHAPE)
    (True, True)
    """
    blocks = len(cepstra) // _BLOCK
    if blocks < _FEWEST_BLOCKS:
        return None
    means = cepstra[: blocks * _BLOCK, _SHAPE].astype(np.float64).reshape(blocks, _BLOCK, -1).mean(axis=1)
    return float(means.std(axis=0).mean()) if means.shape[1] else None


def remark_on(cepstra: Array, levels: FloatArray, speech: Array) -> str:
    """What speaks against speech in a recording, if anything does; ``speech`` are the frames that are used.

    Examples
    --------
    >>> frames, levels = np.zeros((200, 20)), np.repeat([-20.0, -40.0], 100)
    >>> remark_on(frames, levels, np.ones(200, dtype=bool))
    'its spectrum hardly changes shape, as that of noise or of a tone whose level changes, not of speech'
    """
    swing = level_range(levels)
    if swing < STEADY_DB:
        return f"its level hardly changes ({swing:.1f} dB), as that of noise or of a tone, not of speech"
    change = shape_change(cepstra[speech])
    if change is not None and change < STEADY_SHAPE:
        return (
            "its spectrum hardly changes shape, as that of noise or of a tone whose level changes, "
            "not of speech"
        )
    return ""
