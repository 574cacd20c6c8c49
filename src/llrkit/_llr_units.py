"""Units of log-likelihood-ratios: nats inside, the logarithm to base ten where a reader asks for it.

Whatever shows an LLR asks here how: the number, and the name of its unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

LN10 = math.log(10.0)
F = TypeVar("F")


@dataclass(frozen=True)
class LlrUnit:
    """A unit in which LLRs are shown.

    Examples
    --------
    >>> NATS.said(2.0), LOG10.said(2.0), LOG10.span(-2.0, 2.0)
    ('2.00 nats', '0.87 in log10 LR', '-0.87 to 0.87 in log10 LR')
    """

    nats: float
    """How many nats one unit has."""
    suffix: str
    """Follows a number in a sentence."""
    column: str
    """The head of a column of LLRs."""
    short: str
    """In brackets behind the name of what is a difference or a bound of LLRs."""

    @property
    def base_10(self) -> bool:
        """Whether it is the logarithm to base ten."""
        return self.nats != 1.0

    def of(self, llr: F) -> F:
        """A natural-log LLR, or an array of them, in this unit."""
        return llr / self.nats  # type: ignore[operator,return-value]

    def said(self, llr: float, form: str = ".2f") -> str:
        """A natural-log LLR in a sentence."""
        return f"{self.of(llr):{form}} {self.suffix}"

    def span(self, low: float, high: float) -> str:
        """A range of natural-log LLRs in a sentence."""
        return f"{self.of(low):.2f} to {self.said(high)}"


NATS = LlrUnit(1.0, "nats", "LLR (nats)", "nats")
LOG10 = LlrUnit(LN10, "in log10 LR", "log10 LR", "log10 LR")


def llr_unit(base_10: bool) -> LlrUnit:
    """The unit that a reader asked for."""
    return LOG10 if base_10 else NATS


@dataclass(frozen=True)
class Amount:
    """A natural-log LLR that stands in a text, in nats: what was written can be said in another unit."""

    llr: float
    form: str = ".2f"
    bare: bool = False
    """Without the unit, which an axis beside it names."""

    def __str__(self) -> str:
        return self.said_in(NATS)

    def said_in(self, unit: LlrUnit) -> str:
        """The amount in a unit."""
        if self.bare:
            return f"{unit.of(self.llr):{self.form}}".replace("-", "−")
        return unit.said(self.llr, self.form)


def in_unit(text: str, amounts: Iterable[Amount], unit: LlrUnit) -> str:
    """A text whose amounts, in the order in which they stand, are said in a unit.

    Examples
    --------
    >>> bias = Amount(0.8123, ".1f")
    >>> in_unit(f"biased by {bias}", [bias], LOG10)
    'biased by 0.4 in log10 LR'
    """
    if not unit.base_10:
        return text
    said = ""
    for amount in amounts:
        before, written, after = text.partition(str(amount))
        if written:
            said, text = said + before + amount.said_in(unit), after
    return said + text
