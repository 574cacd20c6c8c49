"""Normal distributions and mixtures of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arguments import positive
from llrkit._arrays import FloatArray
from llrkit.theory.distribution import Distribution, Size

_LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal distribution with location ``loc`` and standard deviation (not variance) ``scale``.

    Examples
    --------
    >>> Normal(loc=-2.0, scale=2.0).cdf(-2.0)
    0.5
    """

    loc: float
    """The mean."""
    scale: float
    """The standard deviation."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.scale, "scale")

    def mean(self) -> float:
        """``loc``."""
        return self.loc

    def var(self) -> float:
        """``scale ** 2``."""
        return self.scale**2

    def _logpdf(self, x: FloatArray) -> FloatArray:
        constant = float(np.log(self.scale)) + _LOG_ROOT_TWO_PI
        return -0.5 * ((x - self.loc) / self.scale) ** 2 - constant

    def _cdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        return ndtr((x - self.loc) / self.scale)

    def _sf(self, x: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        return ndtr((self.loc - x) / self.scale)

    def _ppf(self, q: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        return self.loc + self.scale * ndtri(q)

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        return rng.normal(self.loc, self.scale, size)


@dataclass(frozen=True, eq=False)
class NormalMixture(Distribution):
    """Mixture of normals, ``sum_i weights_i N(x | locs_i, scales_i)``; a scale of 0 is a point mass.

    ``pdf`` and ``logpdf`` give the density of the part without point masses, which integrates to the
    share of that part; ``cdf``, ``sf``, ``below``, ``at_least``, ``ppf``, ``rvs`` and moments include them.

    Examples
    --------
    >>> half = NormalMixture(np.array([0.5, 0.5]), np.array([0.0, 0.0]), np.array([0.0, 1.0]))
    >>> half.below(0.0), half.cdf(0.0)
    (0.25, 0.75)
    """

    weights: FloatArray
    """The share of each part; they sum to one."""
    locs: FloatArray
    """The mean of each part."""
    scales: FloatArray
    """The standard deviation of each part; 0 for a point mass."""

    def mean(self) -> float:
        """Weighted mean of the locations."""
        return float(self.weights @ self.locs)

    def var(self) -> float:
        """Mean variance of the components plus variance of their means."""
        return float(self.weights @ (self.scales**2 + (self.locs - self.mean()) ** 2))

    def _below(self, x: FloatArray) -> FloatArray:
        return self._tail(x, +1.0, strict=True)

    def _at_least(self, x: FloatArray) -> FloatArray:
        return self._tail(x, -1.0, strict=False)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._tail(x, +1.0, strict=False)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._tail(x, -1.0, strict=True)

    def _tail(self, x: FloatArray, sign: float, *, strict: bool) -> FloatArray:
        """Mass below (sign +1) or above (sign -1) each x, point masses at x counted unless strict."""
        from scipy.special import ndtr

        atom = self.scales == 0.0
        out = np.zeros(x.shape)
        for rows in _chunks_of_pairs(x.size, int(np.sum(~atom))):
            z = sign * (x[rows, None] - self.locs[~atom]) / self.scales[~atom]
            out[rows] = ndtr(z) @ self.weights[~atom]
        if atom.any():
            gap = sign * (x[:, None] - self.locs[atom])
            out += (gap > 0.0 if strict else gap >= 0.0) @ self.weights[atom]
        return np.minimum(out, 1.0)

    def _logpdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import logsumexp

        use = (self.scales > 0.0) & (self.weights > 0.0)
        out = np.full(x.shape, -np.inf)
        if not use.any():
            return out
        constant = np.log(self.weights[use]) - np.log(self.scales[use]) - _LOG_ROOT_TWO_PI
        for rows in _chunks_of_pairs(x.size, int(np.sum(use))):
            z = (x[rows, None] - self.locs[use]) / self.scales[use]
            out[rows] = logsumexp(constant - 0.5 * z * z, axis=1)
        return out

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        which = rng.choice(self.weights.size, size=size, p=self.weights / self.weights.sum())
        return rng.normal(self.locs[which], self.scales[which])


def _chunks_of_pairs(n: int, width: int) -> list[slice]:
    """Slices of at most about a million pairs, so that memory stays bounded."""
    step = max(1, 1_000_000 // max(width, 1))
    return [slice(start, start + step) for start in range(0, n, step)]
