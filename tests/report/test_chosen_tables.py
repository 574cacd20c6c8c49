"""Tables whose columns are chosen, with intervals, of conditions and of compared systems."""

import csv
import io

import numpy as np
import pytest

import llrkit as lk

RNG = np.random.default_rng(4)
LABELS = RNG.random(800) < 0.3
SCORES = RNG.normal(np.where(LABELS, 2.0, -2.0), 2.0)
TRIALS = lk.Trials({"a": SCORES, "b": SCORES + RNG.normal(size=800), "c": SCORES + RNG.normal(size=800),
                    "label": LABELS, "room": RNG.choice([3, 20], 800)}, score=["a", "b", "c"])  # fmt: skip
ONE = lk.Trials(TRIALS.table, score="a")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_columns_are_chosen_by_key_or_title_in_their_order():
    result = lk.evaluate(ONE, points=["sre08"])
    lines = lk.format_table({"mine": result}, columns=["cllr", "EER (%)", "min_dcf sre08"]).splitlines()
    assert lines[0] == "| system | Cllr | EER (%) | min DCF sre08 |"
    assert (
        lines[2] == f"| mine | {result.cllr:.4f} | {100 * result.eer:.2f} | {result.points[0].min_dcf:.4f} |"
    )
    assert list(rows_of(lk.format_table(result, "csv", columns="auc"))[0]) == ["system", "auc"]
    assert lk.format_table(result, "latex", columns=["eer"]).count("&") == 2
    with pytest.raises(lk.errors.UnknownNameError):
        lk.format_table(result, columns=["err"])


def test_intervals_stand_behind_their_numbers():
    result = lk.evaluate(ONE, points=["sre08"], ci="trial")
    low, high = result.intervals["cllr"]
    text = lk.format_table({"mine": result}, columns=["n_target", "cllr"], intervals=True)
    assert f"{result.cllr:.4f} [{low:.4f}, {high:.4f}]" in text.replace("\\", "")
    (row,) = rows_of(lk.format_table({"mine": result}, "csv", columns="cllr", intervals=True))
    assert (float(row["cllr_low"]), float(row["cllr_high"])) == (low, high)
    assert "[" in lk.format_table({"mine": result}, "latex", intervals=True)
    assert "[" not in lk.format_table({"mine": result}, "latex")
    with pytest.raises(lk.InputError):
        lk.format_table(lk.evaluate(ONE), intervals=True)


def test_conditions_have_a_table():
    table = lk.condition_table(ONE, by="room", points=["sre08"])
    rows = rows_of(lk.format_table(table, "csv"))
    assert [row["room"] for row in rows] == ["3", "20", "(pooled)", "(equalized)"]
    assert float(rows[0]["eer"]) == table.conditions[3].eer


def test_compared_systems_have_a_table():
    found = lk.compare_systems(lk.Trials(TRIALS.table, score=["a", "b"]), points=["sre08"])
    rows = rows_of(lk.format_table(found, "csv"))
    assert len(rows) == len(found.differences)
    assert float(rows[0]["difference"]) == next(iter(found.differences.values())).difference
    header = lk.format_table(found).splitlines()[0]
    assert header == "| number | a | b | difference | from | to | p |"
    many = lk.trust.compare_many_systems(TRIALS, points=["sre08"])
    rows = rows_of(lk.format_table(many, "csv"))
    assert float(rows[-1]["corrected_p_value"]) >= float(rows[-1]["p_value"])
    assert "a - c: " in lk.format_table(many, "latex")
