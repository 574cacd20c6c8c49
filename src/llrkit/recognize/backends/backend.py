"""A whole back-end: the steps before scoring, the scorer, and normalization by a cohort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TypeAlias, TypedDict, TypeVar

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
from llrkit.recognize.plda.heavy_tailed_model import HeavyTailedPLDA
from llrkit.recognize.plda.heavy_tailed_training import train_heavy_tailed_plda
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.recognize.plda.plda_training import train_plda
from llrkit.recognize.psda.psda_model import PSDA, train_psda
from llrkit.recognize.psda.toroidal_model import ToroidalPSDA
from llrkit.recognize.psda.toroidal_training import train_toroidal_psda

SCHEMA = "llrkit.backend/1"
SCORERS = ("plda", "htplda", "psda", "tpsda", "cosine")
MODELS = ("plda", "htplda", "psda", "tpsda")
Model: TypeAlias = PLDA | HeavyTailedPLDA | PSDA | ToroidalPSDA
M = TypeVar("M", PLDA, HeavyTailedPLDA, PSDA, ToroidalPSDA)
OPTIONS_OF = {
    "rank": ("plda", "htplda"), "shrinkage": ("plda",), "degrees": ("htplda",), "speaker_dims": ("tpsda",),
    "channel_dims": ("tpsda",),
}  # fmt: skip
"""Which scorers have which options."""


class ScorerOptions(TypedDict):
    """Options that only some scorers have."""

    rank: int | None
    degrees: float | None
    speaker_dims: Sequence[int] | None
    channel_dims: Sequence[int] | None


@dataclass(frozen=True, eq=False, repr=False)
class Backend(ReadOnlyArrays):
    """Steps before scoring, and a model of the PLDA or PSDA family; without one the score is the cosine.

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
    psda: PSDA | None = None
    """Probabilistic spherical discriminant analysis, if it scores."""
    htplda: HeavyTailedPLDA | None = None
    """Heavy-tailed PLDA, if it scores."""
    tpsda: ToroidalPSDA | None = None
    """Toroidal PSDA, if it scores."""

    def __post_init__(self) -> None:
        if sum(model is not None for model in self._models().values()) > 1:
            raise InputError("a back-end scores by one model, not by several")
        super().__post_init__()

    def _models(self) -> dict[str, Model | None]:
        return {name: getattr(self, name) for name in MODELS}

    @property
    def model(self) -> tuple[str, Model | None]:
        """Name of the scorer, and its model; None of 'cosine'."""
        return next(
            ((name, model) for name, model in self._models().items() if model is not None), ("cosine", None)
        )

    @property
    def scorer(self) -> str:
        """'plda', 'htplda', 'psda', 'tpsda' or 'cosine'."""
        return self.model[0]

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
        return pool_sessions(ready, models, plda=self.plda or self.htplda)

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
            model = self.model[1]
            if model is None:
                return cosine_scores(left, right, dtype=dtype)
            return model.scores(left, right, dtype=dtype)

        return normalized_scores(score, enroll, test, cohort, normalize=normalize, top=top)

    def __repr__(self) -> str:
        name, model = self.model
        return f"Backend({self.chain!r}, {name if model is None else repr(model)})"

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
        arrays = self.chain.arrays()
        name, model = self.model
        arrays.update({} if model is None else model.arrays(f"{name}."))
        return arrays

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
        chain = Chain.from_arrays(arrays, where)

        def saved(name: str, kind: type[M]) -> M | None:
            there = any(key.startswith(f"{name}.") for key in arrays)
            return kind.from_arrays(arrays, f"{name}.") if there else None

        return cls(
            chain,
            plda=saved("plda", PLDA),
            psda=saved("psda", PSDA),
            htplda=saved("htplda", HeavyTailedPLDA),
            tpsda=saved("tpsda", ToroidalPSDA),
        )

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
    degrees: float | None = None,
    speaker_dims: Sequence[int] | None = None,
    channel_dims: Sequence[int] | None = None,
) -> Backend:
    """Train the steps one after the other on background speakers, then the scorer.

    Parameters
    ----------
    background
        Embeddings of speakers that will neither enroll nor be tested.
    steps
        As in :func:`train_chain`.
    scorer
        'plda', 'htplda' (heavy-tailed), 'psda' or 'tpsda' (toroidal; both for embeddings of length one, so
        the last step must be 'length') or 'cosine'.
    iterations, rank, shrinkage
        As in :func:`train_plda`.
    degrees
        Of 'htplda': see :func:`train_heavy_tailed_plda`.
    speaker_dims, channel_dims
        Of 'tpsda': see :func:`train_toroidal_psda`.

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
    refuse_of_others(
        scorer, rank=rank, shrinkage=shrinkage or None, degrees=degrees, speaker_dims=speaker_dims,
        channel_dims=channel_dims,
    )  # fmt: skip
    chain = train_chain(background, steps)
    if scorer == "cosine":
        return Backend(chain)
    ready = chain(background)
    if scorer == "psda":
        return Backend(chain, psda=train_psda(ready, iterations=iterations).model)
    if scorer == "tpsda":
        factors = {"speaker_dims": speaker_dims, "channel_dims": channel_dims}
        return Backend(chain, tpsda=train_toroidal_psda(ready, **factors, iterations=iterations).model)
    if scorer == "htplda":
        heavy = train_heavy_tailed_plda(ready, rank=rank, degrees=degrees, iterations=iterations)
        return Backend(chain, htplda=heavy.model)
    return Backend(chain, train_plda(ready, iterations=iterations, rank=rank, shrinkage=shrinkage).model)


def refuse_of_others(scorer: str, **options: object) -> None:
    """An option of another scorer is refused, not dropped."""
    for name, value in options.items():
        if value is not None and scorer not in OPTIONS_OF[name]:
            raise InputError(f"{name} is an option of {' and '.join(OPTIONS_OF[name])}, not of {scorer}")
