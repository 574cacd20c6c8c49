"""Baum-Welch statistics: how many frames each Gaussian got, and how they deviate from its mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import Array, FloatArray
from llrkit.core.summary_algebra import FieldwiseSums, ReadOnlyArrays
from llrkit.errors import InputError
from llrkit.recognize.frames.utterance_frames import Frames, same_dimensions
from llrkit.recognize.ivectors.diagonal_gmm import DiagonalGMM, exponentiate, pieces


@dataclass(frozen=True, eq=False)
class FrameSums(FieldwiseSums):
    """What a mixture needs to know of some frames; sums of parts add up to those of the whole.

    With the posterior probabilities ``g_c(t)`` of the Gaussians, ``zeroth`` is ``sum_t g_c(t)``, ``first``
    and ``second`` are ``sum_t g_c(t) (x_t - m_c)`` and its square, deviations being counted from the means
    of the mixture. ``second`` has no rows where it was not asked for.
    """

    n_frames: float
    log_likelihood: float
    zeroth: FloatArray
    first: FloatArray
    second: FloatArray

    @classmethod
    def of(cls, frames: Array, gmm: DiagonalGMM, *, second: bool = False) -> FrameSums:
        """The sums over frames, whose type is that of the arithmetic; parts are added in 64 bits."""
        sums = [cls._of_piece(piece, gmm, second) for piece in pieces(frames)]
        total = sums[0]
        for more in sums[1:]:
            total = total + more
        return total

    @classmethod
    def _of_piece(cls, frames: Array, gmm: DiagonalGMM, second: bool) -> FrameSums:
        d = gmm.n_dimensions
        wide = gmm.expanded(frames)
        weights = gmm.joint(wide)
        largest, total = exponentiate(weights)
        log_likelihood = float(np.sum(largest + np.log(total), dtype=np.float64))
        # Dividing the frames by the row sums instead of the posteriors spares a pass over the larger array;
        # the column of ones gives the zeroth order in the same product.
        wide /= total
        sums = (weights.T @ (wide if second else wide[:, [*range(d), 2 * d]])).astype(np.float64)
        zeroth, about_center = sums[:, -1], sums[:, :d]
        shift = gmm.means - gmm.center
        first = about_center - zeroth[:, None] * shift
        squares = np.empty((0, d))
        if second:
            squares = sums[:, d : 2 * d] - 2.0 * shift * about_center + zeroth[:, None] * shift**2
        return cls(len(frames), log_likelihood, zeroth, first, squares)


@dataclass(frozen=True, eq=False)
class Statistics(ReadOnlyArrays):
    """Zeroth- and first-order statistics of several utterances for one mixture.

    ``zeroth[u, c]`` is the number of frames of utterance u that Gaussian c got, ``first[u, c]`` the sum of
    their deviations from the mean of c, ``log_likelihood[u]`` the mean log-density of the frames.

    Examples
    --------
    >>> gmm = DiagonalGMM([0.5, 0.5], [[0.0], [10.0]], [[1.0], [1.0]])
    >>> statistics = baum_welch([[[0.5], [9.0], [12.0]]], gmm)
    >>> statistics.zeroth.round(6), statistics.first.round(6).tolist()
    (array([[1., 2.]]), [[[0.5], [1.0]]])
    """

    ids: tuple[str, ...]
    """The name of each utterance."""
    zeroth: FloatArray
    """Shape (utterances, Gaussians)."""
    first: FloatArray
    """Shape (utterances, Gaussians, dimensions)."""
    log_likelihood: FloatArray
    """Shape (utterances,)."""
    speakers: tuple[str, ...] | None = None
    """The speaker of each utterance, if known."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_frames(self) -> FloatArray:
        """Frames of each utterance."""
        return np.asarray(self.zeroth.sum(axis=1))

    def subset(self, places: Sequence[int] | npt.NDArray[np.intp]) -> Statistics:
        """The utterances at these places.

        Parameters
        ----------
        places
            Positions, from 0.
        """
        at = [int(i) for i in places]
        return Statistics(
            tuple(self.ids[i] for i in at), self.zeroth[at], self.first[at], self.log_likelihood[at],
            None if self.speakers is None else tuple(self.speakers[i] for i in at),
        )  # fmt: skip

    def by_speaker(self) -> Statistics:
        """All utterances of a speaker as one, in the order in which the speakers first occur.

        Examples
        --------
        >>> gmm = DiagonalGMM([1.0], [[0.0]], [[1.0]])
        >>> frames = Frames.of([[[1.0]], [[2.0]], [[4.0]]], speakers=["b", "a", "b"])
        >>> pooled = baum_welch(frames, gmm).by_speaker()
        >>> pooled.ids, pooled.first[:, 0, 0], pooled.n_frames
        (('b', 'a'), array([5., 2.]), array([2., 1.]))
        """
        if self.speakers is None:
            raise InputError("statistics can be added by speaker only if the speakers are known")
        names = tuple(dict.fromkeys(self.speakers))
        member = np.array([[who == name for who in self.speakers] for name in names], dtype=np.float64)
        n = member @ self.n_frames
        return replace(
            self,
            ids=names,
            speakers=names,
            zeroth=member @ self.zeroth,
            first=np.tensordot(member, self.first, 1),
            log_likelihood=member @ (self.n_frames * self.log_likelihood) / n,
        )


@takes(gmm=DiagonalGMM)
def baum_welch(
    frames: Sequence[npt.ArrayLike], gmm: DiagonalGMM, *, report: Callable[[int, int], None] | None = None
) -> Statistics:
    """Baum-Welch statistics of utterances for a mixture.

    All Gaussians take part: the posteriors of a frame are a dense row, since picking the few largest costs
    more than the two matrix products it would save.

    Parameters
    ----------
    frames
        Frames, or a list of arrays of shape (frames, dimensions). 32-bit frames are worked on in 32 bits and
        summed in 64.
    gmm
        The background model.
    report
        Called after each utterance with how many are done and how many there are.
    """
    utterances = Frames.of(frames)
    sums: list[FrameSums] = []
    for utterance_sums in _sums_by_utterance(utterances, gmm):
        sums.append(utterance_sums)
        if report is not None:
            report(len(sums), len(utterances))
    return Statistics(
        utterances.ids,
        np.stack([utterance_sums.zeroth for utterance_sums in sums]),
        np.stack([utterance_sums.first for utterance_sums in sums]),
        np.array([utterance_sums.log_likelihood / utterance_sums.n_frames for utterance_sums in sums]),
        utterances.speakers,
    )


def _sums_by_utterance(frames: Frames, gmm: DiagonalGMM) -> Iterator[FrameSums]:
    for name, array in same_dimensions(frames, gmm.n_dimensions):
        sums = FrameSums.of(array, gmm)
        if not np.isfinite(sums.log_likelihood):
            raise InputError(f"{name}: frames too far from the mixture for {array.dtype}")
        yield sums
