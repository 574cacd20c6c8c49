"""SoftmaxSums: loss, gradient and Hessian of multinomial logistic regression, from mergeable sums.

All calibrations here are linear: ``z_k = sum_s a_s f_sk + sum_u c_uk h_uk``, with weights ``a`` that all
classes share and weights ``c`` that each class has of its own. What the features are says the family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.summary_algebra import FieldwiseSums, ReadOnlyArrays
from llrkit.multiclass.class_blocks import by_class, gram, trial_blocks
from llrkit.scores.class_scores import ClassVectors

OwnWeights = Literal["nothing", "offset", "line", "plane"]


@dataclass(frozen=True, eq=False)
class Family(ReadOnlyArrays):
    """Which weights there are, and how the features are made of the trials.

    ``shared`` is the number of weights common to all classes, one for each system's scores, or none. What
    each class has of its own is ``nothing``, an ``offset``, a ``line`` (the weight of its own score, and an
    offset) or a ``plane`` (a weight for each dimension, and an offset). ``center`` and ``scale`` put the
    features into units in which the weights are of order 1.
    """

    classes: int
    shared: int
    own: OwnWeights
    center: FloatArray
    scale: FloatArray

    @property
    def own_features(self) -> int:
        """How many weights of its own each class has."""
        return {"nothing": 0, "offset": 1, "line": 2, "plane": len(self.scale) + 1}[self.own]

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.shared + self.own_features * self.classes

    def features(self, values: Array) -> tuple[FloatArray, FloatArray]:
        """Shared features (shared, K, m) and own features without the offset (u, K or 1, m) of a block."""
        m, k = len(values), self.classes
        if self.own == "plane":
            return np.empty((0, k, m)), (by_class((values - self.center) / self.scale))[:, None, :]
        if self.own == "line":
            return np.empty((0, k, m)), by_class((values - self.center) / self.scale)[None]
        systems = values[:, :, None] if values.ndim == 2 else values
        shared = np.array([by_class(systems[:, :, s] / self.scale[s]) for s in range(self.shared)])
        # a constant per trial makes no difference; taking the largest away keeps the digits of the others
        shared -= shared.max(axis=1, keepdims=True)
        return shared, np.empty((0, k, m))

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Shared weights (shared,) and own weights (own_features, K)."""
        return weights[: self.shared], weights[self.shared :].reshape(self.own_features, self.classes)


@dataclass(frozen=True, eq=False)
class SoftmaxSums(FieldwiseSums):
    """Objective, its gradient and, where asked for, its Hessian at given weights.

    The objective is ``sum_i w_i [-log p_i(own class)] + v_i [-sum_k prior_k log p_i(k)]`` with posteriors
    ``p_i`` at the prior, and weights ``w`` and ``v`` of each trial that depend on its class.
    """

    value: float
    gradient: FloatArray
    hessian: FloatArray

    @classmethod
    def at(
        cls,
        family: Family,
        weights: FloatArray,
        log_prior: FloatArray,
        own: FloatArray,
        pull: FloatArray,
        *,
        hessian: bool = True,
    ) -> Callable[[ClassVectors], SoftmaxSums]:
        """A summarizer; ``own`` and ``pull`` are the weights w and v of the trials of each class."""

        def make(chunk: ClassVectors) -> SoftmaxSums:
            size = family.size
            total = cls(0.0, np.zeros(size), np.zeros((size, size) if hessian else (0, 0)))
            values, codes = chunk.values, chunk.codes
            width = int(np.prod(values.shape[1:])) + family.classes
            # a large Hessian is best made of few products
            least = size if hessian else 64
            for block in trial_blocks(len(values), width, least):
                one = _SoftmaxBlock(family, weights, log_prior, values[block], codes[block])
                total += one.sums(own[codes[block]], pull[codes[block]], hessian)
            return total

        return make


class _SoftmaxBlock:
    """Posteriors and features of some trials."""

    def __init__(
        self,
        family: Family,
        weights: FloatArray,
        log_prior: FloatArray,
        values: Array,
        codes: IntArray,
    ) -> None:
        self.family, self.codes, self.prior = family, codes, np.exp(log_prior)
        self.shared, self.own = family.features(values)
        a, c = family.split(weights)
        z = np.einsum("s,skm->km", a, self.shared)
        if family.own == "plane":
            z += c[:-1].T @ self.own[:, 0, :]
        elif family.own == "line":
            z += c[0][:, None] * self.own[0]
        if family.own != "nothing":
            z += c[-1][:, None]
        z += log_prior[:, None]
        self.z = z
        top = z.max(axis=0)
        self.p = np.exp(z - top)
        total = self.p.sum(axis=0)
        self.p /= total
        self.log_sum = np.log(total) + top

    def sums(self, own: FloatArray, pull: FloatArray, hessian: bool) -> SoftmaxSums:
        trials, weight = np.arange(len(self.codes)), own + pull
        value = float((own * (self.log_sum - self.z[self.codes, trials])).sum())
        residual = self.p * weight
        residual[self.codes, trials] -= own
        if pull.any():
            value += float((pull * (self.log_sum - np.einsum("k,km->m", self.prior, self.z))).sum())
            residual -= np.multiply.outer(self.prior, pull)
        return SoftmaxSums(
            value, self._gradient(residual), self._hessian(weight) if hessian else np.zeros((0, 0))
        )

    def _gradient(self, residual: FloatArray) -> FloatArray:
        pieces = [np.einsum("skm,km->s", self.shared, residual)]
        if self.family.own == "plane":
            pieces.append((self.own[:, 0, :] @ residual.T).ravel())
        elif self.family.own == "line":
            pieces.append(np.einsum("km,km->k", self.own[0], residual))
        if self.family.own != "nothing":
            pieces.append(residual.sum(axis=1))
        return np.concatenate(pieces)

    def _hessian(self, weight: FloatArray) -> FloatArray:
        """``sum_i w_i J_i' (diag p_i - p_i p_i') J_i`` with the features as the Jacobian J."""
        family, p = self.family, self.p
        k, m, n_shared, n_own = family.classes, len(weight), family.shared, family.own_features
        weighted = p * weight
        hessian = np.zeros((family.size, family.size))
        # a shared feature over its mean under the posterior: the products need no second term then
        spread = self.shared - np.einsum("skm,km->sm", self.shared, p)[:, None, :]
        for s in range(n_shared):
            along = weighted * spread[s]
            hessian[s, :n_shared] = np.einsum("skm,km->s", spread, along)
            if n_own:
                hessian[s, n_shared:] = hessian[n_shared:, s] = along.sum(axis=1)
        if n_own == 0:
            return hessian
        if n_own == 1:  # offsets alone
            own = np.diag(weighted.sum(axis=1)) - gram(weighted, p)
        else:
            features = np.ones((n_own, 1 if family.own == "plane" else k, m))
            features[:-1] = self.own
            rows = (features * (p * np.sqrt(weight))).reshape(n_own * k, m)
            own = -(rows @ rows.T)  # half the work of a product of two matrices
            for c in range(k):
                mine, at = features[:, c % features.shape[1], :], np.arange(n_own) * k + c
                own[np.ix_(at, at)] += (mine * weighted[c]) @ mine.T
        hessian[n_shared:, n_shared:] = own
        return hessian
