"""Models that Kaldi trained: PLDA, transforms and means, in text and in binary; nothing in them is run."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._inputs import existing_file
from llrkit.errors import FileFormatError, InputError
from llrkit.recognize.backends.backend import Backend
from llrkit.recognize.backends.transforms import Affine, Chain, LengthNorm, Transform
from llrkit.recognize.kaldi_archives import read_kaldi_text
from llrkit.recognize.plda.plda_model import PLDA

Path_ = str | PathLike[str]
_KINDS = {b"FV ": ("<f4", 1), b"DV ": ("<f8", 1), b"FM ": ("<f4", 2), b"DM ": ("<f8", 2)}


def read_kaldi_plda(path: Path_) -> PLDA:
    """A PLDA model of Kaldi (``ivector-compute-plda``), text or binary.

    Kaldi stores a mean and a transform A such that ``A W A' = I`` and ``A B A' = diag(psi)``; so
    ``W = inv(A) inv(A)'`` and ``B = inv(A) diag(psi) inv(A)'``.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plda"
    >>> _ = file.write_text("<Plda>  [ 1 2 ]\\n [\\n  1 0\\n  0 0.5 ]\\n [ 3 1 ]\\n</Plda> ")
    >>> plda = read_kaldi_plda(file)
    >>> plda.within.tolist(), plda.between.tolist()
    ([[1.0, 0.0], [0.0, 4.0]], [[3.0, 0.0], [0.0, 4.0]])
    """
    file = existing_file(path)
    with file.open("rb") as raw:
        binary = _is_binary_model(raw)
        _require_token(raw, b"<Plda>", file)
        mean, transform, psi = (_read_kaldi_object(raw, file, binary) for _ in range(3))
        _require_token(raw, b"</Plda>", file)
    dim = mean.shape[0]
    if mean.ndim != 1 or transform.shape != (dim, dim) or psi.shape != (dim,):
        raise FileFormatError(
            f"{file}: a mean of shape {mean.shape}, a transform of {transform.shape} and psi of {psi.shape}"
        )
    try:
        back = np.linalg.inv(transform)
        return PLDA(mean, (back * psi) @ back.T, back @ back.T)
    except (np.linalg.LinAlgError, InputError) as error:
        raise FileFormatError(f"{file}: {error}") from None


def read_kaldi_transform(path: Path_) -> Affine:
    """A transform of Kaldi (``transform.mat`` of LDA), or a mean to subtract (``mean.vec``), text or binary.

    A matrix with one column more than the embeddings have dimensions holds an offset in it:
    ``y = T x + b``.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "transform.mat"
    >>> _ = file.write_text(" [\\n  1 2\\n  3 4\\n  5 6 ]\\n")
    >>> read_kaldi_transform(file)(np.array([[1.0, 1.0]]))
    array([[ 3.,  7., 11.]])
    """
    file = existing_file(path)
    with file.open("rb") as raw:
        array = _read_kaldi_object(raw, file, _is_binary_model(raw))
    if array.ndim == 1:
        return Affine(array, name="centering")
    return Affine(np.zeros(array.shape[1]), array.T, name="Kaldi transform")


def kaldi_transform_with_offset(transform: Affine, dim: int, where: str) -> Affine:
    """A transform for embeddings of so many dimensions: a last column may be an offset."""
    assert transform.matrix is not None
    if len(transform.matrix) == dim:
        return transform
    if len(transform.matrix) != dim + 1:
        raise InputError(f"{where}: a transform of {len(transform.matrix)} columns, embeddings of {dim}")
    linear, offset = transform.matrix[:-1], transform.matrix[-1]
    shift, *_ = np.linalg.lstsq(linear.T, -offset, rcond=None)
    if not np.allclose(linear.T @ shift, -offset, atol=1e-6 * max(1.0, float(np.abs(offset).max()))):
        raise InputError(f"{where}: its offset is in none of the directions that it maps to")
    return Affine(shift, linear, transform.name)


def kaldi_backend(
    plda: Path_,
    *,
    mean: Path_ | None = None,
    transform: Path_ | None = None,
    dim: int | None = None,
    normalize_length: bool = True,
) -> Backend:
    """The back-end of a Kaldi recipe: subtract the mean, transform, normalize the length, score by PLDA.

    Parameters
    ----------
    plda
        The model.
    mean, transform
        ``mean.vec`` and ``transform.mat``, if the recipe has them.
    dim
        Dimensions of the embeddings, if the transform has an offset in a last column and there is no mean.
    normalize_length
        As Kaldi does by default: the length is normalized before PLDA (``ivector-normalize-length``) and once
        more in it, so that ``(x - mean)' inv(B + W) (x - mean)`` is the number of dimensions. Several
        sessions are normalized one by one here, after their average in Kaldi.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plda"
    >>> _ = file.write_text("<Plda>  [ 0 0 ]\\n [\\n  1 0\\n  0 1 ]\\n [ 3 1 ]\\n</Plda> ")
    >>> kaldi_backend(file, normalize_length=False).plda
    PLDA(2 dimensions, rank 2)
    """
    model = read_kaldi_plda(plda)
    steps: list[Transform] = []
    if mean is not None:
        centering = read_kaldi_transform(mean)
        if centering.matrix is not None:
            raise FileFormatError(f"{mean}: a matrix, expected the vector that is subtracted")
        steps.append(centering)
        dim = len(centering.mean)
    if transform is not None:
        linear = read_kaldi_transform(transform)
        if linear.matrix is None:
            raise FileFormatError(f"{transform}: a vector, expected a matrix")
        steps.append(linear if dim is None else kaldi_transform_with_offset(linear, dim, str(transform)))
    if not normalize_length:
        return Backend(Chain(tuple(steps)), model)
    values, directions = np.linalg.eigh(model.between + model.within)
    whitener: FloatArray = directions / np.sqrt(values)
    steps += [LengthNorm("sqrt-dim"), Affine(model.mean, whitener, "Kaldi PLDA"), LengthNorm("sqrt-dim")]
    moved = PLDA(
        np.zeros(model.dim), whitener.T @ model.between @ whitener, whitener.T @ model.within @ whitener
    )
    return Backend(Chain(tuple(steps)), moved)


def _is_binary_model(raw: BinaryIO) -> bool:
    head = raw.read(2)
    if head == b"\0B":
        return True
    raw.seek(0)
    return False


def _require_token(raw: BinaryIO, token: bytes, file: Path) -> None:
    while (byte := raw.read(1)) and byte.isspace():
        pass
    word = byte + raw.read(len(token) - 1)
    if word != token:
        raise FileFormatError(f"{file}: expected {token.decode()}, got {word[:20]!r}")
    raw.read(1)  # the blank after it


def _read_kaldi_object(raw: BinaryIO, file: Path, binary: bool) -> Array:
    """A vector or matrix where the file is now."""
    try:
        array = _read_binary_object(raw, file) if binary else read_kaldi_text(raw)
    except (ValueError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file}: no Kaldi vector or matrix ({error})") from None
    if array.size == 0 or not np.isfinite(array).all():
        raise FileFormatError(f"{file}: an empty vector or matrix, or one with numbers that are not finite")
    return np.asarray(array, dtype=np.float64)


def _read_binary_object(raw: BinaryIO, file: Path) -> Array:
    kind = raw.read(3)
    if kind not in _KINDS:
        raise ValueError(f"the unknown kind {kind!r}")
    dtype, axes = _KINDS[kind]
    shape = []
    for _ in range(axes):
        size = raw.read(5)
        if len(size) != 5 or size[0] != 4:
            raise ValueError("its size is missing")
        shape.append(int.from_bytes(size[1:], "little", signed=True))
    n = int(np.prod(shape))
    if min(shape) < 0 or n * np.dtype(dtype).itemsize > file.stat().st_size:
        raise ValueError("it announces more numbers than the file holds")
    content = raw.read(n * np.dtype(dtype).itemsize)
    return np.frombuffer(content, dtype=dtype, count=n).reshape(shape)
