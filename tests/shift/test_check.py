"""check_shift(): its level, its share, its harm, against samples whose answers are known."""

import dataclasses
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.core.histograms import ClassHistogram, ScoreHistogram
from llrkit.maps.training_range import TrainingDensities
from llrkit.shift.shift_check import NewScores, shift_test


def pair(rng, n_target, n_nontarget, slope=1.0, offset=0.0):
    target, nontarget = rng.normal(4.0, 1.0, n_target), rng.normal(0.0, 1.0, n_nontarget)
    return lk.Scores(slope * target + offset, slope * nontarget + offset)


def pooled(scores):
    return np.concatenate([scores.target, scores.nontarget])


@pytest.fixture(scope="module")
def trained():
    return lk.calibrate(pair(np.random.default_rng(1), 2_000, 10_000), bound="none").map


def result_of(train, new, speakers=None):
    """The test alone, without the ladder: that is what has a level."""
    densities = TrainingDensities(train.reduce(ScoreHistogram.of))
    if speakers is None:
        return shift_test(densities, NewScores.of_counts(ClassHistogram.of(pooled(new)), densities.cuts))
    return shift_test(densities.with_groups(train, [speakers]), NewScores.of(new, densities.cuts, speakers))


def test_the_level_and_the_interval_of_the_share_hold_for_any_share():
    found, inside = [], 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 3])
        n_target = round(2_000 * rng.choice([0.003, 0.02, 0.2, 0.8]))
        result = result_of(pair(rng, 400, 1_600), pair(rng, n_target, 2_000 - n_target))
        found.append(result.p_value)
        low, high = result.share_interval
        inside += low <= n_target / 2_000 <= high
    # of 200 at 5 %, more than 20 have a probability of 0.1 % and fewer than 2 one of 0.04 %
    assert 2 <= np.sum(np.array(found) < 0.05) <= 20
    assert 60 < np.sum(np.array(found) < 0.5) < 140
    assert inside >= 180


@pytest.mark.parametrize(
    ("slope", "offset"),
    [(1.3, 0.0), *(pytest.param(*move, marks=pytest.mark.slow) for move in ((1.0, 0.7), (0.8, -1.0)))],
)
def test_harm_against_the_labels(trained, slope, offset):
    new = pair(np.random.default_rng(5), 2_000, 10_000, slope, offset)
    check = lk.check_shift(trained, new)
    assert check.is_shifted
    assert check.is_harmful
    best = lk.fit_logistic(new)
    lost = lk.cllr(trained.on(new)) - lk.cllr(best.on(new))
    assert_allclose(check.harm, lost, rtol=0.15)
    assert check.harm_interval[0] <= check.harm <= check.harm_interval[1]
    for move, mean in ((check.target, 4.0), (check.nontarget, 0.0)):
        assert_allclose(move.offset, slope * mean + offset - mean, atol=0.15)
        assert_allclose(move.spread, slope, rtol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 1.2])
def test_labels_are_not_looked_at_and_a_map_its_file_and_its_trials_tell_the_same(tmp_path, slope):
    rng = np.random.default_rng(6)
    train, new = pair(rng, 500, 3_000), pair(rng, 200, 2_000, slope)
    fitted = lk.calibrate(train, bound="none").map
    fitted.save(tmp_path / "map.json")
    assert (tmp_path / "map.json").stat().st_size < 20_000
    expected = lk.check_shift(fitted, pooled(new)).to_dict()
    assert lk.check_shift(fitted, new).to_dict() == expected
    assert lk.check_shift(fitted, lk.Scores(new.nontarget, new.target)).to_dict() == expected
    assert lk.check_shift(lk.load_map(tmp_path / "map.json"), pooled(new)).to_dict() == expected
    assert lk.check_shift(train, pooled(new)).to_dict() == expected


@pytest.mark.slow
def test_speakers_make_the_test_hold_where_trials_alone_do_not():
    def trials(rng, n_speakers=30, each=40):
        """Every speaker shifts all of his scores."""
        own = np.repeat(rng.normal(0.0, 0.8, n_speakers), each)
        who = np.repeat([f"s{rng.integers(1 << 30)}" for _ in range(n_speakers)], each)
        columns = {"speaker": (who, who)}
        n = n_speakers * each
        return lk.Scores(5.0 + own + rng.standard_normal(n), own + rng.standard_normal(n), columns)

    alone, known = [], []
    for seed in range(25):
        rng = np.random.default_rng([seed, 8])
        train, new = trials(rng), trials(rng)
        alone.append(result_of(train, new).p_value < 0.01)
        known.append(result_of(train, new, "speaker").p_value < 0.01)
    assert sum(alone) > 15
    assert sum(known) <= 2
    moved = trials(np.random.default_rng(9))
    moved = lk.Scores(moved.target + 3.0, moved.nontarget + 3.0, {"speaker": moved.columns["speaker"]})
    check = lk.check_shift(trials(np.random.default_rng(10)), moved, speakers="speaker")
    assert check.p_value < 0.01


@pytest.mark.slow
def test_distances_and_log10_scores_are_checked_as_they_were_read(tmp_path):
    rng = np.random.default_rng(12)
    train, new = pair(rng, 500, 2_000), pair(rng, 300, 2_000)
    paths = {}
    for name, scores in (("train", train), ("new", new)):
        paths[name] = tmp_path / f"{name}.csv"
        rows = [f"{-s},target" for s in scores.target] + [f"{-s},nontarget" for s in scores.nontarget]
        paths[name].write_text("\n".join(["score,label", *rows]) + "\n")
    fitted = lk.calibrate(lk.read_trials(paths["train"], distance=True), bound="none").map
    expected = lk.check_shift(train, pooled(new))
    for given in (-pooled(new), lk.read_trials(paths["new"]), lk.read_trials(paths["new"], distance=True)):
        got = lk.check_shift(fitted, given)
        assert_allclose(got.share, expected.share, rtol=1e-3)
        assert not got.is_shifted


def test_a_file_with_densities_is_one_of_the_known_format_and_one_without_is_read(trained, tmp_path):
    plain = trained.to_dict()
    assert plain["format"] == "llrkit.map/2"  # an older version passes over what it does not know
    del plain["densities"]
    (tmp_path / "old.json").write_text(json.dumps(plain))
    old = lk.load_map(tmp_path / "old.json", accept_changed=True)
    assert_allclose(old([0.0, 1.0]), trained([0.0, 1.0]))
    with pytest.raises(lk.InputError):
        lk.check_shift(old, np.zeros(500))


def test_densities_merge_whatever_the_parts():
    rng = np.random.default_rng(14)
    scores = pair(rng, 1_000, 5_000)
    whole = lk.calibrate(scores).map.map.densities
    order = rng.permutation(5_000)
    parts = lk.Scores(scores.target[::-1], scores.nontarget[order])
    assert lk.calibrate(parts).map.map.densities == whole
    assert TrainingDensities.from_plain(whole).to_plain() == whole


@pytest.mark.parametrize(
    "broken",
    [
        {"of": "odds"},
        {"target": {"exponent": 0, "first": 0, "count": "", "n_neg_inf": 0, "n_pos_inf": 0}},
        {"target": {"exponent": 0, "first": 0, "count": "1 -2", "n_neg_inf": 0, "n_pos_inf": 0}},
        {"target": {"exponent": 5_000, "first": 0, "count": "1 2", "n_neg_inf": 0, "n_pos_inf": 0}},
        {"nontarget": None},
        {"groups": {"columns": ["who"], "covariance": [["1"], ["1"]], "df": [3, 3]}},
    ],
)
def test_broken_densities_are_refused_when_the_file_is_read(trained, tmp_path, broken):
    plain = trained.to_dict()
    plain["densities"] = {**plain["densities"], **broken}
    (tmp_path / "broken.json").write_text(json.dumps(plain))
    with pytest.raises(lk.errors.MapFileError):
        lk.load_map(tmp_path / "broken.json", accept_changed=True)


def test_impossible_shares_and_scores_are_refused(trained):
    for share in (0.0, 1.0, (0.2, 0.1), "0.1", (0.1, 0.2, 0.3), math.nan, True):
        with pytest.raises(lk.InputError):
            lk.check_shift(trained, np.zeros(500), share=share)
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.check_shift(trained, np.zeros(150))
    with pytest.raises(lk.errors.NaNScoreError, match="index 3"):
        lk.check_shift(trained, np.array([0.0, 1.0, 2.0, np.nan]))
    for scores in ("new.csv", ["a"]):
        with pytest.raises(lk.InputError):
            lk.check_shift(trained, scores)
    with pytest.raises(lk.InputError) as refusal:
        lk.check_shift(trained, np.zeros(500), speakers=np.arange(500))
    assert len(str(refusal.value)) < 120  # not all of them


def test_infinite_scores_are_counted(trained):
    new = pooled(pair(np.random.default_rng(15), 300, 3_000))
    some = np.append(new, [-np.inf] * 20)
    check = lk.check_shift(trained, some)
    assert (check.n, check.n_infinite, check.refusal) == (len(some), 20, "")
    # no move of finite scores explains many, unless training had as many
    many = np.append(new, [-np.inf] * 300)
    assert "8 % of the scores are -inf" in lk.check_shift(trained, many).refusal
    dev = pair(np.random.default_rng(1), 2_000, 10_000)
    with_many = lk.Scores(dev.target, np.append(dev.nontarget, [-np.inf] * 1_000))
    known = dataclasses.replace(
        trained, densities=TrainingDensities(with_many.reduce(ScoreHistogram.of)).to_plain()
    )
    assert not lk.check_shift(known, many).refusal


@pytest.mark.slow
def test_a_share_that_scores_without_a_shift_contradict_is_not_passed_over(trained):
    new = pooled(pair(np.random.default_rng(17), 500, 9_500))
    for share in ((0.3, 0.5), (0.001, 0.01), 0.5):
        check = lk.check_shift(trained, new, share=share)
        assert not check.is_shifted
        assert check.refusal in check.text
        assert math.isnan(check.harm)
        with pytest.raises(lk.errors.AdaptationError):
            lk.fit_adapted(trained, new, share=share)
    for known in (0.05, 0.06, (0.01, 0.04)):  # what chance explains, or shares that are known roughly
        assert not lk.check_shift(trained, new, share=known).refusal


@pytest.mark.slow
def test_scores_on_another_scale_and_scores_that_are_all_the_same_are_refused(trained):
    for slope, offset in ((1.0, 100.0), (0.1, 0.0), (0.0, 0.0)):
        new = pooled(pair(np.random.default_rng(18), 200, 1_800, slope, offset))
        check = lk.check_shift(trained, new)
        assert check.refusal
        assert check.is_harmful or slope


@pytest.mark.parametrize("kept", ["target", "nontarget"])
def test_scores_of_one_class_are_no_shift_and_have_no_harm_to_tell(trained, kept):
    check = lk.check_shift(trained, getattr(pair(np.random.default_rng(16), 2_000, 2_000), kept))
    assert not check.is_shifted
    assert_allclose(check.share, float(kept == "target"), atol=0.01)
    assert math.isnan(check.harm)


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "offset", "share"), [(0.75, 0.0, 0.1), (1.0, 0.8, 0.5), (1.4, -1.0, 0.1)])
def test_the_interval_of_the_harm_holds_what_labels_tell(trained, slope, offset, share):
    n_target = round(8_000 * share)
    new = pair(np.random.default_rng(17), n_target, 8_000 - n_target, slope, offset)
    check = lk.check_shift(trained, new)
    lost = lk.cllr(trained.on(new)) - lk.cllr(lk.fit_logistic(new).on(new))
    assert check.harm_interval[0] <= lost <= check.harm_interval[1] < 3.0 * check.harm
