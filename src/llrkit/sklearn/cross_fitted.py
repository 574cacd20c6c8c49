"""LLRClassifierCV: any classifier, with a calibration fitted on scores that no trial had a part in."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    indexable,
)

from llrkit.base.arguments import Array, FloatArray
from llrkit.errors import InputError
from llrkit.sklearn.estimators import LLRMethods, LogisticCalibrator, Parallel, SklearnObject, Weights, clone
from llrkit.sklearn.scorers import scores_for_last

FOLDS = 5


class LLRClassifierCV(LLRMethods):
    """A classifier of any kind whose scores are calibrated to LLRs by cross-fitting.

    Each fold is scored by a classifier that has not seen it; the calibrator is fitted on these scores, and
    the classifier once more on all trials. ``transform`` gives LLRs in favor of the target,
    ``predict_proba`` posteriors at ``prior``.

    Parameters
    ----------
    estimator
        A classifier with ``decision_function`` or ``predict_proba``; by default ``LogisticRegression()``.
    calibrator
        A calibrator of ``sklearn``; by default ``LogisticCalibrator()`` at ``prior``.
    cv
        The folds: their number (5 by default), or a splitter of scikit-learn. With a number and ``groups``
        given to ``fit``, no group is in two folds.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    n_jobs
        Folds that are fitted at a time, as in scikit-learn.

    Attributes
    ----------
    estimator_, calibrator_
        The classifier fitted on all trials, and the calibrator of its scores.
    classes_, target_
        The two labels in sorted order, and that of the targets.
    scores_
        Out-of-fold scores in the order of the trials, which the calibrator was fitted on.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> rng = np.random.default_rng(1)
    >>> y = rng.random(600) < 0.3
    >>> X = rng.normal(size=(600, 2)) + 1.5 * y[:, None]
    >>> model = LLRClassifierCV(LinearSVC()).fit(X, y)
    >>> model.transform([[0.75, 0.75]]).round(1)  # as likely under either class
    array([[0.1]])
    """

    def __init__(
        self,
        estimator: SklearnObject = None,
        calibrator: SklearnObject = None,
        *,
        cv: SklearnObject = None,
        prior: float = 0.5,
        pos_label: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.prior = prior
        self.pos_label = pos_label
        self.n_jobs = n_jobs

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: Weights = None,
        groups: npt.ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit classifier and calibration.

        Parameters
        ----------
        X, y
            Whatever the classifier takes, and labels of two kinds.
        sample_weight
            How often each trial counts: for the calibration, and for the classifier if its ``fit`` takes it.
        groups
            What each trial belongs to (a speaker, a case): trials of one group are never on both sides.
        **fit_params
            More for ``fit`` of the classifier; with metadata routing, whatever parts have asked for.
        """
        if y is None:
            raise ValueError("LLRClassifierCV requires y to be passed, but the target y is None")
        rows, given_labels = indexable(X, y)
        labels: Array = column_or_1d(given_labels, warn=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, rows)
        self._learn_classes(labels)
        of_classifier, of_folds = self._routed(sample_weight, groups, fit_params)
        folds = list(self._splitter(groups).split(rows, labels, **of_folds))
        _require_partition_into_folds(folds, len(labels))
        scored = Parallel(n_jobs=self.n_jobs)(
            delayed(_score_fold)(clone(self._classifier), rows, labels, train, test, of_classifier)
            for train, test in folds
        )
        self.scores_ = np.empty(len(labels))
        for (_, test), scores in zip(folds, scored, strict=True):
            self.scores_[test] = scores if self._target_is_last else -scores
        self.estimator_ = clone(self._classifier).fit(rows, labels, **of_classifier)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        given = LogisticCalibrator(prior=self.prior) if self.calibrator is None else self.calibrator
        self.calibrator_ = clone(given).set_params(pos_label=1)
        self.calibrator_.fit(self.scores_[:, None], (labels == self.target_).astype(int), sample_weight)
        return self

    def _llr(self, X: npt.ArrayLike) -> FloatArray:
        check_is_fitted(self)
        scores = scores_for_last(self.estimator_, X)
        oriented = scores if self._target_is_last else -scores
        return np.asarray(self.calibrator_.transform(oriented[:, None]))[:, 0]

    @property
    def _classifier(self) -> SklearnObject:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _splitter(self, groups: npt.ArrayLike | None) -> SklearnObject:
        if self.cv is not None and not isinstance(self.cv, (int, np.integer)):
            return check_cv(self.cv)
        folds = FOLDS if self.cv is None else int(self.cv)
        return StratifiedKFold(folds) if groups is None else StratifiedGroupKFold(folds)

    def _routed(
        self, sample_weight: Weights, groups: npt.ArrayLike | None, more: dict[str, object]
    ) -> tuple[dict[str, object], dict[str, object]]:
        """What ``fit`` of the classifier and ``split`` of the folds are given."""
        given = {"sample_weight": sample_weight, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        if _routing_enabled():
            routed = process_routing(self, "fit", **given, **more)
            return routed.estimator.fit, routed.splitter.split
        weights: dict[str, object] = {}
        if sample_weight is not None and has_fit_parameter(self._classifier, "sample_weight"):
            weights = {"sample_weight": sample_weight}
        return weights | more, {} if groups is None else {"groups": groups}

    def get_metadata_routing(self) -> SklearnObject:
        """What scikit-learn's metadata routing hands to the classifier, the folds and the calibration."""
        own = self.cv is None or isinstance(self.cv, (int, np.integer))
        splitter = StratifiedGroupKFold() if own else self.cv
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._classifier, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> SklearnObject:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._classifier).input_tags.sparse
        return tags


def _routing_enabled() -> bool:
    from sklearn import get_config

    return bool(get_config()["enable_metadata_routing"])


def _score_fold(
    classifier: SklearnObject, X: object, y: Array, train: Array, test: Array, more: dict[str, object]
) -> FloatArray:
    """Scores of the trials of a fold by a classifier fitted on the others."""
    if len(np.unique(y[train])) < 2:
        raise InputError("a fold leaves only one class to train on: use fewer folds (cv)")
    given = _check_method_params(X, params=more, indices=train)
    classifier.fit(_safe_indexing(X, train), y[train], **given)
    return scores_for_last(classifier, _safe_indexing(X, test))


def _require_partition_into_folds(folds: list[tuple[Array, Array]], n: int) -> None:
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
    if not (times == 1).all():
        raise InputError(
            "every trial must be in the test set of exactly one fold; use a splitter that does so"
        )
