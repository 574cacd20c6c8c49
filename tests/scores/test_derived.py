"""Sources made of other sources: what they carry, what they refuse, and where their rows come from."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pieces import Kept, speaker_trials

import llrkit as lk
from llrkit.core.groups import ValueCounts, trials_with_value
from llrkit.core.summaries import Moments
from llrkit.scores.derived import DerivedSource


def table(origin=""):
    return lk.Trials(
        {
            "score": [1.0, 4.0, 0.0, 2.0, 5.0],
            "label": [1, 1, 0, 0, 1],
            "room": ["a", "b", "b", "b", "a"],
            "sex": ["f", "m", "f", "m", "m"],
        },
        origin=origin,
    )


def doubled(chunk):
    return lk.Scores.part(2 * chunk.target, 2 * chunk.nontarget, chunk.columns, chunk.categories)


def chunk_of(source):
    (chunk,) = source.reduce(Kept.of).chunks
    return chunk


def test_changes_follow_each_other_and_columns_come_along():
    twice = DerivedSource(trials_with_value(table(), "room", "a"), doubled)
    assert_array_equal(chunk_of(twice).target, [2.0, 10.0])
    assert len(chunk_of(twice).nontarget) == 0
    again = trials_with_value(twice, "sex", "m").with_columns("room")
    chunk = chunk_of(again)
    assert_array_equal(chunk.target, [10.0])
    assert [chunk.categories["room"][code] for code in chunk.columns["room"][0]] == ["a"]
    assert again.with_columns("sex").reduce(Moments.of).target.n == 1


def test_a_column_that_is_not_there_is_refused_when_it_is_asked_for():
    source = DerivedSource(trials_with_value(table(), "room", "b"), doubled)
    with pytest.raises(lk.errors.UnknownNameError, match="noise"):
        source.with_columns("noise")


def test_missing_values_are_a_value():
    scores = lk.Scores([1.0, 2.0], [0.0, 3.0], {"snr": ([np.nan, 5.0], [np.nan, np.nan])})
    assert_array_equal(chunk_of(trials_with_value(scores, "snr", None)).nontarget, [0.0, 3.0])
    found = scores.with_columns("snr").reduce(lambda chunk: ValueCounts.of(chunk, "snr"))
    assert found.counts == {5.0: (1, 0), None: (1, 2)}


def test_values_of_two_columns_are_counted_together():
    found = table().with_columns("room", "sex").reduce(lambda chunk: ValueCounts.of(chunk, "room", "sex"))
    assert found.counts == {"a": (2, 0), "b": (1, 2), "f": (1, 1), "m": (2, 1)}


def test_roles_of_the_columns_are_kept():
    whole = {**table().table.to_dict(as_series=False), "plda": [1.0, 2.0, 3.0, 4.0, 5.0]}
    trials = lk.Trials(whole, score=["score", "plda"], enroll="room", test="sex")
    part = trials_with_value(trials, "sex", "m")
    assert (part.roles.score, *part.roles.ids) == (("score", "plda"), "room", "sex")
    fused = lk.maps.LinearMap(weights=np.ones(2), offset=0.0, systems=["score", "plda"]).on(part)
    assert (fused.roles.score, *fused.roles.ids) == (("llr",), "room", "sex")


def test_a_choice_within_groups_keeps_speakers_apart():
    trials = speaker_trials()
    rooms = np.where(np.arange(len(trials)) % 2 == 0, "a", "b")
    trials = lk.Trials(trials.table.with_columns(room=rooms), enroll="one", test="two")
    fitted = lk.fits.fit_by(trials, column="room", method=lk.fit_best, methods="cmlg", folds=3, repeats=1)
    assert fitted.maps["a"].details["groups"] == ["one", "two"]


FITS = {
    "fit_by": lambda trials: lk.fits.fit_by(trials, column="room", method=lk.fit_cmlg),
    "fit_quality": lambda trials: lk.fits.fit_quality(trials, columns="seconds"),
    "after a map": lambda trials: lk.fit_logistic(lk.maps.AffineMap(a=2.0, b=1.0).on(trials)),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_names_the_row_of_the_whole_table(name):
    rng = np.random.default_rng(1)
    values = {"score": rng.normal(size=40), "label": [0, 1] * 20, "room": ["a", "a", "b", "b"] * 10}
    values["score"][27] = np.inf
    values["seconds"] = rng.uniform(3, 60, 40)
    trials = lk.Trials(values, origin="dev.csv")
    with pytest.raises(lk.errors.InfiniteScoreError, match=r"dev.csv, row 27 \(counted from 0\)"):
        FITS[name](trials)
