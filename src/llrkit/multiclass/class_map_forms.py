"""The maps of several classes: one scale, a scale for each class, affine, quadratic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.multiclass.class_map_base import ClassMap


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ScaleMap(ClassMap):
    """``l'_k = sum_s scales_s l_ks + offsets_k``: temperature, scale and offset, or fusion (FoCal).

    Examples
    --------
    >>> calibrate = ScaleMap(classes=["en", "de"], scales=np.array([2.0]), offsets=np.array([0.5, -0.5]))
    >>> calibrate([1.0, 3.0])
    array([2.5, 5.5])
    """

    scales: FloatArray
    offsets: FloatArray

    kind: ClassVar[str] = "class_scale"

    @property
    def shape(self) -> tuple[int, ...]:
        """One score per class, or one per class and system."""
        k, systems = len(self.classes), len(self.scales)
        return (k,) if systems == 1 else (k, systems)

    def loglik(self, values: FloatArray) -> FloatArray:
        """The weighted sum."""
        scaled = values * self.scales[0] if values.ndim == 2 else values @ self.scales
        return np.asarray(scaled + self.offsets)

    def __repr__(self) -> str:
        scales = ", ".join(f"{scale:.6g}" for scale in self.scales)
        return f"ScaleMap({self.method}: {len(self.classes)} classes, scale {scales})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class VectorScaleMap(ClassMap):
    """``l'_k = scales_k l_k + offsets_k``: a scale for each class (vector scaling)."""

    scales: FloatArray
    offsets: FloatArray

    kind: ClassVar[str] = "class_vector"

    @property
    def shape(self) -> tuple[int, ...]:
        """One score per class."""
        return (len(self.classes),)

    def loglik(self, values: FloatArray) -> FloatArray:
        """A straight line for each class."""
        return np.asarray(values * self.scales + self.offsets)

    def __repr__(self) -> str:
        low, high = self.scales.min(), self.scales.max()
        return f"VectorScaleMap({self.method}: {len(self.classes)} classes, scales {low:.6g} to {high:.6g})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AffineClassMap(ClassMap):
    """``l' = weights x + offsets`` for vectors x; ``weights`` has shape (K, D)."""

    weights: FloatArray
    offsets: FloatArray

    kind: ClassVar[str] = "class_affine"

    @property
    def shape(self) -> tuple[int, ...]:
        """A vector."""
        return (int(self.weights.shape[1]),)

    def loglik(self, values: FloatArray) -> FloatArray:
        """The matrix product."""
        return np.asarray(values @ self.weights.T + self.offsets)

    def __repr__(self) -> str:
        k, d = self.weights.shape
        return f"AffineClassMap({self.method}: {k} classes from {d} numbers)"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class QuadraticClassMap(ClassMap):
    """``l'_k = log N(x | means_k, covariances_k)``; ``differences``: x are scores over the last one."""

    means: FloatArray
    covariances: FloatArray
    differences: bool = False

    kind: ClassVar[str] = "class_quadratic"

    @property
    def shape(self) -> tuple[int, ...]:
        """A vector, or one score per class."""
        return (int(self.means.shape[1]) + int(self.differences),)

    @cached_property
    def _whitening(self) -> tuple[FloatArray, FloatArray]:
        """Inverse Cholesky factors of the covariances, and half their log-determinants."""
        factors = np.asarray(np.linalg.cholesky(self.covariances), dtype=np.float64)
        halves = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(np.linalg.inv(factors), dtype=np.float64), halves

    def loglik(self, values: FloatArray) -> FloatArray:
        """The Gaussian log-densities, without the constant that all classes share."""
        x = values[:, :-1] - values[:, -1:] if self.differences else values
        whitening, halves = self._whitening
        densities = np.empty((len(x), len(self.means)))
        for k, (mean, factor) in enumerate(zip(self.means, whitening, strict=True)):
            densities[:, k] = -0.5 * (((x - mean) @ factor.T) ** 2).sum(axis=1) - halves[k]
        return densities

    def __repr__(self) -> str:
        return f"QuadraticClassMap({self.method}: {len(self.means)} classes from {self.shape[0]} numbers)"
