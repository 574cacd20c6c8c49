"""Intervals cover as often as they say: a short run of the simulation, with bounds four errors wide."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from programs import benchmark

import llrkit as lk

RUNS = 60
ERROR = 4 * math.sqrt(0.95 * 0.05 / RUNS)


@pytest.fixture(scope="module")
def simulation():
    return benchmark("coverage")


def test_the_closed_form_truth_is_that_of_the_simulated_population(simulation, monkeypatch):
    monkeypatch.setattr(simulation, "POPULATION", 400_000)
    drawn = simulation.Design(1).population(np.random.default_rng(3))
    found = simulation.measure(drawn, simulation.POINTS)
    for name, value in simulation.truth(False, 1).items():
        assert_allclose(simulation.exact_number(found, name), value, rtol=0.02, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("unequal", [False, True])
def test_simulated_trials_share_speakers_and_follow_the_population(simulation, unequal):
    scores = simulation.Design(120, unequal=unequal, genders=2).trials(np.random.default_rng(2))
    left, right = scores.columns["left"][1], scores.columns["right"][1]
    assert np.all(left % 2 == right % 2)
    assert scores.n_nontarget < 1.2 * simulation.MOST_NONTARGETS
    for values, mean in ((scores.target, simulation.MEAN), (scores.nontarget, -simulation.MEAN)):
        assert_allclose(values.mean() / (2 * simulation.MEAN), mean, atol=0.3)
        assert_allclose(values.std() / (2 * simulation.MEAN), math.sqrt(1 + simulation.SHIFT**2), rtol=0.2)


@pytest.mark.slow
def test_intervals_cover_and_those_of_independent_trials_do_not(simulation):
    found = simulation.coverage(simulation.Design(30, unequal=True), RUNS, ("speaker", "trial"), seed=3)
    for name in ("cllr", "min_cllr", "eer", "auc", "points.0.act_dcf", "points.0.min_dcf"):
        tally = found["speaker"][name]
        assert tally.n == RUNS
        assert tally.covered / RUNS > 0.93 - ERROR
    for name in ("cllr", "eer", "auc"):
        short = found["trial"][name]
        assert short.covered / RUNS < 0.75
        assert short.width < 0.7 * found["speaker"][name].width


@pytest.mark.slow
def test_costs_of_rare_errors_cover_where_a_few_speakers_are_taken_for_many_others(simulation, monkeypatch):
    # fewer trials than in the benchmark: the truth is known well enough
    monkeypatch.setattr(simulation, "POPULATION", 1_000_000)
    design = simulation.Design(30, heavy=True)
    found = simulation.coverage(design, RUNS, seed=11)["speaker"]
    for name in ("points.1.act_dcf", "points.1.min_dcf", "points.1.p_fa"):
        tally = found[name]
        assert tally.n > RUNS / 2
        # the logarithm of the cost alone covers in 65 to 85 %
        assert tally.covered / tally.n > 0.95 - ERROR


def test_a_cost_reaches_as_far_as_its_rates_where_few_speakers_make_the_errors(simulation):
    # some 15 of 100 speakers make the false alarms at P = 0.01, effectively: misses hide them in the cost
    trials = simulation.Design(100, unequal=True, heavy=True).trials(np.random.default_rng(4))
    used = simulation.uncertainty(trials, "speaker", 0, 300)
    result = lk.evaluate(trials, points=simulation.POINTS).points[1]
    costs = (result.point.cost(1.0, 0.0), result.point.cost(0.0, 1.0))
    reach = [
        cost * (used.intervals[f"points.1.{name}"][1] - rate)
        for cost, name, rate in zip(costs, ("p_miss", "p_fa"), (result.p_miss, result.p_fa), strict=True)
    ]
    assert reach[1] > 3 * reach[0]
    # errors add up as two sides of a triangle, whatever their correlation
    up = used.intervals["points.1.act_dcf"][1] - result.act_dcf
    assert reach[1] - reach[0] <= up <= reach[1] + reach[0]
