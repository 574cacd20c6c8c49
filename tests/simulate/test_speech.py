"""Simulated speakers: variances and EERs that were asked for, PLDA scores that follow theory, domains."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.simulate import (
    Corpus,
    CrossTrials,
    DrawnPairs,
    Population,
    SparseTrials,
    simulate_embeddings,
    simulate_plda,
)
from llrkit.simulate.speakers import true_plda

VOICES = Population(dim=20, between=0.4, channel=0.5, noise=10.0, gender_gap=3.0)


def test_variances_and_correlations_are_those_of_the_model():
    made = Corpus(VOICES, 1, seed=4).recordings("test", n_speakers=4_000, n=8_000, durations=(5, 20, 100))
    centered = {
        d: x - np.where(made.speaker[:, None] % 2 == 0, 0.5, -0.5) * 3.0 * direction()
        for d, x in made.vectors.items()
    }
    for duration, vectors in centered.items():
        # T(d) = between + channel + noise / d, estimated from 160,000 numbers
        assert_allclose(vectors.var(), 0.4 + 0.5 + 10.0 / duration, rtol=0.02)
    first, second = (centered[100.0][i : i + 4_000] for i in (0, 4_000))
    assert_allclose(
        np.mean(first * second), 0.4, atol=0.01
    )  # two recordings of a speaker share the voice alone
    # a longer cut of a recording contains the shorter one: voice, channel and noise / longer are common
    assert_allclose(np.mean(centered[5.0] * centered[100.0]), 0.4 + 0.5 + 10.0 / 100.0, atol=0.02)


def direction():
    female, male = (Corpus(Population(20, 1e-12, 1e-12, 0.0, 3.0), 1, seed=4).speakers(2)[i] for i in (0, 1))
    assert_allclose(np.linalg.norm(female - male), 3.0, rtol=1e-5)
    return (female - male) / 3.0


def test_corpora_have_other_speakers_and_the_shift_that_was_asked_for():
    far = Corpus(VOICES, 2, seed=1, shift=5.0).recordings("a", n_speakers=2_000, n=4_000, durations=[100])
    near = Corpus(VOICES, 2, seed=1).recordings("a", n_speakers=2_000, n=4_000, durations=[100])
    other = Corpus(VOICES, 3, seed=1).recordings("a", n_speakers=2_000, n=4_000, durations=[100])
    gap = far.vectors[100.0] - near.vectors[100.0]
    assert_allclose(np.linalg.norm(gap, axis=1), 5.0)
    assert abs(np.corrcoef(near.vectors[100.0].ravel(), other.vectors[100.0].ravel())[0, 1]) < 0.4
    again = Corpus(VOICES, 2, seed=1).recordings("a", n_speakers=2_000, n=4_000, durations=[100])
    assert_array_equal(again.vectors[100.0], near.vectors[100.0])
    assert not np.allclose(
        Corpus(VOICES, 2, seed=1).recordings("b", n_speakers=2_000, n=4_000, durations=[100]).vectors[100.0],
        near.vectors[100.0],
    )
    assert not near.vectors[100.0].flags.writeable


@pytest.fixture(scope="module")
def voices():
    return Population.between_eers(0.05, 0.25, dim=60)


@pytest.mark.slow
def test_exact_plda_scores_have_the_eer_and_cllr_of_the_population(voices):
    pair = voices.pair(100.0, 100.0)
    assert_allclose([pair.eer, voices.pair(5.0, 5.0).eer], [0.05, 0.25], atol=1e-6)
    # many speakers with few recordings, so that the trials are nearly independent
    trials = simulate_plda(voices, n_speakers=1_500, n_models=1_500, n_tests=3_000, rng=2).scores()
    assert trials.n_target == 3_000
    rng = np.random.default_rng(0)
    nontarget = rng.choice(trials.nontarget, 100_000, replace=False)
    found = lk.evaluate(lk.Scores(trials.target, nontarget))
    assert_allclose(found.cllr, pair.cllr, atol=4 * 0.5 * found.cllr / np.sqrt(3_000) * 3)
    assert_allclose(found.eer_roc, pair.eer, atol=4 * np.sqrt(0.05 * 0.95 / 3_000))
    assert found.cllr_cal < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"shift": 4.0}, {"rougher": 2.0}, {"durations": (5.0, 100.0)}])
def test_another_domain_and_short_segments_spoil_the_calibration(voices, change):
    sizes = {"n_speakers": 60, "n_models": 120, "n_tests": 240, "rng": 1}
    exact, spoiled = simulate_plda(voices, **sizes), simulate_plda(voices, **sizes, **change)
    assert lk.cllr_cal(spoiled) > lk.cllr_cal(exact) + 0.05


def test_cross_trials_against_a_loop_over_all_pairs():
    corpus = Corpus(VOICES, 1, seed=3)
    enroll, test = (
        corpus.recordings(side, n_speakers=6, n=n, durations=[10]) for side, n in (("e", 9), ("t", 13))
    )
    model = true_plda(VOICES, 10.0)
    trials = CrossTrials(enroll, test, 10.0, 10.0, model.scores)
    expected = {True: [], False: []}
    for i in range(9):
        for j in range(13):
            if enroll.speaker[i] % 2 == test.speaker[j] % 2:
                score = model.scores(enroll.vectors[10.0][[i]], test.vectors[10.0][[j]])[0, 0]
                expected[bool(enroll.speaker[i] == test.speaker[j])].append(score)
    scores = trials.scores()
    assert_allclose(np.sort(scores.target), np.sort(expected[True]), rtol=1e-10, atol=1e-10)
    assert_allclose(np.sort(scores.nontarget), np.sort(expected[False]), rtol=1e-10, atol=1e-10)
    assert (trials.n_target, trials.n_nontarget) == (len(expected[True]), len(expected[False]))


def test_trials_of_several_durations_have_ids_speakers_and_durations(monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "400")
    made = simulate_plda(VOICES, n_speakers=6, n_models=12, n_tests=18, durations=(5.0, 100.0), rng=1)
    table = made.trials().table
    assert table.height == 4 * 12 * 18 // 2 == made.n_target + made.n_nontarget
    assert table.select("enroll", "test").is_unique().all()
    assert table.group_by("enroll_duration", "test_duration").len()["len"].to_list() == [108] * 4
    same = table["enroll_speaker"] == table["test_speaker"]
    assert_array_equal(same.to_numpy(), (table["label"] == "target").to_numpy())
    places = [made.with_columns("position").block(i).columns["position"] for i in range(made.n_blocks)]
    for side, n in ((0, made.n_target), (1, made.n_nontarget)):
        assert_array_equal(np.concatenate([place[side] for place in places]), np.arange(n))
    expected = lk.evaluate(made.trials(), by="gender").to_dict()
    assert lk.evaluate(made, by="gender").groups["f"].n_target == expected["groups"]["f"]["n_target"]


def test_a_drawn_list_has_all_targets_and_some_of_the_nontargets_once(monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "400")
    corpus = Corpus(VOICES, 1, seed=3)
    sides = [
        corpus.recordings(side, n_speakers=8, n=n, durations=[5, 10]) for side, n in (("e", 24), ("t", 32))
    ]
    every = CrossTrials(*sides, 10.0, 10.0, true_plda(VOICES, 10.0).scores)
    pairs = DrawnPairs.of(*sides, n_trials=200, rng=5)
    drawn = SparseTrials(*sides, 10.0, 10.0, every.scorer, pairs=pairs)
    full, sparse = every.trials().table, drawn.trials().table
    assert drawn.n_blocks > 4
    assert (sparse.height, drawn.n_target, drawn.n_nontarget) == (200, every.n_target, 200 - every.n_target)
    assert sparse.select("enroll", "test").is_unique().all()
    # the same trials have the same scores
    both = sparse.join(full, on=["enroll", "test", "label", "gender"], how="left")
    assert_allclose(both["score"].to_numpy(), both["score_right"].to_numpy())
    assert sparse.filter(label="target").height == full.filter(label="target").height
    places = [drawn.with_columns("position").block(i).columns["position"] for i in range(drawn.n_blocks)]
    for side, n in ((0, drawn.n_target), (1, drawn.n_nontarget)):
        assert_array_equal(np.concatenate([place[side] for place in places]), np.arange(n))
    # cut to another duration the same recordings are compared
    names = [
        SparseTrials(*sides, seconds, 5.0, every.scorer, pairs=pairs).trials().table["test"]
        for seconds in (5.0, 10.0)
    ]
    assert names[0].equals(names[1])


def test_nontargets_are_drawn_evenly_and_by_the_seed():
    corpus = Corpus(VOICES, 1, seed=3)
    sides = [corpus.recordings(side, n_speakers=8, n=n, durations=[5]) for side, n in (("e", 24), ("t", 32))]
    drawn = [DrawnPairs.of(*sides, n_trials=200, rng=seed) for seed in range(200)]
    times = np.bincount(np.concatenate([pairs.cells[0] for pairs in drawn]), minlength=12 * 16)
    same = sides[0].speaker[::2][:, None] == sides[1].speaker[::2]
    assert not times[same.ravel()].any()
    share = (200 - 96) / (768 // 2 - 96)
    # each cell is drawn about 200 times this share; five standard deviations of a binomial
    assert_allclose(times[~same.ravel()], 200 * share, atol=5 * np.sqrt(200 * share * (1 - share)))
    again = DrawnPairs.of(*sides, n_trials=200, rng=7)
    assert_array_equal(np.concatenate(again.cells), np.concatenate(drawn[7].cells))
    for n_trials in (96, 385):
        with pytest.raises(lk.InputError):
            DrawnPairs.of(*sides, n_trials=n_trials, rng=1)


def test_posterior_means_shrink_and_keep_their_correlation():
    points = replace(VOICES, shrinks=True, gender_gap=0.0)
    made = Corpus(points, 1, seed=4).recordings("test", n_speakers=4_000, n=8_000, durations=(5, 100))
    for duration in (5.0, 100.0):
        total = 0.9 + 10.0 / duration
        # the regression of (voice + channel) on what was heard: variance 0.9^2 / (0.9 + noise / d)
        assert_allclose(made.vectors[duration].var(), 0.9**2 / total, rtol=0.02)
        assert_allclose(points.total(duration), 0.9**2 / total)
    assert points.pair(5.0, 100.0).eer == VOICES.pair(5.0, 100.0).eer


def test_simulated_embeddings_have_splits_without_common_speakers():
    made = simulate_embeddings(VOICES, n_background=10, n_speakers=4, n_sessions=2, durations=(5, 100), rng=2)
    table = pl.DataFrame({"speaker": made.speakers, **made.columns})
    assert table.select("speaker", "split").unique()["speaker"].is_unique().all()
    assert set(table["split"]) == {"train", "dev", "eval"}
    assert set(table.filter(pl.col("split") == "train")["duration"]) == {"full"}
    assert (
        table.filter(pl.col("split") == "dev").group_by("side", "duration").len()["len"].to_list() == [8] * 4
    )
    assert table.select("speaker", "gender").unique()["speaker"].is_unique().all()


def test_bad_input_is_refused():
    cut = Corpus(VOICES, 0).recordings("a", n_speakers=4, n=5, durations=[5, 10])
    for make in (
        lambda: Population(1, 0.4, 0.5, 1.0),
        lambda: Population(5, 0.0, 0.5, 1.0),
        lambda: Population.between_eers(0.3, 0.2),
        lambda: Corpus(VOICES, -1),
        lambda: Corpus(VOICES, 0).recordings("a", n_speakers=3, n=5),
        lambda: Corpus(VOICES, 0).recordings("a", n_speakers=4, n=5, durations=[]),
        lambda: simulate_plda(VOICES, durations=[0.0]),
        lambda: CrossTrials(cut, cut, 5.0, 20.0, np.dot),  # no segments of 20 s were cut
    ):
        with pytest.raises(lk.InputError):
            make()
