"""calibrate(): each decision that the Python function, the command and the app share, once."""

import inspect
import math
import warnings

import numpy as np
import pytest
from commands import run
from numpy.testing import assert_allclose
from pieces import Pieces, speaker_trials

import llrkit as lk
from llrkit.verbs.options import CalibrateOptions, FuseOptions

SIDES = ("one", "two")


def dev(n=300, seed=1):
    rng = np.random.default_rng(seed)
    attacks = {"attack": (np.repeat("-", n), np.array(["A1", "A2", "A3"])[np.arange(3 * n) % 3])}
    return lk.Scores(rng.normal(4.0, 2.0, n), rng.normal(-1.0, 2.0, 3 * n), attacks)


def test_the_map_is_that_of_the_fit_and_of_the_bound():
    trials = dev()
    made = lk.calibrate(trials, method="saturating", prior=0.1, bound="elub")
    plain = lk.fits.fit_saturating(trials, prior=0.1)
    at = np.linspace(-9.0, 9.0, 21)
    assert_allclose(made.map.map(at), plain(at), rtol=0)
    assert_allclose(made.map(at), lk.maps.bound_elub(plain, trials)(at), rtol=0)
    assert made.before.cllr == lk.cllr(trials)
    assert made.after.cllr == made.map.provenance["training_cllr"] == lk.cllr(made.map.on(trials))


def test_bounds_are_by_sources_unless_asked_otherwise():
    trials = speaker_trials()
    counted = lk.calibrate(trials, speakers=SIDES).map
    expected = lk.maps.bound_sources(lk.fit_logistic(trials), trials, speakers=SIDES)
    assert (counted.low, counted.high) == (expected.low, expected.high)
    assert not lk.calibrate(trials, bound="none").map.has_bounds
    with pytest.raises(lk.InputError, match="speakers"):
        lk.calibrate(trials, bound="elub", speakers=SIDES)


@pytest.mark.filterwarnings("ignore::llrkit.errors.PoorFitWarning")  # three attacks hold the LLRs of best
@pytest.mark.parametrize("method", ["logistic", "best"])
def test_one_column_of_groups_bounds_llrs(method):
    options = {"methods": "cmlg,logistic", "folds": 3, "repeats": 1} if method == "best" else {}
    fitted = lk.calibrate(dev(), method=method, groups="attack", **options).map
    assert (fitted.low, fitted.high) == (-math.log1p(300), math.log1p(3))


def test_groups_only_deal_folds_where_another_bound_is_asked_for():
    options = {"methods": "cmlg,logistic", "folds": 3, "repeats": 1}
    fitted = lk.calibrate(dev(), method="best", groups="attack", bound="none", **options).map
    assert list(fitted.details["groups"]) == ["attack"]
    assert fitted.details["high"] == math.log1p(4 * 900)
    with pytest.raises(lk.InputError, match="groups bound the LLRs"):
        lk.calibrate(dev(), groups="attack", bound="none")


@pytest.mark.parametrize("options", [{"method": "best"}, {"groups": "attack"}])
def test_a_map_for_each_value_goes_with_neither_groups_nor_a_choice(options):
    with pytest.raises(lk.InputError, match="cannot be combined"):
        lk.calibrate(dev(), by="attack", **options)


def test_a_map_for_each_value_of_a_column_is_that_of_its_trials():
    rng = np.random.default_rng(2)
    rooms = {"room": (np.arange(200) % 2, np.arange(600) % 2)}
    trials = lk.Scores(rng.normal(2.0, 1.0, 200), rng.normal(-2.0, 1.0, 600), rooms)
    fitted = lk.calibrate(trials, method="cmlg", by="room", bound="none").map
    alone = lk.calibrate(
        lk.Scores(trials.target[1::2], trials.nontarget[1::2]), method="cmlg", bound="none"
    ).map
    assert (fitted.maps[1].a, fitted.maps[1].b) == (alone.a, alone.b)
    assert fitted.maps[1].densities == alone.densities is not None


def test_each_warning_is_given_once_and_kept():
    rng = np.random.default_rng(4)
    target = np.append(np.ones(1200), rng.uniform(0.0, 1.0, 400))
    trials = lk.Scores(5.0 * target, 5.0 * np.append(np.ones(200), rng.uniform(0.0, 1.0, 1600) ** 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = lk.calibrate(trials, method="nig", bound="none")
    assert [str(one.message) for one in caught] == list(made.warnings)
    assert sum(one.category is lk.errors.PoorFitWarning for one in caught) == 1
    assert {one.filename for one in caught} == {__file__}


def test_no_pass_more_than_the_parts_make_alone():
    scores = dev()
    source, alone = Pieces(scores, pieces=5, seed=3), Pieces(scores, pieces=5, seed=3)
    lk.calibrate(source, method="cmlg")
    fitted = lk.maps.bound_map(lk.fit_cmlg(alone), alone)
    lk.evaluate(alone)
    lk.evaluate(fitted.on(alone))
    lk.cllr(fitted.map.on(alone))  # what the bounds do
    assert len(source.passes) == len(alone.passes)


def test_a_fusion_has_no_score_before():
    rng = np.random.default_rng(5)
    two = lk.Scores(rng.normal(1.0, 1.0, (200, 2)), rng.normal(-1.0, 1.0, (900, 2)))
    made = lk.calibrate(two, method=lk.fit_fusion)
    assert made.before is None
    assert "training_cllr_before" not in made.map.provenance
    assert made.map.map.densities["of"] == "LLRs"


def test_a_map_of_a_fit_alone_says_where_densities_come_from():
    with pytest.raises(lk.InputError, match=r"lk\.calibrate"):
        lk.check_shift(lk.fit_logistic(dev()), dev(seed=2))


def test_the_command_makes_the_same_map(tmp_path):
    trials = speaker_trials()
    trials.table.write_csv(tmp_path / "dev.csv")
    arguments = ("--method", "cmlg", "--speakers", "one,two", "-o", tmp_path / "cal.json")
    code, _, err = run("calibrate", tmp_path / "dev.csv", *arguments)
    assert code == 0, err
    made, written = lk.calibrate(trials, method="cmlg", speakers=SIDES), lk.load_map(tmp_path / "cal.json")
    assert (written.low, written.high, written.map.a) == (made.map.low, made.map.high, made.map.map.a)
    assert written.map.densities == made.map.map.densities


def test_an_option_that_a_method_does_not_have_is_refused_by_name():
    trials = lk.Scores([2.0, 1.0, 3.0, 0.5], [0.0, 1.5, -1.0, -2.0])
    for method in ("logistic", "best", lk.fit_cmlg):
        with pytest.raises(lk.InputError, match="no option 'priro'"):
            lk.calibrate(trials, method=method, priro=0.1)


def test_a_map_for_each_value_refuses_scores_that_no_value_was_trained_on():
    same = np.arange(400) % 2 == 0
    score = np.random.default_rng(1).normal(1.5 * same, 1.0) - 0.75
    trials = lk.Trials({"score": score, "label": same, "room": np.repeat(["a", "b"], 200)})
    made = lk.calibrate(trials, method="cmlg", by="room").map
    assert np.isfinite(made([0.5], columns={"room": ["a"]}, outside="error")).all()
    with pytest.raises(lk.InputError, match="outside the training range"):
        made([99.0], columns={"room": ["a"]}, outside="error")


def test_a_fit_of_ones_own_may_pass_options_on():
    def fit_mine(source, **options):
        return lk.fit_cmlg(source, **options)

    trials = lk.Scores([2.0, 1.0, 3.0, 0.5], [0.0, 1.5, -1.0, -2.0])
    made = lk.calibrate(trials, method=fit_mine, alpha=0.3, bound="fixed:-9,9").map
    assert made.map.a == lk.fit_cmlg(trials, alpha=0.3).a


def test_speakers_deal_the_folds_of_best_unless_groups_do():
    trials = speaker_trials()
    options = {"method": "best", "methods": "cmlg,logistic", "folds": 3, "repeats": 1}
    by_speakers = lk.calibrate(trials, speakers=SIDES, **options).map
    by_groups = lk.calibrate(trials, groups=SIDES, **options).map
    assert list(by_speakers.map.details["groups"]) == list(SIDES)
    assert (by_speakers.low, by_speakers.high) == (by_groups.low, by_groups.high)
    at = np.linspace(-5.0, 5.0, 11)
    assert_allclose(by_speakers(at), by_groups(at), rtol=0)
    # other bounds do not count speakers, but the folds still keep them together
    other = lk.calibrate(trials, speakers=SIDES, bound="elub", **options).map
    assert list(other.map.details["groups"]) == list(SIDES)


def test_what_is_to_be_said_is_held_by_the_calibration():
    rng = np.random.default_rng(6)
    few = lk.Scores(rng.normal(2.0, 1.0, 9), rng.normal(-1.0, 1.0, 400))
    made = lk.calibrate(few, method="cmlg")
    assert made.cautions[0].startswith("only 9 target trials")
    inside, limits = made.map.map.on(few), (made.map.low, made.map.high)
    llrs = np.concatenate([inside.target, inside.nontarget])
    held = int(np.sum((llrs < limits[0]) | (llrs > limits[1])))
    said = f"The bounds limit {held} of 409 training LLRs; without them (bound none) Cllr would be"
    assert made.remarks[0] == f"{said} {lk.cllr(inside):.4f} bits there."
    apart = lk.Scores(np.linspace(2.0, 3.0, 50), np.linspace(0.0, 1.0, 200))
    with pytest.warns(lk.errors.NoOverlapWarning):
        unbounded = lk.calibrate(apart, method="cmlg", bound="none")
    assert unbounded.remarks[0].startswith("The classes do not overlap in the training scores (gap 1 to 2)")
    told = lk.calibrate(lk.Scores(rng.normal(size=300), rng.normal(size=900)))
    assert told.before.verdict.outcome == "uninformative"
    assert told.remarks[-1] == f"The scores are {told.before.verdict.text}"


def test_the_command_says_what_the_calibration_holds(tmp_path):
    trials = speaker_trials()
    trials.table.write_csv(tmp_path / "dev.csv")
    _, out, err = run("calibrate", tmp_path / "dev.csv", "--method", "cmlg", "-o", tmp_path / "c.json")
    made = lk.calibrate(lk.read_trials(tmp_path / "dev.csv"), method="cmlg")
    assert made.remarks
    assert all(text in out for text in made.remarks)
    assert all(f"llrkit: warning: {text}" in err for text in made.cautions)


def test_a_misspelled_keyword_is_told_from_those_of_the_method():
    with pytest.raises(lk.InputError, match="did you mean 'bound'"):
        lk.calibrate(dev(), boudn="none")
    with pytest.raises(lk.InputError, match="did you mean 'alpha'"):
        lk.calibrate(dev(), method="cmlg", alpah=0.3)
    options = CalibrateOptions(method="cmlg", settings={"alpha": 0.3}, bound="none")
    assert lk.calibrate(dev(), options=options).map.a == lk.fit_cmlg(dev(), alpha=0.3).a


def test_fuse_is_the_fusion_judged_and_bounded_with_the_options_of_the_fit():
    rng = np.random.default_rng(7)
    two = lk.Scores(rng.normal(1.0, 1.0, (200, 2)), rng.normal(-1.0, 1.0, (900, 2)))
    made, fitted = (
        lk.fuse(two, method="gaussian", prior=0.1),
        lk.fit_fusion(two, method="gaussian", prior=0.1),
    )
    assert_allclose(made.map.map.weights, fitted.weights, rtol=0)
    expected = lk.maps.bound_sources(fitted, two)
    assert (made.map.low, made.map.high) == (expected.low, expected.high)
    assert made.map.map.densities["of"] == "LLRs"
    assert made.after.cllr == lk.cllr(expected.on(two)) == made.map.provenance["training_cllr"]
    taken = {
        name: parameter.default
        for name, parameter in inspect.signature(lk.fit_fusion).parameters.items()
        if name not in ("source", "labels")
    }
    assert {name: getattr(FuseOptions(), name) for name in taken} == taken


def moved(n=500):
    rng = np.random.default_rng(8)
    return np.append(rng.normal(8.0, 1.5, n), rng.normal(2.0, 1.5, n))


def trained():
    rng = np.random.default_rng(9)
    return lk.calibrate(lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 2_000))).map


def test_apply_gives_the_llrs_of_the_map_and_looks_for_a_shift():
    fitted, rng = trained(), np.random.default_rng(10)
    same = np.append(rng.normal(4.0, 1.0, 300), rng.normal(0.0, 1.0, 300))
    as_trials = lk.Trials({"score": same, "label": np.arange(600) < 300})
    for scores in (same, as_trials):
        assert_allclose(lk.apply(fitted, scores), fitted(same), rtol=0)
    assert_allclose(lk.apply(fitted, lk.Scores(same[:300], same[300:])).target, fitted(same[:300]), rtol=0)
    with pytest.warns(lk.errors.ShiftWarning, match="A shift"), pytest.warns(lk.errors.TrainingRangeWarning):
        lk.apply(fitted, moved())
    with pytest.raises(lk.InputError, match="A shift"):
        lk.apply(fitted, moved(), shift="error", outside="bound")
    with pytest.raises(lk.InputError, match="outside the training range"):
        lk.apply(fitted, moved(), shift="ignore", outside="error")
    with pytest.raises(lk.InputError, match='shift="ignore"'):
        lk.apply(lk.fit_logistic(dev()), same, shift="error")


def test_adapt_says_what_became_of_the_map():
    made = lk.adapt(trained(), moved())
    assert made.how.startswith("adapted (")
    assert made.text == made.map.details["adaptation"]["text"]
    at = np.linspace(-2.0, 10.0, 9)
    assert_allclose(made.map(at), lk.fit_adapted(trained(), moved())(at), rtol=0)
    with pytest.raises(lk.InputError, match="share"):
        lk.adapt(trained(), moved(), share="some")
