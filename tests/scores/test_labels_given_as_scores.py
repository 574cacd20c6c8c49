"""``Scores(scores, labels)`` is a mistake that is named; two arrays of scores are never taken for one."""

import numpy as np
import pandas as pd
import pytest

import llrkit as lk

RNG = np.random.default_rng(3)
SCORES = RNG.normal(0.0, 1.0, 40)
ZERO_ONE = (np.arange(40) % 2 == 0).astype(int)


def test_labels_in_place_of_nontarget_scores_are_refused_naming_from_labels():
    for labels in (
        ZERO_ONE, ZERO_ONE.astype(bool), ZERO_ONE.astype(np.float32), list(ZERO_ONE), ZERO_ONE.reshape(-1, 1),
        pd.Series(ZERO_ONE.astype(bool)), 2 * ZERO_ONE - 1, np.ones(40, dtype=bool), ZERO_ONE.astype(object),
    ):  # fmt: skip
        with pytest.raises(lk.InputError, match="from_labels"):
            lk.Scores(SCORES, labels)
    with pytest.raises(lk.InputError, match="from_labels"):
        lk.Scores(np.column_stack([SCORES, SCORES]), ZERO_ONE)


def test_true_scores_of_two_classes_are_accepted():
    for target, nontarget in (
        ([0, 1, 1, 1], [0, 0, 1, 0]),  # decisions as scores, in both classes
        ([2.0, 3.0], [0.0, 1.0]),  # two trials a class say nothing
        ([2.0, 3.0, 4.0], [0.0, 0.0, 0.0]),  # labels would have both values
        ([2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 0.0]),  # another number of trials
        ([2.0, 3.0, 4.0], [0.0, 1.0, 0.5]),
        ([[2.0, 1.0], [3.0, 1.0], [0.5, 2.0]], [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]),
        ([True, False, True], [False, False, True]),
    ):
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


@pytest.mark.parametrize("function", [lk.auc, lk.fit_logistic, lambda *arrays: lk.Meter().update(*arrays)])
def test_labels_before_scores_are_refused_naming_the_order(function):
    words = np.where(ZERO_ONE, "target", "nontarget")
    for labels in (ZERO_ONE, 2 * ZERO_ONE - 1, (ZERO_ONE == 1).tolist(), words, pd.Series(ZERO_ONE)):
        function(SCORES, labels)
        with pytest.raises(lk.InputError, match="come first"):
            function(labels, SCORES)
    for first, second in ((SCORES, np.arange(40) % 3), (ZERO_ONE[:30], SCORES), (["a", "b"], ["x", "y"])):
        with pytest.raises(lk.InputError, match=r"^(?!.*come first)"):  # other mistakes
            function(first, second)
