"""Folds, cross-validation, comparison and diagnosis."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Kept, collected, speaker_trials

import llrkit as lk
from llrkit.core.groups import split_by
from llrkit.fits.folds import METHODS, make_folds, training_source


def test_no_map_is_trained_on_a_speaker_of_the_trials_it_is_used_for():
    trials = speaker_trials()
    folds = make_folds(trials, ("one", "two"), 4)
    assert len(folds.pairs) == 10
    wide = trials.with_columns("one", "two").scores()
    codes = np.concatenate(folds.of(wide))
    names = [
        np.array(wide.categories[name], dtype=object)[np.concatenate(wide.columns[name])]
        for name in ("one", "two")
    ]
    for f, g in folds.pairs:
        used_for = codes == f * 4 + g
        speakers = {*names[0][used_for], *names[1][used_for]}
        seen = training_source(trials, folds, (f, g)).with_columns("one", "two").reduce(Kept.of)
        trained = {
            wide.categories[name][code]
            for chunk in seen.chunks
            for name in ("one", "two")
            for side in chunk.columns[name]
            for code in side
        }
        assert speakers
        assert trained
        assert not speakers & trained


def test_every_trial_is_calibrated_by_the_map_that_has_not_seen_it():
    trials = speaker_trials()
    crossed = lk.cross_calibrate(trials, method="cmlg", groups=("one", "two"), folds=3)
    llrs_of = collected(crossed.source)
    raw = trials.with_columns("one", "two").scores()
    codes = crossed.folds.of(raw)
    for side, scores in enumerate((raw.target, raw.nontarget)):
        llrs = llrs_of[side]
        for (f, g), fitted in crossed.maps.items():
            rows = codes[side] == f * 3 + g
            assert_allclose(llrs[rows], fitted(scores[rows]), rtol=1e-12)


def test_single_trials_are_dealt_out_evenly_in_each_class_whatever_the_chunks():
    scores = lk.Scores(np.arange(1_000) % 3, np.arange(2_501) % 5)  # ties everywhere
    folds = make_folds(scores, None, 5, seed=4)
    wide = scores.with_columns("position")
    whole = folds.of(wide)
    for codes in whole:
        counts = np.bincount(codes % 5)
        assert counts.max() - counts.min() <= 1
    parts = [folds.of(chunk) for chunk in wide.chunks(300)]
    for side in (0, 1):
        assert_array_equal(np.concatenate([part[side] for part in parts]), whole[side])
    other = make_folds(scores, None, 5, seed=5).of(wide)
    assert (other[1] != whole[1]).any()


@pytest.mark.slow
def test_tied_scores_and_affine_changes_do_not_matter_to_the_choice():
    rng = np.random.default_rng(2)
    target, nontarget = rng.integers(1, 6, 300), rng.integers(0, 5, 900)
    tables = []
    for c, f in ((1.0, 0.0), (3.0, 7.0)):
        best = lk.fit_best(lk.Scores(c * target + f, c * nontarget + f), methods="cmlg,logistic,gaussian")
        tables.append(best.details["cross_validation"])
    assert [row["method"] for row in tables[0]] == [row["method"] for row in tables[1]]
    assert all(np.isfinite(row["cllr"]) for row in tables[0])


def test_enrollment_and_test_ids_are_the_groups_unless_told_otherwise():
    table = speaker_trials().table
    trials = lk.Trials(table, enroll="one", test="two")
    assert lk.fit_best(trials, methods="cmlg", folds=3).details["groups"] == ["one", "two"]
    assert lk.fit_best(lk.Trials(table), methods="cmlg", folds=3).details["groups"] == []


def test_one_column_of_groups():
    trials = speaker_trials()
    folds = make_folds(trials, "one", 3)
    assert folds.pairs == [(0, 0), (1, 1), (2, 2)]
    wide = trials.with_columns("one").scores()
    for part in split_by(wide, "one").values():
        assert len(set(np.concatenate(folds.of(part)))) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 1},
        {"folds": 2.5},
        {"groups": ("one", "two", "label")},
        {"groups": "one", "folds": 50},
        {"groups": "nothing"},
        {"groups": ("one", "two"), "folds": 2},
        {"repeats": 0},
        {"methods": "cmlg,magic"},
    ],
)
def test_bad_options(options):
    with pytest.raises(lk.LlrkitError):
        lk.fit_best(speaker_trials(), **options)


def skewed(n_target=4_000, n_nontarget=8_000):
    """Classes of different spread and shape: CMLG is the wrong choice, logistic regression not the best."""
    rng = np.random.default_rng(8)
    nontarget = -rng.gamma(1.0, 1.0, n_nontarget) + rng.normal(2, 0.5, n_nontarget)
    return lk.Scores(1.5 + rng.gamma(1.0, 2.0, n_target), nontarget)


def test_fit_best_takes_the_lowest_and_fits_it_on_everything():
    scores = skewed(1_500, 3_000)
    best = lk.fit_best(scores, methods=["cmlg", "logistic", "kde"], repeats=2, blend=False)
    table = best.details["cross_validation"]
    assert [row["method"] for row in table] == ["kde", "logistic", "cmlg"]
    assert [row["cllr"] for row in table] == sorted(row["cllr"] for row in table)
    assert best.details["chosen"] == "kde"
    assert table[0]["standard_error"] == 0.0
    assert table[1]["cllr"] - table[0]["cllr"] > table[1]["standard_error"] > 0.0
    for row in table:
        crossed = [
            lk.cllr(lk.cross_calibrate(scores, method=row["method"], rng=seed).source) for seed in (0, 1)
        ]
        assert_allclose(row["cllr_crossed"], np.mean(crossed), rtol=1e-4)  # but for the bounds
    x = np.linspace(-2, 8, 9)
    assert_allclose(best(x), METHODS["kde"](scores)(x), rtol=1e-12)


def test_pav_is_judged_without_correction():
    rows = lk.fit_best(skewed(200, 400), methods="pav,logistic", repeats=1).details["cross_validation"]
    by_name = {row["method"]: row for row in rows}
    assert by_name["pav"]["cllr"] == by_name["pav"]["cllr_crossed"]
    assert by_name["logistic"]["cllr"] != by_name["logistic"]["cllr_crossed"]


@pytest.mark.filterwarnings("ignore::llrkit.errors.PoorFitWarning")  # CMLG is the wrong choice
def test_the_choice_is_made_for_a_prior():
    scores = skewed(500, 2_000)
    for prior in (0.5, 0.05):
        best = lk.fit_best(scores, methods="cmlg", prior=prior, repeats=1)
        row = best.details["cross_validation"][0]
        crossed = lk.cross_calibrate(scores, method="cmlg").source
        assert_allclose(row["cllr_crossed"], lk.metrics.cross_entropy(crossed, prior=prior), rtol=1e-4)


@pytest.mark.filterwarnings("ignore::llrkit.errors.NoOverlapWarning")
def test_fit_best_lists_what_failed_and_says_when_everything_did():
    separable = lk.Scores([5.0, 6.0, 7.0, 8.0, 6.5, 7.5], [0.0, 1.0, 2.0, 3.0, 0.5, 1.5])
    best = lk.fit_best(separable, methods="cmlg,saturating", folds=2)
    assert best.method == best.details["chosen"] == "cmlg"
    assert "infinite" in best.details["cross_validation"][1]["reason"]
    with pytest.raises(lk.InputError):
        lk.fit_best(separable, methods="saturating", folds=2)


def test_what_every_method_refuses_is_said_once_by_its_own_error():
    one, two = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.5])
    for scores, error in (
        (lk.Scores([1.0, np.inf, 3.0], two), lk.errors.InfiniteScoreError),
        (lk.Scores(0 * one, 0 * two), lk.errors.ConstantScoreError),
        (lk.Scores(np.column_stack([one, one]), np.column_stack([two, two])), lk.errors.SystemCountError),
    ):
        with pytest.raises(error) as caught:
            lk.fit_best(scores, folds=2)
        assert "cmlg" not in str(caught.value)
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.fit_best(lk.Scores(one, two))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::llrkit.errors.NoOverlapWarning")
def test_classes_far_apart_give_numbers_that_can_be():
    rng = np.random.default_rng(0)
    best = lk.fit_best(lk.Scores(rng.normal(1e6, 1, 50), rng.normal(0, 1, 50)), repeats=1)
    # no more than 4 x 50 trials can show: log2(1 + 1/201) of each class
    assert_allclose(best.details["expected_cllr"], np.log2(1.0 + 1.0 / 201.0), rtol=1e-9)
    assert_allclose([best(1e6), best(0.0)], [np.log(201.0), -np.log(201.0)], rtol=1e-9)


def test_compare_has_the_raw_scores_first_and_equals_the_parts():
    rng = np.random.default_rng(1)
    train = lk.Scores(rng.normal(5, 2, 300), rng.normal(0, 2, 900))
    test = lk.Scores(rng.normal(5, 2, 300), rng.normal(0, 2, 900))
    found = lk.compare(train, test, "cmlg, logistic", points=["sre08"])
    assert list(found.evaluations) == ["raw", "cmlg", "logistic"]
    assert found.evaluations["raw"].cllr == lk.cllr(test)
    assert_allclose(found.evaluations["logistic"].cllr, lk.cllr(lk.fit_logistic(train).on(test)), rtol=1e-14)
    chosen = {"methods": "cmlg,logistic,kde", "repeats": 1}
    found = lk.compare(train, test, "logistic,Best", options={"best": chosen})
    assert list(found.evaluations) == ["raw", "logistic", "best"]
    assert found.evaluations["best"].cllr == lk.cllr(lk.fit_best(train, **chosen).on(test))


@pytest.mark.parametrize("name", ["evalita09_ru", "voxceleb1_o.ivector_plda"])
def test_diagnose_advises_against_cmlg_where_the_paper_would(reference_set, name):
    found = lk.diagnose(reference_set(name))
    assert not found.advised("cmlg")
    assert found.problems


def test_diagnose_finds_nothing_wrong_with_gaussian_scores():
    model = lk.theory.GaussianLLR.from_eer(0.08)
    found = lk.diagnose(lk.Scores(*(10 * x - 3 for x in model.rvs(20_000, 50_000, np.random.default_rng(5)))))
    assert found.problems == ()
    assert found.advised("cmlg")
    assert_allclose(found.cllr_from_eer, model.cllr, atol=0.01)
    assert_allclose(found.evaluation.det_slope.slope, -1.0, atol=0.05)


@pytest.mark.parametrize(("sd_target", "sd_nontarget"), [(1.0, 1.8), (1.5, 1.0)])
def test_diagnose_of_unequal_spreads_against_theory(sd_target, sd_nontarget):
    rng = np.random.default_rng(6)
    scores = lk.Scores(rng.normal(3.0, sd_target, 20_000), rng.normal(0.0, sd_nontarget, 40_000))
    found = lk.diagnose(scores)
    # the DET of two Gaussians is a straight line of slope -sd_nontarget / sd_target
    slope, ratio = -sd_nontarget / sd_target, sd_nontarget / sd_target
    assert_allclose(found.evaluation.det_slope.slope, slope, rtol=0.05)
    assert_allclose(found.shape["sd_ratio"], ratio, rtol=0.02)
    assert found.problems
    assert [found.advised(name) for name in ("cmlg", "gaussian", "nig")] == [False, True, False]


def test_gaussian_llrs_with_the_eer_of_separable_scores_cost_nothing():
    assert lk.diagnose(lk.Scores([5.0, 6.0], [0.0, 1.0])).cllr_from_eer == 0.0


@pytest.mark.filterwarnings("ignore::llrkit.errors.ShapeWarning")
def test_leaving_out_one_group_at_a_time_against_fits_by_hand():
    """The LLRs of an attack come from the map of all trials but its own; bona fide trials are dealt out."""
    rng = np.random.default_rng(25)
    attack = np.repeat(["A1", "A2", "A3"], 100)
    spoof = rng.normal(np.repeat([-1.0, 0.0, 3.0], 100), 1.0)
    trials = lk.Scores(rng.normal(3.0, 1.0, 150), spoof, {"attack": (np.full(150, "-"), attack)})
    crossed = lk.cross_calibrate(trials, method="cmlg", leave_out="attack")
    llrs = crossed.source.with_columns("attack").reduce(lambda chunk: chunk)
    whole = lk.fit_cmlg(trials)
    for name in ("A1", "A2", "A3"):
        own, found = spoof[attack == name], llrs.nontarget[attack == name]
        slope, offset = np.polyfit(own, found, 1)
        assert_allclose(found, slope * own + offset, atol=1e-9)  # one map for all of the attack
        # nearly that of all other attacks: only a part of the bona fide trials is missing there
        near = lk.fit_cmlg(lk.Scores(trials.target, spoof[attack != name]))
        assert_allclose([slope, offset], [near.a, near.b], rtol=0.25)
        assert abs(slope - near.a) < abs(slope - whole.a)
    assert lk.cllr(crossed.source) > lk.cllr(whole.on(trials))
    with pytest.raises(lk.InputError):
        lk.cross_calibrate(trials, method="cmlg", leave_out="attack", groups="attack")


def test_a_method_is_a_name_or_a_function_everywhere():
    rng = np.random.default_rng(8)
    scores = lk.Scores(rng.normal(2, 1, 300), rng.normal(0, 1, 900))
    by_name, by_function = (lk.cross_calibrate(scores, method=method) for method in ("cmlg", lk.fit_cmlg))
    assert by_name.maps[0, 0](1.5) == by_function.maps[0, 0](1.5)
    assert lk.compare(scores, scores, ["logistic", lk.fit_cmlg]).maps.keys() == {"logistic", "cmlg"}
    best = lk.fit_best(scores, methods=[lk.fit_cmlg, "logistic"], repeats=1, folds=2)
    assert {row["method"] for row in best.details["cross_validation"]} == {"logistic", "cmlg"}
    assert lk.trust.calibration_loss(scores, method=lk.fit_cmlg) == lk.trust.calibration_loss(
        scores, method="cmlg"
    )
    own = lk.compare(scores, scores, [lambda source: lk.fit_logistic(source, regularization=1.0)])
    assert list(own.maps) == ["<lambda>"]
    for wrong in (lk.fit_cmlg, 3, [3], ""):
        with pytest.raises(lk.InputError):
            lk.compare(scores, scores, wrong)


def test_a_column_may_name_the_folds():
    rng = np.random.default_rng(9)
    where = rng.integers(0, 3, 300), rng.integers(0, 3, 900)
    scores = lk.Scores(rng.normal(2, 1, 300), rng.normal(0, 1, 900), {"part": where})
    crossed = lk.cross_calibrate(scores, method="cmlg", folds="part")
    kept = lk.Scores(scores.target[where[0] != 1], scores.nontarget[where[1] != 1])
    assert_allclose(crossed.maps[1, 1]([0.5]), lk.fit_cmlg(kept)([0.5]), rtol=1e-12)
    with pytest.raises(lk.InputError):
        lk.cross_calibrate(scores, method="cmlg", folds="part", groups="part")


@pytest.mark.parametrize(("option", "factor"), [("distance", -1.0), ("log10", 1.0 / np.log(10.0))])
def test_scores_that_are_read_as_something_else_are_judged_like_the_others(tmp_path, option, factor):
    rng = np.random.default_rng(0)
    same = np.arange(600) % 3 == 0
    scores = rng.normal(2.0 * same, 1.0)
    for name, values in (("plain", scores), ("other", factor * scores)):
        lines = [f"{value!r},{int(label)}" for value, label in zip(values.tolist(), same, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["score,label", *lines]) + "\n")
    methods = {"methods": "logistic,gaussian,pav", "repeats": 1}
    plain = lk.fit_best(lk.read_trials(tmp_path / "plain.csv"), **methods)
    other = lk.fit_best(lk.read_trials(tmp_path / "other.csv", **{option: True}), **methods)
    for one, two in zip(*(made.details["cross_validation"] for made in (plain, other)), strict=True):
        assert one["method"] == two["method"]
        assert_allclose(one["cllr"], two["cllr"], rtol=1e-9)
