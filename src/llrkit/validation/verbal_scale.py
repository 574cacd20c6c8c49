"""A verbal scale for likelihood ratios: words beside numbers, never instead of them."""

from __future__ import annotations

import math

from llrkit._arguments import takes
from llrkit._llr_units import LN10
from llrkit.errors import NaNScoreError

ENFSI = (
    (2.0, "no support for either"),
    (10.0, "weak"),
    (100.0, "moderate"),
    (1_000.0, "moderately strong"),
    (10_000.0, "strong"),
    (1_000_000.0, "very strong"),
    (math.inf, "extremely strong"),
)
"""Likelihood ratios below each value, and the word for them (ENFSI guideline, 2015)."""


@takes()
def verbal_scale(llr: float, *, log10: bool = False) -> str:
    """The strength of evidence in words, by the bands of the ENFSI guideline (2015).

    LR 1 to 2: no support for either; 2 to 10: weak; 10 to 100: moderate; to 1,000: moderately strong; to
    10,000: strong; to 1,000,000: very strong; beyond: extremely strong. An LR below 1 supports the
    other hypothesis as much as its inverse supports this one.

    Parameters
    ----------
    llr
        Natural-log LLR, or a log10 LLR with ``log10=True``.
    log10
        The LLR is to base ten.

    Examples
    --------
    >>> verbal_scale(5.0), verbal_scale(-3.5, log10=True), verbal_scale(0.3)
    ('moderately strong support for the same source', 'strong support for different sources',
     'no support for either')
    """
    value = float(llr) * (LN10 if log10 else 1.0)
    if math.isnan(value):
        raise NaNScoreError("the LLR is NaN")
    word = verbal_word(value)
    if word is None:
        return ENFSI[0][1]
    return f"{word} support for {'the same source' if value > 0.0 else 'different sources'}"


def verbal_word(llr: float) -> str | None:
    """The strength of a natural-log LLR in words, without saying what is supported; None for no support.

    Examples
    --------
    >>> verbal_word(-5.0), verbal_word(0.1)
    ('moderately strong', None)
    """
    word = next(word for edge, word in ENFSI if abs(llr) < math.log(edge) or edge == math.inf)
    return None if word == ENFSI[0][1] else word
