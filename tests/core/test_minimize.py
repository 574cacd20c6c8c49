"""The Newton loop settles also where rounding makes the objective jitter."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.core.numerics import SHARES, newton


def test_a_bottom_that_jitters_by_rounding_is_a_bottom():
    # exactly at the bottom the value is a few units in the last place higher than beside it
    def objective(x):
        value = 1.0 + float(((x - 0.3) ** 2).sum())
        at_bottom = np.abs(x - 0.3).max() < 1e-12
        return value * (1.0 + 9e-16 * at_bottom), 2.0 * (x - 0.3), 2.0 * np.eye(2)

    found = newton(objective, np.array([0.3 + 1e-9, 0.3]), max_evaluations=40)
    assert found.converged
    assert_allclose(found.x, 0.3, rtol=1e-12)


@pytest.mark.slow
def test_logistic_regression_settles_on_many_sets():
    model = lk.theory.GaussianLLR.from_eer(0.05)
    rng = np.random.default_rng(1)
    for _ in range(40):
        target, nontarget = model.rvs(300, 3000, rng)
        fitted = lk.fit_logistic(lk.Scores(target + 1, nontarget + 1))
        assert fitted.details["gradient"] < 1e-12


def test_shares_settle_where_no_exchange_pays():
    for seed in range(30):
        # a sum of softplus functions of random lines; most of the shares end at zero
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 10))
        lines = rng.normal(size=(50, n)) * 10.0 ** rng.uniform(-1, 1.5)

        def objective(x, lines=lines):
            z = lines @ x
            p = 1.0 / (1.0 + np.exp(-z))
            return float(np.logaddexp(0, z).sum()), lines.T @ p, (lines.T * (p * (1 - p))) @ lines

        found = newton(objective, np.full(n, 1.0 / n), over=SHARES, tolerance=1e-12)
        assert found.converged
        assert found.evaluations <= 25
        assert found.x.min() >= 0.0
        assert_allclose(found.x.sum(), 1.0, rtol=1e-12)
        # Karush, Kuhn and Tucker: all shares in use have the same slope, no other a lower one
        _, gradient, _ = objective(found.x)
        used = found.x > 1e-6
        assert_allclose(gradient[used], gradient.min(), rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


def test_points_outside_are_never_looked_at_and_a_negligible_step_costs_no_look():
    seen = []

    def bowl(x):  # the minimum at -1 lies outside
        seen.append(float(x[0]))
        return float((x[0] + 1.0) ** 2), 2.0 * (x + 1.0), 2.0 * np.eye(1)

    held = newton(bowl, np.array([1.0]), inside=lambda x: x[0] > 0.0)
    assert min(seen) > 0.0
    assert held.x[0] < 1e-3
    seen.clear()
    found = newton(bowl, np.array([-1.0 + 1e-7]), negligible=1e-13)
    assert (seen, found.evaluations, found.converged) == ([-1.0 + 1e-7], 1, True)
    np.testing.assert_allclose(found.x, -1.0, rtol=1e-15)
