"""Intervals cover as often as they say: a short run of the simulation, with bounds four errors wide."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from programs import benchmark

import llrkit as lk

RUNS = 200
ERROR = 4 * math.sqrt(0.95 * 0.05 / RUNS)
LOW, HIGH = 0.91 - ERROR, 0.975 + ERROR


@pytest.fixture(scope="module")
def simulation():
    return benchmark("coverage")


def test_simulated_llrs_follow_their_theory(simulation):
    scores = simulation.trials(400, 3, np.random.default_rng(1))
    pair = lk.theory.PLDALLR.isotropic(simulation.RHO, simulation.DIM)
    assert (scores.n_target, scores.n_nontarget) == (400 * 3, 1200 * 1199 // 2 - 1200)
    for values, one in ((scores.target, pair.target), (scores.nontarget, pair.nontarget)):
        assert_allclose(values.mean(), one.mean(), atol=0.15)
        assert_allclose(values.std(), one.std(), rtol=0.05)


@pytest.mark.parametrize(("design", "replicates"), [((50, 4), 0), ((20, 3), 100)])
def test_intervals_cover_and_those_of_independent_trials_do_not(simulation, design, replicates):
    found = simulation.coverage(design, RUNS, replicates, seed=3)
    for kind in ("dyadic", "bootstrap") if replicates else ("dyadic",):
        for name in ("cllr", "eer"):
            assert found[kind][name]["runs"] == RUNS
            assert LOW <= found[kind][name]["coverage"] <= HIGH
    for name in ("cllr", "eer", "auc"):
        short = found["independent trials"][name]
        assert short["coverage"] < 0.91
        assert short["width"] < 0.85 * found["dyadic"][name]["width"]
