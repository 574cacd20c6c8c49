"""The experiment on real data: printed reference values, disjoint speakers, unusable conditions."""

import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.experiments.real import run_real_embeddings, run_real_scores
from llrkit.simulate import Population, simulate_embeddings
from llrkit.speech import read_embeddings


def of_file(shared, name):
    return read_embeddings(shared / "data/speech_embeddings/embeddings.npz", vectors=name)


@pytest.mark.slow
def test_real_embeddings_against_the_printed_means(shared):
    found = run_real_embeddings(of_file(shared, "ivectornb"), scorer="plda-moments").table.mean
    # README.txt of the data: mean CMLG, logistic and minimum Cllr over the 25 pairs of durations
    assert_allclose([found["cmlg"], found["logistic"], found["min_cllr"]], [0.457, 0.452, 0.412], atol=0.005)


@pytest.mark.slow
def test_every_list_against_the_printed_table(shared):
    found = run_real_embeddings(of_file(shared, "ivectornb"), scorer="cosine")
    lists = {(row.enroll, row.test): row for row in found.table.lists}
    with (shared / "data/speech_embeddings/pairs_ivectornb_cos.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(lists) == 25
    for row in rows:
        mine = lists[row["enrol"], row["test"]]
        printed = [float(row[name]) for name in ("eer", "cmlg", "logreg", "min")]
        assert_allclose([100 * mine.eer, mine.cmlg, mine.logistic, mine.min_cllr], printed, rtol=1e-4)


@pytest.mark.slow
def test_separable_lists_are_regularized_and_named(shared):
    found = run_real_embeddings(of_file(shared, "ecapa"), scorer="cosine")
    assert len(found.regularized) == 4  # README.txt: dev is separable in 4 of the 25 pairs
    assert_allclose(found.table.mean["cmlg"], 0.011, atol=0.001)
    assert np.isfinite(found.table.column("logistic")).all()


@pytest.mark.slow
def test_evalita_cells_against_the_printed_means(shared):
    trials = lk.read_trials(shared / "data/evalita09_ru/ru.2009.table.gz")
    found = run_real_scores(trials, ["mcond", "tcond"], training="same")
    table = found.table
    # theory digest: trained and evaluated on the same trials, mean of the twelve cells
    assert len(table.lists) == 12
    mean = table.mean
    assert_allclose(
        [mean["eer"], mean["min_cllr"], mean["cllr_from_eer"], mean["logistic"], mean["cmlg"]],
        [0.0744, 0.2497, 0.2602, 0.2656, 0.2945], atol=6e-5,
    )  # fmt: skip
    assert_allclose(
        [table.summary[name] for name in ("rms_cllr_from_eer", "correlation")], [0.0120, 0.994], atol=5e-4
    )
    assert {(row.n_target, row.n_nontarget) for row in table.lists} == {(1271, 800)}
    assert all(numbers["skewness_target"] > 0.3 for numbers in found.shapes)


@pytest.mark.slow
def test_sre08_microphone_conditions(shared):
    trials = lk.read_trials(shared / "data/sre08_tno/tno2008.tsv.gz")
    found = run_real_scores(trials, ["mtype", "ttype", "tmic"], training="same")
    eers = {f"{row.enroll}/{row.test}": round(100 * row.eer, 1) for row in found.table.lists}
    # README.txt of the data gives the ROC's EER, which the hull cannot exceed
    printed = {
        "interview/interview/mic": 5.63, "interview/phonecall/phn": 5.36, "phonecall/interview/mic": 4.39,
        "phonecall/phonecall/mic": 4.01, "phonecall/phonecall/phn": 4.89,
    }  # fmt: skip
    assert set(eers) == set(printed)
    assert all(printed[name] - 0.25 < eers[name] <= printed[name] + 0.05 for name in printed)
    assert found.table.mean["cmlg"] > found.table.mean["logistic"] + 0.05


@pytest.fixture(scope="module")
def conditions():
    pair = lk.simulate.DurationPairs(lk.simulate.DurationModel.between())
    return lk.simulate.simulate_trials(pair, n_target=1_500, n_nontarget=12_000, speakers=150, rng=3).trials()


@pytest.mark.slow
def test_folds_are_less_optimistic_than_training_on_the_evaluated_trials(conditions):
    groups = ["enroll_speaker", "test_speaker"]
    crossed = run_real_scores(conditions, ["enroll_duration"], groups=groups, folds=3)
    same = run_real_scores(conditions, ["enroll_duration"], training="same")
    assert crossed.table.mean["cmlg"] > same.table.mean["cmlg"]
    assert crossed.table.mean["logistic"] > same.table.mean["logistic"]
    assert_allclose(crossed.table.column("eer"), same.table.column("eer"))
    assert [row.enroll for row in same.table.lists] == ["5.0", "10.0", "20.0", "40.0", "100.0"]


def test_conditions_without_both_classes_are_left_out_and_named(conditions):
    import polars as pl

    odd = conditions.table.with_columns(
        room=pl.when(pl.col("label") == "target")
        .then(pl.lit("quiet"))
        .otherwise(pl.when(pl.col("gender") == "f").then(pl.lit("quiet")).otherwise(pl.lit("street")))
    )
    found = run_real_scores(lk.Trials(odd), ["room"], training="same")
    assert [row.enroll for row in found.table.lists] == ["quiet"]
    assert found.skipped.keys() == {"street"}


def test_wrong_use_is_refused(conditions):
    with pytest.raises(lk.LlrkitError):
        run_real_scores(conditions, ["color"])


@pytest.fixture(scope="module")
def made():
    voices = Population.between_eers(0.05, 0.25, dim=30)
    return simulate_embeddings(
        voices, n_background=100, n_speakers=20, n_sessions=3, durations=(5, 100), rng=5
    )


def test_simulated_embeddings_go_the_same_way(made):
    found = run_real_embeddings(made)
    assert [row.test for row in found.table.lists] == ["5", "full"] * 2
    assert found.about["speakers"] == {"train": 100, "dev": 20, "eval": 20}
    assert found.table.lists[0].eer > found.table.lists[-1].eer
    assert set(found.to_dict()["lists"][0]) >= {"sd_ratio", "skewness_target", "cmlg"}


def test_embeddings_that_cannot_be_used_are_refused(made):
    no_side = made.replace(columns={name: made.columns[name] for name in ("split", "duration", "gender")})
    with pytest.raises(lk.errors.UnknownNameError):
        run_real_embeddings(no_side)
    with pytest.raises(lk.InputError, match="speaker 'x'"):  # in several splits
        run_real_embeddings(made.replace(speakers=np.full(len(made), "x")))
    split = np.where(made.columns["split"] == "eval", "dev", made.columns["split"])
    with pytest.raises(lk.InputError):
        run_real_embeddings(made.replace(columns={**made.columns, "split": split}))
