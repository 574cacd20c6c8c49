"""LLRs as probabilities: Brier score, calibration error, reliability and decomposition, by other routes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk

RNG = np.random.default_rng(5)
LABELS = RNG.random(800) < 0.3
LLRS = np.round(RNG.normal(np.where(LABELS, 1.5, -1.5), 2.0), 1)  # with ties
SHARE = LABELS.mean()


def posterior(llr, prior):
    return 1.0 / (1.0 + np.exp(-llr) * (1.0 - prior) / prior)


def class_weights(prior):
    """Of each trial, so that the classes weigh as the prior says."""
    return np.where(LABELS, prior / LABELS.sum(), (1.0 - prior) / (~LABELS).sum())


@pytest.fixture(scope="module")
def sklearn(need):
    need("sklearn")
    import sklearn.isotonic
    import sklearn.metrics

    return sklearn


@pytest.mark.parametrize("prior", [None, 0.5, 0.05])
def test_scores_and_decomposition_against_scikit_learn(sklearn, prior):
    p = SHARE if prior is None else prior
    weights, q = class_weights(p), posterior(LLRS, p)
    isotonic = sklearn.isotonic.IsotonicRegression(y_min=0, y_max=1)
    best = isotonic.fit(q, LABELS, sample_weight=weights).predict(q)
    alone = np.full(len(q), p)
    brier = sklearn.metrics.brier_score_loss

    def bits(forecast):
        right = np.where(LABELS, forecast, 1.0 - forecast)
        return -(weights * np.log2(np.where(weights * right > 0, right, 1.0))).sum()

    assert lk.metrics.brier_score(LLRS, LABELS, prior=prior) == pytest.approx(
        brier(LABELS, q, sample_weight=weights)
    )
    for rule, mean in (("brier", lambda f: brier(LABELS, f, sample_weight=weights)), ("log", bits)):
        found = lk.metrics.score_decomposition(LLRS, LABELS, rule, prior=prior)
        assert found.score == pytest.approx(mean(q), rel=1e-10)
        assert found.miscalibration == pytest.approx(mean(q) - mean(best), abs=1e-10)
        assert found.discrimination == pytest.approx(mean(alone) - mean(best), abs=1e-10)
        assert found.uncertainty == pytest.approx(mean(alone), rel=1e-10)


def test_the_log_score_at_equal_priors_is_cllr():
    found = lk.metrics.score_decomposition(LLRS, LABELS, "log", prior=0.5)
    assert found.score == pytest.approx(lk.cllr(LLRS, LABELS), rel=1e-12)
    assert 1.0 - found.discrimination == pytest.approx(lk.min_cllr(LLRS, LABELS), rel=1e-12)
    assert found.uncertainty == 1.0


@pytest.mark.parametrize("bins", [1, 7, 10])
@pytest.mark.parametrize("prior", [None, 0.1])
def test_expected_calibration_error_against_brute_force(bins, prior):
    p = SHARE if prior is None else prior
    weights, q = class_weights(p), posterior(LLRS, p)
    total = 0.0
    for low in range(bins):
        inside = (q >= low / bins) & ((q < (low + 1) / bins) | (low == bins - 1))
        total += abs((weights * (LABELS - q))[inside].sum())
    assert lk.metrics.expected_calibration_error(LLRS, LABELS, bins=bins, prior=prior) == pytest.approx(total)


def test_weights_count_as_copies():
    times = RNG.integers(0, 3, len(LLRS))
    again = np.repeat(np.arange(len(LLRS)), times)
    weighted = lk.scores.weigh(lk.Scores.from_labels(LLRS, LABELS, {"times": times}), "times")
    for number in (lk.metrics.brier_score, lk.metrics.expected_calibration_error):
        assert number(weighted) == pytest.approx(number(LLRS[again], LABELS[again]))


@pytest.mark.parametrize("prior", [None, 0.5])
def test_reliability_is_isotonic_regression_against_scikit_learn(sklearn, prior):
    p = SHARE if prior is None else prior
    q = posterior(LLRS, p)
    best = sklearn.isotonic.IsotonicRegression().fit(q, LABELS, sample_weight=class_weights(p))
    curve = lk.metrics.reliability_curve(LLRS, LABELS, prior=prior, band="none")
    assert_allclose(curve.observed, best.predict(curve.predicted), atol=1e-9)


@pytest.mark.slow
def test_a_consistency_band_holds_what_calibrated_posteriors_do():
    model, rng = lk.theory.GaussianLLR.from_eer(0.15), np.random.default_rng(2)
    outside = []
    for _ in range(40):
        curve = lk.metrics.reliability_curve(lk.Scores(*model.rvs(200, 400, rng)), level=0.9, replicates=60)
        outside.append(curve.share_outside)
    assert 0.03 < np.mean(outside) < 0.2  # 10 % are expected
    wrong = lk.Scores(*(3.0 * scores for scores in model.rvs(200, 400, rng)))
    assert lk.metrics.reliability_curve(wrong, level=0.9).share_outside > 0.5


def test_a_confidence_band_is_around_the_curve():
    curve = lk.metrics.reliability_curve(LLRS, LABELS, band="confidence")
    at = np.interp(curve.band_at, curve.predicted, curve.observed)
    inside = (at >= curve.lower - 0.02) & (at <= curve.upper + 0.02)
    assert inside.mean() > 0.9
    assert np.mean(np.abs((curve.lower + curve.upper) / 2 - at)) < 0.05


def test_the_cross_entropy_curve_has_its_own_name():
    result = lk.evaluate(LLRS, LABELS, ece=True)
    curve = lk.metrics.cross_entropy_curve(LLRS, LABELS)
    assert_allclose(curve.system, result.cross_entropy_curve.system, rtol=1e-12)
    assert_allclose(curve.pav, result.ece.pav, rtol=1e-12)


TWICE = lk.scores.weigh(lk.Scores.from_labels(LLRS, LABELS, {"times": np.full(len(LLRS), 2.0)}), "times")


@pytest.mark.parametrize(
    "call",
    [
        lambda: lk.metrics.score_decomposition(LLRS, LABELS, "crps"),
        lambda: lk.metrics.expected_calibration_error(LLRS, LABELS, bins=0),
        lambda: lk.metrics.reliability_curve(LLRS, LABELS, band="bootstrap"),
        lambda: lk.metrics.reliability_curve(LLRS, LABELS, replicates=2),
        lambda: lk.metrics.reliability_curve(TWICE),
    ],
)
def test_what_is_refused(call):
    with pytest.raises(lk.LlrkitError):
        call()
