"""The public functions give the numbers that were frozen before the house was rebuilt."""

import warnings

import numpy as np
import pytest
from golden_numbers import assert_golden

import llrkit as lk

SPEAKERS = ("enroll_speaker", "test_speaker")
FITS = [
    "bayes", "bigaussian", "cmlg", "expectation", "gamma", "gaussian", "kde", "logistic", "mixture", "nig",
    "pav", "rule", "saturating", "student_t", "tied_nig", "unsupervised",
]  # fmt: skip


@pytest.fixture(scope="module")
def trials():
    return lk.sample_trials()


@pytest.fixture(scope="module")
def dev():
    return lk.sample_trials("dev")


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        yield


@pytest.mark.parametrize("name", [*FITS, pytest.param("best", marks=pytest.mark.slow)])
def test_fits(name, dev):
    fitted = getattr(lk.fits, f"fit_{name}")(dev)
    at = np.linspace(-6.0, 8.0, 29)
    assert_golden("fits", name, {"llr": fitted(at)})


def test_bounds(dev):
    fitted, at = lk.fit_logistic(dev), np.linspace(-20.0, 20.0, 9)
    bounded = {
        "elub": lk.maps.bound_elub(fitted, dev),
        "invariance": lk.maps.bound_invariance(fitted, dev),
        "sources": lk.maps.bound_sources(fitted, dev, speakers=SPEAKERS),
    }
    assert_golden("fits", "bounds", {name: map_(at) for name, map_ in bounded.items()})


def test_fusion_and_conditions(dev):
    rng = np.random.default_rng(5)
    two = lk.Scores(rng.normal(1.0, 1.0, (200, 2)), rng.normal(-1.0, 1.0, (900, 2)))
    at = rng.normal(size=(7, 2))
    of = {name: lk.fit_fusion(two, method=name)(at) for name in ("logistic", "gaussian")}
    assert_golden("fits", "fusion", of)


METRICS = [
    "auc", "cllr", "cllr_cal", "det_slope", "det_straightness", "dev_pav", "eer", "eer_roc", "min_cllr",
    "prbep", "brier_score", "score_decomposition", "expected_calibration_error", "calibration_loss",
]  # fmt: skip


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name, trials):
    room = lk.trust if name in lk.trust.__all__ else lk.metrics
    assert_golden("metrics", name, {"value": getattr(room, name)(trials)})


@pytest.mark.parametrize("point", ["sre08", "sre10", 0.05])
def test_costs(point, trials):
    found = {"min": lk.min_dcf(trials, point=point), "act": lk.act_dcf(trials, point=point)}
    assert_golden("metrics", f"costs {point}", found)


EVALUATIONS = {
    "plain": {},
    "by": {"by": "test_duration"},
    "trial": {"ci": "trial"},
    "speaker": {"ci": "speaker", "speakers": SPEAKERS},
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_evaluations(name, trials):
    assert_golden("verbs", f"evaluate {name}", lk.evaluate(trials, **EVALUATIONS[name]).to_dict())


def test_other_verbs(trials, dev):
    llrs = lk.fit_logistic(dev).on(trials)
    assert_golden("verbs", "check_calibration", lk.check_calibration(llrs, speakers=SPEAKERS).to_dict())
    assert_golden("verbs", "diagnose", lk.diagnose(dev).to_dict())
    assert_golden("verbs", "threshold_for", lk.threshold_for(dev, point="sre08").to_dict())
    trained = lk.calibrate(dev, method="cmlg", bound="none").map
    assert_golden("verbs", "check_shift", lk.check_shift(trained, trials).to_dict())
    assert_golden("verbs", "map_uncertainty", lk.trust.map_uncertainty(dev, method="cmlg"))
    both = lk.Trials(trials.table, score=["plda", "cosine"], label="label")
    assert_golden("verbs", "compare_systems", lk.compare_systems(both, speakers=SPEAKERS).to_dict())


MULTICLASS = ["fit_temperature", "fit_scale_offset", "fit_vector", "fit_affine", "fit_gaussian"]


def test_several_classes():
    rng = np.random.default_rng(3)
    label = np.arange(300) % 3
    scores = rng.normal(size=(300, 3)) + 2.0 * (label[:, None] == np.arange(3))
    trials = lk.scores.ClassScores(scores, label)
    assert_golden("verbs", "multiclass evaluate", lk.multiclass.evaluate(trials).to_dict())
    at = rng.normal(size=(5, 3))
    for name in MULTICLASS:
        assert_golden("fits", f"multiclass {name}", {"llr": getattr(lk.multiclass, name)(trials)(at)})


def test_theory():
    pair = lk.theory.GaussianLLR.from_eer(0.05)
    assert_golden("theory", "gaussian pair", {"cllr": pair.cllr, "mu": pair.mu, "eer": pair.eer})
