import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.core.cells import Grid
from llrkit.core.groups import grouped
from llrkit.core.summaries import Moments

TABLE = {
    "model": ["a", "b", "a", "c", "b", "a"],
    "segment": ["x", "y", "z", "x", "y", "z"],
    "s1": [1.5, -0.5, 0.25, 2.0, -3.0, 0.0],
    "s2": [1, 0, 3, -2, 5, 4],
    "key": ["tgt", "imp", "imp", "tgt", "imp", "tgt"],
    "sex": ["m", "f", None, "f", "m", "f"],
    "seconds": [3, 30, 3, 10, 10, 30],
}


def make(**options):
    return lk.Trials(TABLE, **({"score": "s1", "label": "key"} | options))


def test_roles_and_names():
    trials = make(enroll="model", test="segment")
    assert (trials.score, trials.label, trials.enroll, trials.test) == (("s1",), "key", "model", "segment")
    assert trials.columns == list(TABLE)
    assert len(trials) == 6


def test_scores_in_row_order():
    scores = make().scores()
    assert_array_equal(scores.target, [1.5, 2.0, 0.0])
    assert_array_equal(scores.nontarget, [-0.5, 0.25, -3.0])
    assert_array_equal(make().score_array, TABLE["s1"])
    assert_array_equal(make().is_target, [True, False, False, True, False, True])


def test_several_systems():
    trials = make(score=["s1", "s2"])
    assert trials.score_array.shape == (6, 2)
    assert_array_equal(trials.scores().target, [[1.5, 1], [2.0, -2], [0.0, 4]])
    moments = trials.reduce(Moments.of)
    np.testing.assert_allclose(moments.target.mean, [3.5 / 3, 1.0], rtol=1e-15)


def test_trials_are_a_source_like_their_scores():
    trials = make()
    for metric in (lk.eer, lk.auc, lk.cllr, lk.min_cllr):
        assert metric(trials) == metric(trials.scores())


def test_row_numbers():
    scores = make().with_columns("row").scores()
    assert_array_equal(scores.columns["row"][0], [0, 3, 5])
    assert_array_equal(scores.columns["row"][1], [1, 2, 4])


def test_a_column_called_row_is_that_column():
    trials = lk.Trials({"score": [1, 2], "label": [0, 1], "row": [70, 80]}).with_columns("row")
    assert_array_equal(trials.scores().columns["row"][0], [80])


def test_text_columns_are_codes_with_their_values():
    scores = make().with_columns("sex", "seconds").scores()
    assert scores.categories == {"sex": ("f", "m", None)}
    assert_array_equal(scores.columns["sex"][0], [1, 0, 0])
    assert_array_equal(scores.columns["sex"][1], [0, 2, 1])
    assert_array_equal(scores.columns["seconds"][0], [3, 10, 30])


def test_numbers_with_nulls_and_booleans_are_codes():
    table = {"score": [1.0, 2.0, 3.0], "label": [0, 1, 1], "n": [5, None, 2], "yes": [True, False, True]}
    scores = lk.Trials(table).with_columns("n", "yes").scores()
    assert scores.categories == {"n": (2, 5, None), "yes": (False, True)}
    assert_array_equal(scores.columns["n"][0], [2, 0])
    assert_array_equal(scores.columns["n"][1], [1])


def test_grouped_by_a_text_column_has_its_values_as_keys():
    parts = make().with_columns("sex").reduce(grouped(Grid.of, "sex")).groups
    assert list(parts) == ["f", "m", None]
    assert_array_equal(parts["f"].target, [0.0, 2.0])
    assert_array_equal(parts[None].nontarget, [0.25])


def test_by_gives_parts_in_the_order_of_the_values():
    parts = make(enroll="model").by("sex")
    assert list(parts) == ["f", "m", None]
    assert [len(part) for part in parts.values()] == [3, 2, 1]
    assert_array_equal(parts["f"].score_array, [-0.5, 2.0, 0.0])
    assert parts["m"].enroll == "model"
    assert list(make().by("seconds")) == [3, 10, 30]
    with pytest.raises(lk.errors.UnknownNameError):
        make().by("age")


LABELS = {
    "bool": [True, False, True],
    "0/1": [1, 0, 1],
    "-1/1": [1, -1, 1],
    "float": [1.0, 0.0, 1.0],
    "float -1": [1.0, -1.0, 1.0],
    "words": ["target", "nontarget", "TARGET"],
    "mixed words": ["genuine", "spoof", "Genuine"],
    "digits": ["1", "0", "1"],
    "categorical": pl.Series(["target", "imp", "target"], dtype=pl.Categorical),
    "enum": pl.Series(["same", "different", "same"], dtype=pl.Enum(["same", "different"])),
    "uint8": pl.Series([1, 0, 1], dtype=pl.UInt8),
}


def test_labels():
    for form, labels in LABELS.items():
        trials = lk.Trials({"score": [0.5, 1.0, 2.0], "label": labels})
        assert_array_equal(trials.is_target, [True, False, True], err_msg=form)
        assert_array_equal(trials.scores().target, [0.5, 2.0], err_msg=form)


@pytest.mark.parametrize(
    ("labels", "row"),
    [([1, 0, 2], 2), (["target", "x", "y"], 1), (["target", None, "imp"], 1),
     ([0.5, 1.0, 0.0], 0), ([float("nan"), 1.0, 0.0], 0)],
)  # fmt: skip
def test_wrong_labels_are_named(labels, row):
    with pytest.raises(lk.errors.LabelError):  # 0/1 and -1/1 at once: no row alone is wrong
        lk.Trials({"score": [0.5, 1.0, 2.0], "label": [1, 0, -1]}).scores()
    table = {"score": [0.5, 1.0, 2.0], "label": labels}
    with pytest.raises(lk.errors.LabelError, match=rf"row {row} "):
        lk.Trials(table).scores()
    with pytest.raises(lk.errors.LabelError, match=rf"b\.txt, line {row + 1}"):
        lk.cllr(lk.Trials(table, origin="b.txt", lines=lambda rows: [row + 1 for row in rows]))


@pytest.mark.parametrize("bad", [None, float("nan")])
def test_missing_scores_are_named_by_row(bad):
    table = {"score": [0.5, 1.0, bad], "label": [0, 1, 1]}
    with pytest.raises(lk.errors.NaNScoreError, match=r"row 2 \(counted from 0\), column 'score'"):
        lk.eer(lk.Trials(table))
    with pytest.raises(lk.errors.NaNScoreError, match=r"a\.tsv, line 4, column 'score'"):
        lk.eer(lk.Trials(table, origin="a.tsv", lines=lambda rows: [row + 2 for row in rows]))


def test_infinite_scores_are_allowed():
    trials = lk.Trials({"score": [float("inf"), float("-inf")], "label": [1, 0]})
    assert lk.cllr(trials) == 0.0


def test_what_is_no_table_of_trials_is_refused():
    for table in ({"score": ["1", "2"], "label": [0, 1]}, {"score": [1, 2], "label": [1]}, object()):
        with pytest.raises(lk.InputError):
            lk.Trials(table).scores()
    for options in ({"score": "score"}, {"enroll": "who"}):
        with pytest.raises(lk.errors.UnknownNameError):
            make(**options)
    with pytest.raises(lk.errors.UnknownNameError):
        make().with_columns("noise")
    with pytest.raises(lk.errors.EmptyClassError):
        lk.Trials({"score": pl.Series([], dtype=pl.Float64), "label": pl.Series([], dtype=pl.Int64)}).scores()


@pytest.mark.parametrize("kind", ["dict", "polars", "pandas", "rows"])
def test_kinds_of_table(kind, need):
    if kind == "pandas":
        need("pyarrow")
    table = {
        "dict": lambda: TABLE,
        "polars": lambda: pl.DataFrame(TABLE),
        "pandas": lambda: need("pandas").DataFrame(TABLE),
        "rows": lambda: [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)],
    }[kind]()
    trials = lk.Trials(table, score="s1", label="key")
    assert lk.cllr(trials) == lk.cllr(make())
    assert list(trials.by("sex")) == ["f", "m", None]


def test_table_is_not_modified_and_scores_cannot_be_written():
    table = pl.DataFrame(TABLE)
    trials = lk.Trials(table, score="s1", label="key")
    lk.evaluate(trials, by="sex")
    assert table.equals(pl.DataFrame(TABLE))
    with pytest.raises(ValueError, match="read-only"):
        trials.scores().target[0] = 5.0


def test_float32_scores_stay_float32():
    trials = lk.Trials({"score": pl.Series([1.5, 0.5], dtype=pl.Float32), "label": [1, 0]})
    assert trials.scores().target.dtype == np.float32


def test_more_than_two_kinds_of_labels_are_said_to_be_pooled():
    table = {"score": [0.5, 1.0, 2.0], "label": ["target", "nontarget", "spoof"]}
    with pytest.warns(lk.errors.PooledClassesWarning, match="'nontarget' and 'spoof'"):
        assert_array_equal(lk.Trials(table).is_target, [True, False, False])
    with pytest.warns(lk.errors.PooledClassesWarning, match="'bonafide' and 'genuine'"):
        lk.Scores.from_labels([1, 2, 3], ["genuine", "bonafide", "imp"])
