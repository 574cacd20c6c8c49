"""Toroidal PSDA: speakers and channels on several small spheres inside the sphere of the embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.errors import InputError
from llrkit.recognize.covariances import float_type
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.model_files import SavedModel
from llrkit.recognize.psda.von_mises_fisher import add_sphere_llrs, session_sums


@dataclass(frozen=True, eq=False, repr=False)
class ToroidalPSDA(SavedModel):
    """The model ``x ~ VMF(sum_i w_i K_i z_i, within)`` of sessions of length one.

    Each factor ``z_i`` is a point on a sphere of its own with the prior ``VMF(v_i, g_i)``. The first
    ``n_speaker`` factors belong to the speaker and are the same in all its sessions, the others to the
    channel and are new in each. The columns of all ``K_i`` together are orthonormal and the squares of the
    weights add up to one, so that the mean has length one. Given the sessions, all factors are independent
    and von Mises-Fisher again; those of the channel cancel in an LLR.

    Parameters
    ----------
    basis
        All ``K_i`` side by side, shape (dimensions, sum of sizes).
    sizes
        Dimensions of each factor, two or more.
    weights
        The ``w_i``.
    directions
        All ``v_i`` one after the other.
    priors
        The concentrations ``g_i``, from 0 (every direction alike).
    within
        The concentration of sessions.
    n_speaker
        How many of the factors belong to the speaker.

    References
    ----------
    Silnova, Brümmer, Swart & Burget, "Toroidal probabilistic spherical discriminant analysis", ICASSP 2023
    (arXiv 2210.15441, 2022).

    Examples
    --------
    >>> model = ToroidalPSDA(np.eye(5), [3, 2], [0.8, 0.6], [1.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0], 25.0, 1)
    >>> model
    ToroidalPSDA(5 dimensions; speaker 3; channel 2; within 25)
    >>> model.scores([[0.0, 0.8, 0.0, 0.6, 0.0]], [[0.0, 0.8, 0.0, 0.0, -0.6]]).round(3)  # another channel
    array([[2.891]])
    """

    basis: FloatArray
    sizes: FloatArray
    weights: FloatArray
    directions: FloatArray
    priors: FloatArray
    within: FloatArray
    n_speaker: FloatArray
    schema: ClassVar[str] = "llrkit.toroidal-psda/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.sizes) if self.sizes.ndim == 1 else 0
        if n == 0 or (self.sizes < 2).any() or (self.sizes != self.sizes.round()).any():
            raise InputError("the sizes of the factors must be whole numbers of at least 2")
        total = int(self.sizes.sum())
        if self.basis.ndim != 2 or self.basis.shape[1] != total or total > len(self.basis):
            raise InputError(f"factors of {total} dimensions together do not fit a basis {self.basis.shape}")
        if not np.allclose(self.basis.T @ self.basis, np.eye(total), atol=1e-6):
            raise InputError("the columns of the basis must be orthonormal")
        if self.weights.shape != (n,) or (self.weights < 0.0).any():
            raise InputError(f"the weights of the factors must be {n} numbers of at least 0")
        if not np.isclose(self.weights @ self.weights, 1.0):
            raise InputError("the squares of the weights must add up to one")
        if self.priors.shape != (n,) or not ((self.priors >= 0.0) & (self.priors < np.inf)).all():
            raise InputError(f"the concentrations of the factors must be {n} numbers of at least 0")
        if self.directions.shape != (total,) or not np.allclose(
            [np.linalg.norm(self.directions[part]) for part in self.parts], 1.0
        ):
            raise InputError("the direction of each factor must be a vector of length one")
        if self.within.shape or not 0.0 < float(self.within) < np.inf:
            raise InputError("the concentration within speakers must be a positive number")
        if self.n_speaker.shape or float(self.n_speaker) not in range(1, n + 1):
            raise InputError(f"of {n} factors 1 to {n} belong to the speaker, got {self.n_speaker}")

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.basis)

    @property
    def parts(self) -> list[slice]:
        """Where each factor is among the columns of the basis."""
        ends = np.cumsum(self.sizes.astype(int))
        return [slice(int(end - size), int(end)) for end, size in zip(ends, self.sizes, strict=True)]

    def factors(self) -> Iterator[tuple[bool, FloatArray, FloatArray]]:
        """Of each factor: is it one of the speaker, parameter ``g v`` of its prior, ``within w K``."""
        for i, part in enumerate(self.parts):
            gain = float(self.within) * self.weights[i] * self.basis[:, part]
            yield i < int(self.n_speaker), self.priors[i] * self.directions[part], gain

    def scores(
        self,
        enroll: Embeddings | npt.ArrayLike,
        test: Embeddings | npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """LLRs of all pairs; a row may be the average of sessions (``counts``, or column ``sessions``).

        Parameters
        ----------
        enroll
            Embeddings of the enrollment side.
        test
            Embeddings of the test side.
        counts
            Number of sessions in each enrollment row.
        dtype
            Type of the result.
        """
        own, other = (
            session_sums(rows, sizes, self.dim, what)
            for rows, sizes, what in ((enroll, counts, "enrollment"), (test, None, "test"))
        )
        scores = np.zeros((len(own), len(other)), dtype=float_type(dtype))
        for of_speaker, prior, gain in self.factors():
            if of_speaker:
                add_sphere_llrs(scores, prior, own @ gain, other @ gain)
        return scores

    def __repr__(self) -> str:
        sizes, n = [f"{size:.0f}" for size in self.sizes], int(self.n_speaker)
        channel = f"; channel {' + '.join(sizes[n:])}" if sizes[n:] else ""
        speaker = " + ".join(sizes[:n])
        return f"ToroidalPSDA({self.dim} dimensions; speaker {speaker}{channel}; within {self.within:.4g})"
