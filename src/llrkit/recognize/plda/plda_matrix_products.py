"""Whole matrices of PLDA scores by matrix products.

In coordinates where the within-speaker covariance is the identity and the between-speaker covariance is
diagonal, with ratios ``lambda``, each side of a trial is known by two things: its natural parameter ``gamma``
and the precision ``P`` it adds to a speaker drawn from a standard normal distribution. The LLR is then

    1/2 [ (g1+g2)' (I+P1+P2)^-1 (g1+g2) - g1' (I+P1)^-1 g1 - g2' (I+P2)^-1 g2
          - log|I+P1+P2| + log|I+P1| + log|I+P2| ].

Rows with the same precision share one matrix product. Without covariances the precisions are diagonal, and
only depend on the number of sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError

_STACK = 1 << 22  # numbers in a stack of matrices worked on at a time
_FEW = 8  # groups smaller than this, on average, are scored row by row in stacks


@dataclass(frozen=True, eq=False)
class PLDARows:
    """One side of the trials: ``natural`` (n, r), and for each row which of the ``precisions`` it has.

    ``precisions`` has shape (g, r) where they are diagonal, else (g, r, r).
    """

    natural: FloatArray
    group: IntArray
    precisions: FloatArray

    def rows(self, selection: slice) -> PLDARows:
        """Some consecutive rows, with the precisions they have."""
        used, group = np.unique(self.group[selection], return_inverse=True)
        return PLDARows(self.natural[selection], group, self.precisions[used])

    @property
    def diagonal(self) -> bool:
        """Whether the precisions are diagonal."""
        return self.precisions.ndim == 2

    @property
    def scattered(self) -> bool:
        """Whether most rows have a precision of their own."""
        return len(self.precisions) > max(1, len(self.natural) // _FEW)

    def own_terms(self) -> FloatArray:
        """What each row adds to the LLR whatever the other side: ``1/2 [log|I+P| - g' (I+P)^-1 g]``."""
        alone, log_alone = _inverse_and_log_det(self.precisions, self.diagonal)
        terms = np.empty(len(self.natural))
        for block in blocks(len(terms), max(1, _STACK // max(self.precisions[0].size, 1))):
            g, inverse = self.natural[block], alone[self.group[block]]
            moved = inverse * g if self.diagonal else np.einsum("irs,is->ir", inverse, g)
            terms[block] = 0.5 * (log_alone[self.group[block]] - np.einsum("ir,ir->i", moved, g))
        return terms

    def by_group(self) -> Iterator[tuple[PLDARows, IntArray]]:
        """The rows of each group, and where they are."""
        for g in range(len(self.precisions)):
            rows = np.flatnonzero(self.group == g)
            yield PLDARows(self.natural[rows], np.zeros_like(rows), self.precisions[g : g + 1]), rows

    def full(self) -> PLDARows:
        """The same with precisions as full matrices."""
        if not self.diagonal:
            return self
        return PLDARows(self.natural, self.group, self.precisions[:, :, None] * np.eye(self.natural.shape[1]))


def rows_from_counts(y: FloatArray, ratios: FloatArray, counts: FloatArray) -> PLDARows:
    """Averages ``y`` of ``counts`` sessions each, in the diagonal coordinates that matter."""
    sizes, group = np.unique(counts, return_inverse=True)
    natural = y * np.sqrt(ratios)
    if not np.array_equal(sizes, [1.0]):
        natural *= counts[:, None]
    return PLDARows(natural, group, sizes[:, None] * ratios)


def rows_from_variances(
    y: FloatArray, ratios: FloatArray, counts: FloatArray, variances: FloatArray
) -> PLDARows:
    """The same where each row has a variance of its own in each dimension, on top of that of its sessions."""
    noise = 1.0 / counts[:, None] + variances
    if not (noise > 0.0).all():
        raise InputError(f"row {int(np.argmin(noise.min(axis=1)))}: its covariance has negative eigenvalues")
    return PLDARows(y * np.sqrt(ratios) / noise, np.arange(len(y)), ratios / noise)


def rows_from_covariances(
    y: FloatArray, ratios: FloatArray, counts: FloatArray, covariances: Array, basis: FloatArray
) -> PLDARows:
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
            inverse = _inverse_of_noise(noise, i)
            gains.append(scale[:, None] * inverse[:r])
            precisions.append(scale[:, None] * inverse[:r, :r] * scale)
        group[i] = seen[key]
    for g, gain in enumerate(gains):
        rows = group == g
        natural[rows] = y[rows] @ gain.T
    return PLDARows(natural, group, np.array(precisions).reshape(-1, r, r))


def _inverse_of_noise(noise: FloatArray, row: int) -> FloatArray:
    try:
        factor = cholesky(noise, lower=True)
    except np.linalg.LinAlgError:
        raise InputError(f"row {row}: its covariance has negative eigenvalues") from None
    half = solve_triangular(factor, np.eye(len(noise)), lower=True)
    return np.asarray(half.T @ half)


def score_into(out: Array, left: PLDARows, right: PLDARows) -> None:
    """Write the LLRs of all pairs of rows into ``out``, of shape (rows of left, rows of right)."""
    if left.diagonal != right.diagonal:
        left, right = left.full(), right.full()
    if len(left.precisions) < len(right.precisions):
        out, left, right = out.T, right, left  # the LLR is symmetric; the loop is over the fewer groups
    left_own, right_own = left.own_terms(), right.own_terms()
    if len(right.precisions) == 1 and not left.scattered:
        _score_by_product(left, left_own, right, right_own, out)
        return
    for group_rows, columns in right.by_group():
        if left.scattered:
            out[:, columns] = _score_in_stacks(left, left_own, group_rows, right_own[columns])
        else:
            scores = np.empty((len(left.natural), len(columns)), dtype=out.dtype)
            _score_by_product(left, left_own, group_rows, right_own[columns], scores)
            out[:, columns] = scores


def _score_by_product(
    left: PLDARows, left_own: FloatArray, right: PLDARows, right_own: FloatArray, out: Array
) -> None:
    """All rows of a few groups against rows of one group: a single matrix product.

    One column more holds what depends on the left side only; one for each group of the left side what
    depends on the right side and on that group.
    """
    r, groups = left.natural.shape[1], len(left.precisions)
    first = np.zeros((len(left.natural), r + 1 + groups), dtype=out.dtype)
    second = np.empty((len(right.natural), r + 1 + groups), dtype=out.dtype)
    second[:, :r], second[:, r] = right.natural, 1.0
    first[np.arange(len(first)), r + 1 + left.group] = 1.0
    times = np.multiply if left.diagonal else np.matmul
    for g, precision in enumerate(left.precisions):
        rows = slice(None) if groups == 1 else left.group == g
        joint, log_joint = _inverse_and_log_det(precision + right.precisions[0], left.diagonal)
        moved = times(left.natural[rows], joint)
        first[rows, :r] = moved
        first[rows, r] = left_own[rows] + 0.5 * np.einsum("ir,ir->i", moved, left.natural[rows])
        own = np.einsum("ir,ir->i", times(right.natural, joint), right.natural)
        second[:, r + 1 + g] = right_own + 0.5 * (own - log_joint)
    np.matmul(first, second.T, out=out)


def _score_in_stacks(
    left: PLDARows, left_own: FloatArray, right: PLDARows, right_own: FloatArray
) -> FloatArray:
    """Rows that each have a precision of their own against rows of one group."""
    out = np.empty((len(left.natural), len(right.natural)))
    other = right.precisions[0]
    size = other.size + (0 if left.diagonal else right.natural.size)
    for block in blocks(len(left.natural), max(1, _STACK // max(size, 1))):
        natural = left.natural[block]
        precision = left.precisions[left.group[block]] + other
        if left.diagonal:
            joint, log_joint = _inverse_and_log_det(precision, diagonal=True)
            squares = (joint * natural**2).sum(axis=1)[:, None] + joint @ (right.natural**2).T
            squares += 2.0 * (joint * natural) @ right.natural.T
        else:
            whole = np.eye(len(other)) + precision
            log_joint = 2.0 * np.log(np.diagonal(np.linalg.cholesky(whole), axis1=1, axis2=2)).sum(axis=1)
            sums = natural[:, :, None] + right.natural.T
            squares = np.einsum("irj,irj->ij", sums, np.linalg.solve(whole, sums))
        out[block] = left_own[block, None] + right_own + 0.5 * (squares - log_joint[:, None])
    return out


def _inverse_and_log_det(precision: FloatArray, diagonal: bool) -> tuple[FloatArray, FloatArray]:
    """Inverse and log-determinant of ``I + P``; of each, for a stack."""
    if diagonal:
        return 1.0 / (1.0 + precision), np.log1p(precision).sum(axis=-1)
    whole = np.eye(precision.shape[-1]) + precision
    return np.asarray(np.linalg.inv(whole), dtype=np.float64), np.linalg.slogdet(whole)[1]
