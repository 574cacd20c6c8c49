"""ScoreRows: sums over scores in ascending order, by rows of neighbors instead of one by one."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import Array, BoolArray, FloatArray
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import blocks
from llrkit.scores import Scores

_SHORT, _LONG, _LONG_FROM = 64, 256, 1 << 21
"""Scores in a row, of fewer scores and of so many or more: there neighbors are closer still."""
WORTH_ROWS = 1 << 15
"""With fewer scores, neighbors are too far apart for rows to save anything."""
_NARROW = 2.0**-7
"""Four terms of a power series give the losses of a row that is no wider to 1 part in 10^14 or better."""
_AT_A_TIME = 1 << 17  # scores worked on together: in the cache, and few calls for which threads wait


class ScoreRows:
    """Rows of neighboring scores: the middle of each, and the sums of powers of the deviations from it.

    In a row the scores hardly differ, so the sum of a smooth function over them follows from its derivatives
    in the middle. Rows in which they do differ, scores that fill no row, and infinite ones are the ``rest``.

    Parameters
    ----------
    ascending
        Scores in ascending order.

    Examples
    --------
    >>> rows = ScoreRows(np.linspace(-2.0, 2.0, 100_000))
    >>> len(rows.middle), len(rows.rest)
    (1562, 32)
    >>> direct = np.logaddexp(0.0, np.linspace(-2.0, 2.0, 100_000))
    >>> bool(abs((rows.softplus_sum(0.0) + direct[-32:].sum()) / direct.sum() - 1.0) < 1e-14)
    True
    """

    def __init__(self, ascending: Array) -> None:
        self.n_neg_inf = int(np.searchsorted(ascending, -np.inf, side="right"))
        above = int(np.searchsorted(ascending, np.inf))
        self.n_pos_inf = len(ascending) - above
        self.finite = ascending[self.n_neg_inf : above]
        self.length = _LONG if len(self.finite) >= _LONG_FROM else _SHORT
        """Scores in a row."""
        rows = len(self.finite) // self.length
        self.table = self.finite[: rows * self.length].reshape(rows, self.length)
        self.last = self.finite[self.table.size :]
        """The finite scores after the last row."""
        self.middle: FloatArray = self.table[:, self.length // 2].astype(np.float64)

    @cached_property
    def powers(self) -> FloatArray:
        """Sums of the first four powers of the deviations, one column for each row."""
        powers = np.empty((4, len(self.table)))
        at_a_time = min(_AT_A_TIME // self.length, len(self.table))
        first, second = np.empty((2, at_a_time, self.length))
        with np.errstate(over="ignore", invalid="ignore"):  # as in Moments: scores beyond 1e75 have none
            for here in blocks(len(self.table), max(at_a_time, 1)):
                n = here.stop - here.start
                deviation, square = first[:n], second[:n]
                np.subtract(self.table[here], self.middle[here, None], out=deviation, dtype=np.float64)
                np.multiply(deviation, deviation, out=square)
                np.einsum("ij->i", deviation, out=powers[0, here])
                # products of rows this short are summed in the calling thread, unlike those of matrices
                np.vecdot(deviation, deviation, out=powers[1, here])
                np.vecdot(square, deviation, out=powers[2, here])
                np.vecdot(square, square, out=powers[3, here])
        return powers

    @cached_property
    def _narrow(self) -> BoolArray:
        with np.errstate(over="ignore"):
            return np.asarray(self.table[:, -1] - self.table[:, 0] <= _NARROW)

    @cached_property
    def rest(self) -> Array:
        """The scores that :meth:`softplus_sum` leaves out."""
        kind = self.finite.dtype
        infinite = np.repeat(np.array([-np.inf, np.inf], dtype=kind), [self.n_neg_inf, self.n_pos_inf])
        return np.concatenate([self.table[~self._narrow].ravel(), self.last, infinite])

    def softplus_sum(self, shift: float, *, negated: bool = False) -> float:
        """``sum(log(1 + exp(x + shift)))`` over the scores in narrow rows, of ``-x`` if negated."""
        x = self.middle[self._narrow]
        d1, d2, d3, d4 = self.powers[:, self._narrow]
        if negated:
            x, d1, d3 = -x, -d1, -d3
        x = x + shift
        loss = np.logaddexp(0.0, x)
        p, q = np.exp(x - loss), np.exp(-loss)  # the derivative of the loss, and what it lacks to 1
        second = p * q
        terms = self.length * loss + p * d1 + second / 2.0 * d2
        terms += second * (q - p) / 6.0 * d3 + second * (1.0 - 6.0 * second) / 24.0 * d4
        return float(terms.sum())


def score_rows(chunk: Scores) -> tuple[ScoreRows | None, ScoreRows | None]:
    """The classes of a chunk in rows, once for all its summaries; None for one that rows save nothing of."""
    return chunk.prepared(_rows_if_long) if chunk.ascending else (None, None)


def _rows_if_long(ascending: Array) -> ScoreRows | None:
    return ScoreRows(ascending) if len(ascending) >= WORTH_ROWS else None
