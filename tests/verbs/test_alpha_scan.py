"""alpha_scan on anybody's scores: any cost, cross-validated or with trials of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import llrkit as lk
from llrkit.theory import OperatingPoint

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


def trials(seed, n=1200):
    rng = np.random.default_rng(seed)
    same = np.arange(n) % 4 == 0
    score = np.where(same, rng.normal(5.0, 1.6, n), rng.normal(0.0, 1.0, n))
    return lk.Trials(
        {"score": score, "label": same, "who": rng.integers(0, 30, n), "known": np.arange(n) % 3 == 0}
    )


def test_cross_validated_costs_against_cross_calibrate():
    data, point = trials(1), OperatingPoint(0.05, 2, 1)
    scan = lk.alpha_scan(data, point=point, groups="who", log_odds=[-3.0], rng=4)
    for name, method, option in (("CMLG", "cmlg", "alpha"), ("logistic regression", "logistic", "prior")):
        for x, cost in zip(scan.log_odds, scan.costs[name], strict=True):
            crossed = lk.cross_calibrate(
                data, method=method, groups="who", rng=4, **{option: float(expit(x))}
            )
            assert_allclose(cost, lk.act_dcf(crossed.source, point=point), rtol=1e-12)
    assert_allclose(scan.minimum, lk.min_dcf(data, point=point), rtol=1e-12)


def test_trained_on_one_set_and_measured_on_another_with_known_non_targets():
    train, test = trials(1), trials(2)
    scan = lk.alpha_scan(train, test=test, known="known", p_known=0.3, log_odds=0.0)
    fitted = lk.fit_cmlg(train)
    assert_allclose(
        scan.costs["CMLG"], lk.c_primary(fitted.on(test), evaluation="sre12", known="known", p_known=0.3)
    )
    assert_allclose(
        scan.minimum, lk.c_primary(test, evaluation="sre12", known="known", p_known=0.3, actual=False)
    )


def test_bad_options_are_refused():
    for options in (
        {"log_odds": [np.nan]}, {"log_odds": []}, {"point": "sre99"}, {"point": None}, {"known": "nobody"},
        {"test": trials(2), "groups": "who"}, {"folds": 1},
    ):  # fmt: skip
        with pytest.raises(lk.LlrkitError):
            lk.alpha_scan(trials(1), **options)
