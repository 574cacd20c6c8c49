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
from llrkit._progress import watched_by
from llrkit.experiments import durations
from llrkit.experiments.durations import SCALES, SECONDS, Corpora, make_corpora, run_durations
from llrkit.experiments.list_results import ListTable, fit_both, is_regularized, measure_list
from llrkit.experiments.paper_values import EVAL_TRIALS, N_LISTS, TRAIN_TRIALS
from llrkit.recognize import PLDA


@pytest.fixture(scope="module")
def paper():
    """The experiment with the paper's number of trials."""
    return run_durations("paper")


def test_the_lists_have_as_many_trials_as_the_paper(paper):
    assert len(paper.table.lists) == N_LISTS
    assert paper.table.trials == EVAL_TRIALS
    assert {found.n_target + found.n_nontarget for found in paper.table.lists} == {EVAL_TRIALS // N_LISTS}
    sizes = SCALES["paper"].train
    assert sizes.models * sizes.tests // 2 == TRAIN_TRIALS // N_LISTS
    larger = SCALES["25x"]
    assert larger.evaluate.models * larger.evaluate.tests // 2 == EVAL_TRIALS
    assert larger.train.models * larger.train.tests // 2 == TRAIN_TRIALS


def test_at_the_scale_of_the_paper_its_claims_hold(paper):
    table, mean = paper.table, paper.table.mean
    eer, gap = table.column("eer"), np.abs(table.column("cmlg") - table.column("logistic"))
    assert eer.min() <= 0.035
    assert eer.max() >= 0.24
    assert abs(mean["cmlg"] - mean["logistic"]) < 0.005
    assert gap.max() < 0.02
    assert table.correlation > 0.99
    assert max(mean["cmlg"], mean["logistic"]) - mean["min_cllr"] < 0.03
    assert abs(mean["min_cllr"] - 0.370) < 0.03
    assert table.rms_cllr_from_eer < 0.015
    assert abs(mean["det_slope"] + 1.0) < 0.15
    assert_allclose(table.column("det_slope"), -1.0, atol=0.2)


def test_scores_are_honestly_miscalibrated(paper):
    raw, cmlg = paper.table.column("raw_cllr"), paper.table.column("cmlg")
    assert np.mean(raw > cmlg) > 0.9
    assert paper.table.mean["raw_cllr"] > 1.0
    # one calibration for all durations is worse than one for each
    assert paper.table.mean["pooled_logistic"] > paper.table.mean["logistic"] + 0.1


def test_eer_rises_as_either_side_gets_shorter(paper):
    eer = paper.table.column("eer").reshape(5, 5)
    assert np.all(np.diff(eer, axis=0) < 0)
    assert np.all(np.diff(eer, axis=1) < 0)


@pytest.fixture(scope="module")
def small():
    return run_durations("small", seed=7)


def test_numbers_of_a_list_against_the_public_metrics(small):
    corpora = make_corpora("small", seed=7)
    train, trials = (make(10.0, 100.0).scores() for make in (corpora.train_list, corpora.evaluation_list))
    found = next(row for row in small.table.lists if (row.enroll, row.test) == ("10", "full"))
    cmlg, logistic = lk.fit_cmlg(train), lk.fit_logistic(train)
    expected = [
        lk.eer(trials), lk.cllr(trials), lk.cllr(cmlg.on(trials)), lk.cllr(logistic.on(trials)),
        lk.min_cllr(trials), lk.theory.cllr_from_eer(lk.eer(trials)), lk.det_slope(trials).slope,
    ]  # fmt: skip
    names = ("eer", "raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer", "det_slope")
    assert_allclose([getattr(found, name) for name in names], expected, rtol=1e-9)


def test_speakers_of_the_two_corpora_differ():
    corpora = make_corpora("small", seed=7)
    names = [set(side.speaker_names) for pair in (corpora.train, corpora.evaluate) for side in pair]
    assert not (names[0] | names[1]) & (names[2] | names[3])
    assert names[2] == names[3]


def test_everything_is_scored_by_the_recognizer(small, monkeypatch):
    scores = PLDA.scores
    calls = []

    def noisy(self, enroll, test, *args, **kwargs):
        made = scores(self, enroll, test, *args, **kwargs)
        calls.append(made.size)
        return made + 3.0 * np.sin(1e4 * made)

    monkeypatch.setattr(PLDA, "scores", noisy)
    changed = run_durations("small", seed=7)
    assert sum(calls) >= 25 * (SCALES["small"].train.models * SCALES["small"].train.tests // 2)
    assert np.all(changed.table.column("min_cllr") > small.table.column("min_cllr"))


def test_the_recognizer_is_trained_by_em_on_the_background(small, monkeypatch):
    train = durations.train_plda
    seen = []

    def other(vectors, speakers, *, iterations):
        seen.append((vectors.shape, len(set(speakers)), iterations))
        trained = train(vectors, speakers, iterations=iterations)
        assert (np.diff(trained.log_likelihood) >= -1e-6).all()
        return trained._replace(model=PLDA(trained.model.mean, trained.model.within, trained.model.between))

    monkeypatch.setattr(durations, "train_plda", other)
    changed = run_durations("small", seed=7)
    assert seen == [((9000, 100), 1500, durations.ITERATIONS)]
    assert changed.table.mean["min_cllr"] > small.table.mean["min_cllr"]


@pytest.fixture(scope="module")
def run_with_threads():
    """``run(llrkit_threads, blas_threads)`` gives the numbers of four lists from a process of its own."""
    code = (
        "import json; from llrkit.experiments import durations\n"
        "durations.SECONDS = durations.SECONDS[-2:]\n"
        "print(json.dumps(durations.run_durations('small', seed=7).to_dict()))"
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


def test_the_same_seed_gives_the_same_numbers_whatever_the_number_of_threads(run_with_threads):
    one, two = run_with_threads("1", "1"), run_with_threads("2", "1")
    assert len(one["lists"]) == 4
    assert one == two


def test_threads_of_the_linear_algebra_library_change_the_last_bits_only(run_with_threads):
    # BLAS cuts matrices by its number of threads, and its sums then round differently: the eigenvectors of
    # the recognizer and large matrices of scores differ by some 1e-14. Holding it to one thread would need
    # threadpoolctl, which is not a dependency.
    one, two = run_with_threads("1", "1"), run_with_threads("1", "2")
    numbers, others = (
        np.array([number for row in run["lists"] for number in list(row.values())[2:]]) for run in (one, two)
    )
    assert numbers.size == 4 * 9
    assert_allclose(others, numbers, rtol=1e-10)
    for name in ("mean", "std", "pooled"):
        assert_allclose(*(np.ravel(list(run[name].values())) for run in (two, one)), rtol=1e-10)
    for name in ("correlation", "rms_cllr_from_eer"):
        assert_allclose(two[name], one[name], rtol=1e-10)


def test_another_seed_gives_other_numbers(small):
    assert run_durations("small", seed=8).table.mean["cmlg"] != small.table.mean["cmlg"]


def test_json_has_the_documented_keys(small):
    plain = small.to_dict()
    assert {"lists", "mean", "std", "correlation", "rms_cllr_from_eer", "paper", "seconds", "trials"} <= set(
        plain
    )
    assert len(plain["lists"]) == 25
    assert set(plain["lists"][0]) == {
        "enroll", "test", "n_target", "n_nontarget", "eer", "raw_cllr", "cmlg", "logistic", "min_cllr",
        "cllr_from_eer", "det_slope",
    }  # fmt: skip
    assert (
        set(plain["mean"])
        == set(plain["std"])
        == set(plain["lists"][0]) - {"enroll", "test", "n_target", "n_nontarget"}
    )
    column = [row["cmlg"] for row in plain["lists"]]
    assert_allclose([plain["mean"]["cmlg"], plain["std"]["cmlg"]], [np.mean(column), np.std(column)])
    both = np.array([[row["cmlg"], row["logistic"]] for row in plain["lists"]])
    assert_allclose(plain["correlation"], np.corrcoef(both.T)[0, 1])
    gaps = [row["cllr_from_eer"] - row["min_cllr"] for row in plain["lists"]]
    assert_allclose(plain["rms_cllr_from_eer"], np.sqrt(np.mean(np.square(gaps))))


def test_an_unknown_scale_is_named():
    with pytest.raises(lk.UnknownNameError, match="expected one of small, paper, 25x"):
        run_durations("huge")


class Watching:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.told = []

    def begin(self, what, total, unit):
        self.told.append((what, total, unit))

    def advance(self, work, amount):
        self.told.append(amount)

    def end(self, work):
        self.told.append("end")


def test_progress_is_told_list_by_list(monkeypatch):
    monkeypatch.setattr(durations, "SECONDS", SECONDS[-2:])
    watcher = Watching()
    with watched_by(watcher):
        run_durations("small")
    assert ("evaluating", 4, "lists") in watcher.told
    assert watcher.told.count(1) == 4


def test_separable_training_trials_are_regularized_and_said_so():
    maps = fit_both(lk.Scores([2.0, 3.0, 4.0], [-1.0, 0.0, 1.0]))
    assert is_regularized(maps)
    assert not is_regularized(fit_both(lk.Scores([0.5, 3.0, 4.0], [-1.0, 0.0, 1.0])))
    found = measure_list(lk.Scores([2.0, 3.0], [0.0, 1.0]), maps, enroll="a", test="b")
    assert (found.eer, found.min_cllr, found.cllr_from_eer) == (0.0, 0.0, 0.0)
    assert np.isnan(found.det_slope)
    assert np.isnan(ListTable((found,)).mean["det_slope"])
    assert isinstance(make_corpora("small"), Corpora)
