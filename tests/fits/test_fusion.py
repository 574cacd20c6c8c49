"""Fusion of several systems, and calibration with side information."""

import json
import re

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import llrkit as lk
from llrkit.maps.composite import MeanMap
from llrkit.maps.files import map_from_dict


@pytest.fixture
def three():
    rng = np.random.default_rng(12)
    mix = rng.normal(size=(3, 3))
    target = rng.normal([1.0, 0.5, 2.0], 1.0, (300, 3)) @ mix
    return lk.Scores(target, rng.normal([-0.5, 0.0, 0.0], 1.2, (900, 3)) @ mix)


def log_loss(scores, weights, offset):
    zt, zn = scores.target @ weights + offset, scores.nontarget @ weights + offset
    return 0.5 * np.logaddexp(0, -zt).mean() + 0.5 * np.logaddexp(0, zn).mean()


def test_logistic_against_scipy_on_the_written_out_objective(three):
    best = minimize(
        lambda x: log_loss(three, x[:3], x[3]), np.zeros(4), method="BFGS", options={"gtol": 1e-9}
    )
    fitted = lk.fit_fusion(three)
    assert_allclose([*fitted.weights, fitted.offset], best.x, rtol=1e-4, atol=1e-5)
    assert log_loss(three, fitted.weights, fitted.offset) <= best.fun * (1 + 1e-12)
    assert fitted.details["gradient"] < 1e-12


def test_gaussian_against_the_closed_form_by_hand(three):
    t, n = three.target, three.nontarget
    pooled = 0.3 * np.cov(t.T, bias=True) + 0.7 * np.cov(n.T, bias=True)
    weights = np.linalg.solve(pooled, t.mean(axis=0) - n.mean(axis=0))
    fitted = lk.fit_fusion(three, method="gaussian", alpha=0.3)
    assert_allclose(fitted.weights, weights, rtol=1e-11)
    assert_allclose(fitted.offset, -weights @ (t.mean(axis=0) + n.mean(axis=0)) / 2, rtol=1e-10)


def test_one_system_is_the_calibration_of_that_system(three):
    single = lk.Scores(-three.target[:, 0], -three.nontarget[:, 0])
    affine = lk.fit_logistic(single)
    fused = lk.fit_fusion(single)
    assert_allclose([fused.weights[0], fused.offset], [affine.a, affine.b], rtol=1e-10)


@pytest.mark.parametrize(
    ("sigmas", "rho", "weights", "eer"),
    [
        # F-1 of the theory digest
        ((4.0, 1.0), 0.5, (1.1667, -1.3333), 0.0187),
        ((3.0, 2.0), 0.5, (0.8889, 0.3333), 0.0633),
        ((3.0, 3.0), 0.5, (0.6667, 0.6667), 0.0416),
        ((3.0, 2.0), 0.0, (1.0, 1.0), None),
    ],
)
def test_precalibrated_weights_against_theory(sigmas, rho, weights, eer):
    rng = np.random.default_rng(21)
    s = np.array(sigmas)
    covariance = np.outer(s, s) * np.array([[1, rho], [rho, 1]])
    target = rng.multivariate_normal(s**2 / 2, covariance, 150_000)
    nontarget = rng.multivariate_normal(-(s**2) / 2, covariance, 150_000)
    fitted = lk.fit_fusion(lk.Scores(target, nontarget), method="precalibrated")
    assert fitted.offset == 0.0
    assert_allclose(fitted.weights, weights, atol=0.03)
    for name in ("correlation_target", "correlation_nontarget"):
        assert_allclose(fitted.details[name][0, 1], rho, atol=0.01)
    if eer is not None:
        assert_allclose(fitted.details["predicted_eer"], eer, atol=0.001)
        assert_allclose(lk.eer(fitted.on(lk.Scores(target, nontarget))), eer, atol=0.001)


def test_precalibrated_takes_the_mean_of_the_correlations_of_both_classes():
    rng = np.random.default_rng(2)
    s = np.array([2.5, 2.0])

    def draw(sign, rho):
        return rng.multivariate_normal(sign * s**2 / 2, np.outer(s, s) * [[1, rho], [rho, 1]], 4_000)

    scores = lk.Scores(draw(1, 0.7), draw(-1, 0.1))
    fitted = lk.fit_fusion(scores, method="precalibrated")
    rho = (np.corrcoef(scores.target.T) + np.corrcoef(scores.nontarget.T)) / 2
    singles = [lk.Scores(scores.target[:, i], scores.nontarget[:, i]) for i in (0, 1)]
    sigma = np.array([lk.theory.GaussianLLR.from_cllr(lk.cllr(one)).sigma for one in singles])
    # Gaussian LLRs: the means of the classes differ by sigma^2, the covariance is that of the correlations
    weights = np.linalg.solve(np.outer(sigma, sigma) * rho, sigma**2)
    assert_allclose(fitted.weights, weights, rtol=1e-9)
    reported = [fitted.details[f"correlation_{name}"][0, 1] for name in ("target", "nontarget")]
    assert_allclose(reported, [np.corrcoef(x.T)[0, 1] for x in (scores.target, scores.nontarget)], rtol=1e-9)


def test_a_repeated_system_does_no_harm(three):
    def double(x):
        return np.column_stack([x, x[:, 0]])

    twice = lk.Scores(double(three.target), double(three.nontarget))
    first, second = lk.fit_fusion(three).on(three), lk.fit_fusion(twice).on(twice)
    assert_allclose(lk.cllr(first), lk.cllr(second), rtol=1e-9)


def test_separable_systems_are_reported(three):
    rng = np.random.default_rng(2)
    target, nontarget = rng.normal(5, 0.1, (20, 2)), rng.normal(-5, 0.1, (20, 2))
    with pytest.raises(lk.errors.SeparationError):
        lk.fit_fusion(lk.Scores(target, nontarget))
    assert np.isfinite(lk.fit_fusion(lk.Scores(target, nontarget), regularization=0.01).weights).all()


def table(n=600, seed=5):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 4 == 0
    first, second = rng.normal(label * 2.0, 1.0), rng.normal(label * 1.5, 1.0)
    duration = rng.uniform(3, 60, n)
    return {"a": first, "b": second, "label": label, "d1": duration, "d2": rng.uniform(3, 60, n)}


def test_missing_systems_by_each_policy():
    whole = table()
    gaps = {**whole, "a": np.where(np.arange(600) % 10 == 3, np.nan, whole["a"])}
    trials = lk.Trials(gaps, score=["a", "b"])
    with pytest.raises(lk.errors.NaNScoreError, match="row 3"):  # the place must be named
        lk.fit_fusion(trials)
    there = ~np.isnan(gaps["a"])
    kept = lk.Trials({name: values[there] for name, values in gaps.items()}, score=["a", "b"])
    with pytest.warns(lk.errors.LeftOutWarning, match="60 of 600"):
        dropped = lk.fit_fusion(trials, missing="drop")
    assert_array_equal(dropped.weights, lk.fit_fusion(kept).weights)
    with pytest.raises(lk.errors.NaNScoreError):
        dropped(trials)
    with pytest.warns(lk.errors.LeftOutWarning):
        fitted = lk.fit_fusion(trials, missing="subset")
    llrs = fitted(trials)
    alone = lk.fit_logistic(lk.Trials({"score": kept.table["b"], "label": kept.table["label"]}))
    assert_allclose(llrs[~there], alone(gaps["b"][~there]), rtol=1e-9)
    assert_allclose(llrs[there], dropped(kept), rtol=1e-12)
    # what wraps a fusion can do what it can
    assert_allclose(fitted.then(lk.maps.AffineMap(a=2.0, b=1.0))(trials), 2 * llrs + 1, rtol=1e-12)
    assert_allclose(lk.maps.bound_fixed(fitted, -1.0, 1.0)(trials), np.clip(llrs, -1, 1), rtol=1e-12)


def test_quality_measures_recover_a_known_dependence():
    rng = np.random.default_rng(9)
    n = 60_000
    label = rng.random(n) < 0.5
    d1, d2 = rng.uniform(2, 60, n), rng.uniform(2, 60, n)
    # the score is an LLR shifted by a function of the durations
    llr = rng.normal(np.where(label, 2.0, -2.0), 2.0)
    shift = 0.8 * np.log(d1) - 0.5 * np.abs(np.log(d1 / d2))
    trials = lk.Trials({"score": llr + shift, "label": label, "d1": d1, "d2": d2})
    plain = lk.fit_logistic(trials)
    fitted = lk.fits.fit_quality(trials, columns=("d1", "d2"), features="durations")
    model = lk.theory.GaussianLLR.from_mu(2.0)
    assert_allclose(lk.cllr(fitted.on(trials)), model.cllr, atol=0.01)
    assert lk.cllr(plain.on(trials)) > model.cllr + 0.02
    assert_allclose(fitted(trials), llr, atol=0.35)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("features", ["linear", "durations", "bilinear"])
def test_quality_features_against_the_written_out_objective(features, scaled):
    trials = lk.Trials(table(), score="a")
    fitted = lk.fits.fit_quality(
        trials, columns=("d1", "d2"), features=features, scaled=scaled, regularization=0.5
    )
    s, (d1, d2) = trials.score_array, (trials.column("d1"), trials.column("d2"))
    if features == "linear":
        q = [d1, d2]
    elif features == "durations":
        l1, l2 = np.log(d1), np.log(d2)
        q = [l1, l2, l1 * l2, abs(l1 - l2), (l1 - l2) ** 2, 1 / d1 + 1 / d2]
    else:
        q = [2 * d1 * d2, d1 + d2]
    columns = [s, *q, *(s * f for f in q)] if scaled else [s, *q]
    assert_allclose(fitted(trials), np.column_stack(columns) @ fitted.weights + fitted.offset, rtol=1e-9)
    again = map_from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert_array_equal(again(trials), fitted(trials))


def test_a_quality_measure_read_from_text_is_its_value_not_a_code():
    whole = table()
    trials = lk.Trials(whole, score="a")
    words = lk.Trials({**whole, "d1": [repr(float(x)) for x in whole["d1"]]}, score="a")
    first, second = (lk.fits.fit_quality(part, columns="d1") for part in (trials, words))
    assert_allclose(first.weights, second.weights, rtol=1e-12)
    assert_allclose(second(words), first(trials), rtol=1e-12)
    with pytest.raises(lk.InputError):
        lk.fits.fit_quality(lk.Trials({**whole, "d1": ["long"] * 600}, score="a"), columns="d1")


@pytest.fixture(scope="module")
def named():
    """A table, the fusion of its systems, and the LLRs by hand: the columns in the order of training."""
    whole = pl.DataFrame(table())
    fitted = lk.fit_fusion(lk.Trials(whole, score=["a", "b"]), quality_columns="d1")
    llrs = whole.select("a", "b", "d1").to_numpy() @ fitted.weights + fitted.offset
    assert abs(fitted.weights[0] - fitted.weights[1]) > 0.1  # or the order would not matter
    return whole, fitted, llrs


def test_systems_of_trials_in_another_order_are_matched_by_name(named, tmp_path):
    whole, fitted, llrs = named
    fitted.save(tmp_path / "fusion.json")
    stacked = {
        "fitted": fitted,
        "loaded": lk.load_map(tmp_path / "fusion.json"),
        "bounded": lk.maps.bound_fixed(fitted, -99.0, 99.0),
        "then": fitted.then(lk.maps.AffineMap(a=1.0, b=0.0)),
        "mean": MeanMap(maps={"one": fitted, "two": fitted}, weights={"one": 0.5, "two": 0.5}),
    }
    swapped = lk.Trials(whole, score=["b", "a"])
    expected = lk.cllr(llrs, whole["label"])
    whole.write_parquet(tmp_path / "eval.parquet")
    for name, one in stacked.items():
        assert_allclose(one(swapped), llrs, rtol=1e-12, err_msg=name)
        for source in (swapped, lk.scan_trials(tmp_path / "eval.parquet", score=["b", "a"])):
            assert_allclose(lk.cllr(one.on(source)), expected, rtol=1e-9, err_msg=name)
        scores = swapped.with_columns("d1").scores()
        assert_allclose(lk.cllr(one(scores)), expected, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_systems_of_data_frames_are_matched_by_name(named, need, library):
    whole, _, _ = named
    other, label = whole.select("b", "a"), whole["label"].to_numpy()
    if library == "pandas":
        frame = need("pandas").DataFrame({name: whole[name].to_numpy() for name in ("a", "b")})
        other = frame[["b", "a"]]
    elif library == "pyarrow":
        need("pyarrow")
        frame, other = whole.select("a", "b").to_arrow(), other.to_arrow()
    else:
        frame = whole.select("a", "b")
    values = whole.select("a", "b").to_numpy()
    expected = lk.fit_fusion(values, label)
    fitted = lk.fit_fusion(frame, label)
    assert fitted.systems == ["a", "b"]
    assert_array_equal(fitted.weights, expected.weights)
    assert_array_equal(fitted(other), expected(values))
    assert lk.cllr(fitted.on(other, label)) == lk.cllr(expected.on(values, label))
    assert_array_equal(fitted(values), expected(values))  # arrays have no names
    assert_array_equal(expected(frame), expected(values))


def test_systems_of_other_names_are_refused_and_named(named):
    whole, fitted, _ = named
    for wrong in (lk.Trials(whole, score=["a", "d2"]), lk.Trials(whole, score=["a", "d2"]).scores()):
        for use in (fitted, fitted.on):
            with pytest.raises(lk.InputError, match="unknown: 'd2'; missing: 'b'"):
                use(wrong)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_apply_matches_columns_by_name(named, tmp_path, ending):
    whole, fitted, llrs = named
    fitted.save(tmp_path / "fusion.json")
    path, out = tmp_path / f"eval.{ending}", tmp_path / "llrs.csv"
    turned = whole.select("d1", "b", "label", "a", "d2")
    (turned.write_csv if ending == "csv" else turned.write_parquet)(path)
    for option in ((), ("--score-column", "a,b"), ("--score-column", "b,a")):
        assert run("apply", tmp_path / "fusion.json", path, *option, "-o", out)[0] == 0
        assert_allclose(lk.read_trials(out).score_array, llrs, rtol=1e-9)
        out.unlink()
    assert run("apply", tmp_path / "fusion.json", path, "--score-column", "a,d2", "-o", out)[0] == 2
    assert not out.exists()


def test_apply_refuses_a_file_of_a_system_in_the_place_of_another(named, tmp_path):
    whole, _, _ = named
    lk.fit_fusion(lk.Trials(whole, score=["a", "b"])).save(tmp_path / "fusion.json")
    numbered = whole.with_row_index("test")
    for name in ("a", "b", "c"):
        column = "a" if name == "c" else name
        numbered.select("test", "label", score=column).write_csv(tmp_path / f"{name}.csv")
    for names, code in ((("a", "b"), 0), (("b", "a"), 2), (("b", "c"), 2), (("a", "c"), 0)):
        paths = [tmp_path / f"{name}.csv" for name in names]
        assert run("apply", tmp_path / "fusion.json", *paths, "-o", tmp_path / "llrs.csv")[0] == code


def test_infinite_scores_that_contradict_each_other_are_named():
    fitted = lk.fit_fusion(lk.Trials(table(), score=["a", "b"]))
    assert fitted([[np.inf, 0.0]])[0] == np.inf
    with pytest.raises(lk.errors.NaNScoreError, match="trial 1"):
        fitted([[0.0, 0.0], [np.inf, -np.inf]])


def test_the_wrong_number_of_systems_is_refused():
    fitted = lk.fit_fusion(lk.Trials(table(), score=["a", "b"]))
    for wrong in ([1.0, 2.0, 3.0], np.zeros((4, 3)), 1.0):
        with pytest.raises(lk.errors.SystemCountError):
            fitted(wrong)


def test_columns_that_pandas_numbers_are_matched_by_number(need):
    pd = need("pandas")
    rng = np.random.default_rng(2)
    labels = np.repeat([1, 0], [300, 900])
    table = pd.DataFrame(rng.normal(size=(1200, 2)) * [1.0, 9.0] + labels[:, None])
    fused = lk.fit_fusion(table, labels)
    assert_allclose(fused(table[[1, 0]]), fused(table.to_numpy()), rtol=1e-12)
    named = lk.fit_fusion(table.set_axis(["plda", "cosine"], axis=1), labels)
    with pytest.raises(lk.InputError):
        named(table[[1, 0]])


def test_a_fusion_of_distances_is_shown_with_the_signs_of_distances(tmp_path):
    rng = np.random.default_rng(3)
    same = np.arange(400) % 2 == 0
    table = {"one": -rng.normal(2.0 * same, 1.0), "two": -rng.normal(same, 1.0), "label": same}
    pl.DataFrame(table).write_csv(tmp_path / "d.csv")
    made = lk.fit_fusion(lk.read_trials(tmp_path / "d.csv", score=["one", "two"], distance=True))
    shown = re.search(r"llr = (\S+) one (\S+) two (\S+)\)", repr(made))
    one, two, offset = (float(text) for text in shown.groups())
    assert_allclose(one * 0.5 + two * 0.25 + offset, made([[0.5, 0.25]]), rtol=1e-2)
