"""A calibration file that is misused says so: how scores were read, applied twice, outside the range."""

import json
import math
import warnings

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.fits.folds import METHODS
from llrkit.maps.composite import MeanMap

LN10 = math.log(10.0)


@pytest.fixture(scope="module")
def similarity():
    """Similarities of 200 + 600 trials: higher means more alike."""
    rng = np.random.default_rng(8)
    labels = np.repeat(["target", "nontarget"], [200, 600])
    return rng.normal(np.where(labels == "target", 1.0, -1.0), 0.6).round(6), labels


@pytest.fixture
def files(tmp_path, similarity):
    """The same trials as similarities, as distances and as log10 LLRs."""
    values, labels = similarity
    ids = [f"t{i}" for i in range(len(values))]
    for name, column in (("plain", values), ("distance", -values), ("log10", values / LN10)):
        pl.DataFrame({"test": ids, "score": column, "label": labels}).write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def calibrate(files, name, *flags, method="cmlg", output="cal.json"):
    code, _, _ = run("calibrate", files / name, *flags, "--method", method, "-o", files / output)
    assert code == 0


def apply(files, calibration, name, *flags, output="out.csv"):
    code, _, err = run("apply", files / calibration, files / name, *flags, "-o", files / output)
    return code, err


FLAGS = {"plain": {}, "distance": {"distance": True}, "log10": {"log10": True}}
IN_FILE = {"plain": 1.0, "distance": -1.0, "log10": 1.0 / LN10}


@pytest.mark.parametrize("name", FLAGS)
def test_a_map_takes_what_its_training_file_held(files, similarity, name):
    fitted = lk.fit_cmlg(lk.read_trials(files / f"{name}.csv", **FLAGS[name]))
    fitted.save(files / "cal.json")
    wanted = lk.fit_cmlg(lk.Scores.from_labels(*similarity))(similarity[0])
    for one in (fitted, lk.load_map(files / "cal.json")):
        assert_allclose(one(similarity[0] * IN_FILE[name]), wanted, rtol=1e-9, atol=1e-9)
        assert_allclose(one.inverse(one(0.25)), 0.25, rtol=1e-9)


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("method", ["fit_pav", "fit_saturating", "fit_gaussian", "fit_kde", "mean"])
def test_the_way_back_of_every_map_ends_at_what_the_file_held(files, name, method):
    trials = lk.read_trials(files / f"{name}.csv", **FLAGS[name])
    if method == "mean":
        maps = {"line": lk.fit_cmlg(trials), "bent": lk.fits.fit_saturating(trials)}
        weights = {"line": 0.25, "bent": 0.75}
        fitted = MeanMap(maps=maps, weights=weights, reading=maps["line"].reading)
    else:
        options = {"monotone": True} if method in ("fit_gaussian", "fit_kde") else {}
        fitted = getattr(lk.fits, method)(trials, **options)
    held = np.array([-0.21, 0.05, 0.32]) * IN_FILE[name]
    back = fitted.inverse(fitted(held))
    assert_allclose(fitted(back), fitted(held), rtol=1e-6)
    assert_allclose(back, held, rtol=1e-6 if method != "fit_pav" else 2.0, atol=1e-9)
    assert_allclose(fitted.inverse.inverse(held), fitted(held), rtol=1e-6)


def test_python_warns_of_scores_outside_the_training_range_too(files, similarity):
    """A cosine of 5.2 does not become an LLR in silence, whoever asks."""
    fitted = lk.fit_cmlg(lk.read_trials(files / "distance.csv", distance=True))
    low = (-similarity[0]).min()
    with pytest.warns(lk.errors.TrainingRangeWarning):
        extrapolated = fitted([0.1, -5.2])
    assert_allclose(extrapolated, fitted([0.1, -5.2], outside="ignore"), rtol=0)
    with pytest.warns(lk.errors.TrainingRangeWarning):
        assert_allclose(fitted(-5.2, outside="bound"), fitted(low), rtol=1e-12)
    with pytest.raises(lk.InputError):
        fitted([0.1, -5.2], outside="error")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_map_of_every_method_can_be_bounded(method, similarity):
    dev = lk.Scores.from_labels(*similarity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.errors.ShapeWarning)
        bounded = lk.maps.bound_map(METHODS[method](dev), dev, "fixed:-0.5,0.25")
    assert (bounded.low, bounded.high) == (-0.5, 0.25)
    assert bounded.reading == bounded.map.reading is not None
    llrs = bounded(similarity[0])
    assert (llrs.min(), llrs.max()) == (-0.5, 0.25)


@pytest.mark.parametrize("trained", FLAGS)
@pytest.mark.parametrize("read", FLAGS)
def test_trials_know_how_they_were_read_and_get_the_same_llrs(files, similarity, trained, read):
    """Whatever the map was trained on: what it makes of a file depends on what the file holds alone."""
    fitted = lk.fit_cmlg(lk.read_trials(files / f"{trained}.csv", **FLAGS[trained]))
    path = files / f"{trained}.csv"
    wanted = fitted(similarity[0] * IN_FILE[trained])
    for trials in (lk.read_trials(path, **FLAGS[read]), lk.scan_trials(path, **FLAGS[read])):
        llrs = fitted.on(trials)
        expected = lk.cllr(lk.Scores.from_labels(wanted, similarity[1]))
        assert lk.cllr(llrs) == pytest.approx(expected, abs=1e-9)
    trials = lk.read_trials(path, **FLAGS[read])
    assert_allclose(fitted(trials), wanted, rtol=1e-9, atol=1e-9)
    assert_allclose(fitted(trials.scores()).target, wanted[similarity[1] == "target"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["distance", "log10"])
def test_apply_obeys_what_the_calibration_was_trained_on_without_the_flag(files, similarity, name):
    calibrate(files, f"{name}.csv", f"--{name}")
    wanted = lk.load_map(files / "cal.json")(similarity[0] * IN_FILE[name])
    for flags in ([], [f"--{name}"]):
        assert apply(files, "cal.json", f"{name}.csv", *flags) == (0, "")
        table = pl.read_csv(files / "out.csv")
        assert_allclose(table["llr"], wanted, rtol=1e-9)
        assert_array_equal(table["score"], pl.read_csv(files / f"{name}.csv")["score"])  # as it was


@pytest.mark.parametrize(
    ("trained", "flag"), [("plain", "--distance"), ("plain", "--log10"), ("distance", "--log10")]
)
def test_a_flag_that_contradicts_the_calibration_is_refused(files, trained, flag):
    flags = [] if trained == "plain" else [f"--{trained}"]
    calibrate(files, f"{trained}.csv", *flags)
    assert apply(files, "cal.json", f"{trained}.csv", flag, output="out.csv")[0] == 2
    assert not (files / "out.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_a_map_wrote_is_read_as_llrs_and_not_calibrated_again(files, ending):
    calibrate(files, "plain.csv")
    out = files / f"out.{ending}"
    run("apply", files / "cal.json", files / "plain.csv", "-o", out)
    trials = lk.read_trials(out)
    assert trials.roles.score == ("llr",)
    assert trials.roles.calibrated
    code, _, _ = run("apply", files / "cal.json", out, "-o", files / "twice.csv")
    assert (code, (files / "twice.csv").exists()) == (2, False)
    fitted = lk.load_map(files / "cal.json")
    for calibrate_again in (fitted.on, fitted, lambda trials: fitted.on(fitted.on(trials))):
        with pytest.raises(lk.InputError):
            calibrate_again(trials)


def test_force_or_a_map_of_llrs_calibrates_again_and_keeps_what_was_there(files):
    calibrate(files, "plain.csv")
    apply(files, "cal.json", "plain.csv", output="out.csv")
    calibrate(files, "out.csv", method="logistic", output="again.json")
    assert apply(files, "again.json", "out.csv", output="again.csv")[0] == 0
    assert lk.cllr(lk.read_trials(files / "again.csv")) <= lk.cllr(lk.read_trials(files / "out.csv")) + 1e-9
    code, _ = apply(files, "cal.json", "out.csv", "--force", output="twice.csv")
    once, twice = pl.read_csv(files / "out.csv"), pl.read_csv(files / "twice.csv")
    assert code == 0
    assert_array_equal(twice["llr_before"], once["llr"])
    assert_allclose(twice["llr"], lk.load_map(files / "cal.json")(once["llr"].to_numpy()), rtol=1e-12)


def test_llrs_to_base_ten_are_read_as_such(files):
    calibrate(files, "plain.csv")
    apply(files, "cal.json", "plain.csv", output="nats.csv")
    apply(files, "cal.json", "plain.csv", "--base-10", output="tens.csv")
    nats, tens = pl.read_csv(files / "nats.csv"), pl.read_csv(files / "tens.csv")
    assert_allclose(tens["log10_lr"] * LN10, nats["llr"], rtol=1e-12)
    assert "llr" not in tens.columns
    for read in (lk.read_trials, lk.scan_trials):
        assert lk.cllr(read(files / "tens.csv")) == pytest.approx(
            lk.cllr(read(files / "nats.csv")), abs=1e-12
        )
    with pytest.raises(lk.InputError):
        lk.read_trials(files / "tens.csv", log10=True)


def test_a_calibration_of_llrs_to_base_ten_takes_them_as_they_are_and_natural_ones_too(files):
    calibrate(files, "plain.csv")
    apply(files, "cal.json", "plain.csv", output="nats.csv")
    apply(files, "cal.json", "plain.csv", "--base-10", output="tens.csv")
    for trained in ("nats", "tens"):
        calibrate(files, f"{trained}.csv", method="logistic", output="again.json")
        again = lk.load_map(files / "again.json")
        wanted = again.on(lk.read_trials(files / f"{trained}.csv"))
        for given in ("nats", "tens"):
            code, err = apply(files, "again.json", f"{given}.csv", output="twice.csv")
            assert (code, "outside the training range" in err) == (0, False)
            table, held = pl.read_csv(files / "twice.csv"), pl.read_csv(files / f"{given}.csv")
            kept = "llr_before" if given == "nats" else "log10_lr_before"
            assert_array_equal(table[kept], held["llr" if given == "nats" else "log10_lr"])
            assert lk.cllr(lk.read_trials(files / "twice.csv")) == pytest.approx(lk.cllr(wanted), abs=1e-9)
            assert_allclose(again(lk.read_trials(files / f"{given}.csv")), table["llr"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["plain", "distance"])
def test_scores_outside_the_training_range_are_counted_refused_or_held(files, similarity, name):
    flags = [] if name == "plain" else ["--distance"]
    calibrate(files, f"{name}.csv", *flags)
    held = similarity[0] * IN_FILE[name]
    far = 5.2 * IN_FILE[name]
    pl.DataFrame({"test": ["a", "b"], "score": [0.1, far]}).write_csv(files / "case.csv")
    low, high = held.min(), held.max()
    fitted = lk.load_map(files / "cal.json")
    assert_allclose(np.ravel(fitted.training_range), [low, high], rtol=1e-12)
    for policy, expected in (("warn", far), ("bound", high if name == "plain" else low)):
        code, err = apply(files, "cal.json", "case.csv", "--outside", policy, output="o.csv")
        assert code == 0
        assert f"1 of 2 scores is outside the training range [{low:.6g}, {high:.6g}]" in err
        assert_allclose(pl.read_csv(files / "o.csv")["llr"], fitted([0.1, expected]), rtol=1e-12)
    code, err = apply(files, "cal.json", "case.csv", "--outside", "error", output="no.csv")
    assert code == 2
    assert f"case.csv, line 3: the score {far:g} is outside" in err
    assert not (files / "no.csv").exists()


@pytest.mark.slow
def test_a_choice_among_methods_is_bounded_by_speakers_like_any_fit(tmp_path):
    trials, to = tmp_path / "t.csv", ("-o", tmp_path / "cal.json")
    sizes = ("--targets", "400", "--nontargets", "1600", "--seed", "5")
    assert run("simulate", "scores", "--eer", "8%", *sizes, "-o", trials)[0] == 0
    for method in ("logistic", "best"):
        code, _, _ = run(
            "calibrate", trials, "--method", method, "--groups", "enroll_speaker,test_speaker", *to
        )
        fitted = lk.load_map(tmp_path / "cal.json")
        # 40 speakers with target trials, 380 pairs of speakers with non-target trials
        assert (code, fitted.low, fitted.high) == (0, -math.log1p(40), math.log1p(380))
    assert run("calibrate", trials, "--method", "best", "--bound", "none", *to)[0] == 0
    fitted = lk.load_map(tmp_path / "cal.json")
    assert (fitted.low, fitted.high) == (-math.log1p(4 * 400), math.log1p(4 * 1600))


@pytest.mark.parametrize("bound", ["none", "elub", "invariance", "fixed:-2,3"])
def test_every_bound_of_the_command_line_is_obeyed(files, bound):
    assert run("calibrate", files / "plain.csv", "--bound", bound, "-o", files / "cal.json")[0] == 0
    fitted = lk.load_map(files / "cal.json")
    if bound == "none":
        assert isinstance(fitted, lk.maps.AffineMap)
        return
    wanted = lk.maps.bound_map(fitted.map, lk.read_trials(files / "plain.csv"), bound)
    assert_allclose([fitted.low, fitted.high], [wanted.low, wanted.high], rtol=1e-12)
    assert fitted([-99.0, 99.0]).tolist() == [fitted.low, fitted.high]
    code, _, _ = run("calibrate", files / "plain.csv", "--bound", "fixed:3,2", "-o", files / "no.json")
    assert (code, (files / "no.json").exists()) == (2, False)


@pytest.mark.slow
def test_validate_applies_the_map_to_raw_scores_and_not_to_llrs(files):
    (files / "criteria.toml").write_text('[[criterion]]\ncharacteristic = "accuracy"\nat_most = 0.9\n')
    calibrate(files, "distance.csv", "--distance")
    apply(files, "cal.json", "distance.csv")
    arguments = ("--criteria", files / "criteria.toml", "--map", files / "cal.json", "--json", "-")
    results = {}
    for name in ("distance.csv", "out.csv"):
        code, out, _ = run("validate", files / name, *arguments)
        assert code == 0
        results[name] = json.loads(out)["evaluation"]
    assert results["distance.csv"]["cllr"] == pytest.approx(results["out.csv"]["cllr"], abs=1e-12)
    wanted = lk.cllr(lk.load_map(files / "cal.json").on(lk.read_trials(files / "distance.csv")))
    assert results["out.csv"]["cllr"] == pytest.approx(wanted, abs=1e-12)
