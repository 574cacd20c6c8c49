"""CMLG given conditions: against fits of single conditions and brute force; saved, applied, refused."""

import warnings

import numpy as np
import pytest
from commands import run
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces
from scipy.optimize import minimize

import llrkit as lk
from llrkit.core.groups import trials_with_value


def mean_at(seconds):
    """The mean of targets; that of non-targets is -1 everywhere."""
    return 2.5 * np.sqrt(seconds / (seconds + 10.0))


def spread_at(seconds):
    return 1.0 + 2.0 / seconds


def trials(values, n_target=3_000, n_nontarget=9_000, seed=1, draw=None):
    """Gaussian scores whose mean and spread depend on the seconds of a trial."""
    rng = np.random.default_rng(seed)
    draw = draw or (lambda n: rng.choice(values, n))
    seconds = draw(n_target), draw(n_nontarget)
    target = mean_at(seconds[0]) + spread_at(seconds[0]) * rng.standard_normal(n_target)
    nontarget = -1.0 + spread_at(seconds[1]) * rng.standard_normal(n_nontarget)
    return lk.Scores(target, nontarget, {"seconds": seconds})


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.0])
def test_three_values_give_the_fit_of_each_against_cmlg_of_its_own_trials(alpha):
    # three values and three terms: the smooth moments are those of each group
    scores = trials([5.0, 20.0, 80.0])
    fitted = lk.fit_cmlg(scores, alpha=alpha, conditions=["seconds"])
    for value in (5.0, 20.0, 80.0):
        line = fitted.at(seconds=value)
        alone = lk.fit_cmlg(trials_with_value(scores, "seconds", value), alpha=alpha)
        assert_allclose([line.a, line.b], [alone.a, alone.b], rtol=1e-9)
        for name in ("se_a", "se_b", "mu", "eer", "cllr"):
            assert_allclose(line.details[name], alone.details[name], rtol=1e-7)


def test_a_condition_of_two_values_drops_its_square():
    fitted = lk.fit_cmlg(trials([5.0, 20.0]), conditions="seconds")
    assert fitted.details["terms"] == ["1", "log seconds"]


@pytest.mark.parametrize(
    "basis", ["log", *(pytest.param(basis, marks=pytest.mark.slow) for basis in ("inverse", "linear"))]
)
def test_continuous_conditions_against_brute_force_over_single_trials(basis):
    rng = np.random.default_rng(4)
    scores = trials(None, 1_500, 4_000, draw=lambda n: rng.uniform(4.0, 60.0, n))
    fitted = lk.fit_cmlg(scores, conditions=["seconds"], basis=basis)
    change = {"log": np.log, "inverse": np.reciprocal, "linear": np.positive}[basis]
    at = np.array([5.0, 15.0, 50.0])
    moments = []
    for values, seconds in zip((scores.target, scores.nontarget), scores.columns["seconds"], strict=True):
        mean = np.polynomial.Polynomial.fit(change(seconds), values, 2)
        squares = (values - mean(change(seconds))) ** 2
        terms = np.vander(change(seconds), 3)
        scale = np.abs(terms).max(axis=0)

        def loss(gamma, terms=terms / scale, squares=squares):
            log_variance = terms @ gamma
            return np.mean(squares * np.exp(-log_variance) + log_variance)

        gamma = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x / scale
        moments += [mean(change(at)), np.exp(np.vander(change(at), 3) @ gamma)]
    m_e, v_e, m_d, v_d = moments
    slope = (m_e - m_d) / (0.5 * v_e + 0.5 * v_d)
    lines = [fitted.at(seconds=value) for value in at]
    # 256 cells stand for 5,500 trials
    assert_allclose([line.a for line in lines], slope, rtol=2e-3)
    assert_allclose([line.b for line in lines], -slope * (m_e + m_d) / 2.0, rtol=5e-3, atol=5e-3)


@pytest.mark.slow
def test_standard_errors_against_repeated_training():
    slopes, offsets, errors = [], [], []
    for seed in range(150):
        line = lk.fit_cmlg(trials([5.0, 10.0, 20.0, 40.0], 300, 900, seed), conditions=["seconds"]).at(
            seconds=10.0
        )
        slopes.append(line.a)
        offsets.append(line.b)
        errors.append((line.details["se_a"], line.details["se_b"], line.details["covariance_ab"]))
    se_a, se_b, covariance = np.mean(errors, axis=0)
    # a standard deviation of 150 numbers is known to 6 %
    assert_allclose([np.std(slopes), np.std(offsets)], [se_a, se_b], rtol=0.2)
    assert_allclose(np.cov(slopes, offsets)[0, 1], covariance, rtol=0.5)


def test_one_map_calibrates_conditions_it_never_saw():
    fitted = lk.fit_cmlg(trials([5.0, 10.0, 40.0, 80.0], 40_000, 80_000), conditions=["seconds"])
    unseen = trials([20.0], 20_000, 40_000, seed=9)
    spread = spread_at(20.0)
    true_slope = (mean_at(20.0) + 1.0) / spread**2
    assert_allclose(fitted.at(seconds=20.0).a, true_slope, rtol=0.03)
    own = lk.cllr(lk.fit_cmlg(unseen).on(unseen))
    assert abs(lk.cllr(fitted.on(unseen)) - own) < 0.001
    assert lk.cllr(lk.fit_cmlg(trials([5.0, 80.0], 40_000, 80_000)).on(unseen)) > own + 0.003


def test_conditions_beyond_the_range_count_as_its_end():
    fitted = lk.fit_cmlg(trials([5.0, 20.0, 80.0]), conditions=["seconds"])
    for outside, end in ((1.0, 5.0), (900.0, 80.0)):
        with pytest.warns(lk.errors.TrainingRangeWarning):
            held = fitted(0.7, {"seconds": outside})
        assert held == fitted(0.7, {"seconds": end})
        assert fitted.at(seconds=outside).details["outside"] == ["seconds"]
    assert fitted.details["ranges"] == {"seconds": [5.0, 80.0]}


def test_scores_are_seen_in_two_passes_whatever_the_pieces():
    scores = trials([5.0, 20.0, 80.0])
    source = Pieces(scores, pieces=5, seed=3)
    fitted = lk.fit_cmlg(source, conditions=["seconds"])
    assert len(source.passes) == 2  # range and cells of the conditions
    whole = lk.fit_cmlg(scores, conditions=["seconds"])
    assert_allclose(fitted.at(seconds=20.0).a, whole.at(seconds=20.0).a, rtol=1e-12)
    assert_allclose(fitted.covariance_target, whole.covariance_target, rtol=1e-9, atol=1e-15)


def test_an_affine_change_and_exchanged_classes_change_nothing():
    plain = trials([5.0, 20.0, 40.0, 80.0])
    fitted = lk.fit_cmlg(plain, conditions=["seconds"])
    there = np.concatenate([fitted.on(plain).reduce(lambda chunk: chunk).target])
    moved = lk.Scores(3.7 * plain.target - 41.0, 3.7 * plain.nontarget - 41.0, plain.columns)
    other = lk.fit_cmlg(moved, conditions=["seconds"])
    assert_allclose(other(moved).target, there, rtol=1e-7, atol=1e-7)
    seconds = plain.columns["seconds"]
    swapped = lk.Scores(-plain.nontarget, -plain.target, {"seconds": seconds[::-1]})
    back = lk.fit_cmlg(swapped, conditions=["seconds"])
    assert_allclose(-back(swapped).nontarget, there, rtol=1e-7, atol=1e-7)


def test_two_sides_and_their_product():
    rng = np.random.default_rng(2)
    values = np.array([5.0, 10.0, 20.0, 40.0])
    sides = {name: (rng.choice(values, 4_000), rng.choice(values, 8_000)) for name in ("one", "two")}
    gap = np.log(sides["one"][0]) * np.log(sides["two"][0])
    scores = lk.Scores(rng.normal(gap, 1.0), rng.normal(0.0, 1.0, 8_000), sides)
    fitted = lk.fit_cmlg(scores, conditions=("one", "two"))
    assert len(fitted.details["terms"]) == 6
    line = fitted.at(one=5.0, two=40.0)
    # the gap is a product of logarithms, so a quadratic of them holds it exactly
    assert abs(line.a - np.log(5.0) * np.log(40.0)) < 4 * line.details["se_a"]
    assert fitted.needs == ("one", "two")


def test_a_saved_map_is_applied_by_the_command_line(tmp_path):
    pairs = lk.simulate.DurationPairs(lk.simulate.DurationModel.between())
    dev, cal, llrs = (tmp_path / name for name in ("dev.csv", "cal.json", "llr.csv"))
    lk.write_trials(lk.simulate.simulate_trials(pairs, n_target=2_000, n_nontarget=6_000).trials(), dev)
    conditions = "conditions=enroll_duration,test_duration"
    assert run(
        "calibrate", dev, "--method", "cmlg", "--bound", "none", "-o", cal, "--option", conditions
    )[0] == 0  # fmt: skip
    trials = lk.read_trials(dev)
    fitted = lk.fit_cmlg(trials, conditions=("enroll_duration", "test_duration"))
    line, of_fit = (one.at(enroll_duration=5.0, test_duration=40.0) for one in (lk.load_map(cal), fitted))
    assert (line.a, line.b, line.details["se_a"]) == (of_fit.a, of_fit.b, of_fit.details["se_a"])
    # the scores are calibrated already: a slope of one whatever the durations
    assert abs(line.a - 1.0) < 5 * line.details["se_a"]
    assert run("apply", cal, dev, "-o", llrs)[0] == 0
    assert_array_equal(lk.read_trials(llrs, score="llr").score_array, fitted(trials))


def test_conditions_written_as_text_are_their_values_not_their_codes():
    scores = trials([5.0, 20.0, 80.0])
    words = {
        "seconds": tuple(np.array([f"{value:g}" for value in side]) for side in scores.columns["seconds"])
    }
    text = lk.Scores(scores.target, scores.nontarget, words)
    one, two = (lk.fit_cmlg(each, conditions=["seconds"]).at(seconds=20.0) for each in (scores, text))
    assert (one.a, one.b) == (two.a, two.b)


def test_the_shape_is_judged_given_the_conditions():
    # very different means: all trials together are far from Gaussian, those of one condition are not
    rng = np.random.default_rng(3)
    seconds = np.repeat([1.0, 10.0, 100.0], 2_000)
    scores = lk.Scores(
        rng.normal(3.0 * np.log(seconds) ** 2), rng.normal(0.0, 1.0, 6_000), {"s": (seconds, seconds)}
    )
    with pytest.warns(lk.errors.ShapeWarning):
        lk.fit_cmlg(scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lk.fit_cmlg(scores, conditions=["s"])
    skewed = lk.Scores(rng.exponential(1.0, 6_000) + np.log(seconds), scores.nontarget, scores.columns)
    with pytest.warns(lk.errors.ShapeWarning, match="skewed"):
        lk.fit_cmlg(skewed, conditions=["s"])


def test_conditions_in_which_targets_score_lower_are_told():
    rng = np.random.default_rng(3)
    seconds = np.repeat([1.0, 10.0, 100.0], 500)
    gap = np.where(seconds == 1.0, -1.0, 4.0)
    scores = lk.Scores(rng.normal(gap), rng.normal(0.0, 1.0, 1_500), {"s": (seconds, seconds)})
    with pytest.warns(lk.errors.ReversedScoresWarning):
        lk.fit_cmlg(scores, conditions=["s"])


def changed(**columns):
    scores = trials([5.0, 20.0, 80.0], 30, 90)
    seconds = scores.columns["seconds"]
    return lk.Scores(scores.target, scores.nontarget, {"seconds": seconds, **columns})


SAME = (np.full(30, 7.0), np.full(90, 7.0))


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        (changed(), {"conditions": ["minutes"]}),
        (changed(), {"conditions": []}),
        (changed(), {"conditions": ["seconds", "seconds"]}),
        (changed(), {"conditions": ["seconds"], "basis": "cubic"}),
        (changed(), {"basis": "log"}),  # a basis needs conditions
        (changed(other=SAME), {"conditions": ["other"]}),
        (changed(other=(-SAME[0], SAME[1])), {"conditions": ["other"]}),  # the logarithm
        (changed(other=(-SAME[0], SAME[1])), {"conditions": ["other"], "basis": "linear"}),
        (changed(other=(SAME[0] * np.nan, SAME[1])), {"conditions": ["other"]}),
        (changed(other=(["a"] * 30, ["b"] * 90)), {"conditions": ["other"]}),
        (lk.Scores([1.0, 2.0], [0.0, 0.5], {"s": ([1.0, 2.0], [1.0, 2.0])}), {"conditions": ["s"]}),
        (  # two conditions that follow each other
            changed(twice=tuple(2.0 * side for side in changed().columns["seconds"])),
            {"conditions": ["seconds", "twice"]},
        ),
    ],
)
def test_what_is_no_condition_is_refused(scores, options):
    with pytest.raises(lk.LlrkitError):
        lk.fit_cmlg(scores, **options)


def test_a_line_needs_every_condition():
    fitted = lk.fit_cmlg(trials([5.0, 20.0, 80.0]), conditions=["seconds"])
    for given, named in (((), {"minutes": 1.0}), ((5.0, 10.0), {}), (((5.0, 10.0),), {}), ((), {})):
        with pytest.raises(lk.InputError):
            fitted.at(*given, **named)
    named = fitted.at(seconds=7.0)
    assert [fitted.at(7.0).a, fitted.at((7.0,)).b] == [named.a, named.b]
    with pytest.raises(lk.InputError):
        fitted([1.0])


def test_the_command_counts_conditions_that_are_held_and_names_the_line_of_bad_ones(tmp_path):
    made = lk.calibrate(trials([5.0, 20.0, 80.0]), method="cmlg", conditions=["seconds"], bound="fixed:-9,9")
    made.map.save(tmp_path / "cal.json")

    def apply(rows, *options):
        (tmp_path / "s.csv").write_text("score,label,seconds\n" + "\n".join(rows) + "\n")
        return run("apply", tmp_path / "cal.json", tmp_path / "s.csv", "-o", tmp_path / "l.csv", *options)

    rows = ["1,1,5", "0,0,3", "0.5,1,90", "0.25,0,80"]
    code, _, err = apply(rows, "--shift", "ignore")
    assert (code, "of 4 trials, 2 have a condition outside" in err) == (0, True), err
    code, _, err = apply(rows, "--outside", "error")
    assert (code, "s.csv, line 3: seconds 3 is outside the training range [5, 80]" in err) == (2, True)
    for value in ("-1", "long", "inf"):
        code, _, err = apply(["1,1,5", "0,0,9", f"1,0,{value}", "0,1,9"])
        assert (code, "s.csv, line 4" in err) == (2, True), err


def test_cross_validation_carries_the_conditions_and_errors_of_a_line_refuse_them():
    scores = trials([5.0, 20.0])
    crossed = lk.cross_calibrate(scores, method="cmlg", folds=3, conditions="seconds")
    for fitted in crossed.maps.values():
        assert fitted.needs == ("seconds",)
    pooled = lk.cross_calibrate(scores, method="cmlg", folds=3)
    assert lk.cllr(crossed.source) < lk.cllr(pooled.source)
    with pytest.raises(lk.InputError):
        lk.trust.map_uncertainty(scores, method="cmlg", conditions="seconds")
