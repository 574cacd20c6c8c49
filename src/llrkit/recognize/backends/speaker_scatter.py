"""What training needs of many vectors: sessions and mean of each speaker, scatter within speakers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arguments import not_negative
from llrkit._arrays import Array, FloatArray
from llrkit._format import counted
from llrkit._warn import warn_caller
from llrkit.errors import InputError, SpeechWarning
from llrkit.recognize.covariances import oas_share, rank_of, require_definite, shrunk
from llrkit.recognize.embeddings import Embeddings, checked_texts, vectors_of


@dataclass(frozen=True, eq=False)
class SpeakerSums:
    """What training needs of the vectors: sessions and mean of each speaker, scatter within speakers."""

    counts: FloatArray
    means: FloatArray
    scatter: FloatArray
    shrunk_by: float = 0.0
    """The share of the mean variance that was mixed into a scatter that left out some directions."""

    @property
    def within(self) -> FloatArray:
        """Unbiased covariance within speakers, ``scatter / (sessions - speakers)``; never singular."""
        k = len(self.counts)
        covariance = self.scatter / (self.sessions - k)
        require_definite(
            covariance, f"the within-speaker covariance of {self.sessions:.0f} sessions of {k} speakers"
        )
        return covariance

    @property
    def sessions(self) -> float:
        """Number of sessions of all speakers."""
        return float(self.counts.sum())

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.means.shape[1])


def rows_and_speakers(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None
) -> tuple[FloatArray, Array]:
    """Vectors as a matrix and the speaker of each row, which embeddings may know themselves.

    Examples
    --------
    >>> rows_and_speakers([[0.0], [2.0]], ["a", "b"])[1].tolist()
    ['a', 'b']
    """
    matrix = np.asarray(vectors_of(vectors), dtype=np.float64)
    if speakers is None:
        if not isinstance(vectors, Embeddings):
            raise InputError("training needs the speaker of each row")
        speakers = vectors.known_speakers
    names = checked_texts(speakers, "speakers")
    if len(names) != len(matrix):
        raise InputError(f"{counted(len(matrix), 'embedding')} but {counted(len(names), 'speaker')}")
    return matrix, names


def speaker_sums(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None, *, shrinkage: float = 0.0
) -> SpeakerSums:
    """Collect what training needs; one session of every speaker is not enough.

    ``shrinkage`` adds that share of the mean variance within speakers to every direction. Without it, a
    scatter that leaves out some directions (fewer sessions than dimensions) is shrunk by
    :func:`~llrkit.recognize.covariances.oas_share`, and a warning says so.

    Examples
    --------
    >>> sums = speaker_sums([[0.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> sums.counts, sums.means.ravel(), sums.scatter
    (array([2., 1.]), array([1., 5.]), array([[2.]]))
    """
    not_negative(shrinkage, "shrinkage")
    matrix, names = rows_and_speakers(vectors, speakers)
    distinct, codes = np.unique(names, return_inverse=True)
    if len(distinct) < 2:
        raise InputError(f"there is only one speaker, {str(distinct[0])!r}; training needs at least two")
    counts = np.bincount(codes).astype(np.float64)
    if counts.max() == 1:
        raise InputError(
            f"each of the {counted(len(distinct), 'speaker')} has one session only: "
            "the variation within speakers cannot be estimated"
        )
    totals = np.zeros((len(distinct), matrix.shape[1]))
    np.add.at(totals, codes, matrix)
    means = totals / counts[:, None]
    rest = matrix - means[codes]
    scatter = rest.T @ rest
    scatter[np.diag_indices_from(scatter)] += shrinkage * np.trace(scatter) / len(scatter)
    rank, dim, share = rank_of(scatter), len(scatter), 0.0
    if 0 < rank < dim:
        share = oas_share(scatter / (len(matrix) - len(distinct)), len(matrix) - len(distinct))
        scatter = shrunk(scatter, share)
        warn_caller(
            f"{len(matrix)} sessions of {len(distinct)} speakers vary within speakers in {rank} of {dim} "
            f"directions: the covariance was shrunk by {100 * share:.3g} % of the mean variance in all "
            "directions; use more sessions, or fewer dimensions",
            SpeechWarning,
        )
    return SpeakerSums(counts, means, scatter, share)
