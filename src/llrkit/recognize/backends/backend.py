"""A whole back-end: the steps before scoring, the scorer, and normalization by a cohort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import Array
from llrkit._format import not_among
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.backends.cohort_normalized_scores import normalized_scores
from llrkit.recognize.backends.cosine import cosine_scores
from llrkit.recognize.backends.pooled_sessions import Models, pool_sessions
from llrkit.recognize.backends.transform_training import Step, train_chain
from llrkit.recognize.backends.transforms import Chain
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.model_files import Arrays, load_arrays, naming_file, save_arrays
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.recognize.plda.plda_training import train_plda

SCHEMA = "llrkit.backend/1"
SCORERS = ("plda", "cosine")


@dataclass(frozen=True, eq=False, repr=False)
class Backend(ReadOnlyArrays):
    """Steps before scoring, and PLDA; without it the score is the cosine.

    Examples
    --------
    >>> from llrkit.recognize.backends.transforms import LengthNorm
    >>> backend = Backend(Chain((LengthNorm(),)))
    >>> backend.scorer
    'cosine'
    """

    chain: Chain
    """The steps before scoring."""
    plda: PLDA | None = None
    """Two-covariance PLDA, if it scores."""

    @property
    def scorer(self) -> str:
        """'plda' or 'cosine'."""
        return "cosine" if self.plda is None else "plda"

    def prepare(self, embeddings: Embeddings) -> Embeddings:
        """Raw embeddings made ready for scoring.

        Parameters
        ----------
        embeddings
            The embeddings.
        """
        return self.chain(embeddings)

    def enroll(
        self,
        embeddings: Embeddings,
        models: Models | None = None,
    ) -> Embeddings:
        """Raw sessions made ready for scoring, one row per model (by default per speaker).

        Parameters
        ----------
        embeddings
            The embeddings.
        models
            Sessions of each model, or the model of each session; by default speakers are models.
        """
        return self.pool(self.chain(embeddings), models)

    def pool(self, ready: Embeddings, models: Models | None = None) -> Embeddings:
        """Sessions that are ready for scoring, one row per model: see :func:`pool_sessions`.

        Parameters
        ----------
        ready
            Embeddings that are ready for scoring.
        models
            Sessions of each model, or the model of each session; by default speakers are models.
        """
        return pool_sessions(ready, models, plda=self.plda)

    def scores(
        self,
        enroll: Embeddings,
        test: Embeddings,
        *,
        normalize: str = "none",
        cohort: Embeddings | None = None,
        top: int | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """Scores of all pairs of embeddings that are ready (see :meth:`enroll` and :meth:`prepare`).

        Parameters
        ----------
        enroll
            Embeddings of the enrollment side.
        test
            Embeddings of the test side.
        normalize
            'none', 'z', 't', 'zt', 'tz', 's', 'as1' or 'as2' (adaptive: see :func:`as_norm`).
        cohort
            Impostors, made ready too; needed to normalize.
        top
            Size of the adapted cohort of 'as1' and 'as2'.
        dtype
            Type of the result.
        """

        def score(left: Embeddings, right: Embeddings) -> Array:
            if self.plda is None:
                return cosine_scores(left, right, dtype=dtype)
            return self.plda.scores(left, right, dtype=dtype)

        return normalized_scores(score, enroll, test, cohort, normalize=normalize, top=top)

    def __repr__(self) -> str:
        return f"Backend({self.chain!r}, {self.plda or self.scorer!s})"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the back-end to one NPZ file.

        Parameters
        ----------
        path
            The file.
        """
        save_arrays(path, SCHEMA, self.arrays())

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        return self.chain.arrays() | ({} if self.plda is None else self.plda.arrays("plda."))

    @classmethod
    def from_arrays(cls, arrays: Arrays, where: str) -> Backend:
        """The back-end that :meth:`arrays` described.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        where
            What the arrays belong to, for messages.
        """
        known = any(name.startswith("plda.") for name in arrays)
        return cls(Chain.from_arrays(arrays, where), PLDA.from_arrays(arrays, "plda.") if known else None)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Backend:
        """Read a back-end that was saved.

        Parameters
        ----------
        path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/backend.npz"
        >>> Backend(Chain(), PLDA([0.0], [[1.0]], [[1.0]])).save(file)
        >>> Backend.load(file)
        Backend(Chain(steps=()), PLDA(1 dimensions, rank 1))
        """
        arrays = load_arrays(path, SCHEMA, ("kinds",))
        with naming_file(str(path)):
            return cls.from_arrays(arrays, str(path))


@takes(background=Embeddings)
def train_backend(
    background: Embeddings,
    steps: Sequence[Step] = ("center", "length"),
    *,
    scorer: str = "plda",
    iterations: int = 10,
    rank: int | None = None,
    shrinkage: float = 0.0,
) -> Backend:
    """Train the steps one after the other on background speakers, then the scorer.

    Parameters
    ----------
    background
        Embeddings of speakers that will neither enroll nor be tested.
    steps
        As in :func:`train_chain`.
    scorer
        'plda' or 'cosine'.
    iterations, rank, shrinkage
        As in :func:`train_plda`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> speakers = np.arange(300) // 3
    >>> vectors = rng.normal(size=(100, 5))[speakers] + rng.normal(size=(300, 5))
    >>> background = Embeddings(vectors, [f"s{i}" for i in range(300)], speakers)
    >>> backend = train_backend(background, ["lda:3", "length"], rank=2)
    >>> backend.plda
    PLDA(3 dimensions, rank 2)
    """
    if scorer not in SCORERS:
        raise UnknownNameError(f"scorer={not_among(scorer, SCORERS, ': expected one of ')}")
    refuse_of_others(scorer, rank=rank, shrinkage=shrinkage or None)
    chain = train_chain(background, steps)
    if scorer == "cosine":
        return Backend(chain)
    plda = train_plda(chain(background), iterations=iterations, rank=rank, shrinkage=shrinkage)
    return Backend(chain, plda.model)


def refuse_of_others(scorer: str, **of_plda: object) -> None:
    """An option of PLDA is refused for another scorer, not dropped."""
    for name, value in of_plda.items():
        if value is not None and scorer != "plda":
            raise InputError(f"{name} is an option of plda, not of {scorer}")
