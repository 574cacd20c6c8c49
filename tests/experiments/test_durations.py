"""The duration experiment: what must hold, through the recognizer, repeatable."""

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.experiments import durations
from llrkit.experiments.durations import (
    CONDITIONS,
    SCALES,
    fit_one_map,
    make_corpora,
    run_durations,
    with_durations,
)
from llrkit.experiments.lists import ListTable, fit_both, is_regularized, measure_list, pool_lists

N_LISTS, TRAIN_TRIALS, EVAL_TRIALS = 25, 427_375, 10_007_900  # of the paper


@pytest.fixture(scope="module")
def paper():
    """The experiment with the paper's number of trials."""
    return run_durations("paper", seeds=2)


@pytest.mark.slow
def test_the_lists_have_as_many_trials_as_the_paper(paper):
    assert len(paper.table.lists) == N_LISTS
    assert paper.table.trials == EVAL_TRIALS
    assert {found.n_target + found.n_nontarget for found in paper.table.lists} == {EVAL_TRIALS // N_LISTS}
    assert SCALES["paper"][0].trials == TRAIN_TRIALS // N_LISTS
    assert tuple(size.trials for size in SCALES["25x"]) == (TRAIN_TRIALS, EVAL_TRIALS)


@pytest.mark.slow
def test_at_the_scale_of_the_paper_its_claims_hold(paper):
    # two seeds: their means may be off by sd / sqrt(2), with the sd of 0.007 that five seeds have
    table, mean = paper.table, paper.table.mean
    low, high = table.summary["eer_min"], table.summary["eer_max"]
    assert abs(low - 0.029) < 0.004
    assert abs(high - 0.26) < 0.015
    for name in ("cmlg", "logistic", "min_cllr"):
        assert abs(mean[name] - paper.to_dict()["paper"][name]) < 0.012
    assert abs(mean["cmlg"] - mean["logistic"]) < 0.002
    assert np.abs(table.column("cmlg") - table.column("logistic")).max() < 0.01
    assert table.summary["correlation"] > 0.999
    assert max(mean["cmlg"], mean["logistic"]) - mean["min_cllr"] < 0.008
    assert table.summary["rms_cllr_from_eer"] < 0.006
    assert abs(mean["det_slope"] + 0.99) < 0.04
    assert_allclose(table.column("det_slope"), -1.0, atol=0.15)


@pytest.mark.slow
def test_one_map_that_knows_the_durations_is_as_good_as_one_for_each_list(paper):
    mean = paper.table.mean
    for name in ("conditioned_cmlg", "left_out_cmlg", "quality_logistic"):
        assert abs(mean[name] - mean["cmlg"]) < 0.002
    # one calibration that does not know them is worse
    assert min(mean["pooled_cmlg"], mean["pooled_logistic"]) > mean["cmlg"] + 0.03


@pytest.mark.slow
def test_scores_are_honestly_miscalibrated(paper):
    raw, cmlg = paper.table.column("raw_cllr"), paper.table.column("cmlg")
    assert np.mean(raw > cmlg) > 0.9
    assert raw[0] > 2.0  # 5 s on both sides: worse than no recognizer


@pytest.mark.slow
def test_eer_rises_as_either_side_gets_shorter(paper):
    eer = paper.table.column("eer").reshape(5, 5)
    assert np.all(np.diff(eer, axis=0) < 0)
    assert np.all(np.diff(eer, axis=1) < 0)


TWO_DURATIONS = durations.SECONDS[-2:]
"""Four lists instead of 25."""


@pytest.fixture
def two_durations(monkeypatch):
    monkeypatch.setattr(durations, "SECONDS", TWO_DURATIONS)


@pytest.fixture(scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durations, "SECONDS", TWO_DURATIONS)
        return run_durations("small", seed=7, seeds=1)


@pytest.mark.usefixtures("two_durations")
def test_numbers_of_a_list_against_the_public_metrics(small):
    corpora = make_corpora("small", seed=7)
    train, trials = (make(40.0, 100.0).scores() for make in (corpora.train_list, corpora.evaluation_list))
    found = next(row for row in small.table.lists if (row.enroll, row.test) == ("40", "full"))
    cmlg, logistic = lk.fit_cmlg(train), lk.fit_logistic(train)
    expected = [
        lk.eer(trials), lk.cllr(trials), lk.cllr(cmlg.on(trials)), lk.cllr(logistic.on(trials)),
        lk.min_cllr(trials), lk.theory.cllr_from_eer(lk.eer(trials)), lk.metrics.det_slope(trials).slope,
    ]  # fmt: skip
    names = ("eer", "raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer", "det_slope")
    assert_allclose([getattr(found, name) for name in names], expected, rtol=1e-9)


@pytest.mark.usefixtures("two_durations")
def test_speakers_of_the_two_corpora_differ():
    corpora = make_corpora("small", seed=7)
    sides = (*corpora.train, *corpora.evaluate)
    names = [set(side.speaker_names) for side in sides]
    assert not (names[0] | names[1]) & (names[2] | names[3])
    assert names[2] == names[3]


@pytest.fixture(scope="module")
def run_with_threads():
    """``run(llrkit_threads, blas_threads)`` gives the numbers of four lists from a process of its own."""
    code = (
        "import json; from llrkit.experiments import durations\n"
        "durations.SECONDS = durations.SECONDS[-2:]\n"
        "print(json.dumps(durations.run_durations('small', seed=7, seeds=1).to_dict()))"
    )

    @cache
    def run(llrkit_threads, blas_threads):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        env = {**os.environ, "LLRKIT_THREADS": llrkit_threads, **dict.fromkeys(names, blas_threads)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
        )
        return {**json.loads(done.stdout), "seconds": 0}

    return run


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_whatever_the_number_of_threads(run_with_threads):
    one, two = run_with_threads("1", "1"), run_with_threads("2", "1")
    assert len(one["lists"]) == 4
    assert one == two


@pytest.mark.slow
def test_threads_of_the_linear_algebra_library_change_nothing(run_with_threads):
    # BLAS cuts matrices by its number of threads, and its sums then round differently
    assert run_with_threads("1", "1") == run_with_threads("1", "2")


@pytest.mark.slow
@pytest.mark.usefixtures("two_durations")
def test_numbers_are_means_over_seeds_with_their_standard_deviation(small):
    other = run_durations("small", seed=8, seeds=1)
    both = run_durations("small", seed=7, seeds=2)
    assert other.table.mean["cmlg"] != small.table.mean["cmlg"]
    assert both.seeds == (7, 8)
    plain = both.to_dict()
    assert plain["seeds"] == [7, 8]
    for name in ("cmlg", "eer", "det_slope"):
        means = [small.table.mean[name], other.table.mean[name]]
        assert_allclose(plain["mean"][name], np.mean(means))
        assert_allclose(plain["sd"][name], abs(means[0] - means[1]) / np.sqrt(2.0))
        columns = np.array([run.table.column(name) for run in (small, other)])
        assert_allclose([row[name] for row in plain["lists"]], columns.mean(axis=0))
        assert_allclose([row["sd"][name] for row in plain["lists"]], columns.std(axis=0, ddof=1))
        spread = np.mean([np.std(column) for column in columns])
        assert_allclose(plain["std"][name], spread)
    for name in ("correlation", "rms_cllr_from_eer"):
        values = [run.table.summary[name] for run in (small, other)]
        assert_allclose([plain[name], plain["sd"][name]], [np.mean(values), np.std(values, ddof=1)])
    lowest = [run.table.column("eer").min() for run in (small, other)]
    assert_allclose([plain["eer_min"], plain["sd"]["eer_min"]], [np.mean(lowest), np.std(lowest, ddof=1)])
    left_out = plain["one_map"]["left_out_cmlg"]
    assert_allclose(left_out["mean"], np.mean(left_out["lists"]))
    assert np.isnan(small.table.sd["cmlg"])  # one seed has no standard deviation


def test_runs_with_other_lists_are_not_averaged(small):
    with pytest.raises(lk.InputError):
        ListTable.of_seeds({1: small.table, 2: ListTable(small.table.lists[:3])})
    with pytest.raises(lk.InputError):
        run_durations("small", seeds=0)


def test_one_map_for_all_lists_against_the_public_fit():
    seconds = (20.0, 100.0)
    corpora = make_corpora("small", seed=7)
    pairs = [(enroll, test) for enroll in seconds for test in seconds]
    lists = {pair: corpora.train_list(*pair).scores() for pair in pairs}
    lines = fit_one_map(lists)((20.0, 100.0))
    pooled = pool_lists([with_durations(trials, pair) for pair, trials in lists.items()])
    public = lk.fit_cmlg(pooled, conditions=CONDITIONS).at(enroll_seconds=20.0, test_seconds=100.0)
    assert_allclose([lines["conditioned_cmlg"].a, lines["conditioned_cmlg"].b], [public.a, public.b])
    rest = {pair: trials for pair, trials in lists.items() if pair != (20.0, 100.0)}
    others = pool_lists([with_durations(trials, pair) for pair, trials in rest.items()])
    without = lk.fit_cmlg(others, conditions=CONDITIONS).at(enroll_seconds=20.0, test_seconds=100.0)
    assert_allclose([lines["left_out_cmlg"].a, lines["left_out_cmlg"].b], [without.a, without.b])
    quality = lk.fits.fit_quality(pooled, columns=CONDITIONS, features="durations", scaled=True)
    columns = dict(zip(CONDITIONS, (20.0, 100.0), strict=True))
    assert_allclose(lines["quality_logistic"](3.5), quality(3.5, columns))


def test_numbers_over_lists_against_their_definition(small):
    plain = small.to_dict()
    assert len(plain["lists"]) == 4
    column = [row["cmlg"] for row in plain["lists"]]
    assert_allclose([plain["mean"]["cmlg"], plain["std"]["cmlg"]], [np.mean(column), np.std(column)])
    both = np.array([[row["cmlg"], row["logistic"]] for row in plain["lists"]])
    assert_allclose(plain["correlation"], np.corrcoef(both.T)[0, 1])
    gaps = [row["cllr_from_eer"] - row["min_cllr"] for row in plain["lists"]]
    assert_allclose(plain["rms_cllr_from_eer"], np.sqrt(np.mean(np.square(gaps))))


def test_separable_training_trials_are_regularized_and_said_so():
    maps = fit_both(lk.Scores([2.0, 3.0, 4.0], [-1.0, 0.0, 1.0]))
    assert is_regularized(maps)
    assert not is_regularized(fit_both(lk.Scores([0.5, 3.0, 4.0], [-1.0, 0.0, 1.0])))
    found = measure_list(lk.Scores([2.0, 3.0], [0.0, 1.0]), maps, enroll="a", test="b")
    assert (found.eer, found.min_cllr, found.cllr_from_eer) == (0.0, 0.0, 0.0)
    assert np.isnan(found.det_slope)
    assert np.isnan(ListTable((found,)).mean["det_slope"])
