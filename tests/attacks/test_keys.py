"""Keys and named columns: no label from the wrong file, no contradiction settled by order, no row lost."""

import pytest

import llrkit as lk
from llrkit.errors import FileFormatError

SCORES = "enroll,test,score,gt\na,x,2.0,1\nb,y,-1.0,0\n"
OPPOSITE = "enroll,test,gt\na,x,0\nb,y,1\n"


def write(folder, **texts):
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_keys_label_wins_over_a_column_of_that_name(tmp_path, shuffled):
    key = "enroll,test,gt\nb,y,1\na,x,0\n" if shuffled else OPPOSITE
    scores, key = write(tmp_path, scores=SCORES, key=key)
    trials = lk.read_trials(scores, key=key, label="gt")
    assert trials.is_target.tolist() == [False, True]
    assert trials.table["score"].to_list() == [2.0, -1.0]
    assert trials.table.columns.count("gt") == 1


def test_the_keys_label_wins_where_the_scores_have_two_columns_of_labels(tmp_path):
    scores, key = write(
        tmp_path,
        scores="enroll,test,score,label,key\na,x,2.0,1,0\nb,y,-1.0,0,1\n",
        key="enroll,test,key\na,x,1\nb,y,0\n",
    )
    assert lk.read_trials(scores, key=key).is_target.tolist() == [True, False]


def test_a_key_whose_label_is_named_like_an_id_or_a_score(tmp_path):
    scores, key, other = write(
        tmp_path,
        scores="enroll,test,score\na,x,2.0\nb,y,-1.0\n",
        key="model,segment,score\na,x,0\nb,y,1\n",
        other="model,segment,enroll\na,x,0\nb,y,1\n",
    )
    trials = lk.read_trials(scores, key=key, label="score")
    assert trials.is_target.tolist() == [False, True]
    assert trials.score_array.tolist() == [2.0, -1.0]
    trials = lk.read_trials(scores, key=other, label="enroll")
    assert trials.is_target.tolist() == [False, True]


@pytest.mark.parametrize("duplicates", ["keep", "error", "drop"])
def test_two_labels_of_one_trial_are_an_error_whatever_the_policy(tmp_path, duplicates):
    scores, key = write(
        tmp_path,
        scores="enroll,test,score\na,x,2.0\nb,y,-1.0\n",
        key="enroll,test,label\na,x,target\nb,y,nontarget\na,x,nontarget\n",
    )
    with pytest.raises(FileFormatError, match="lines 2, 4"):
        lk.read_trials(scores, key=key, duplicates=duplicates)


@pytest.mark.parametrize("duplicates", ["error", "drop"])
def test_two_labels_of_one_trial_beside_its_scores(tmp_path, duplicates):
    (scores,) = write(tmp_path, scores="enroll,test,score,label\na,x,2.0,1\nb,y,-1.0,0\na,x,2.0,0\n")
    with pytest.raises(FileFormatError, match="lines 2, 4"):
        lk.read_trials(scores, duplicates=duplicates)


def test_a_repeated_trial_with_one_label_is_still_dropped(tmp_path):
    scores, key = write(
        tmp_path,
        scores="enroll,test,score\na,x,2.0\nb,y,-1.0\n",
        key="enroll,test,label\na,x,1\nb,y,0\na,x,1\n",
    )
    assert len(lk.read_trials(scores, key=key, duplicates="drop")) == 2
    with pytest.raises(FileFormatError):
        lk.read_trials(scores, key=key)


def test_columns_swallow_no_first_row(tmp_path):
    for first in ("NA", "-", "x", "", "nan"):
        (scores,) = write(tmp_path, scores=f"{first},target\n-1.0,nontarget\n2.0,target\n")
        for read in (lk.read_trials, lambda *a, **k: lk.eer(lk.scan_trials(*a, **k))):
            with pytest.raises(FileFormatError, match="line 1"):
                read(scores, columns=["score", "label"])


def test_columns_still_replace_a_header(tmp_path):
    for header in ("score,label", "score,target", "cosine,label", "llr,key", "raw_score,is_target"):
        (scores,) = write(tmp_path, scores=f"{header}\n-1.0,nontarget\n2.0,target\n")
        assert lk.read_trials(scores, columns=["score", "label"]).score_array.tolist() == [-1.0, 2.0]


def test_a_first_trial_named_like_a_column_is_no_header(tmp_path):
    text = "model test NA target\na b 1.5 nontarget\nc d 2.5 target\n"
    (scores,) = write(tmp_path, scores=text)
    with pytest.raises(FileFormatError, match="line 1"):
        lk.read_trials(scores, columns=["enroll", "test", "score", "label"])
