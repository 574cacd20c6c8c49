"""Idempotence as a measurement: identities, null distributions, the recalibrating line, the verdict."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from shared_speakers import sample

import llrkit as lk
from llrkit.core.summaries import Moments
from llrkit.metrics.measure import measure
from llrkit.trust.identity_tests import check_cells, identities, middles
from llrkit.trust.null import CalibratedCells, JudgedCells
from llrkit.trust.recalibration_line import SAFEGUARD, cross_validated_loss, fit_line

MODEL = lk.theory.GaussianLLR.from_eer(0.05)


def draw(n_target, n_nontarget, seed=0, model=MODEL):
    return lk.Scores(*model.rvs(n_target, n_nontarget, np.random.default_rng(seed)))


def moved(scores, change):
    return lk.Scores(change(scores.target), change(scores.nontarget))


def judged(scores, cells=2048):
    edges = np.linspace(*scores.reduce(Moments.of).extremes, cells + 1)
    counts = (np.histogram(x, edges)[0] * 1.0 for x in (scores.target, scores.nontarget))
    return JudgedCells(middles(edges), *counts)


# mean, sd and 95th percentile of Cllr - min Cllr, and mean ROCCH-EER, of calibrated Gaussian LLRs by (EER,
# targets, non-targets): another simulation, by another program
NULL_TABLE = {
    (0.02, 50, 50): (0.0441, 0.0202, 0.0821, 0.0150),
    (0.02, 100, 1000): (0.0231, 0.0062, 0.0345, 0.0174),
    (0.02, 1000, 10000): (0.0065, 0.0010, 0.0083, 0.0189),
    (0.05, 50, 50): (0.0694, 0.0201, 0.1061, 0.0411),
    (0.05, 100, 1000): (0.0334, 0.0067, 0.0451, 0.0451),
    (0.05, 300, 3000): (0.0179, 0.0027, 0.0228, 0.0481),
    (0.05, 1000, 10000): (0.0088, 0.0013, 0.0110, 0.0489),
    (0.15, 50, 50): (0.1015, 0.0199, 0.1424, 0.1339),
    (0.15, 100, 1000): (0.0465, 0.0081, 0.0624, 0.1432),
    (0.15, 1000, 10000): (0.0112, 0.0012, 0.0134, 0.1488),
}


QUICK = (0.05, 50, 50)
OTHERS = [pytest.param(row, marks=pytest.mark.slow) for row in NULL_TABLE if row != QUICK]


@pytest.mark.parametrize("row", [QUICK, *OTHERS], ids=str)
def test_null_distribution_against_the_printed_table(row):
    eer, n_target, n_nontarget = row
    n = 300
    model = lk.theory.GaussianLLR.from_eer(eer)
    null = lk.trust.calibration_null(model, n_target, n_nontarget, replicates=n, rng=7, cross_validate=False)
    mean, sd, p95, mean_eer = NULL_TABLE[row]
    # the table's own simulation has an error too: four errors of a difference, taken as equally large
    assert abs(null.cllr_cal.mean() - mean) < 4 * math.sqrt(2) * sd / math.sqrt(n)
    assert abs(null.cllr_cal.std() / sd - 1) < 4 * math.sqrt(2) / math.sqrt(2 * n) + 0.1
    assert abs(np.quantile(null.cllr_cal, 0.95) - p95) < 4 * math.sqrt(2) * 2.1 * sd / math.sqrt(n)
    assert abs(null.eer.mean() - mean_eer) < 4 * math.sqrt(2) * null.eer.std() / math.sqrt(n) + 5e-4


@pytest.mark.slow
def test_null_of_the_cross_validated_loss_is_slightly_negative():
    null = lk.trust.calibration_null(MODEL, 100, 1000, replicates=400, rng=3)
    # published for 5 folds: mean -0.005, sd 0.0066
    assert abs(null.cv_loss.mean() + 0.005) < 4 * 0.0066 * math.sqrt(2 / 400)
    assert 0.5 < null.cv_loss.std() / 0.0066 < 2
    assert null.p_value("cv_loss", 1.0) == 1 / 401
    without = lk.trust.calibration_null(MODEL, 100, 1000, replicates=5, rng=3, cross_validate=False)
    np.testing.assert_array_equal(without.cllr_cal, null.cllr_cal[:5])
    assert np.isnan(without.cv_loss).all()
    assert null.p_value("cv_loss", -9.0) == 1.0


def test_cells_of_a_set_are_calibrated_and_like_the_set():
    scores = draw(4000, 9000)
    cells = CalibratedCells.relabeled(judged(scores))
    assert_allclose(np.log(cells.target / cells.nontarget), cells.llr, atol=1e-9)
    assert_allclose([cells.target.sum(), cells.nontarget.sum()], 1.0, rtol=1e-12)
    assert_allclose(cells.cllr, lk.cllr(scores), rtol=0.1)
    assert_allclose((cells.target * cells.llr).sum(), MODEL.mu, rtol=0.05)
    target, nontarget = cells.draw((20_000, 30_000), np.random.default_rng(1))
    assert (target.sum(), nontarget.sum()) == (20_000, 30_000)
    drawn = lk.Scores(*(np.repeat(cells.llr, counts.astype(int)) for counts in (target, nontarget)))
    assert_allclose(lk.cllr(drawn), cells.cllr, rtol=0.05)


def test_quick_line_is_logistic_regression():
    scores = moved(draw(200, 500, 4), lambda x: 1.7 * x - 0.4)
    x = np.concatenate([scores.target, scores.nontarget])
    weights = [np.repeat([1 / 200, 0], [200, 500]), np.repeat([0, 1 / 500], [200, 500])]
    wanted = lk.fit_logistic(scores, regularization=SAFEGUARD)
    assert_allclose(fit_line(x, *weights, 200), (wanted.a, wanted.b), rtol=1e-7)


@pytest.mark.slow
def test_cross_validation_on_cells_is_that_on_trials():
    scores = moved(draw(3000, 6000, 5), lambda x: 1.5 * x)
    cells = judged(scores)
    rng = np.random.default_rng(3)
    found = [cross_validated_loss(cells.llr, cells.target, cells.nontarget, rng) for _ in range(10)]
    wanted = [lk.trust.calibration_loss(scores, rng=seed).loss for seed in range(10)]  # other folds each time
    assert_allclose(np.mean(found), np.mean(wanted), atol=4 * np.std(wanted) / math.sqrt(5) + 2e-5)
    assert np.mean(found) > 50 * np.std(found)


def test_dev_pav_of_simple_sets():
    # PAV of the LLRs: log(3) at 1, -log(3) at -1; the line crosses the identity in the middle
    scores = lk.Scores([1.0] * 3 + [-1.0], [1.0] + [-1.0] * 3)
    assert_allclose(lk.trust.dev_pav(scores), 0.5 * (np.log(3) - 1) / np.log(10), rtol=1e-12)
    assert math.isnan(lk.trust.dev_pav(lk.Scores([1.0], [0.0])))
    assert_allclose(lk.trust.dev_pav(lk.Scores([2.0], [2.0])), 2 / np.log(10), rtol=1e-12)
    assert lk.trust.dev_pav(lk.Scores([np.inf, 1.0, 0.5], [np.inf, 0.0, 0.7])) == math.inf


def test_dev_pav_of_shifted_and_doubled_llrs():
    large = draw(100_000, 100_000)
    shifted = lk.trust.dev_pav(moved(large, lambda x: x + 1.0))
    assert_allclose(shifted, 1 / np.log(10), rtol=0.12)
    doubled = moved(large, lambda x: 2 * x)
    curve = lk.evaluate(doubled).pav
    ends = curve.low[np.isfinite(curve.llr)][0], curve.high[np.isfinite(curve.llr)][-1]
    area = integrate.quad(lambda x: abs(x / 2), *ends)[0]
    assert_allclose(lk.trust.dev_pav(doubled), area / (ends[1] - ends[0]) / np.log(10), rtol=0.12)


def test_calibration_loss_recovers_what_doubling_costs():
    scores = moved(draw(5000, 20_000), lambda x: 2 * x)
    found = lk.trust.calibration_loss(scores)
    z = np.linspace(-10, 10, 4001)
    doubled = np.trapezoid(
        stats.norm.pdf(z) * np.logaddexp(0, -2 * (MODEL.mu + MODEL.sigma * z)), z
    ) / np.log(2)
    assert_allclose(found.raw, doubled, rtol=0.06)
    assert_allclose(found.loss, doubled - MODEL.cllr, rtol=0.12)
    assert_allclose(found.relative, found.loss / found.raw, rtol=1e-12)
    assert abs(lk.trust.calibration_loss(draw(5000, 20_000)).loss) < 0.001


def test_identities_hold_for_calibrated_llrs_against_theory():
    model = lk.theory.GaussianLLR.from_eer(0.25)  # variance 1.82: expectations mean something
    scores = draw(40_000, 60_000, 3, model)
    found = identities(scores, scores.reduce(Moments.of))
    for one in found.expectations:
        assert one.usable
        assert abs(one.mean - 1.0) < 4 * one.standard_error
        assert_allclose(one.standard_error, np.sqrt(np.expm1(model.sigma**2) / 50_000), rtol=0.5)
    assert len(found.exceedances) == 12
    for one in found.exceedances:
        if abs(one.threshold) > 2.0:
            continue  # hardly a trial there
        rate = model.p_fa(one.threshold) if one.kind == "p_fa" else model.p_miss(one.threshold)
        assert_allclose([one.predicted, one.counted], rate, atol=5 * one.standard_error)
        assert abs(one.z) < 4
    for part, sign in ((found.target, 1), (found.nontarget, -1)):
        assert part.right_sign
        assert_allclose(part.mean, sign * model.mu, atol=4 * part.mean_error)
        assert abs(part.ratio - 1.0) < 4 * part.ratio_error
    # delta method for a Gaussian: variance 2 s^4 / n of the variance, s^2 / n of the mean
    wanted = np.sqrt((2 + model.sigma**2 / model.mu**2) / 40_000)
    assert_allclose(found.target.ratio_error, wanted, rtol=0.05)


def test_identities_fail_where_they_should():
    scores = moved(draw(3000, 9000), lambda x: 2 * x)
    found = identities(scores, scores.reduce(Moments.of))
    assert not any(one.usable for one in found.expectations)
    by_place = {(one.kind, one.threshold): one for one in found.exceedances}
    assert by_place["p_fa", 2.0].z < -4  # many more false alarms than LLRs so large promise
    assert found.target.ratio - 1.0 > 5 * found.target.ratio_error
    wrong = lk.Scores([-1.0, -2.0, 0.5], [1.0, -0.5, 0.25])
    signs = identities(wrong, wrong.reduce(Moments.of))
    assert not signs.target.right_sign
    assert not signs.nontarget.right_sign


def test_exceedances_by_hand():
    scores = lk.Scores([3.0, 1.0], [-2.0, 1.0, 4.0, -1.0])
    found = identities(scores, scores.reduce(Moments.of)).exceedances
    alarm, miss = (one for one in found if abs(one.threshold) == 1.0)
    assert_allclose([alarm.predicted, alarm.counted], [(np.exp(-3) + np.exp(-1)) / 2, 0.5])
    # the spread of both classes, and a quarter of p (1 - p) that the counted rate has too much
    spread = np.var([np.exp(-3), np.exp(-1)]) / 2 + 0.25 / 4
    assert_allclose(alarm.standard_error**2, spread, rtol=1e-9)
    assert_allclose([miss.predicted, miss.counted], [np.exp(-2) / 4, 0.0])
    assert miss.threshold == -1.0
    assert np.isfinite(miss.z)


@pytest.mark.slow
def test_line_and_its_errors_against_a_simulation():
    lines = []
    for seed in range(150):
        scores = moved(draw(200, 800, seed), lambda x: 2 * x + 1)
        lines.append(check_cells(measure(scores)).line)
    a, b = np.array([line.a for line in lines]), np.array([line.b for line in lines])
    assert_allclose([a.mean(), b.mean()], [0.5, -0.5], rtol=0.15)  # logistic regression is a little off
    assert_allclose(np.mean([line.se_a for line in lines]), a.std(), rtol=0.3)
    assert_allclose(np.mean([line.se_b for line in lines]), b.std(), rtol=0.3)
    assert_allclose(
        np.mean([line.se_bias for line in lines]), np.std([line.bias for line in lines]), rtol=0.3
    )
    assert_allclose([np.mean([line.factor for line in lines])], 2.0, rtol=0.1)


def test_shared_speakers_are_taken_into_account():
    # speakers who are all alike make every trial count many times; the line is fitted to few independent ones
    trials = sample(25, 6000, seed=2)
    plain = lk.check_calibration(trials, replicates=0, curves=False)
    shared = lk.check_calibration(trials, speakers=("left", "right"), replicates=0, curves=False)
    assert shared.recalibration.a == plain.recalibration.a
    assert shared.recalibration.se_b > 1.5 * plain.recalibration.se_b
    assert shared.recalibration.statistic < plain.recalibration.statistic
    assert 5 < shared.recalibration.df <= 24
    for one, other in zip(shared.identities.exceedances, plain.identities.exceedances, strict=True):
        assert (one.predicted, one.counted) == pytest.approx((other.predicted, other.counted), rel=1e-9)
        assert one.standard_error > other.standard_error


def test_curves_of_every_method():
    found = lk.check_calibration(moved(draw(300, 1500), lambda x: 1.5 * x), replicates=40)
    assert {curve.method for curve in found.curves} == {"logistic", "pav", "gaussian", "kde"}
    for curve in found.curves:
        assert curve.llr.shape == curve.estimate.shape == curve.lower.shape == curve.upper.shape
        assert np.all(curve.lower <= curve.upper)
        assert_allclose(curve.overestimation, curve.llr - curve.estimate)
    line = next(curve for curve in found.curves if curve.method == "logistic")
    assert_allclose(np.diff(line.estimate) / np.diff(line.llr), found.recalibration.a, rtol=1e-2)
    assert line.share_outside > 0.5


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda x: 1e6 * x, "over-confident"),  # no calibrated LLR this strong is ever wrong
        (lambda x: x + 1e5, "target"),
        pytest.param(lambda x: 1e-6 * x, "under-confident", marks=pytest.mark.slow),
    ],
)
def test_scores_far_from_llrs_are_judged(change, kind):
    found = lk.check_calibration(moved(draw(100, 500, 4), change), replicates=30, curves=False)
    assert (found.verdict.outcome, found.verdict.kind) == ("evidence", kind)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda x: x, ""),
        (lambda x: x / 20, "under-confident"),
        (lambda x: x + 20, "target"),
        (lambda x: x - 20, "nontarget"),
    ],
)
def test_classes_that_do_not_overlap_are_judged_without_a_number(change, kind):
    apart = lk.Scores(np.linspace(6.0, 12.0, 60), np.linspace(-12.0, -6.0, 80))
    found = lk.check_calibration(moved(apart, change), replicates=10)
    assert found.recalibration is None
    assert found.verdict.kind == kind
    assert found.verdict.outcome == ("evidence" if kind else "too_few")
    assert found.curves == ()


def test_wrong_use_is_refused():
    for options in ({"replicates": -1}, {"level": 0}):
        with pytest.raises(lk.InputError):
            lk.check_calibration(draw(10, 10), **options)
    with pytest.raises(lk.errors.InfiniteScoreError):
        lk.check_calibration(lk.Scores([np.inf, np.inf], [0.0, 2.0]))
    for wrong in ({"replicates": 0}, {"n_target": 0}, {"n_nontarget": 2.5}, {"folds": 1}):
        options = {"n_target": 10, "n_nontarget": 10, "replicates": 5} | wrong
        with pytest.raises(lk.InputError):
            lk.trust.calibration_null(MODEL, options.pop("n_target"), options.pop("n_nontarget"), **options)


@pytest.mark.parametrize("speakers", [None, ("left", "right")])
def test_infinite_llrs_on_the_right_side_are_judged_like_certain_ones(speakers):
    certain, infinite = (
        lk.check_calibration(with_llrs(size, size), speakers=speakers, curves=False, replicates=20)
        for size in (1e10, np.inf)
    )
    assert infinite.verdict.outcome == certain.verdict.outcome == "none_found"
    assert_allclose(infinite.evaluation.cllr, certain.evaluation.cllr, rtol=1e-12)
    assert_allclose(infinite.verdict.p_value, certain.verdict.p_value, rtol=0.02)
    assert_allclose(infinite.recalibration.a, certain.recalibration.a, rtol=0.01)
    assert_allclose(infinite.dev_pav, certain.dev_pav, rtol=1e-9)


@pytest.mark.parametrize("speakers", [None, ("left", "right")])
def test_an_infinite_llr_for_the_wrong_side_has_no_p_value_and_no_line(speakers):
    check = lk.check_calibration(with_llrs(np.inf, -np.inf), speakers=speakers)
    assert check.verdict.outcome == "infinite"
    assert check.evaluation.cllr == check.dev_pav == math.inf
    assert (check.recalibration, check.null, check.loss, check.curves) == (None, None, None, ())
    assert math.isnan(check.p_value("cllr_cal"))


def with_llrs(target, nontarget):
    """1,500 trials of 20 speakers, of which one target and one non-target have these LLRs."""
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 20, (2, 1_500))
    same = left == right
    llrs = np.where(same, 2.0, -2.0) + 2.0 * rng.normal(size=1_500)
    llrs[np.flatnonzero(same)[0]], llrs[np.flatnonzero(~same)[0]] = target, -nontarget
    return lk.Trials({"score": llrs, "label": same, "left": left, "right": right})
