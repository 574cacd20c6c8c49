"""One calibration per value of a column: the same as fitting each part, whatever the source."""

import math

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces, reloaded

import llrkit as lk
from llrkit.fits.fusion import ByMap

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.ShapeWarning")  # rooms taken together
ROOMS = ("hall", "office", "street")


def table(words=True, n=900):
    """Three rooms in which the scores have another scale and place each."""
    rng = np.random.default_rng(7)
    room = np.arange(n) % 3
    is_target = rng.random(n) < 0.4
    score = (room + 1) * (rng.normal(0, 1, n) + 2 * is_target) + 10 * room
    return {"score": score, "label": is_target, "room": [ROOMS[i] for i in room] if words else room * 2}


def by_hand(rows, column="room", method=lk.fit_cmlg, **options):
    """Each row through the map fitted on the rows of its own room."""
    values, score, label = np.array(rows[column]), rows["score"], rows["label"]
    llrs = np.empty(len(score))
    for value in set(rows[column]):
        mine = values == value
        fitted = method(lk.Scores(score[mine & label], score[mine & ~label]), **options)
        llrs[mine] = fitted(score[mine])
    return llrs


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize(
    ("method", "options"), [(lk.fit_cmlg, {"alpha": 0.3}), (lk.fit_pav, {"laplace": "pairs"})]
)
def test_each_part_is_calibrated_by_its_own(words, method, options):
    rows = table(words)
    trials = lk.Trials(rows)
    fitted = lk.fits.fit_by(trials, column="room", method=method, **options)
    assert list(fitted.maps) == (list(ROOMS) if words else [0, 2, 4])
    expected = by_hand(rows, method=method, **options)
    assert_allclose(fitted(trials), expected, rtol=1e-10, atol=1e-12)
    scores = trials.with_columns("room").scores()
    assert_allclose(fitted(scores).target, expected[rows["label"]], rtol=1e-10, atol=1e-12)
    assert_allclose(fitted(rows["score"], {"room": rows["room"]}), expected, rtol=1e-10, atol=1e-12)
    # and it matters: one map for all would be another
    assert np.abs(method(trials, **options)(rows["score"]) - expected).max() > 1
    assert fitted.needs == ("room",)
    assert fitted.details["n_target"][next(iter(fitted.maps))] == sum(rows["label"][::3])


def test_unknown_values_and_the_fallback():
    trials = lk.Trials(table())
    fitted = lk.fits.fit_by(trials, column="room", method=lk.fit_cmlg)
    with pytest.raises(lk.errors.UnknownNameError):
        fitted([0.0, 1.0], {"room": ["hall", "cave"]})
    safe = lk.fits.fit_by(trials, column="room", method=lk.fit_cmlg, fallback=True)
    everything = lk.fit_cmlg(trials)
    assert_allclose(safe([1.0, 1.0], {"room": ["cave", "hall"]}), [everything(1.0), fitted.maps["hall"](1.0)])
    with pytest.raises(lk.InputError):
        fitted([1.0])


def test_missing_values_are_a_group():
    rows = table(words=False)
    with_gaps = pl.DataFrame(rows).with_columns(room=pl.when(pl.col("room") > 0).then(pl.col("room")))
    fitted = lk.fits.fit_by(lk.Trials(with_gaps), column="room", method=lk.fit_cmlg)
    assert list(fitted.maps) == [2, 4, None]
    assert_allclose(fitted(lk.Trials(with_gaps)), by_hand(rows))
    assert_allclose(reloaded(fitted)(lk.Trials(with_gaps)), by_hand(rows))
    assert fitted(1.0, {"room": math.nan}) == fitted.maps[None](1.0)


@pytest.mark.parametrize(("words", "fallback"), [(True, False), (False, True)])
def test_equivariance_chunks_and_files(words, fallback):
    rows = table(words)
    trials = lk.Trials(rows)
    fitted = lk.fits.fit_by(trials, column="room", method=lk.fit_cmlg, fallback=fallback)
    llrs = fitted(trials)
    other = lk.Trials({**rows, "score": 4 * rows["score"] - 32})
    assert_allclose(
        lk.fits.fit_by(other, column="room", method=lk.fit_cmlg)(other), llrs, rtol=1e-9, atol=1e-9
    )
    turned = lk.Trials({**rows, "score": -rows["score"], "label": ~rows["label"]})
    assert_allclose(
        -lk.fits.fit_by(turned, column="room", method=lk.fit_cmlg)(turned), llrs, rtol=1e-9, atol=1e-9
    )
    pieces = Pieces(trials.with_columns("room").scores(), pieces=40)
    assert_allclose(
        lk.fits.fit_by(pieces, column="room", method=lk.fit_cmlg, fallback=fallback)(trials),
        llrs,
        rtol=1e-10,
        atol=1e-10,
    )
    assert len(pieces.passes) == 1 + 3 + fallback
    assert_array_equal(reloaded(fitted)(trials), llrs)
    assert_allclose(fitted.inverse(llrs, {"room": rows["room"]}), rows["score"], rtol=1e-9)
    assert_array_equal(fitted.then(lk.maps.AffineMap(a=2.0, b=1.0))(trials), 2 * llrs + 1)
    assert_array_equal(lk.maps.bound_fixed(fitted, -1.0, 1.0)(trials), np.clip(llrs, -1, 1))


def test_groups_within_groups():
    rows = {**table(), "sex": np.array(["f", "m"])[np.arange(900) // 3 % 2]}
    trials = lk.Trials(rows)
    nested = lk.fits.fit_by(
        trials, column="room", method=lambda part: lk.fits.fit_by(part, column="sex", method=lk.fit_cmlg)
    )
    assert set(nested.needs) == {"room", "sex"}
    both = [f"{room} {sex}" for room, sex in zip(rows["room"], rows["sex"], strict=True)]
    assert_allclose(nested(trials), by_hand({**rows, "both": both}, "both"), rtol=1e-9)
    assert_array_equal(reloaded(nested)(trials), nested(trials))


def test_bad_input_names_the_group():
    columns = {"room": (["a", "a"], ["a", "a", "b"])}
    scores = lk.Scores([2.0, 3.0], [0.0, 1.0, 2.0], columns)
    with pytest.raises(lk.errors.EmptyClassError, match="room = 'b'"):
        lk.fits.fit_by(scores, column="room", method=lk.fit_cmlg)
    with pytest.raises(lk.errors.InfiniteScoreError, match=r"room = 'a'.*row 1"):
        lk.fits.fit_by(
            lk.Trials({"score": [1.0, math.inf], "label": [0, 1], "room": ["a", "a"]}),
            column="room",
            method=lk.fit_cmlg,
        )
    for column, method in (("noise", lk.fit_cmlg), ("room", "cmlg")):
        with pytest.raises(lk.LlrkitError):
            lk.fits.fit_by(scores, column=column, method=method)
    wrong = ByMap(column="room", maps={"a": lk.maps.AffineMap(a=1.0, b=0.0)})
    with pytest.raises(lk.InputError):
        wrong([1.0, 2.0], {"room": ["a"]})
