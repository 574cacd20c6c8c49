"""Fusion weights and the zoo."""

import numpy as np
import pytest
from drawn import some_zoo
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.metrics.theory_costs import zoo_curve
from llrkit.plot.llr_plots import FusionWeights


def test_fusion_weights_and_intervals():
    axes = lk.plot.fusion_weights(FusionWeights(("A", "B"), [0.9, -0.2], 0.1, [0.8, -0.3], [1.0, -0.1]))
    points = next(line for line in axes.lines if line.get_linestyle() == "None")
    assert_array_equal(points.get_xydata(), [[0.9, 1.0], [-0.2, 0.0]])  # the first system is on top
    assert [text.get_text() for text in axes.get_yticklabels()] == ["B", "A"]
    ends = [line.get_xdata().tolist() for line in axes.lines[1:3]]
    assert ends == [[0.8, 1.0], [-0.3, -0.1]]
    assert axes.get_title().endswith("(offset +0.100)")
    bare = lk.plot.fusion_weights(FusionWeights(("A",), [0.5]))
    assert bare.lines[1].get_xdata().tolist() == [0.0, 0.5]


def test_zoo_points_quartiles_and_animals():
    zoo = some_zoo()
    axes = lk.plot.zoo(zoo)
    points = next(line for line in axes.lines if line.get_linestyle() == "None")
    assert_array_equal(points.get_xydata(), np.column_stack([zoo.target_mean, zoo.nontarget_mean]))
    texts = " ".join(text.get_text() for text in axes.texts)
    low, high = np.quantile(zoo.target_mean, 0.25), np.quantile(zoo.nontarget_mean, 0.75)
    worms = int(np.sum((zoo.target_mean <= low) & (zoo.nontarget_mean >= high)))
    assert f"{worms} worm" in texts


def test_zoo_means_are_counted_one_by_one():
    rng = np.random.default_rng(2)
    target, nontarget = rng.normal(2, 1, 30), rng.normal(-2, 1, 90)
    who_t, who_n = rng.integers(0, 6, 30), rng.integers(0, 7, 90)
    found = zoo_curve(lk.Scores(target, nontarget, {"who": (who_t, who_n)}), "who")
    both = sorted(set(who_t) & set(who_n))
    assert found.speakers == tuple(str(i) for i in both)
    assert found.n_left_out == len(set(who_t) | set(who_n)) - len(both) > 0
    for i, speaker in enumerate(both):
        assert_allclose(found.target_mean[i], target[who_t == speaker].mean())
        assert_allclose(found.nontarget_mean[i], nontarget[who_n == speaker].mean())


def test_zoo_without_common_speakers_is_refused():
    scores = lk.Scores([1.0], [0.0], {"who": (["a"], ["b"])})
    with pytest.raises(lk.InputError):
        zoo_curve(scores, "who")
