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
    scan = lk.alpha_scan(data, point=point, groups="who", log_odds=[-3.0, 1.0], rng=4)
    for name, method, option in (("CMLG", "cmlg", "alpha"), ("logistic regression", "logistic", "prior")):
        for x, cost in zip(scan.log_odds, scan.costs[name], strict=True):
            crossed = lk.cross_calibrate(data, method, groups="who", rng=4, **{option: float(expit(x))})
            assert_allclose(cost, lk.act_dcf(crossed.source, point), rtol=1e-12)
    assert_allclose(scan.minimum, lk.min_dcf(data, point), rtol=1e-12)
    assert scan.cost_name == "cost at P=0.05,Cmiss=2,Cfa=1"


def test_trained_on_one_set_and_measured_on_another_with_known_non_targets():
    train, test = trials(1), trials(2)
    scan = lk.alpha_scan(train, test, known="known", p_known=0.3, log_odds=0.0)
    fitted = lk.fit_cmlg(train)
    assert_allclose(scan.costs["CMLG"], lk.c_primary(fitted.on(test), "sre12", known="known", p_known=0.3))
    assert_allclose(scan.minimum, lk.c_primary(test, "sre12", known="known", p_known=0.3, actual=False))
    assert scan.cost_name == "C_primary of sre12, known and unknown non-targets"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"log_odds": [np.nan]}, "log_odds must be finite"),
        ({"log_odds": []}, "log_odds must be finite"),
        ({"point": "sre99"}, "unknown operating point"),
        ({"point": None}, "expected an operating point"),
        ({"known": "nobody"}, "there is no column 'nobody'"),
        ({"test": trials(2), "groups": "who"}, "groups are for cross-validation"),
        ({"folds": 1}, "at least 2 folds"),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(lk.LlrkitError, match=said):
        lk.alpha_scan(trials(1), **options)
