"""``Scores(scores, labels)`` is a mistake that is named; two arrays of scores are never taken for one."""

import numpy as np
import pandas as pd
import pytest

import llrkit as lk

RNG = np.random.default_rng(3)
SCORES = RNG.normal(0.0, 1.0, 40)
ZERO_ONE = (np.arange(40) % 2 == 0).astype(int)


@pytest.mark.parametrize(
    "labels",
    [
        ZERO_ONE, ZERO_ONE.astype(bool), ZERO_ONE.astype(np.float32), ZERO_ONE.astype(np.uint8),
        list(ZERO_ONE), ZERO_ONE.reshape(-1, 1), pd.Series(ZERO_ONE.astype(bool)), 2 * ZERO_ONE - 1,
        np.ones(40, dtype=bool), ZERO_ONE.astype(object),
    ],
    ids=["int", "bool", "float32", "uint8", "list", "column", "pandas", "-1 and 1", "all True", "objects"],
)  # fmt: skip
def test_labels_in_place_of_nontarget_scores_are_refused_naming_from_labels(labels):
    with pytest.raises(lk.InputError, match=r"lk\.Scores\.from_labels\(scores, labels\)"):
        lk.Scores(SCORES, labels)


def test_labels_beside_scores_of_several_systems_are_refused_naming_from_labels():
    with pytest.raises(lk.InputError, match="from_labels"):
        lk.Scores(np.column_stack([SCORES, SCORES]), ZERO_ONE)


@pytest.mark.parametrize(
    ("target", "nontarget"),
    [
        ([0, 1, 1, 1], [0, 0, 1, 0]),  # decisions as scores, in both classes
        ([2.0, 3.0], [0.0, 1.0]),  # two trials a class say nothing
        ([2.0, 3.0, 4.0], [0.0, 0.0, 0.0]),  # labels would have both values
        ([2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 0.0]),  # another number of trials
        ([2.0, 3.0, 4.0], [0.0, 1.0, 0.5]),
        ([[2.0, 1.0], [3.0, 1.0], [0.5, 2.0]], [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]),
        ([True, False, True], [False, False, True]),
    ],
)
def test_true_scores_of_two_classes_are_accepted(target, nontarget):
    assert lk.Scores(target, nontarget).n_target == len(target)


def test_trials_whose_labels_are_known_may_have_nontarget_scores_of_0_and_1():
    values, labels = [2.0, 3.0, 4.0, 0.0, 1.0, 0.0], [1, 1, 1, 0, 0, 0]
    wanted = lk.Scores.from_classes(values[:3], values[3:])
    assert wanted.nontarget.tolist() == [0.0, 1.0, 0.0]
    for source in (
        lk.Scores.from_labels(values, labels),
        lk.Trials({"score": values, "label": labels}),
        lk.Trials({"score": values, "label": labels, "weight": np.ones(6)}, weight="weight"),
    ):
        assert lk.eer(source) == lk.eer(wanted)


@pytest.mark.parametrize(
    "labels",
    [
        ZERO_ONE,
        2 * ZERO_ONE - 1,
        (ZERO_ONE == 1).tolist(),
        np.where(ZERO_ONE, "target", "nontarget"),
        pd.Series(ZERO_ONE),
    ],
    ids=["int", "-1 and 1", "list of bool", "words", "pandas"],
)
@pytest.mark.parametrize(
    "function",
    [lk.auc, lk.fit_logistic, lambda *arrays: lk.Meter().update(*arrays)],
    ids=["auc", "fit_logistic", "Meter"],
)
def test_labels_before_scores_are_refused_naming_the_order(function, labels):
    function(SCORES, labels)
    with pytest.raises(lk.InputError, match="scores come first, then labels"):
        function(labels, SCORES)


@pytest.mark.parametrize(
    ("first", "second"),
    [(SCORES, np.arange(40) % 3), (ZERO_ONE[:30], SCORES), (["a", "b", "c"], ["x", "y", "z"])],
    ids=["three classes", "other lengths", "words twice"],
)
def test_other_mistakes_are_not_taken_for_a_wrong_order(first, second):
    with pytest.raises(lk.InputError) as caught:
        lk.auc(first, second)
    assert "come first" not in str(caught.value)
