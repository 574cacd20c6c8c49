"""Tables for papers: the digits of the library, and nothing that a name can break."""

import csv
import io

import numpy as np
import pytest
from drawn import some_evaluation, some_scores

import llrkit as lk
from llrkit.base.text import number

ONE, OTHER = some_evaluation(), some_evaluation(seed=5)


def test_csv_has_all_digits_under_the_names_of_the_json():
    rows = list(csv.DictReader(io.StringIO(lk.format_table({"A,\n1": ONE, "B": OTHER}, "csv"))))
    assert [row["system"] for row in rows] == ["A,\n1", "B"]
    plain = ONE.to_dict()
    for name in ("n_target", "eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal", "det_slope"):
        assert float(rows[0][name]) == plain[name]
    assert float(rows[1]["act_dcf sre08"]) == OTHER.points[0].act_dcf


def test_markdown_lines_have_as_many_cells_as_the_header():
    text = lk.format_table({"a|b": ONE, "<img src=x>": OTHER}, "markdown", caption="Two systems")
    title, _, head, rule, first, second = text.splitlines()
    assert title == "**Two systems**"
    assert first.startswith(r"| a\|b | 60 | 300 |")
    assert second.startswith("| &lt;img src=x&gt; |")
    cells = head.count("|")
    assert rule.count("|") == second.count("|") == first.replace(r"\|", "").count("|") == cells
    assert f"| {number(ONE.cllr)} | {number(ONE.min_cllr)} |" in first


def test_latex_is_balanced_and_escaped():
    text = lk.format_table({"50% & more_{x}$\\": ONE}, "latex", caption="A #1 table")
    assert r"50\% \& more\_\{x\}\$\textbackslash{} & 60 & 300 & " in text
    assert r"\caption{A \#1 table}" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    row = next(line for line in text.splitlines() if line.startswith("50"))
    columns = text.split(r"\begin{tabular}{")[1].split("}")[0]
    assert row.replace(r"\&", "").count("&") + 1 == len(columns)


def test_groups_come_below_all_trials():
    scores = some_scores()
    columns = {"sex": (["f", "m"] * 30, ["f", "m"] * 150)}
    result = lk.evaluate(lk.Scores(scores.target, scores.nontarget, columns), by="sex")
    rows = list(csv.DictReader(io.StringIO(lk.format_table(result, "csv", row_title="sex"))))
    assert [row["sex"] for row in rows] == ["all", "f", "m"]
    assert float(rows[2]["eer"]) == result.groups["m"].eer


def test_infinite_and_primary_costs_are_spelled():
    scores = lk.Scores([float("-inf"), 1.0], [-1.0, 0.5])
    result = lk.evaluate(scores, points=["sre12"])
    assert r"$\infty$" in lk.format_table(result, "latex")
    assert ",inf," in lk.format_table(result, "csv")
    assert "min C\\_primary sre12" in lk.format_table(result, "markdown")


def test_what_is_no_table_is_refused():
    with pytest.raises(lk.errors.UnknownNameError):
        lk.format_table(ONE, "word")
    with pytest.raises(lk.InputError):
        lk.format_table({"A": some_scores()})
    with pytest.raises(lk.InputError):
        lk.format_table({})
    with pytest.raises(lk.InputError):
        lk.format_table({"A": ONE, "B": lk.evaluate(some_scores())})


def some_classes(seed=1, factor=1.0):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 40)
    return lk.scores.ClassScores(factor * (rng.normal(0, 1, (120, 3)) + 2 * np.eye(3)[labels]), labels)


def test_tables_of_several_classes():
    found = lk.multiclass.evaluate(some_classes())
    rows = list(csv.DictReader(io.StringIO(lk.format_table(found, "csv"))))
    assert [row["class"] for row in rows] == ["all", "0", "1", "2"]
    plain = found.to_dict()
    for row, result in zip(rows, [plain, *plain["per_class"]], strict=True):
        for name in ("n", "cllr", "refined_cllr", "error_rate", "refined_error_rate"):
            assert float(row[name]) == result[name]
        assert float(row["cllr_cal"]) == result["cllr"] - result["refined_cllr"]
    assert f"| all | 120 | {number(found.cllr)} | " in lk.format_table(found, "markdown")


def test_tables_of_calibrators_of_several_classes():
    found = lk.multiclass.compare(some_classes(1, 3.0), some_classes(2, 3.0), ["temperature"])
    rows = list(csv.DictReader(io.StringIO(lk.format_table(found, "csv"))))
    assert [row["method"] for row in rows] == list(found.evaluations)
    for row, result in zip(rows, found.evaluations.values(), strict=True):
        assert float(row["cllr_normalized"]) == result.cllr_normalized
        assert float(row[f"cavg {result.cavgs[0].name}"]) == result.cavgs[0].actual
    assert lk.format_table(dict(found.evaluations), "latex").count(r"\\") == 1 + len(rows)
    with pytest.raises(lk.InputError):
        lk.format_table({"A": found.evaluations["raw"], "B": ONE})
