"""Whole matrices of PLDA scores by matrix products.

In coordinates where the within-speaker covariance is the identity and the between-speaker covariance is
diagonal, with ratios ``lambda``, each side of a trial is known by two things: its natural parameter ``gamma``
and the precision ``P`` it adds to a speaker drawn from a standard normal distribution. The LLR is then

    1/2 [ (g1+g2)' (I+P1+P2)^-1 (g1+g2) - g1' (I+P1)^-1 g1 - g2' (I+P2)^-1 g2
          - log|I+P1+P2| + log|I+P1| + log|I+P2| ],

Rows with the same precision share one matrix product. Without covariances the precisions are diagonal, and
only depend on the number of sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.core.special import FloatArray, blocks

IntArray = npt.NDArray[np.intp]
_STACK = 1 << 22  # numbers in a stack of matrices worked on at a time
_FEW = 4  # groups smaller than this, on average, are scored row by row in stacks


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the trials: ``natural`` (n, r), and for each row which of the ``precisions`` it has.

    ``precisions`` has shape (g, r) where they are diagonal, else (g, r, r).
    """

    natural: FloatArray
    group: IntArray
    precisions: FloatArray

    def rows(self, part: slice) -> Side:
        """Some consecutive rows, with the precisions they have."""
        used, group = np.unique(self.group[part], return_inverse=True)
        return Side(self.natural[part], group, self.precisions[used])

    @property
    def diagonal(self) -> bool:
        """Whether the precisions are diagonal."""
        return self.precisions.ndim == 2

    def by_group(self) -> Iterator[tuple[Side, IntArray]]:
        """The rows of each group, and where they are."""
        for g in range(len(self.precisions)):
            rows = np.flatnonzero(self.group == g)
            yield Side(self.natural[rows], np.zeros_like(rows), self.precisions[g : g + 1]), rows

    def full(self) -> Side:
        """The same with precisions as full matrices."""
        if not self.diagonal:
            return self
        return Side(self.natural, self.group, self.precisions[:, :, None] * np.eye(self.natural.shape[1]))


def side_by_counts(y: FloatArray, ratios: FloatArray, counts: FloatArray) -> Side:
    """Averages ``y`` of ``counts`` sessions each, in the diagonal coordinates that matter."""
    sizes, group = np.unique(counts, return_inverse=True)
    natural = y * np.sqrt(ratios)
    if not np.array_equal(sizes, [1.0]):
        natural *= counts[:, None]
    return Side(natural, group, sizes[:, None] * ratios)


def side_by_variances(y: FloatArray, ratios: FloatArray, counts: FloatArray, variances: FloatArray) -> Side:
    """The same where each row has a variance of its own in each dimension, on top of that of its sessions."""
    noise = 1.0 / counts[:, None] + variances
    return Side(y * np.sqrt(ratios) / noise, np.arange(len(y)), ratios / noise)


def side_by_covariances(
    y: FloatArray, ratios: FloatArray, counts: FloatArray, covariances: Any, basis: FloatArray
) -> Side:
    """The same with a full covariance per row; ``y`` has all dimensions, ``ratios`` those that matter.

    Rows with equal covariance and count share a group, whatever their order.
    """
    r = len(ratios)
    scale = np.sqrt(ratios)
    seen: dict[tuple[float, bytes], int] = {}
    group = np.empty(len(y), dtype=np.intp)
    natural, precisions = np.empty((len(y), r)), []
    gains: list[FloatArray] = []
    for i, (count, covariance) in enumerate(zip(counts, covariances, strict=True)):
        key = (float(count), np.ascontiguousarray(covariance).tobytes())
        if key not in seen:
            seen[key] = len(seen)
            noise = basis.T @ np.asarray(covariance, dtype=np.float64) @ basis
            noise[np.diag_indices_from(noise)] += 1.0 / count
            inverse = np.linalg.inv(noise)
            inverse = 0.5 * (inverse + inverse.T)
            gains.append(scale[:, None] * inverse[:r])
            precisions.append(scale[:, None] * inverse[:r, :r] * scale)
        group[i] = seen[key]
    for g, gain in enumerate(gains):
        rows = group == g
        natural[rows] = y[rows] @ gain.T
    return Side(natural, group, np.array(precisions).reshape(-1, r, r))


def score_into(out: npt.NDArray[Any], left: Side, right: Side) -> None:
    """Write the LLRs of all pairs of rows into ``out``, of shape (rows of left, rows of right)."""
    if left.diagonal != right.diagonal:
        left, right = left.full(), right.full()
    if len(left.precisions) > len(right.precisions):
        out, left, right = out.T, right, left  # the LLR is symmetric; the outer loop is the shorter one
    if len(left.precisions) == len(right.precisions) == 1:
        _product(left, right, out)
        return
    row_by_row = len(right.precisions) > len(right.natural) / _FEW
    for part, rows in left.by_group():
        if row_by_row:
            out[rows] = _in_stacks(part, right)
            continue
        for other, columns in right.by_group():
            scores = np.empty((len(rows), len(columns)), dtype=out.dtype)
            _product(part, other, scores)
            out[np.ix_(rows, columns)] = scores


def _product(left: Side, right: Side, out: npt.NDArray[Any]) -> None:
    """All pairs of two groups: one matrix product, with two columns more for what depends on one side."""
    p1, p2, diagonal = left.precisions[0], right.precisions[0], left.diagonal
    joint, log_joint = _inverse(p1 + p2, diagonal)
    alone1, log1 = _inverse(p1, diagonal)
    alone2, log2 = _inverse(p2, diagonal)
    times = np.multiply if diagonal else np.matmul
    g1, g2, r = left.natural, right.natural, left.natural.shape[1]
    first, second = (np.empty((len(g), r + 2), dtype=out.dtype) for g in (g1, g2))
    first[:, :r] = times(g1, joint)
    first[:, r] = 0.5 * (np.einsum("ir,ir->i", times(g1, joint - alone1), g1) + log1 + log2 - log_joint)
    first[:, r + 1] = 1.0
    second[:, :r] = g2
    second[:, r] = 1.0
    second[:, r + 1] = 0.5 * np.einsum("ir,ir->i", times(g2, joint - alone2), g2)
    np.matmul(first, second.T, out=out)


def _in_stacks(left: Side, right: Side) -> FloatArray:
    """Rows of one group against rows that each have a precision of their own."""
    g1, p1, diagonal = left.natural, left.precisions[0], left.diagonal
    out = np.empty((len(g1), len(right.natural)))
    alone1, log1 = _inverse(p1, diagonal)
    squares = g1 * g1 if diagonal else (g1[:, :, None] * g1[:, None, :]).reshape(len(g1), -1)
    for part in blocks(len(right.natural), max(1, _STACK // max(p1.size, 1))):
        g2, p2 = right.natural[part], right.precisions[right.group[part]]
        joint, log_joint = _inverse(p1 + p2, diagonal)
        alone2, log2 = _inverse(p2, diagonal)
        moved, own = (m * g2 if diagonal else np.einsum("jrs,js->jr", m, g2) for m in (joint, alone2))
        column = np.einsum("jr,jr->j", moved - own, g2) + log1 + log2 - log_joint
        gained = (joint - alone1).reshape(len(g2), -1)
        out[:, part] = g1 @ moved.T + 0.5 * (squares @ gained.T + column)
    return out


def _inverse(precision: FloatArray, diagonal: bool) -> tuple[FloatArray, Any]:
    """Inverse and log-determinant of ``I + P``; of each, for a stack."""
    if diagonal:
        return 1.0 / (1.0 + precision), np.log1p(precision).sum(axis=-1)
    whole = np.eye(precision.shape[-1]) + precision
    return np.asarray(np.linalg.inv(whole), dtype=np.float64), np.linalg.slogdet(whole)[1]
