"""Scores and key in two files: every order, every policy, and errors that show where."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk


@pytest.fixture
def pair(tmp_path):
    rows = [(f"m{i}", f"s{j}", i - 2.5 * j) for i in range(6) for j in range(6)]
    random.Random(1).shuffle(rows)
    scores, key = tmp_path / "scores", tmp_path / "key"
    scores.write_text("".join(f"{m} {s} {x}\n" for m, s, x in rows))
    key.write_text("".join(f"{m} {s} {'target' if m[1] == s[1] else 'imp'}\n" for m, s, _ in sorted(rows)))
    return scores, key, rows


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_rows_keep_the_order_of_the_scores_against_a_dictionary(pair):
    scores, key, rows = pair
    trials = lk.read_trials(scores, key=key)
    assert_array_equal(trials.score_array, [x for _, _, x in rows])
    assert_array_equal(trials.is_target, [m[1] == s[1] for m, s, _ in rows])
    assert trials.enroll == "enroll"


def test_ids_with_other_names_and_types_are_joined_by_their_role(tmp_path):
    pl.DataFrame({"modelid": [7, 8], "segmentid": ["a", "b"], "LLR": [1.5, -1.0]}).write_parquet(
        tmp_path / "s.parquet"
    )
    (tmp_path / "k.csv").write_text("test,model,target\nb,8,FALSE\na,7,TRUE\n")
    assert_array_equal(
        lk.read_trials(tmp_path / "s.parquet", key=tmp_path / "k.csv").is_target, [True, False]
    )


def test_a_trial_that_one_file_lacks(pair):
    scores, key, rows = pair
    append(scores, "m9 s1 4\nm9 s2 5\n")
    with pytest.raises(lk.errors.FileFormatError, match="lines 37, 38"):
        lk.read_trials(scores, key=key)
    with pytest.warns(lk.errors.LeftOutWarning, match="2 of 38"):
        dropped = lk.read_trials(scores, key=key, missing="drop")
    assert_array_equal(dropped.score_array, [x for _, _, x in rows])
    append(key, "".join(f"m8 t{i} imp\n" for i in range(7)))
    append(key, "m9 s1 imp\nm9 s2 imp\n")
    with pytest.raises(lk.errors.FileFormatError, match=r"7 trials.*lines 37, 38"):
        lk.read_trials(scores, key=key)
    with pytest.warns(lk.errors.LeftOutWarning):
        assert len(lk.read_trials(scores, key=key, missing="drop")) == 38


def test_a_score_that_occurs_twice(pair):
    scores, key, rows = pair
    append(scores, f"{rows[0][0]} {rows[0][1]} 77\n")
    with pytest.raises(lk.errors.FileFormatError, match="line 37"):
        lk.read_trials(scores, key=key)
    kept = lk.read_trials(scores, key=key, duplicates="keep")
    assert kept.score_array[-1] == 77
    assert kept.is_target[-1] == kept.is_target[0]
    with pytest.warns(lk.errors.LeftOutWarning, match="1 of 37"):
        dropped = lk.read_trials(scores, key=key, duplicates="drop")
    assert_array_equal(dropped.score_array, [x for _, _, x in rows])


@pytest.mark.parametrize("policy", ["keep", "drop"])
def test_a_key_that_occurs_twice(pair, policy):
    scores, key, rows = pair
    append(key, "m0 s0 target\n")
    with pytest.raises(lk.errors.FileFormatError, match="m0 s0"):
        lk.read_trials(scores, key=key)
    assert len(lk.read_trials(scores, key=key, duplicates=policy)) == len(rows)


def test_a_table_with_its_own_labels_may_repeat_trials(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("model,test,score,label\na,x,1,1\nb,x,0,0\na,x,2,1\n")
    assert len(lk.read_trials(path)) == len(lk.read_trials(path, duplicates="keep")) == 3
    with pytest.warns(lk.errors.LeftOutWarning, match="1 of 3"):
        assert_array_equal(lk.read_trials(path, duplicates="drop").score_array, [1.0, 0.0])
    with pytest.raises(lk.errors.FileFormatError, match="line 4"):
        lk.read_trials(path, duplicates="error")


def test_labels_beside_the_scores_must_agree_with_the_key(tmp_path):
    scores, key = tmp_path / "s.csv", tmp_path / "k.csv"
    scores.write_text("model,test,score,label\na,x,1,tgt\nb,x,2,imp\nc,x,3,?\n")
    key.write_text("model,test,label\nc,x,target\na,x,target\nb,x,nontarget\n")
    trials = lk.read_trials(scores, key)  # other words for the same, and one that says nothing
    assert_array_equal(trials.is_target, [True, False, True])
    assert trials.columns == ["model", "test", "score", "label"]
    key.write_text("model,test,label\nc,x,target\na,x,target\nb,x,target\n")
    with pytest.raises(lk.errors.FileFormatError, match=r"s\.csv, line 3"):
        lk.read_trials(scores, key)


def test_options_that_change_labels_and_scores(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,label\n1,ja\n2,nee\n3,misschien\n")
    with pytest.raises(lk.errors.LabelError, match=r"line 2.*--positive"):
        lk.read_trials(path)
    assert_array_equal(lk.read_trials(path, positive="JA").is_target, [True, False, False])
    with pytest.raises(lk.errors.LabelError):
        lk.read_trials(path, positive="si")
    read = lk.read_trials(path, positive="ja", distance=True, log10=True)
    assert_array_equal(read.score_array, -np.log(10) * np.array([1.0, 2, 3]))
    for wrong in ({"missing": "keep"}, {"duplicates": "first"}):
        with pytest.raises(lk.errors.UnknownNameError):
            lk.read_trials(path, **wrong)


def test_columns_of_a_file_without_header_can_be_named(tmp_path):
    path = tmp_path / "s.txt"
    path.write_text("x;1;a;0.5\ny;0;b;-0.5\n")
    trials = lk.read_trials(path, columns=["test", "label", "model", "score"])
    assert_array_equal(trials.scores().target, [0.5])
    with pytest.raises(lk.errors.FileFormatError):
        lk.read_trials(path, columns=["score", "label"])
