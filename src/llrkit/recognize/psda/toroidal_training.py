"""Training of toroidal PSDA by expectation-maximization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray, IntArray
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.psda.psda_model import MOST_CONCENTRATED, unit_rows_and_codes
from llrkit.recognize.psda.toroidal_model import ToroidalPSDA
from llrkit.recognize.psda.von_mises_fisher import concentration, log_normalizer, mean_length

_SWEEPS = 3  # of weights and basis, each the best for the other, in one step
_SURE = 1.0 - 1e-12
_LEAST_WEIGHT = 1e-6


class ToroidalTraining(NamedTuple):
    """A trained model, and the log-likelihood of its training data before each step and after the last."""

    model: ToroidalPSDA
    """The trained model."""
    log_likelihood: FloatArray
    """Before each step and after the last; it never falls."""


def train_toroidal_psda(
    vectors: Embeddings | npt.ArrayLike,
    speakers: npt.ArrayLike | None = None,
    *,
    speaker_dims: Sequence[int] | None = None,
    channel_dims: Sequence[int] | None = None,
    iterations: int = 20,
) -> ToroidalTraining:
    """Train toroidal PSDA by expectation-maximization; the log-likelihood never falls.

    The expectation is exact: every factor is von Mises-Fisher given the sessions. Of the maximization, the
    basis (the orthogonal Procrustes problem), the weights and the concentrations each have a closed form.

    Parameters
    ----------
    vectors, speakers
        One row of length one per session and its speaker; the speakers of embeddings are those they carry.
    speaker_dims
        Dimensions of each factor of the speaker, two or more; by default one factor of all dimensions that
        the channel leaves.
    channel_dims
        The same of the channel; by default one factor of a quarter of the dimensions, an empty list for none.
    iterations
        How often to repeat.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(100, 8))[np.arange(400) // 4] + 0.5 * rng.normal(size=(400, 8))
    >>> x /= np.linalg.norm(x, axis=1, keepdims=True)
    >>> model, history = train_toroidal_psda(x, np.arange(400) // 4, speaker_dims=[4, 2], channel_dims=[2])
    >>> model, bool((np.diff(history) > -1e-9).all())
    (ToroidalPSDA(8 dimensions; speaker 4 + 2; channel 2; within ...), True)
    """
    whole_number(iterations, 0, "iterations")
    x, codes = unit_rows_and_codes(vectors, speakers)
    sizes, n_speaker = factor_sizes(x.shape[1], speaker_dims, channel_dims)
    sums = np.zeros((int(codes.max()) + 1, x.shape[1]))
    np.add.at(sums, codes, x)
    basis = _starting_basis(x, sums, codes, sum(sizes[:n_speaker]), sum(sizes[n_speaker:]))
    model = _maximized_toroidal(
        x, codes, sizes, n_speaker, _hard_points(x, sums, basis, sizes, n_speaker), basis
    )
    history = []
    for _ in range(int(iterations)):
        points, log_likelihood = _expected_factors(model, x, sums)
        history.append(log_likelihood)
        model = _maximized_toroidal(x, codes, sizes, n_speaker, points, model.basis)
    history.append(_expected_factors(model, x, sums)[1])
    return ToroidalTraining(model, np.array(history))


def factor_sizes(
    dim: int, speaker: Sequence[int] | None, channel: Sequence[int] | None
) -> tuple[tuple[int, ...], int]:
    """Sizes of all factors, and how many belong to the speaker.

    Examples
    --------
    >>> factor_sizes(20, None, None), factor_sizes(20, [5, 5], []), factor_sizes(20, [18], None)
    (((15, 5), 1), ((5, 5), 2), ((18, 2), 1))
    """
    if channel is None:
        most = min(dim // 4, dim - sum(speaker or ()))
        channel = (most,) if most >= 2 else ()
    of_channel = tuple(channel)
    of_speaker = (dim - sum(of_channel),) if speaker is None else tuple(speaker)
    sizes = (*of_speaker, *of_channel)
    if not of_speaker or any(int(size) != size or size < 2 for size in sizes) or sum(sizes) > dim:
        raise InputError(
            f"factors of toroidal PSDA have two dimensions or more each, together at most the {dim} of the "
            f"embeddings, and one at least is of the speaker; got {list(of_speaker)} of the speaker and "
            f"{list(of_channel)} of the channel"
        )
    return tuple(int(size) for size in sizes), len(of_speaker)


def _starting_basis(
    x: FloatArray, sums: FloatArray, codes: IntArray, of_speaker: int, of_channel: int
) -> FloatArray:
    """Where speaker means are long, and beside it where sessions differ from them most."""
    means = sums / np.bincount(codes)[:, None]
    speaker = np.linalg.eigh(sums.T @ means)[1][:, ::-1][:, :of_speaker]
    rest = x - means[codes]
    rest -= rest @ speaker @ speaker.T
    beside = np.linalg.svd(speaker, full_matrices=True)[0][:, of_speaker:]
    channel = beside @ np.linalg.eigh((rest @ beside).T @ (rest @ beside))[1][:, ::-1][:, :of_channel]
    return np.hstack([speaker, channel])


def _factor_slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]


def _hard_points(
    x: FloatArray, sums: FloatArray, basis: FloatArray, sizes: Sequence[int], n_speaker: int
) -> list[FloatArray]:
    """As if every factor were where its projection points."""
    points = []
    for i, part in enumerate(_factor_slices(sizes)):
        projected = (sums if i < n_speaker else x) @ basis[:, part]
        points.append(projected / np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-12))
    return points


def _expected_factors(model: ToroidalPSDA, x: FloatArray, sums: FloatArray) -> tuple[list[FloatArray], float]:
    """The mean of each factor given the sessions, one row per speaker or session; and the log-likelihood."""
    points, total = [], len(x) * float(log_normalizer(model.dim, float(model.within)))
    for of_speaker, prior, gain in model.factors():
        parameters = prior + (sums if of_speaker else x) @ gain
        k, dim = np.linalg.norm(parameters, axis=1), len(prior)
        points.append(parameters * (mean_length(dim, k) / np.maximum(k, 1e-300))[:, None])
        total += len(k) * float(log_normalizer(dim, np.linalg.norm(prior)))
        total -= float(log_normalizer(dim, k).sum())
    return points, total


def _maximized_toroidal(
    x: FloatArray,
    codes: IntArray,
    sizes: Sequence[int],
    n_speaker: int,
    points: Sequence[FloatArray],
    basis: FloatArray,
) -> ToroidalPSDA:
    parts = _factor_slices(sizes)
    cross = np.hstack([x.T @ (p[codes] if i < n_speaker else p) for i, p in enumerate(points)])
    for _ in range(_SWEEPS):
        along = np.array([np.sum(basis[:, part] * cross[:, part]) for part in parts])
        weights = np.maximum(along, _LEAST_WEIGHT * max(float(along.max()), 1e-300))
        weights /= np.linalg.norm(weights)
        left, _, right = np.linalg.svd(cross * np.repeat(weights, sizes), full_matrices=False)
        basis = left @ right
    along = np.array([np.sum(basis[:, part] * cross[:, part]) for part in parts])
    length = float(weights @ along) / len(x)
    within = min(concentration(x.shape[1], min(max(length, 1e-9), _SURE)), MOST_CONCENTRATED)
    directions, priors = [], []
    for point in points:
        mean = point.mean(axis=0)
        size = float(np.linalg.norm(mean))
        directions.append(mean / size if size > 0.0 else np.eye(len(mean))[0])
        priors.append(min(concentration(len(mean), min(size, _SURE)), MOST_CONCENTRATED))
    return ToroidalPSDA(
        basis, np.array(sizes), weights, np.concatenate(directions), np.array(priors), np.asarray(within),
        np.asarray(n_speaker),
    )  # fmt: skip
