"""Scores of all pairs by any scorer, normalized by a cohort."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from llrkit._arguments import takes
from llrkit._arrays import Array
from llrkit._format import not_among
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.backends.score_normalization import as_norm, s_norm, t_norm, tz_norm, z_norm, zt_norm
from llrkit.recognize.backends.trial_sides import Side
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.option_names import NORMS
from llrkit.scores.checked_arrays import first_nan

E = TypeVar("E", Embeddings, Side)


@takes(enroll=Embeddings | Side, test=Embeddings | Side, cohort=Embeddings | Side)
def normalized_scores(
    score: Callable[[E, E], Array],
    enroll: E,
    test: E,
    cohort: E | None = None,
    *,
    normalize: str = "none",
    top: int | None = None,
) -> Array:
    """Scores of all pairs by any scorer, normalized by a cohort that stands for impostor models and segments.

    Parameters
    ----------
    score
        Function of two sets of embeddings that gives all scores.
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    cohort
        Impostors that scores are normalized by.
    normalize
        ``"none"``, ``"z"``, ``"t"``, ``"zt"``, ``"tz"``, ``"s"``, ``"as1"`` or ``"as2"``.
    top
        Number of cohort members with the highest scores that adaptive normalization uses.

    Examples
    --------
    >>> import numpy as np
    >>> from llrkit.recognize.backends.cosine import cosine_scores
    >>> rng = np.random.default_rng(1)
    >>> enroll, test, cohort = (
    ...     Embeddings(rng.normal(size=(n, 4)), [f"{name}{i}" for i in range(n)])
    ...     for n, name in ((2, "e"), (3, "t"), (50, "c"))
    ... )
    >>> normalized_scores(cosine_scores, enroll, test, cohort, normalize="as1", top=20).shape
    (2, 3)
    """
    if normalize not in NORMS:
        raise UnknownNameError(f"normalize={not_among(normalize, NORMS, ': expected one of ')}")
    if top is not None and normalize not in ("as1", "as2"):
        raise InputError(f"top needs 'as1' or 'as2', not {normalize!r}")
    raw = score(enroll, test)
    where = first_nan(raw)
    if where is not None:
        model, segment = where
        raise InputError(
            f"the score of model {enroll.ids[model]!r} and segment {test.ids[segment]!r} is NaN: the model "
            "is damaged, or its numbers are too large to be multiplied"
        )
    if normalize == "none":
        return raw
    if cohort is None:
        raise InputError(f"normalize={normalize!r} needs a cohort")
    if normalize == "z":
        return z_norm(raw, score(enroll, cohort))
    if normalize == "t":
        return t_norm(raw, score(cohort, test))
    if normalize in ("zt", "tz"):
        both = zt_norm if normalize == "zt" else tz_norm
        own, use = score(cohort, cohort), cohort.ids[:, None] != cohort.ids
        if cohort.speakers is not None:
            use &= cohort.speakers[:, None] != cohort.speakers
        return both(raw, score(enroll, cohort), score(cohort, test), own, use=use)
    if normalize == "s":
        return s_norm(raw, score(enroll, cohort), score(cohort, test))
    selection = "own" if normalize == "as1" else "other"
    return as_norm(raw, score(enroll, cohort), score(cohort, test), top=top, selection=selection)
