"""The rules of 3 and of 30: what a number of errors among a number of comparisons can show."""

from __future__ import annotations

from llrkit._format import counted

ENOUGH_ERRORS = 30
"""With so many errors the true rate is within 30 % of the one seen, at 90 % confidence (Doddington)."""


def support(errors: float, n: float) -> str:
    """What a rate rests on, in words.

    Examples
    --------
    >>> support(45, 1000)
    '45 errors (rule of 30 met)'
    >>> support(7, 1000)
    '7 errors (fewer than 30)'
    >>> support(0, 1000)
    'no error (rule of 3: at most 0.003)'
    """
    seen = round(errors)
    if seen == 0:
        return f"no error (rule of 3: at most {min(rule_of_3(n), 1.0):.3g})"
    words = "rule of 30 met" if seen >= ENOUGH_ERRORS else f"fewer than {ENOUGH_ERRORS}"
    return f"{counted(seen, 'error')} ({words})"


def rule_of_3(n: float) -> float:
    """The rate that no error among n independent comparisons excludes at 95 %: ``3 / n``."""
    return 3.0 / n


def comparisons_needed(rate: float) -> float:
    """Comparisons without an error that it takes to show a rate (rule of 3).

    Examples
    --------
    >>> comparisons_needed(1e-6)
    3000000.0
    """
    return 3.0 / rate
