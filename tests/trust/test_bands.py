"""Bands of curves, errors of maps, precision: against single rates, brute force and simulations."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces
from scipy import stats
from shared_speakers import sample

import llrkit as lk
from llrkit.trust.intervals import curve_rates
from llrkit.trust.speakers import clopper_pearson, find_speakers

SIDES = ("left", "right")


@pytest.mark.parametrize("columns", [SIDES, "left"])
def test_rates_without_a_speaker_by_counting_again(columns):
    trials = sample(10, 500)
    speakers = find_speakers(trials, columns)
    found = curve_rates(Pieces(trials.with_columns(*SIDES).scores()), [0.5, -1.0, 2.0], speakers, 0.95)
    assert_allclose(found.thresholds, [-1.0, 0.5, 2.0])
    left, right = trials.column("left"), trials.column("right")
    miss, fa = found.by_speaker
    for speaker, number in speakers.number_of.items():
        kept = left != speaker
        if columns == SIDES:
            kept &= right != speaker
        x, mask = trials.score_array[kept], trials.is_target[kept]
        for i, threshold in enumerate(found.thresholds):
            assert_allclose(miss.without[number, i], np.mean(x[mask] < threshold), rtol=1e-12)
            assert_allclose(fa.without[number, i], np.mean(x[~mask] >= threshold), rtol=1e-12, atol=1e-15)


def test_pairs_that_count_twice_are_taken_out_of_false_alarms_by_brute_force():
    trials = sample(10, 500)
    found = curve_rates(trials, [0.5, -1.0, 2.0], find_speakers(trials, SIDES), 0.95)
    left, right = trials.column("left"), trials.column("right")
    share = (left[:, None] == left) | (left[:, None] == right)
    share |= (right[:, None] == left) | (right[:, None] == right)
    for i, threshold in enumerate(found.thresholds):
        fa = np.where(trials.is_target, 0.0, (trials.score_array >= threshold) - found.fa.rate[i])
        sums = [fa[(left == who) | (right == who)].sum() for who in range(10)]
        assert_allclose(found.counted_once[i], fa @ share @ fa / np.square(sums).sum(), rtol=1e-9)


@pytest.fixture(scope="module")
def case():
    trials = sample(40, 6000, seed=3)
    return trials, lk.evaluate(trials, ece=True)


@pytest.mark.slow
def test_bands_are_aligned_with_the_curves_and_hold_them(case):
    trials, result = case
    for speakers in (None, SIDES):
        found = lk.trust.curve_bands(trials, result=result, speakers=speakers)
        tippett, det, ece = found.tippett, found.det, found.ece
        np.testing.assert_array_equal(tippett.llr, result.tippett.llr)
        for low, curve, high in (
            (tippett.target_lower, result.tippett.target_at_or_above, tippett.target_upper),
            (tippett.nontarget_lower, result.tippett.nontarget_at_or_above, tippett.nontarget_upper),
        ):
            assert low.shape == curve.shape == high.shape
            assert np.all((low <= curve + 1e-12) & (curve <= high + 1e-12))
            assert np.all((low >= 0) & (high <= 1))
            assert np.all(high > low)  # never empty, also where no error was seen
        assert_allclose(ece.system, result.ece.system, rtol=1e-9)
        np.testing.assert_array_equal(ece.log_odds, result.ece.log_odds)
        assert np.all((ece.lower < ece.system) & (ece.system < ece.upper))
        known = np.isfinite(det.lower)
        assert known.sum() > 20
        assert np.all((det.lower < det.p_miss)[known] & (det.p_miss < det.upper)[known])
        assert json.loads(json.dumps(found.to_dict()))["n_speakers"] == found.n_speakers


@pytest.mark.slow
def test_bands_agree_with_the_intervals_of_single_numbers(case):
    # which are corrected for bias on the logit or logarithmic scale, while bands lie around their curve
    trials, result = case
    bands = lk.trust.curve_bands(trials, result=result, speakers=SIDES)
    at = len(result.tippett.llr) // 2
    point = lk.OperatingPoint(float(1 / (1 + np.exp(result.tippett.llr[at]))))
    single = lk.evaluate(trials, points=[point], ci="speaker", speakers=SIDES)
    low, high = single.intervals["points.0.p_fa"]
    assert_allclose(
        [bands.tippett.nontarget_lower[at], bands.tippett.nontarget_upper[at]], [low, high], rtol=0.01
    )
    # at prior 1/2 the ECE is Cllr
    middle = len(bands.ece.log_odds) // 2
    ends = bands.ece.lower[middle], bands.ece.upper[middle]
    assert_allclose(ends, single.intervals["cllr"], rtol=0.02)


def test_exact_intervals_where_independent_trials_have_few_errors():
    rng = np.random.default_rng(0)
    scores = lk.Scores(rng.normal(3, 1, 200), rng.normal(-3, 1, 500))
    result = lk.evaluate(scores)
    band = lk.trust.curve_bands(scores, result=result, level=0.9).tippett
    for i in (0, 700, 1000):
        errors = round(result.tippett.nontarget_at_or_above[i] * 500)
        if min(errors, 500 - errors) < 5:
            wanted = clopper_pearson(errors, 500, 0.9)
            assert_allclose([band.nontarget_lower[i], band.nontarget_upper[i]], wanted, rtol=1e-6, atol=1e-12)


@pytest.mark.slow
def test_det_band_covers_the_true_det():
    model = lk.theory.GaussianLLR.from_eer(0.15)
    hits, total = 0, 0
    for seed in range(40):
        scores = lk.Scores(*model.rvs(300, 1500, np.random.default_rng(seed)))
        band = lk.trust.curve_bands(scores, result=lk.evaluate(scores)).det
        true = stats.norm.cdf(-stats.norm.ppf(band.p_fa) - model.sigma)
        known = np.isfinite(band.lower) & (band.p_fa > 0.02) & (true > 0.03)
        hits += np.sum((band.lower <= true) & (true <= band.upper) & known)
        total += known.sum()
    assert 0.88 < hits / total < 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [("logistic", {}), ("logistic", {"prior": 0.1}), ("cmlg", {}), ("cmlg", {"alpha": 0.2})],
)
def test_errors_of_slope_and_offset_against_a_simulation(method, options):
    model = lk.theory.GaussianLLR.from_eer(0.12)
    fits, errors = [], []
    for seed in range(150):
        scores = lk.Scores(*(2 * x + 3 for x in model.rvs(150, 600, np.random.default_rng(seed))))
        found = lk.trust.map_uncertainty(scores, method=method, **options)
        fits.append((found.a, found.b, found.a * 5.0 + found.b))
        llr, low, high = found.interval(5.0)
        errors.append((found.se_a, found.se_b, (high - low) / 2 / stats.norm.ppf(0.975)))
        assert_allclose(llr, fits[-1][2], rtol=1e-12)
    assert_allclose(np.mean(errors, axis=0), np.std(fits, axis=0), rtol=0.25)


def test_errors_of_cmlg_are_those_the_fit_reports():
    scores = sample(20, 2000).scores()
    fitted, found = lk.fit_cmlg(scores), lk.trust.map_uncertainty(scores, method="cmlg")
    assert (found.a, found.b) == (fitted.a, fitted.b)
    assert_allclose([found.se_a, found.se_b], [fitted.details["se_a"], fitted.details["se_b"]], rtol=1e-9)


def test_shared_speakers_make_a_map_less_certain():
    trials = sample(25, 5000, seed=4)
    for method in ("logistic", "cmlg"):
        alone = lk.trust.map_uncertainty(trials, method=method)
        shared = lk.trust.map_uncertainty(trials, method=method, speakers=SIDES)
        assert 5 < shared.df <= 24
        assert shared.se_b > 1.3 * alone.se_b
        llr, low, high = shared.interval(1.5)
        assert low < llr < high


@pytest.mark.parametrize(("method", "options"), [("logistic", {"prior": 0.2}), ("cmlg", {"alpha": 0.3})])
def test_maps_without_a_speaker_are_those_fitted_to_the_other_trials(method, options):
    trials = sample(25, 5000, seed=4)
    found = lk.trust.map_uncertainty(trials, method=method, speakers=SIDES, **options)
    fit = lk.fit_logistic if method == "logistic" else lk.fit_cmlg
    speakers = find_speakers(trials, SIDES)
    for speaker in (0, 13):
        kept = (trials.column("left") != speaker) & (trials.column("right") != speaker)
        other = fit(
            lk.Trials({"score": trials.score_array[kept], "label": trials.is_target[kept]}), **options
        )
        a, b = found.by_speaker.without[speakers.number_of[speaker]]
        # one Newton step; the variances of CMLG are divided by n - 1
        assert_allclose(
            [a - found.a, b - found.b], [other.a - found.a, other.b - found.b], rtol=0.02, atol=2e-3
        )


def test_llr_band_is_that_of_the_map_when_the_map_is_a_line():
    trials = sample(25, 5000, seed=4)
    band = lk.trust.llr_band(trials, method="logistic", speakers=SIDES, at=[0.0, 2.0])
    shared = lk.trust.map_uncertainty(trials, speakers=SIDES)
    for i, score in enumerate((0.0, 2.0)):
        llr, low, high = shared.interval(score)
        assert_allclose(band.llr[i], llr, rtol=1e-9)
        # the band leaves in what pairs of speakers count twice for
        assert_allclose([band.lower[i], band.upper[i]], [low, high], rtol=0.1, atol=0.02)
        assert band.upper[i] - band.lower[i] >= 0.99 * (high - low)


@pytest.mark.slow
def test_llr_band_of_any_map():
    trials = sample(25, 3000, seed=4)
    by_name = lk.trust.llr_band(trials, method="pav", speakers=SIDES, laplace="misleading")
    assert by_name.score.shape == by_name.lower.shape == by_name.upper.shape == (101,)
    assert np.all(by_name.lower <= by_name.upper)
    assert by_name.method == "pav"
    own = lk.trust.llr_band(trials, method=lk.fit_cmlg, speakers=SIDES, at=[-1.0, 1.0])
    assert own.method == "fit_cmlg"
    assert np.all((own.lower < own.llr) & (own.llr < own.upper))


def test_an_infinite_llr_for_the_wrong_side_leaves_the_ece_without_band():
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.1).rvs(100, 500, np.random.default_rng(1))
    wrong = lk.Scores(np.append(target, -np.inf), nontarget)
    found = lk.trust.curve_bands(wrong, result=lk.evaluate(wrong))
    assert np.isinf(found.ece.system).all()
    assert np.isnan(found.ece.lower).all()
    assert np.isnan(found.ece.upper).all()
    assert np.isfinite(found.tippett.target_upper).all()
    right = lk.Scores(np.append(target, np.inf), nontarget)
    assert np.isfinite(lk.trust.curve_bands(right, result=lk.evaluate(right)).ece.upper).all()


def test_precision_against_pooled_groups():
    trials = sample(8, 600)
    x, pairs = (
        trials.score_array,
        [tuple(sorted(p)) for p in zip(*(trials.column(s) for s in SIDES), strict=True)],
    )
    groups = {}
    for value, pair in zip(x, pairs, strict=True):
        groups.setdefault(pair, []).append(value)
    many = [np.array(g) for g in groups.values() if len(g) > 1]
    n = sum(map(len, many))
    wanted = np.sqrt(sum(((g - g.mean()) ** 2).sum() for g in many) / (n - len(many)))
    found = lk.trust.llr_precision(Pieces(trials.with_columns(*SIDES).scores()), speakers=SIDES)
    assert_allclose(found.sd, wanted, rtol=1e-10)
    assert (found.n_trials, found.n_pairs) == (n, len(many))
    assert_allclose(found.half_width(0.9), stats.t.ppf(0.95, n - len(many)) * wanted, rtol=1e-10)


def test_wrong_use_is_refused():
    scores = sample()
    for call in (
        lambda: lk.trust.curve_bands(scores, result=lk.evaluate(scores), level=2),
        lambda: lk.trust.map_uncertainty(scores, method="kde"),
        lambda: lk.trust.llr_band(sample(3), speakers=SIDES),
        lambda: lk.trust.llr_band(scores, method="nothing", speakers=SIDES),
        lambda: lk.trust.llr_precision(scores, speakers="left"),
    ):
        with pytest.raises(lk.LlrkitError):
            call()
    once = lk.Scores([1.0], [0.0], {"left": ([0], [0]), "right": ([0], [1])})
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.trust.llr_precision(once, speakers=SIDES)
