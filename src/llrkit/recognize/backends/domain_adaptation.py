"""A back-end for another domain than that of its training, by embeddings from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from llrkit._arguments import takes
from llrkit._format import not_among
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.backends.backend import Backend, train_backend
from llrkit.recognize.backends.transform_training import Step
from llrkit.recognize.backends.transforms import Affine, Chain, Transform
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.option_names import ADAPTATIONS
from llrkit.recognize.plda.plda_adaptation import (
    coral_plus,
    interpolated,
    kaldi_adapted,
    mean_and_covariance,
    recoloring,
)
from llrkit.recognize.plda.plda_training import train_plda

_OF_PLDA = ("coral+", "kaldi", "interpolate")


@takes(backend=Backend, unlabeled=Embeddings)
def recentered(backend: Backend, unlabeled: Embeddings) -> Backend:
    """The same back-end with every mean that of unlabeled embeddings of the new domain.

    The mean of each linear step becomes that of the unlabeled embeddings where they reach it, and so does the
    mean of PLDA.

    Parameters
    ----------
    backend
        The back-end.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.

    Examples
    --------
    >>> from llrkit.recognize.plda.plda_model import PLDA
    >>> backend = Backend(Chain((Affine([5.0]),)), PLDA([0.0], [[1.0]], [[1.0]]))
    >>> moved = recentered(backend, Embeddings([[1.0], [2.0]], ["a", "b"]))
    >>> moved.chain.steps[0].mean, moved.plda.mean
    (array([1.5]), array([0.]))
    """
    steps: list[Transform] = []
    for step in backend.chain.steps:
        moved = step
        if isinstance(step, Affine):
            moved = Affine(unlabeled.vectors.mean(axis=0, dtype=np.float64), step.matrix, step.name)
        steps.append(moved)
        unlabeled = moved(unlabeled)
    mean, plda = unlabeled.vectors.mean(axis=0, dtype=np.float64), backend.plda
    return dataclasses.replace(
        backend,
        chain=Chain(tuple(steps)),
        plda=None if plda is None else dataclasses.replace(plda, mean=mean),
    )


@takes(background=Embeddings, unlabeled=Embeddings)
def recolored(background: Embeddings, unlabeled: Embeddings, *, shrinkage: float = 1e-3) -> Embeddings:
    """CORAL: background embeddings with the mean and covariance of those of the new domain.

    Parameters
    ----------
    background
        Embeddings with known speakers.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> background = Embeddings([[0.0], [2.0]], ["a", "b"])
    >>> recolored(background, Embeddings([[10.0], [16.0]], ["c", "d"]), shrinkage=0.0).vectors.ravel()
    array([10., 16.])
    """
    (mean, covariance), (new_mean, new_covariance) = (
        mean_and_covariance(one, background.dim) for one in (background, unlabeled)
    )
    a = recoloring(covariance, new_covariance, shrinkage=shrinkage)
    return background.replace(vectors=(background.vectors - mean) @ a + new_mean)


@takes(background=Embeddings, in_domain=Embeddings)
def train_adapted_backend(
    background: Embeddings,
    in_domain: Embeddings,
    steps: Sequence[Step] = ("center", "length"),
    *,
    adaptation: str = "center",
    scorer: str = "plda",
    iterations: int = 10,
    rank: int | None = None,
    weight: float | None = None,
) -> Backend:
    """Train a back-end on background speakers and adapt it to another domain.

    Parameters
    ----------
    background
        Embeddings of many speakers, of another domain.
    in_domain
        Embeddings of the domain that is meant; their speakers are needed for 'interpolate' only.
    adaptation
        'center': means of the new domain (:func:`recentered`). 'coral': the background is given mean and
        covariance of the new domain before training (:func:`recolored`). 'coral+' and 'kaldi': centered, and
        the covariances of PLDA raised (:func:`coral_plus`, :func:`kaldi_adapted`). 'interpolate': centered,
        and mixed with a PLDA that is trained on the in-domain speakers (:func:`interpolated`).
    steps, scorer, iterations, rank
        As in :func:`train_backend`.
    weight
        Of the new domain: of 'coral+' (0.8 by default) and of 'interpolate' (0.5).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> speakers = np.arange(300) // 3
    >>> vectors = rng.normal(size=(100, 2))[speakers] + rng.normal(size=(300, 2))
    >>> background = Embeddings(vectors, [f"s{i}" for i in range(300)], speakers)
    >>> new = Embeddings(3.0 + rng.normal(size=(50, 2)), [f"n{i}" for i in range(50)])
    >>> backend = train_adapted_backend(background, new, ["center"])
    >>> bool(np.allclose(backend.chain.steps[0].mean, new.vectors.mean(axis=0)))
    True
    """
    require_adaptation(adaptation, scorer, weight)
    if in_domain.dim != background.dim:
        raise InputError(
            f"the embeddings of the new domain have {in_domain.dim} dimensions, the others {background.dim}"
        )
    if adaptation == "coral":
        background = recolored(background, in_domain)
    trained = train_backend(background, steps, scorer=scorer, iterations=iterations, rank=rank)
    if adaptation == "coral":
        return trained
    moved = recentered(trained, in_domain)
    if adaptation == "center" or moved.plda is None:
        return moved
    ready = moved.prepare(in_domain.replace(covariances=None))
    if adaptation == "kaldi":
        return Backend(moved.chain, kaldi_adapted(moved.plda, ready))
    if adaptation == "coral+":
        weights = {} if weight is None else {"between": weight, "within": weight}
        return Backend(moved.chain, coral_plus(moved.plda, ready, **weights))
    own = train_plda(ready, iterations=iterations, rank=rank).model
    return Backend(moved.chain, interpolated(moved.plda, own, 0.5 if weight is None else weight))


def require_adaptation(adaptation: str, scorer: str, weight: float | None = None) -> None:
    """Refuse an adaptation that the scorer does not have, and a weight that it does not have.

    Examples
    --------
    >>> require_adaptation("kaldi", "cosine")
    Traceback (most recent call last):
    llrkit.errors.InputError: the adaptation 'kaldi' is one of PLDA, not of 'cosine'
    """
    if adaptation not in ADAPTATIONS:
        raise UnknownNameError(f"adaptation={not_among(adaptation, ADAPTATIONS, ': expected one of ')}")
    if adaptation in _OF_PLDA and scorer != "plda":
        raise InputError(f"the adaptation {adaptation!r} is one of PLDA, not of {scorer!r}")
    if weight is not None and adaptation not in ("coral+", "interpolate"):
        raise InputError(f"the adaptation {adaptation!r} has no weight")
    if weight is not None and not 0.0 <= weight <= 1.0:
        raise InputError(f"the weight of the new domain must be from 0 to 1, got {weight!r}")
