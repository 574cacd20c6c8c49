"""Where chance comes from: ``rng`` is a seed, a generator, or None for another draw each time."""

from __future__ import annotations

import numpy as np

from llrkit.errors import InputError

RNG = np.random.Generator | int | None
"""A seed, a generator that is drawn from, or None: other numbers each time."""


def seed_of(rng: object) -> int:
    """A whole number to begin with: a seed as it is, one drawn from a generator, or a new one for None.

    Examples
    --------
    >>> seed_of(7)
    7
    >>> seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    True
    >>> seed_of(-1)
    Traceback (most recent call last):
    llrkit.errors.InputError: rng must be a whole number of at least 0, a numpy.random.Generator or None, ...
    """
    if rng is None:
        rng = np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**31))
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise InputError(
            f"rng must be a whole number of at least 0, a numpy.random.Generator or None, got {rng!r}"
        )
    return int(rng)


def checked_seed(seed: object) -> int:
    """A seed is a whole number from 0 on."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number of at least 0, got {seed!r}")
    return int(seed)
