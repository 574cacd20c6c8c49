"""The Newton loop settles also where rounding makes the objective jitter."""

import numpy as np
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.core.minimise import newton


def test_a_bottom_that_jitters_by_rounding_is_a_bottom():
    # exactly at the bottom the value is a few units in the last place higher than beside it
    def objective(x):
        value = 1.0 + float(((x - 0.3) ** 2).sum())
        at_bottom = np.abs(x - 0.3).max() < 1e-12
        return value * (1.0 + 9e-16 * at_bottom), 2.0 * (x - 0.3), 2.0 * np.eye(2)

    found = newton(objective, np.array([0.3 + 1e-9, 0.3]), max_evaluations=40)
    assert found.converged
    assert_allclose(found.x, 0.3, rtol=1e-12)


def test_logistic_regression_settles_on_many_sets():
    model = lk.theory.GaussianLLR.from_eer(0.05)
    rng = np.random.default_rng(1)
    for _ in range(200):
        target, nontarget = model.rvs(300, 3000, rng)
        fitted = lk.fit_logistic(lk.Scores(target + 1, nontarget + 1))
        assert fitted.details["gradient"] < 1e-12
