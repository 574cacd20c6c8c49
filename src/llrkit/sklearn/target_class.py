"""Which class is the target, and the trials of labels and sample weights."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from llrkit._arrays import Array, BoolArray
from llrkit.errors import LabelError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.target_labels import classify_words
from llrkit.scores.weights import WeightedSource
from llrkit.sklearn.untyped import Weights

WEIGHT = "sample_weight"


def target_label(classes: Array, pos_label: object = None) -> object:
    """The label of the targets: as given, or the last in sorted order unless the words say otherwise.

    Examples
    --------
    >>> target_label(np.array([0, 1])), target_label(np.array(["bonafide", "spoof"]), "bonafide")
    (np.int64(1), np.str_('bonafide'))
    >>> target_label(np.array(["bonafide", "spoof"]))
    Traceback (most recent call last):
    llrkit.errors.LabelError: classes_[1] would be the target, but 'spoof' means a non-target ...
    """
    if pos_label is not None:
        same = [label for label in classes if label == pos_label]
        if not same:
            raise LabelError(f"pos_label={pos_label!r} is none of the labels {list(classes.tolist())}")
        return same[0]
    if classify_words([str(label) for label in classes]) == [True, False]:
        # a decision function that speaks for the non-target is a surprise unless it was asked for
        raise LabelError(
            f"classes_[1] would be the target, but {classes[1].item()!r} means a non-target and "
            f"{classes[0].item()!r} a target: say so with pos_label={classes[0].item()!r} (transform gives "
            "LLRs in favor of it, decision_function in favor of classes_[1])"
        )
    return classes[1]


def weighted_scores(X: Array, is_target: BoolArray, sample_weight: Weights = None) -> ScoreSource:
    """The trials of scores and labels, each counting as often as its weight says.

    Examples
    --------
    >>> X, is_target = np.array([2.0, 1.0, -1.0]), np.array([True, False, False])
    >>> weighted_scores(X, is_target)
    Scores(1 target, 2 nontarget trials)
    >>> weighted_scores(X, is_target, [1.0, 0.0, 1.0])
    Scores(1 target, 1 nontarget trials)
    """
    if sample_weight is None:
        return Scores.from_classes(X[is_target], X[~is_target])
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    counted = weights > 0.0
    X, is_target, weights = X[counted], is_target[counted], weights[counted]
    if is_target.all() or not is_target.any():
        raise ValueError("Only one class is left without the trials of weight 0; two classes are needed.")
    column = {WEIGHT: (weights[is_target], weights[~is_target])}
    scores = Scores.from_classes(X[is_target], X[~is_target], column)
    return scores.with_columns() if (weights == 1.0).all() else WeightedSource(scores, WEIGHT)
