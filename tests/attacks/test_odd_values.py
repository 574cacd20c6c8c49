"""Odd types, numbers and documents: each ends in one line, and none keeps a computer busy."""

import datetime
import gzip
import math
import re
import zipfile
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.errors import FileFormatError, InputError, LlrkitError
from llrkit.io.text_lines import blocks_of
from llrkit.verbs.criteria import read_criteria

N = 40
COLUMNS = {
    "decimal": pl.Series([Decimal("1.50"), Decimal("2.50")] * (N // 2)),
    "int128": pl.Series([1, 2] * (N // 2), dtype=pl.Int128),
    "struct": pl.Series([{"a": 1}, {"a": 2}] * (N // 2)),
    "list": pl.Series([[1], [2]] * (N // 2)),
    "array": pl.Series([[1, 2]] * N, dtype=pl.Array(pl.Int64, 2)),
    "date": pl.Series([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * (N // 2)),
    "duration": pl.Series([datetime.timedelta(1)] * N),
    "categorical": pl.Series(["1", "2"] * (N // 2), dtype=pl.Categorical),
    "binary": pl.Series([b"1", b"2"] * (N // 2)),
    "null": pl.Series([None] * N),
    "object": pl.Series([object()] * N, dtype=pl.Object),
}
NO_GROUPS, WEIGHTS = {"struct", "list", "array", "object"}, {"decimal", "int128", "categorical"}


@pytest.fixture(params=COLUMNS)
def odd(request, tmp_path):
    """A column of some type, in memory and in a file where it can be."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {"score": rng.normal(size=N), "label": np.arange(N) // 2 % 2, "c": COLUMNS[request.param]}
    )
    path = tmp_path / "s.parquet"
    if request.param == "object":
        return request.param, table, None
    table.write_parquet(path)
    return request.param, table, path


def works(call):
    try:
        call()
    except LlrkitError:
        return False
    return True


def test_groups_of_any_type_are_told_apart_or_refused(odd):
    name, table, path = odd
    expected = name not in NO_GROUPS
    assert works(lambda: lk.evaluate(lk.Trials(table), by="c")) == expected
    assert works(lambda: lk.Trials(table).by("c")) == expected
    if path is not None:
        assert works(lambda: lk.evaluate(lk.scan_trials(path), by="c")) == expected


def test_weights_are_numbers(odd):
    name, table, path = odd
    expected = name in WEIGHTS
    assert works(lambda: lk.auc(lk.Trials(table, weight="c"))) == expected
    assert works(lambda: lk.auc(lk.scan_trials(path, weight="c"))) == expected if path else True
    if path and not expected:  # the message says where the column is
        with pytest.raises(LlrkitError, match=f"^{re.escape(str(path))}.*column 'c'"):
            lk.auc(lk.read_trials(path, weight="c"))


CRITERION = '[[criterion]]\ncharacteristic = "accuracy"\nat_most = 0.5\n'


BROKEN_CRITERIA = [
    '[[criterion]]\ncharacteristic = ["a"]\nat_most = 1\n',
    f'[[criterion]]\ncharacteristic = "accuracy"\nat_most = {"9" * 5000}\n',
    CRITERION + "change_from = 5\n", CRITERION + "by = 5\n", CRITERION + "graph = [1]\n",
    "x = " + "[" * 2000 + "]" * 2000, f"[options]\nreplicates = {10**10}\n" + CRITERION,
    f"[options]\npoints = [{'9' * 400}]\n" + CRITERION, "\x00",
]  # fmt: skip


def test_broken_criteria_are_one_line(tmp_path):
    for text in BROKEN_CRITERIA:
        (tmp_path / "c.toml").write_text(text)
        with pytest.raises(FileFormatError, match=r"c\.toml: ") as caught:
            read_criteria(tmp_path / "c.toml")
        assert len(str(caught.value)) < 500


def test_numbers_of_replicates_that_nobody_would_wait_for():
    scores = lk.Scores([1.0, 2.0, 0.5], [0.0, 1.5, -1.0])
    for replicates in (10**10, 10**30, True, -1, 1.5):
        with pytest.raises(InputError, match="replicates"):
            lk.check_calibration(scores, replicates=replicates)


@pytest.mark.parametrize(
    ("mean", "sd"), [(1000.0, 0.001), (-1000.0, 0.001), (-1e6, 1.0), (1e6, 1.0), (1e15, 1.0)]
)
def test_llrs_far_from_zero_are_judged(mean, sd):
    rng = np.random.default_rng(1)
    scores = lk.Scores(rng.normal(mean + sd, sd, 200), rng.normal(mean - sd, sd, 400))
    side = "targets" if mean > 0 else "non-targets"
    assert f"biased towards {side}" in lk.check_calibration(scores, replicates=0, curves=False).verdict.text
    assert f"biased towards {side}" in lk.evaluate(scores).verdict.text


def test_absurd_numbers_of_trials(tmp_path):
    for trials in ("nan", "inf", "1e30", "-1", "0", "1.5", "1e12"):
        assert run("simulate", "gaussian", "--trials", trials, "-o", tmp_path / "x.csv")[0] == 2
        assert not (tmp_path / "x.csv").exists()


def test_members_of_an_archive_that_are_no_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", score=[1.0, 0.0], label=[1, 0])
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FileFormatError):
        lk.read_trials(tmp_path / "a.npz")
    with pytest.raises(FileFormatError):
        lk.speech.read_embeddings(tmp_path / "a.npz")
    np.savez(tmp_path / "d.npz", loglik=np.zeros((2, 2), "M8[s]"), labels=["a", "b"], classes=["a", "b"])
    assert run("evaluate", tmp_path / "d.npz")[0] == 2


def test_a_header_of_very_many_columns_is_read(tmp_path):
    names = [f"c{i}" for i in range(5_000)]
    rows = [",".join([f"{i % 7}", f"{i % 2}", *["x"] * len(names)]) for i in range(3)]
    (tmp_path / "w.csv").write_text("\n".join([",".join(["score", "label", *names]), *rows]) + "\n")
    assert lk.auc(lk.scan_trials(tmp_path / "w.csv")) == 0.5


def test_gzip_members(tmp_path):
    rows = [f"{i % 5},{i % 2}\n".encode() for i in range(20_000)]
    parts = [gzip.compress(b"".join(rows[i : i + 10]), 1) for i in range(0, len(rows), 10)]
    (tmp_path / "many.gz").write_bytes(b"".join(parts) + gzip.compress(b"") * 100 + b"\0" * 5000)
    for size in (1 << 24, 1000, 7):
        assert b"".join(blocks_of(tmp_path / "many.gz", size)) == b"".join(rows)
    (tmp_path / "empty.gz").write_bytes(parts[0] + gzip.compress(b"") * 10_000)
    assert b"".join(blocks_of(tmp_path / "empty.gz")) == b"".join(rows[:10])
    (tmp_path / "cut.gz").write_bytes(parts[0] + parts[1][:-3])
    with pytest.raises(FileFormatError):
        b"".join(blocks_of(tmp_path / "cut.gz"))
    (tmp_path / "more.gz").write_bytes(parts[0] + b"hello")
    with pytest.raises(FileFormatError):
        b"".join(blocks_of(tmp_path / "more.gz"))


def of_speakers(target, nontarget):
    who = ([f"s{i % 9}" for i in range(len(values))] for values in (target, nontarget))
    return lk.Scores(target, nontarget, {"who": tuple(who)})


@pytest.mark.parametrize("ci", ["trial", "speaker", pytest.param("bootstrap", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["equal", "large", "infinite", "saturated"])
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::llrkit.LlrkitWarning")
def test_odd_scores_are_evaluated_without_a_raw_warning_or_error(kind, ci):
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(2.0, 1.0, 60), rng.normal(0.0, 1.0, 180)
    scores = of_speakers(
        *{
            "equal": (np.zeros(60), np.zeros(180)),
            "large": (1e5 * target, 1e5 * nontarget),
            "infinite": (np.append(target, [np.inf, -np.inf]), np.append(nontarget, np.inf)),
            "saturated": (np.ones(60), np.minimum(nontarget, 1.0)),
        }[kind]
    )
    options = {} if ci == "trial" else {"speakers": "who", "replicates": 100}
    result = lk.evaluate(scores, ci=ci, **options)
    if kind == "large":  # an order is an order, whatever the scale
        assert result.eer == lk.evaluate(lk.Scores(target, nontarget)).eer
    if kind == "equal":
        assert (result.eer, result.auc) == (0.5, 0.5)
    assert 0.0 <= result.eer <= 0.5


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::llrkit.LlrkitWarning")
@pytest.mark.slow
def test_a_class_of_equal_scores_is_fitted_without_a_raw_warning():
    rng = np.random.default_rng(0)
    scores = lk.Scores(np.ones(60), np.minimum(rng.normal(size=180), 1.0))
    assert math.isfinite(lk.cllr(lk.fit_best(scores, methods="logistic,tied-nig", repeats=1).on(scores)))
