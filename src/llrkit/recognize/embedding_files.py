"""Embeddings in files: NPZ archives of arrays by name, Kaldi ark and scp."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import Array
from llrkit._atomic import replacing
from llrkit._inputs import existing_file
from llrkit.errors import FileFormatError, InputError
from llrkit.io.binary.numpy_files import read_arrays, write_arrays
from llrkit.io.text.header_row import named
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.kaldi_archives import read_kaldi, write_kaldi

ID_NAMES = ("ids", "id", "segment", "segments", "utt", "utterance", "file")
SPEAKER_NAMES = ("speakers", "speaker", "spk", "spk_id")
VECTOR_NAMES = ("vectors", "embeddings", "x")
PROCESSED = {"llrkit.enrolled/1": "enrolled models", "llrkit.cohort/1": "a cohort"}
RESERVED = ("vectors", "ids", "speakers", "covariances", "origin")


def read_embeddings(
    path: str | PathLike[str],
    *,
    vectors: str | None = None,
    speakers: str | PathLike[str] | None = None,
) -> Embeddings:
    """Read embeddings from an NPZ archive, or from a Kaldi ark or scp file.

    Parameters
    ----------
    path
        NPZ: arrays by name, one row or value per segment. The ids are in ``ids``, ``id``, ``segment``,
        ``utt`` or ``file``, the speakers in ``speakers``, ``speaker`` or ``spk``; every other array with one
        value per row becomes a column. Kaldi: vectors by id.
    vectors
        NPZ: which array holds the vectors, where there are several (also without a leading ``emb_``).
    speakers
        A text file with an id and its speaker on each line (Kaldi's utt2spk).

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/embeddings.npz"
    >>> np.savez(file, emb_a=np.ones((2, 3)), emb_b=np.ones((2, 5)), segment=["s", "t"], speaker=["x", "y"])
    >>> read_embeddings(file, vectors="b")
    Embeddings(2 rows of 5 dimensions, 2 speakers)
    """
    file = existing_file(path)
    kaldi = file.suffix.lower() in (".ark", ".scp")
    if kaldi and vectors is not None:
        raise InputError(f"{file}: a Kaldi file holds one set of vectors; {vectors!r} cannot be chosen")
    try:
        embeddings = _read_kaldi_vectors(file) if kaldi else _read_npz_embeddings(file, vectors)
        if speakers is None:
            return embeddings
        return embeddings.replace(speakers=_read_speakers_of_embeddings(Path(speakers), embeddings))
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(f"{file}: {error}") from None


def _read_npz_embeddings(file: Path, wanted: str | None) -> Embeddings:
    arrays = read_arrays(file)
    schema = str(arrays.pop("schema", ""))
    if schema in PROCESSED:
        raise FileFormatError(
            f"{file}: holds {PROCESSED[schema]}, whose vectors are processed for scoring; give raw embeddings"
        )
    origin = str(arrays.pop("origin")) if "origin" in arrays and arrays["origin"].ndim == 0 else ""
    matrices = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "iuf"]
    name = _choose_embedding_matrix(file, matrices, wanted)
    values = arrays[name]
    ids = named(list(arrays), ID_NAMES)
    if ids is None:
        raise FileFormatError(f"{file}: no ids; expected an array named {', '.join(ID_NAMES)}")
    speaker = named(list(arrays), SPEAKER_NAMES)
    covariances = arrays.get("covariances") if name in VECTOR_NAMES else None
    taken = {name, ids, speaker, "covariances"}
    columns = {
        key: array for key, array in arrays.items() if key not in taken and array.shape == (len(values),)
    }
    return Embeddings(values, arrays[ids], arrays[speaker] if speaker else None, columns, covariances, origin)


def _choose_embedding_matrix(file: Path, matrices: list[str], wanted: str | None) -> str:
    names = ", ".join(matrices) or "none"
    if wanted is not None:
        for name in (wanted, f"emb_{wanted}"):
            if name in matrices:
                return name
        raise FileFormatError(f"{file}: no matrix {wanted!r}; there are: {names}")
    usual = named(matrices, VECTOR_NAMES)
    if usual is not None:
        return usual
    if not matrices:
        raise FileFormatError(f"{file}: no matrix of numbers, one row per embedding, in it")
    if len(matrices) != 1:
        raise FileFormatError(
            f"{file}: say which matrix holds the vectors (vectors=... or --vectors); there are: {names}"
        )
    return matrices[0]


def _read_kaldi_vectors(file: Path) -> Embeddings:
    ids: list[str] = []
    vectors: list[Array] = []
    for name, vector in read_kaldi(file):
        flat = vector[0] if vector.ndim == 2 and len(vector) == 1 else vector
        if flat.ndim != 1:
            raise FileFormatError(f"{file}: {name!r} is a matrix of shape {vector.shape}, expected a vector")
        if vectors and len(flat) != len(vectors[0]):
            raise FileFormatError(
                f"{file}: embedding {name!r} has {len(flat)} dimensions, {ids[0]!r} has {len(vectors[0])}"
            )
        ids.append(name)
        vectors.append(flat)
    if not ids:
        raise FileFormatError(f"{file}: holds no vectors")
    return Embeddings(np.array(vectors), np.array(ids))


def _read_speakers_of_embeddings(file: Path, embeddings: Embeddings) -> Array:
    existing_file(file)
    known: dict[str, str] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2:
            raise FileFormatError(f"{file}, line {number}: expected an id and a speaker, got {line[:80]!r}")
        if known.setdefault(fields[0], fields[1]) != fields[1]:
            raise FileFormatError(f"{file}, line {number}: {fields[0]!r} has another speaker above")
    missing = [name for name in embeddings.ids.tolist() if name not in known]
    if missing:
        more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise FileFormatError(f"{file}: no speaker for {missing[0]!r}{more}")
    return np.array([known[name] for name in embeddings.ids.tolist()])


@takes(embeddings=Embeddings)
def write_embeddings(embeddings: Embeddings, path: str | PathLike[str]) -> None:
    """Write embeddings: all of them as ``.npz``, ids and vectors as ``.ark`` (with an ``.scp`` beside it).

    Parameters
    ----------
    embeddings
        The embeddings.
    path
        Where the embeddings are written.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/embeddings.npz"
    >>> write_embeddings(Embeddings([[1.0, 2.0]], ["a"], ["spk"], {"duration": [5.0]}), file)
    >>> read_embeddings(file)
    Embeddings(1 row of 2 dimensions, 1 speaker; columns duration)
    """
    file = Path(path)
    if file.suffix.lower() == ".ark":
        write_kaldi(file, zip(embeddings.ids.tolist(), embeddings.vectors, strict=True))
        return
    if file.suffix.lower() != ".npz":
        raise InputError(f"{file}: the ending must be .npz or .ark")
    clash = [name for name in embeddings.columns if name in (*RESERVED, *ID_NAMES, *SPEAKER_NAMES)]
    if clash:
        raise InputError(f"{file}: a column cannot have the name {clash[0]!r} in a file")
    arrays: dict[str, Array] = {"vectors": embeddings.vectors, "ids": embeddings.ids}
    if embeddings.speakers is not None:
        arrays["speakers"] = embeddings.speakers
    if embeddings.covariances is not None:
        arrays["covariances"] = embeddings.covariances
    if embeddings.origin:
        arrays["origin"] = np.array(embeddings.origin)
    with replacing(file) as temporary, temporary.open("wb") as raw:
        write_arrays(raw, {**arrays, **embeddings.columns})
