"""The sample: the trial list it promises, the same everywhere, with effects a user can find."""

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk


@pytest.fixture(scope="module", params=["eval", "dev"])
def table(request):
    return lk.sample_trials(request.param).table


def test_every_pair_of_recordings_of_one_gender_is_compared_once(table):
    recordings = sorted({*table["enroll"], *table["test"]})
    assert len(recordings) == 200
    gender = {name: name.split("-")[1][0] for name in recordings}
    expected = {frozenset((a, b)) for a in recordings for b in recordings if a < b and gender[a] == gender[b]}
    pairs = [frozenset(pair) for pair in zip(table["enroll"], table["test"], strict=True)]
    assert len(pairs) == len(set(pairs)) == 9_900
    assert set(pairs) == expected


def test_a_target_trial_has_one_speaker_and_columns_belong_to_recordings(table):
    same = table["enroll_speaker"] == table["test_speaker"]
    assert (same == (table["label"] == "target")).all()
    assert same.sum() == 400
    for column in ("speaker", "duration", "channel"):
        sides = [
            table.select(recording=pl.col(side), value=pl.col(f"{side}_{column}"))
            for side in ("enroll", "test")
        ]
        assert pl.concat(sides).unique()["recording"].n_unique() == len(pl.concat(sides).unique()) == 200
    crossed = table["enroll_channel"] != table["test_channel"]
    assert (crossed == (table["same_channel"] == "no")).all()


def test_no_speaker_is_in_both_splits_and_the_sets_are_always_the_same():
    first, again, dev = (lk.sample_trials(split).table for split in ("eval", "eval", "dev"))
    assert first.equals(again)
    assert not set(first["enroll_speaker"]) & set(dev["enroll_speaker"])
    # scores as they were when the sample was published: examples elsewhere show its numbers
    rows = [0, 5000, 9899]
    np.testing.assert_allclose(first["plda"][rows], [-2.638845, -2.196289, 0.060008], atol=2e-6)
    np.testing.assert_allclose(dev["cosine"][rows], [0.718011, 0.0146, 0.53682], atol=2e-6)


def test_short_recordings_and_microphones_are_harder_and_the_llrs_too_extreme():
    trials = lk.sample_trials()
    harder = lk.evaluate(trials, by="test_duration").groups
    assert harder[5].eer > harder[20].eer > harder[100].eer
    microphone = lk.evaluate(trials, by="test_channel").groups
    assert microphone["microphone"].cllr > microphone["telephone"].cllr
    slope = lk.fit_logistic(trials).a
    assert 0.2 < slope < 0.8, "over-confident LLRs need a slope below 1"


def test_a_calibration_of_dev_helps_on_eval():
    trials = lk.sample_trials(system="cosine")
    llrs = lk.fit_logistic(lk.sample_trials("dev", system="cosine")).on(trials)
    assert lk.cllr(llrs) - lk.min_cllr(trials) < 0.1 * (lk.cllr(trials) - lk.min_cllr(trials))


@pytest.mark.slow
def test_both_systems_can_be_fused():
    both = ("plda", "cosine")
    fused = lk.fit_fusion(lk.sample_trials("dev", system=both)).on(lk.sample_trials(system=both))
    alone = [lk.fit_logistic(lk.sample_trials("dev", system=s)).on(lk.sample_trials(system=s)) for s in both]
    assert lk.cllr(fused) < min(lk.cllr(llrs) for llrs in alone)


@pytest.mark.parametrize("options", [{"split": "train"}, {"system": "svm"}, {"system": ()}, {"system": 3}])
def test_unknown_names_are_refused(options):
    with pytest.raises(lk.errors.UnknownNameError):
        lk.sample_trials(**options)


def test_the_file_of_the_command_holds_the_same_trials(tmp_path):
    code, _, errors = run(
        "simulate", "sample", "--split", "dev", "--system", "cosine", "-o", tmp_path / "s.csv"
    )
    assert (code, errors) == (0, "")
    read, made = lk.read_trials(tmp_path / "s.csv"), lk.sample_trials("dev", system="cosine")
    np.testing.assert_array_equal(read.scores().target, made.scores().target)
    assert read.table["enroll_speaker"].to_list() == made.table["enroll_speaker"].to_list()
    assert lk.evaluate(read, by="test_channel").groups.keys() == {"telephone", "microphone"}
