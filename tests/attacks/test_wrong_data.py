"""Input that would give other numbers than it holds is refused, or what is left out is said."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.errors import FileFormatError, InputError, SkippedFilesWarning, TooFewTrialsError
from llrkit.io.read import convert


@pytest.mark.parametrize("times", [2, 257])  # counts of 8 bits would begin again at 0
def test_bosaris_refuses_a_trial_that_is_there_more_than_once(tmp_path, need, times):
    need("h5py")
    rows = ["a,x,1.5,1"] * times + ["b,y,-1.0,0"]
    (tmp_path / "s.csv").write_text("enroll,test,score,label\n" + "\n".join(rows) + "\n")
    for options in ({}, {"key_output": tmp_path / "k.h5"}):
        with pytest.raises(InputError):
            convert(tmp_path / "s.csv", tmp_path / "s.h5", **options)
    assert [file.name for file in tmp_path.iterdir()] == ["s.csv"]


BIG = 2**53 + 1


@pytest.mark.parametrize("number", [-BIG, 12345678901234567890])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "npz"])
def test_whole_numbers_beyond_floating_point_are_refused(tmp_path, number, kind):
    path = tmp_path / f"s.{kind}"
    table = pl.DataFrame({"score": [1, number, 2], "label": [1, 0, 0]}, schema_overrides={
        "score": pl.UInt64 if number >= 2**63 else pl.Int64})  # fmt: skip
    if kind == "npz":
        np.savez(path, score=table["score"].to_numpy(), label=table["label"].to_numpy())
    else:
        getattr(table, {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}[kind])(path)
    for read in (lk.read_trials, lambda path: lk.eer(lk.scan_trials(path))):
        with pytest.raises(FileFormatError) as caught:
            read(path)
        assert str(abs(number)) in str(caught.value)
        assert ("line 3" if kind == "csv" else "row 1") in str(caught.value)


def test_whole_numbers_beyond_floating_point_in_arrays_and_tables():
    for values in ([1, BIG], np.array([1, BIG]), np.array([1, BIG], dtype=object)):
        with pytest.raises(InputError, match=f"{BIG} at index 1"):
            lk.Scores(values, [0.0])
    with pytest.raises(InputError, match="beyond"):
        _ = lk.Trials({"score": [1, BIG], "label": [0, 1]}).score_array


def test_numbers_up_to_there_and_large_floats_are_taken(tmp_path):
    scores = ["9007199254740992", "-9007199254740992", "1e300", "1.5e20", "inf", "12345678901234567890.5"]
    text = "score,label\n" + "".join(f"{score},{i % 2}\n" for i, score in enumerate(scores))
    (tmp_path / "s.csv").write_text(text)
    assert lk.read_trials(tmp_path / "s.csv").score_array[0] == 2.0**53
    assert lk.Scores([2**53], [0]).target[0] == 2.0**53


def test_a_matrix_of_whole_numbers_is_looked_at_too(tmp_path):
    (tmp_path / "m.txt").write_text(f"\ta\tb\nm\t1\t{BIG}\n")
    with pytest.raises(FileFormatError, match="line 2, column 'b': 9007199254740993"):
        lk.read_trials(tmp_path / "m.txt", nontargets=tmp_path / "m.txt")


def table_with(weights):
    rng = np.random.default_rng(3)
    n = len(weights)
    return pl.DataFrame({"score": rng.normal(size=n).round(2), "label": np.arange(n) % 2, "w": weights})


@pytest.mark.parametrize("weight", [5e-324, 1e51, 1e-51, float("inf"), float("nan"), -1.0])
def test_weights_so_extreme_that_sums_lose_meaning_are_refused(tmp_path, weight):
    table = table_with([1.0] * 9 + [weight])
    table.write_csv(tmp_path / "s.csv")
    for source in (
        lk.Trials(table, weight="w"),
        lk.scan_trials(tmp_path / "s.csv", weight="w"),
        lk.scores.weigh(lk.Trials(table), "w"),
    ):
        with pytest.raises(InputError):
            lk.auc(source)


@pytest.mark.parametrize("weight", [1e-50, 1e-20, 1.0, 1e20, 1e50])
def test_weights_at_the_ends_give_what_equal_weights_give(weight):
    plain, weighed = lk.Trials(table_with([1.0] * 40)), lk.Trials(table_with([weight] * 40), weight="w")
    for metric in (lk.auc, lk.eer, lk.cllr, lk.min_cllr):
        assert_allclose(metric(weighed), metric(plain), rtol=1e-12)
    if weight < 1.0:  # less than one trial is no trial to fit on
        with pytest.raises(TooFewTrialsError):
            lk.fit_logistic(weighed)
        return
    fitted, of_weighed = lk.fit_logistic(plain), lk.fit_logistic(weighed)
    assert_allclose([of_weighed.a, of_weighed.b], [fitted.a, fitted.b], rtol=1e-6)


def test_mixed_weights_against_exact_fractions():
    weights = np.tile([1e-50, 1.0, 1e50, 0.0, 3.0], 8)
    table = table_with(weights)
    rows = [(Fraction(s), label, Fraction(w)) for s, label, w in table.rows()]
    targets, others = ([row for row in rows if row[1] == side] for side in (1, 0))
    pairs = sum(
        t[2] * n[2] * (Fraction(t[0] > n[0]) + Fraction(t[0] == n[0]) / 2) for t in targets for n in others
    )
    exact = pairs / (sum(t[2] for t in targets) * sum(n[2] for n in others))
    assert_allclose(lk.auc(lk.Trials(table, weight="w")), float(exact), rtol=1e-12)


def test_links_to_nothing_and_subfolders_are_said(tmp_path):
    folder = tmp_path / "d"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.csv").write_text("score,label\n1,1\n0,0\n")
    (folder / "gone.csv").symlink_to(tmp_path / "nothing")
    (folder / "here.csv").symlink_to(folder / "a.csv")
    with pytest.warns(SkippedFilesWarning) as caught:
        assert len(lk.read_trials(folder)) == 4
    said = " ".join(str(warning.message) for warning in caught)
    assert "'gone.csv'" in said
    assert "'sub'" in said
    with pytest.warns(SkippedFilesWarning):
        lk.read_trials(folder / "*.csv")
    with pytest.raises(FileFormatError):
        lk.read_trials(folder / "gone.csv")
    code, _, errors = run("evaluate", folder)
    assert (code, "gone.csv" in errors) == (0, True)


def test_two_columns_of_zeros_and_ones_are_never_guessed(tmp_path):
    for text in ("1 0\n0 1\n1 1\n", "1,1\n0,0\n", "-1\t1\n1\t-1\n", "0.0 1\n1.0 0\n"):
        (tmp_path / "s.txt").write_text(text)
        for read in (lk.read_trials, lk.scan_trials):
            with pytest.raises(FileFormatError):
                read(tmp_path / "s.txt")
        assert len(lk.read_trials(tmp_path / "s.txt", columns=["label", "score"])) >= 2
    (tmp_path / "s.txt").write_text("1 0.5\n0 0\n")
    assert lk.read_trials(tmp_path / "s.txt").score_array.tolist() == [0.5, 0.0]
