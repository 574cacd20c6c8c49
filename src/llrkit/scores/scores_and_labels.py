"""Scores and labels in two arrays, taken wherever a source is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, Protocol, TypeGuard, TypeVar, cast, overload

import numpy as np

from llrkit._arguments import argument_check
from llrkit._docstrings import with_parameters
from llrkit.errors import InputError
from llrkit.scores.arrays import Scores
from llrkit.scores.arrays_of_other_libraries import column_names
from llrkit.scores.source import ScoreSource, as_source
from llrkit.scores.weights import WeightedSource

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

WEIGHT = "weight"
SOURCE_DOCUMENTATION = """\
Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a pair of arrays
``(scores, labels)``, or a table with columns ``score`` and ``label``.{} Arrays may come with
``positive=``, the label of the targets, and ``weights=``."""
FIRST_OF_TWO = " Labels may also be the next argument."
ROLES = ("score", "label")
"""Columns that make trials of a table."""


def labeled_scores(
    scores: object, labels: object, *, positive: object = None, weights: object = None
) -> ScoreSource:
    """A source of one array of scores and one of labels.

    Parameters
    ----------
    scores, labels
        Arrays of the same length: NumPy, lists, columns of pandas, polars or Arrow, tensors.
    positive
        The label of the targets; by default the usual spellings are known.
    weights
        How often each trial counts.

    Examples
    --------
    >>> labeled_scores([0.1, 2.0, 1.5], [1, 2, 2], positive=2)
    Scores(2 target, 1 nontarget trials)
    """
    if weights is None:
        return Scores.from_labels(scores, labels, positive=positive)
    columns = {WEIGHT: np.asarray(weights, dtype=np.float64)}
    return WeightedSource(Scores.from_labels(scores, labels, columns, positive=positive), WEIGHT)


class TakesLabels(Protocol[P, R_co]):
    """A function of a source that takes scores and labels as well."""

    __name__: str

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self,
        scores: object,
        labels: object,
        /,
        *args: object,
        positive: object = None,
        weights: object = None,
        **options: object,
    ) -> R_co: ...


def takes_labels(function: Callable[P, R_co]) -> TakesLabels[P, R_co]:
    """A function whose first argument is a source; two arrays, scores and labels, may take its place.

    The labels come second only where the first argument is not a source. ``positive`` and ``weights`` go with
    arrays. A pair ``(scores, labels)`` may stand for any source, also where a function takes two, and so may
    a data frame that has the columns ``score`` and ``label``.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.auc([0.1, 2.0, 1.5, -1.0], [0, 1, 1, 0])
    1.0
    """
    named = list(signature(function).parameters.values())
    places = [place for place, parameter in enumerate(named) if "ScoreSource" in str(parameter.annotation)]
    sources = {named[place].name for place in places}
    check_arguments = argument_check(function, {})
    one_source = sum(named[place].default is Parameter.empty for place in places) == 1

    @wraps(function)
    def taking(*args: object, positive: object = None, weights: object = None, **options: object) -> R_co:
        given = [list(one) if isinstance(one, Iterator) else one for one in args]
        for place in places:
            if place < len(given):
                given[place] = trials_of_table(given[place])
        options |= {name: trials_of_table(options[name]) for name in sources & options.keys()}
        how = {"positive": positive, "weights": weights}
        both_given = one_source and len(given) > 1 and is_array(given[0]) and is_array(given[1])
        if both_given and not is_pair(given[0]):
            given[0] = given[0], given.pop(1)
        pairs = [(place, pair) for place in places if place < len(given) and is_pair(pair := given[place])]
        for place, pair in pairs:
            given[place] = labeled_scores(*pair, **how)
        for name in sources & options.keys():
            if is_pair(pair := options[name]):
                options[name] = labeled_scores(*pair, **how)
                pairs.append((-1, pair))
        if given and "labels" in options:
            given[0] = labeled_scores(given[0], options.pop("labels"), **how)
        elif not pairs and not (positive is None and weights is None):
            raise InputError("positive= and weights= are for arrays of scores and labels, not for a source")
        check_arguments(tuple(given), options)
        return cast(Callable[..., R_co], function)(*given, **options)

    if function.__doc__:  # there is none with python -OO
        text = SOURCE_DOCUMENTATION.format(FIRST_OF_TWO if one_source else "")
        order = [parameter.name for parameter in named]
        taking.__doc__ = with_parameters(function.__doc__, dict.fromkeys(sources, text), order)
    return cast("TakesLabels[P, R_co]", taking)


@takes_labels
def given_source(source: ScoreSource | object) -> ScoreSource:
    """The source that was given, or that of the arrays or the table that were: for methods.

    Examples
    --------
    >>> given_source({"score": [0.1, 2.0, 1.5], "label": [0, 1, 1]})
    Trials(3 rows: score, label)
    """
    return as_source(source)


def trials_of_table(given: object) -> object:
    """Trials, if a data frame, an Arrow table or a dict has the columns ``score`` and ``label``."""
    if isinstance(given, ScoreSource) or not set(ROLES) <= set(column_names(given)):
        return given
    from llrkit.scores.trials import Trials  # imports polars, which arrays alone do not need

    return Trials(given)


def is_pair(given: object) -> TypeGuard[tuple[object, object]]:
    """Whether scores and labels were given together, and not two scores."""
    return isinstance(given, tuple) and len(given) == 2 and all(map(is_array, given))


def is_array(given: object) -> bool:
    """Whether something may hold scores or labels, and is not a source, a name or a table."""
    if isinstance(given, (ScoreSource, str, bytes, Mapping)):
        return False
    return any(hasattr(given, name) for name in ("__len__", "__array__", "__dlpack__", "collect_schema"))
