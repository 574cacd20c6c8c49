"""The straightness of a DET: its size under straight ones, what it finds, and what it cannot see."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk


def draw(rng, n_target=400, n_nontarget=1600, spread=1.3):
    return rng.normal(2.5, 1.0, n_target), rng.normal(0.0, spread, n_nontarget)


@pytest.mark.slow
def test_straight_dets_are_rarely_called_bent():
    rng = np.random.default_rng(1)
    p = [lk.metrics.det_straightness(lk.Scores(*draw(rng)), simulations=19, rng=i).p_value for i in range(24)]
    assert 0.3 < np.mean(p) < 0.7  # uniform on average
    assert np.mean(np.array(p) <= 0.05) < 0.25


def test_it_depends_on_the_order_of_the_scores_alone():
    target, nontarget = draw(np.random.default_rng(2))
    found = lk.metrics.det_straightness(lk.Scores(target, nontarget), simulations=19)
    bent_scores = lk.Scores(np.exp(target), np.exp(nontarget))  # far from Gaussian, the same DET
    again = lk.metrics.det_straightness(bent_scores, simulations=19)
    assert (again.rms, again.p_value) == (found.rms, found.p_value)


def test_easy_and_difficult_targets_bend_the_det():
    rng = np.random.default_rng(3)
    target = rng.normal(rng.choice([0.5, 4.5], 2000), 1.0)
    found = lk.metrics.det_straightness(lk.Scores(target, rng.normal(0, 1, 8000)), simulations=19)
    assert found.p_value == 0.05  # no simulated straight DET is bent as much
    assert found.to_dict()["rms"] > found.to_dict()["null_95"]


def test_distance_against_the_points_of_the_line():
    target, nontarget = draw(np.random.default_rng(4))
    found = lk.metrics.det_straightness(lk.Scores(target, nontarget), simulations=1)
    line = lk.metrics.det_slope(lk.Scores(target, nontarget))
    direction = np.array([1.0, line.slope]) / np.hypot(1.0, line.slope)
    points = np.stack([line.probit_fa, line.probit_miss - line.intercept], axis=1)
    away = points - np.outer(points @ direction, direction)
    assert_allclose(found.rms, np.sqrt((away**2).sum(1).mean()), rtol=1e-9)


def test_too_few_points_and_bad_options_are_refused():
    with pytest.raises(lk.InputError):
        lk.metrics.det_straightness(lk.Scores([5.0, 6.0], [0.0, 1.0]))
    with pytest.raises(lk.InputError):
        lk.metrics.det_straightness(lk.Scores([1.0, 0.0], [0.5, 2.0]), simulations=0)
