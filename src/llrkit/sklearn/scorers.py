"""Scorers: the metrics of detection for ``cross_val_score``, ``GridSearchCV`` and their kind.

``eer``, ``auc``, ``cllr``, ``min_cllr``, ``min_dcf`` and ``act_dcf``. Greater is better for scikit-learn, so
all but ``auc`` are negative: the best possible value is 0. Costs are at a prior of 0.01 with equal costs
unless another point is asked for, ``min_dcf.at("sre08")``. Once this module is imported, scikit-learn takes
them by name, ``scoring="eer"`` or ``scoring=["eer", "cllr"]``. Processes that it starts do not import the
module by themselves: a search inside a search gives them the scorer, ``scoring=scorers.eer``, or
``by_name("eer", "cllr")``.

The scores are the decision function of the estimator, or the log-odds of ``predict_proba`` where it has none.
``cllr`` and ``act_dcf`` read them as natural-log LLRs, which those of the estimators in :mod:`llrkit.sklearn`
are; the log-odds of other classifiers contain the prior of their training set.

To be known by name: scikit-learn keeps its scorers in a dict, and every function that takes ``scoring`` a
copy of the names, made when its module was imported. Both are private, and there is no other way to add a
name: a version that keeps them elsewhere takes the scorers themselves (``scoring=scorers.eer``), as all
versions do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import numpy.typing as npt

from llrkit.errors import InputError, MissingPackageError, UnknownNameError
from llrkit.metrics import costs, discrimination
from llrkit.scores import ScoreSource
from llrkit.scores.labels import classify_words
from llrkit.theory.operating_points import AnyPoint

try:  # the first module of this room to be imported, whatever is asked of it
    from sklearn.metrics import _scorer
    from sklearn.utils.metadata_routing import MetadataRequest

    from llrkit.sklearn.estimators import (
        SklearnObject,
        Weights,
        scores_for_last,
        target_label,
        weighted_scores,
    )
except ModuleNotFoundError:
    raise MissingPackageError.of_extra("llrkit.sklearn needs scikit-learn", "sklearn") from None


def make_known(scorers: Mapping[str, Callable[..., float]]) -> None:
    """Let scikit-learn take scorers by name; names it has itself keep their meaning.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> import llrkit.sklearn
    >>> get_scorer("eer")
    DetectionScorer(eer, greater is better)
    """
    known: object = getattr(_scorer, "_SCORERS", None)
    if not isinstance(known, dict):
        return
    own = frozenset(known)
    new = {name: scorer for name, scorer in scorers.items() if name not in own}
    known.update(new)  # modules that are imported from now on copy these names too
    for options in _copied_names():
        # Only sets that hold all of scikit-learn's names: others are choices of another kind.
        if options >= own:
            options.update(new)


def _copied_names() -> Iterator[set[str]]:
    """The sets of names that the functions and classes of imported modules accept as ``scoring``."""
    # A copy of the items: looking at attributes may import further modules.
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("sklearn.")]
    for module in modules:
        things = list(vars(module).values()) if isinstance(module, ModuleType) else []
        # functions keep what they accept under one name, estimators under the other
        for thing in filter(callable, things):
            for name in ("_skl_parameter_constraints", "_parameter_constraints"):
                constraints = getattr(thing, name, None)
                accepted = constraints.get("scoring") if isinstance(constraints, dict) else None
                for constraint in accepted if isinstance(accepted, list) else ():
                    if isinstance(options := getattr(constraint, "options", None), set):
                        yield options


POINT = 0.01


@dataclass(frozen=True)
class DetectionScorer:
    """A metric as a scorer: called with a fitted estimator, scores and labels, greater is better.

    Examples
    --------
    >>> from llrkit.sklearn import CMLGCalibrator, scorers
    >>> X, y = [[2.0], [4.0], [0.0], [2.0]], [1, 1, 0, 0]
    >>> scorers.eer(CMLGCalibrator().fit(X, y), X, y), scorers.auc(CMLGCalibrator().fit(X, y), X, y)
    (-0.25, 0.875)
    >>> scorers.min_dcf.at("sre08")
    DetectionScorer(min_dcf at 'sre08', greater is better)
    """

    name: str
    metric: Callable[..., float]
    sign: int = -1
    point: AnyPoint | None = None
    pos_label: object = None
    weight_request: bool | str | None = None
    """Whether ``sample_weight`` is wanted of scikit-learn's metadata routing, or under which name."""

    def __call__(
        self, estimator: SklearnObject, X: object, y: npt.ArrayLike, sample_weight: Weights = None
    ) -> float:
        """The score of a fitted estimator."""
        classes = estimator.classes_
        if len(classes) != 2:
            raise InputError(f"{self.name} is a metric of two classes, the estimator has {len(classes)}")
        words = classify_words([str(label) for label in classes])
        # In a scorer the words may decide: nothing else depends on the order of the labels here.
        asked = classes[0] if self.pos_label is None and words == [True, False] else self.pos_label
        target = target_label(classes, asked)
        scores = scores_for_last(estimator, X)
        # The decision function speaks for classes_[1].
        scores = scores if target == classes[1] else -scores
        return self.sign * self._of(weighted_scores(scores, np.asarray(y) == target, sample_weight))

    def _of(self, source: ScoreSource) -> float:
        value = self.metric(source) if self.point is None else self.metric(source, point=self.point)
        return float(value)

    def at(self, point: AnyPoint) -> DetectionScorer:
        """The same cost at another operating point, as :func:`llrkit.min_dcf` takes it."""
        if self.point is None:
            raise InputError(f"{self.name} has no operating point; min_dcf and act_dcf have")
        return replace(self, point=point)

    def of(self, pos_label: object) -> DetectionScorer:
        """The same metric with this label of the targets, where words and order do not tell."""
        return replace(self, pos_label=pos_label)

    def set_score_request(self, *, sample_weight: bool | str | None) -> DetectionScorer:
        """The same metric that asks scikit-learn's metadata routing for sample weights."""
        return replace(self, weight_request=sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """What the scorer asks scikit-learn's metadata routing for."""
        request = MetadataRequest(owner=repr(self))
        # None leaves it to scikit-learn to raise if weights are passed without having been asked for.
        request.score.add_request(param="sample_weight", alias=self.weight_request)
        return request

    def __repr__(self) -> str:
        point = "" if self.point is None else f" at {self.point!r}"
        return f"DetectionScorer({self.name}{point}, greater is better)"


eer = DetectionScorer("eer", discrimination.eer)
auc = DetectionScorer("auc", discrimination.auc, sign=1)
cllr = DetectionScorer("cllr", costs.cllr)
min_cllr = DetectionScorer("min_cllr", discrimination.min_cllr)
min_dcf = DetectionScorer("min_dcf", discrimination.min_dcf, point=POINT)
act_dcf = DetectionScorer("act_dcf", costs.act_dcf, point=POINT)

SCORERS = {scorer.name: scorer for scorer in (eer, auc, cllr, min_cllr, min_dcf, act_dcf)}
# On import, since there is no other moment at which the names could be added.
make_known(SCORERS)


def by_name(*names: str) -> dict[str, DetectionScorer]:
    """Scorers by name, all of them by default: the dict that ``scoring=`` takes.

    Examples
    --------
    >>> list(by_name("eer", "cllr")), len(by_name())
    (['eer', 'cllr'], 6)
    """
    unknown = [name for name in names if name not in SCORERS]
    if unknown:
        raise UnknownNameError(f"unknown scorer {unknown[0]!r}; known are {', '.join(SCORERS)}")
    return {name: SCORERS[name] for name in names or SCORERS}
