"""The validation matrix: criteria read, numbers judged, faults named, reports complete and safe."""

import json
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from pieces import Pieces
from shared_speakers import sample

import llrkit as lk
from llrkit.cli import cli
from llrkit.validation.criteria import (
    CHARACTERISTICS,
    REPORT_FIELDS,
    Criterion,
    criteria_from_dict,
    criteria_template,
)
from llrkit.validation.validated_scope import find_scope
from llrkit.validation.validation_matrix import Measured, number_of, row_of_matrix
from llrkit.validation.validation_words import matrix_cells

MODEL = lk.theory.GaussianLLR.from_eer(0.05)


@pytest.fixture(scope="module")
def scores():
    return lk.Scores(*MODEL.rvs(300, 3000, np.random.default_rng(2)))


def rows(*criteria, **more):
    return {"criterion": [{"characteristic": "accuracy", **one} for one in criteria], **more}


def judged(source, *criteria, **more):
    return lk.validate(source, rows(*criteria, **more), replicates=30)


def test_every_metric_is_judged_on_both_sides_of_its_value(scores):
    result = lk.evaluate(scores, ["sre08", 0.3])
    names = [
        "eer",
        "eer_roc",
        "auc",
        "cllr",
        "min_cllr",
        "cllr_cal",
        "act_dcf sre08",
        "min_dcf:P=0.3",
        "p_fa P=0.3",
    ]
    values = {name: number_of(result, name)[0] for name in names}
    assert values["act_dcf sre08"] == result.points[0].act_dcf
    assert values["min_dcf:P=0.3"] == result.points[1].min_dcf
    criteria = [{"metric": name, "at_most": value} for name, value in values.items()]
    criteria += [{"metric": name, "at_most": value * 0.999} for name, value in values.items()]
    criteria += [{"metric": name, "at_least": value} for name, value in values.items()]
    found = judged(scores, *criteria, options={"points": ["sre08", 0.3]})
    n = len(names)
    assert [row.passed for row in found.rows] == [True] * n + [False] * n + [True] * n
    assert [row.result for row in found.rows[:n]] == list(values.values())
    assert not found.passed


@pytest.mark.parametrize(
    ("value", "limits", "rate", "result"),
    [
        (0.31513, {"at_most": 0.3151}, False, "0.31513"),
        (0.31507, {"at_most": 0.3151}, False, "0.3151"),
        (0.31507, {"at_least": 0.3151}, False, "0.31507"),
        (0.3151, {"at_most": 0.3151}, False, "0.3151"),
        (0.31514, {"at_most": 0.31512}, False, "0.31514"),
        (0.088503, {"at_most": 0.0885}, True, "8.8503 %"),
        (0.07, {"at_least": 0.07}, True, "7.00 %"),
        (float("nan"), {"at_most": 0.1}, False, "-"),
        (float("inf"), {"at_most": 0.1}, False, "inf"),
    ],
)
def test_a_rounded_result_does_not_contradict_the_decision(value, limits, rate, result):
    criterion = Criterion("accuracy", "eer" if rate else "cllr", **limits)
    measured = Measured(value)
    row = row_of_matrix(criterion, measured, measured.met(criterion), "")
    assert matrix_cells(row)[3] == result


@pytest.mark.parametrize("use", ["estimate", "interval"])
def test_an_infinite_number_fails_whatever_its_interval_would_be(use):
    assert Measured(math.inf).met(Criterion("accuracy", "cllr", at_most=0.5, use=use)) is False


def test_validate_takes_the_infinite_llrs_that_evaluate_takes(tmp_path):
    rng = np.random.default_rng(2)
    target, nontarget = MODEL.rvs(100, 900, rng)
    target[0] = np.inf
    (tmp_path / "criteria.toml").write_text(criteria_template())
    for wrong, outcome in ((-np.inf, ""), (np.inf, "unusable as LLRs")):
        nontarget[0] = wrong
        labels = ["target"] * 100 + ["nontarget"] * 900
        lines = [f"{llr},{label}" for llr, label in zip([*target, *nontarget], labels, strict=True)]
        (tmp_path / "llrs.csv").write_text("\n".join(["score,label", *lines]))
        paths = [f"{name}={tmp_path / name[2:]}" for name in ("--report", "--html", "--json")]
        typed = ["validate", str(tmp_path / "llrs.csv"), f"--criteria={tmp_path / 'criteria.toml'}", *paths]
        result = CliRunner().invoke(cli, typed)
        assert result.exit_code in (0, 1), result.output
        matrix = json.loads((tmp_path / "json").read_text())["matrix"]
        expected = lk.cllr(lk.Scores(target, nontarget))
        assert_allclose(float(matrix[0]["result"]), expected)
        assert (matrix[0]["decision"] == "failed") == math.isinf(expected)
        assert outcome in matrix[2]["result"]
        assert "; 2 others are infinite" in (tmp_path / "report").read_text()
        if outcome:
            assert result.exit_code == 1
            assert "different-source         inf" in result.output


def test_limits_are_shown_as_they_were_typed_and_llrs_on_their_side():
    assert Criterion("accuracy", "cllr", at_most=0.31512345).words == "<= 0.31512345"
    assert Criterion("accuracy", "eer", at_most=0.07).words == "<= 7 %"
    criterion = Criterion("accuracy", "misleading_target", at_most=5.0)
    measured = Measured(5.0003)
    row = row_of_matrix(criterion, measured, measured.met(criterion), "")
    assert matrix_cells(row)[2:5] == ["<= 5 nats", "5.0003 nats", "FAIL"]


def test_checked_metrics_and_verdict(scores):
    found = judged(
        scores, {"metric": "dev_pav", "at_most": 1.0}, {"metric": "cv_loss", "at_most": 0.01},
        {"metric": "verdict"}, {"metric": "misleading_target", "at_most": 100},
        {"metric": "misleading_nontarget", "at_most": 1.0}, {"metric": "cllr_cal", "at_most": 0.05},
    )  # fmt: skip
    assert [row.passed for row in found.rows] == [True, True, True, True, False, True]
    assert_allclose(found.rows[0].result, lk.dev_pav(scores))
    assert "if calibrated" in found.rows[0].note
    assert found.rows[2].result.startswith("no evidence of miscalibration (p = ")
    assert_allclose(found.rows[3].result, -scores.target.min())
    assert_allclose(found.rows[4].result, scores.nontarget.max())
    assert "if calibrated" in found.rows[5].note
    doubled = lk.Scores(2 * scores.target, 2 * scores.nontarget)
    row = judged(doubled, {"metric": "verdict"}).rows[0]
    assert not row.passed
    assert row.result.startswith("over-confident by a factor 2.0 (p < 0.0001")


def test_whole_interval_must_be_within_the_bound():
    trials = sample(30, 5000, seed=3)
    options = {"ci": "speaker", "speakers": ["left", "right"], "points": [0.3]}
    result = lk.evaluate(trials, ci="speaker", speakers=("left", "right"), points=[0.3])
    low, high = result.intervals["cllr"]
    middle = {"at_most": (result.cllr + high) / 2}
    found = judged(
        trials, middle, {**middle, "use": "interval"}, {"at_most": high, "at_least": low, "use": "interval"},
        options=options,
    )  # fmt: skip
    assert [row.passed for row in found.rows] == [True, None, True]
    assert found.rows[1].interval == (low, high)
    assert found.rows[1].criterion.endswith("with its whole interval")
    with pytest.raises(lk.InputError, match="has no interval"):
        judged(trials, {**middle, "use": "interval"})


def test_the_seed_of_a_bootstrap_is_that_of_evaluate():
    trials = sample(30, 5000, seed=3)
    options = {"ci": "bootstrap", "speakers": ["left", "right"], "replicates": 200}
    whole = {"at_most": 1.0, "use": "interval"}
    for seed in (1, 2):
        low, high = lk.evaluate(trials, **options, rng=seed).intervals["cllr"]
        assert judged(trials, whole, options={**options, "seed": seed}).rows[0].interval == (low, high)


def test_an_upper_bound_decides_where_there_is_no_interval():
    rng = np.random.default_rng(8)
    speaker = np.repeat(np.arange(20), 4)
    i, j = np.triu_indices(len(speaker), 1)
    p, q = speaker[i], speaker[j]
    # one speaker makes nearly all false alarms
    x = np.where(p == q, 1.5, -6.0 + 6.5 * ((p == 7) | (q == 7))) + 1.2 * rng.normal(size=len(p))
    trials = lk.Trials({"score": x, "label": p == q, "left": p, "right": q})
    options = {"ci": "speaker", "speakers": ["left", "right"], "points": [0.5]}
    used = lk.evaluate(trials, **options).uncertainty
    bound = used.upper_bound["points.0.p_fa"]
    assert "points.0.p_fa" not in used.intervals
    name = {"metric": f"p_fa {lk.OperatingPoint(0.5).name}", "use": "interval"}
    found = judged(
        trials, {**name, "at_most": 1.01 * bound}, {**name, "at_most": 0.99 * bound},
        {**name, "at_most": 1.0, "at_least": 1.01 * bound}, options=options,
    )  # fmt: skip
    assert [row.passed for row in found.rows] == [True, None, False]
    assert all(row.note.startswith("at most ") and "few speakers" in row.note for row in found.rows)


def test_worst_condition_decides():
    rng = np.random.default_rng(1)
    noise = {"clean": 0.02, "noisy": 0.2}
    t, n = zip(*(lk.theory.GaussianLLR.from_eer(e).rvs(200, 1000, rng) for e in noise.values()), strict=True)
    names = [np.repeat(list(noise), k) for k in (200, 1000)]
    both = lk.Scores(np.concatenate(t), np.concatenate(n), {"condition": tuple(names)})
    criteria = [{"metric": "eer", "at_most": 0.12}, {"metric": "eer", "at_most": 0.3}]
    criteria.append({"metric": "auc", "at_least": 0.9})
    found = judged(both, *({**one, "by": "condition"} for one in criteria))
    assert [row.passed for row in found.rows] == [False, True, False]
    assert found.rows[0].note == "worst of 2: condition = noisy"
    assert_allclose(found.rows[0].result, lk.eer(lk.Scores(t[1], n[1])))


def test_change_from_another_file(tmp_path, scores):
    lk.write_trials(
        lk.Trials({"score": np.concatenate([scores.target, scores.nontarget]) * 2,
                   "label": np.repeat([1, 0], [300, 3000])}),
        tmp_path / "other.csv",
    )  # fmt: skip
    file = tmp_path / "criteria.toml"
    file.write_text(
        '[[criterion]]\ncharacteristic = "robustness"\nat_most = 0.0\nchange_from = "other.csv"\n'
        '[[criterion]]\ncharacteristic = "generalization"\nat_least = 0.0\nchange_from = "other.csv"\n'
    )
    found = lk.validate(scores, file, replicates=0)
    other = lk.cllr(lk.Scores(2 * scores.target, 2 * scores.nontarget))
    assert_allclose(found.rows[0].result, lk.cllr(scores) - other)
    assert [row.passed for row in found.rows] == [True, False]
    assert "instead of" in found.rows[0].note


def test_characteristics_have_the_usual_metric_and_graph(scores):
    plain = {"criterion": [{"characteristic": name, "at_most": 1.0} for name in CHARACTERISTICS]}
    found = lk.validate(scores, plain, replicates=0)
    assert {row.characteristic: (row.metric, row.graph) for row in found.rows} == CHARACTERISTICS
    assert found.passed


def test_misleading_trials_by_name_and_in_order():
    table = {
        "s": [1.0, -2.0, -0.5, 3.0, -1.0, 4.0],
        "label": [1, 1, 1, 0, 0, 0],
        "model": list("abcdef"),
        "seg": [1, 2, 3, 4, 5, 6],
    }
    trials = lk.Trials(table, score="s", enroll="model", test="seg")
    found = lk.misleading_trials(trials)
    assert [(one.is_target, one.llr, one.trial["model"], one.trial["row"]) for one in found] == [
        (True, -2.0, "b", 1), (True, -0.5, "c", 2), (False, 4.0, "f", 5), (False, 3.0, "d", 3)
    ]  # fmt: skip
    assert found[0].words == "weak support for different sources"
    assert len(lk.misleading_trials(trials, 1)) == 2
    arrays = lk.misleading_trials(Pieces(lk.Scores([1.0, -2.0], [0.5, 3.0, -1.0]), pieces=3))
    assert [(one.llr, one.trial) for one in arrays] == [
        (-2.0, {"position": 1}), (3.0, {"position": 1}), (0.5, {"position": 0})
    ]  # fmt: skip
    with pytest.raises(lk.InputError, match="n must be"):
        lk.misleading_trials(trials, 0)


def test_misleading_trials_of_files(tmp_path, monkeypatch):
    trials = sample(10, 400)
    path = tmp_path / "t.csv"
    lk.write_trials(trials, path)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "512")
    found = lk.misleading_trials(lk.scan_trials(path), 4)
    in_memory = lk.misleading_trials(lk.read_trials(path), 4)
    assert [one.to_dict() for one in found] == [one.to_dict() for one in in_memory]
    assert [one.llr for one in found] == [one.llr for one in lk.misleading_trials(trials, 4)]
    lines = path.read_text().splitlines()
    for one in found:  # the place is a line of the file that holds the LLR
        file, line = one.place.split(", line ")
        assert file == str(path)
        assert repr(one.llr) in lines[int(line) - 1]


@pytest.mark.parametrize(
    ("lr", "word"),
    [
        (1.9, "no support for either"), (2.1, "weak"), (9.9, "weak"), (11, "moderate"), (99, "moderate"),
        (101, "moderately strong"), (1001, "strong"), (10_001, "very strong"), (999_999, "very strong"),
        (1_000_001, "extremely strong"), (math.inf, "extremely strong"),
    ],
)  # fmt: skip
def test_verbal_scale_is_symmetric(lr, word):
    for sign, side in ((1, "the same source"), (-1, "different sources")):
        wanted = word if word.startswith("no") else f"{word} support for {side}"
        assert lk.verbal_scale(sign * math.log(lr)) == wanted
        assert lk.verbal_scale(sign * math.log10(lr), log10=True) == wanted
    with pytest.raises(lk.NaNScoreError):
        lk.verbal_scale(math.nan)


ONE = "[[criterion]]\ncharacteristic = 'accuracy'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no \\[\\[criterion\\]\\] is given"),
        ("a = 1", "unknown a; known are report, options, criterion"),
        (ONE, "cllr needs at_most or at_least"),
        ("[[criterion]]\ncharacteristic = 'speed'\nat_most = 1", "'speed' is not one of accuracy"),
        (ONE + "at_most = 'low'", "at_most must be a number, got 'low'"),
        (ONE + "at_most = nan", "at_most must be a number"),
        (ONE + "at_most = 1\nat_least = 2", "is above at_most"),
        (ONE + "metric = 'verdict'\nat_most = 1", "takes no bound"),
        (ONE + "metric = 3\nat_most = 1", "metric must be a text"),
        (ONE + "at_most = 1\nuse = 'mean'", "use must be estimate or interval"),
        (
            f"[options]\nci = 'trial'\n{ONE}at_most = 1\n"
            f"{ONE}metric = 'cllr_cal'\nuse = 'interval'\nat_most = 1",
            "criterion 2: cllr_cal never has an interval",
        ),
        (
            f"[options]\nci = 'trial'\n{ONE}metric = 'dev_pav'\nuse = 'interval'\nat_most = 1",
            "criterion 1: dev_pav never has an interval",
        ),
        (ONE + "at_most = 1\ncolor = 2", "criterion 1: unknown color"),
        ("criterion = [1]", "criterion 1: expected a table"),
        ("options = 1\n" + ONE + "at_most = 1", "options. must be a table"),
        ("[options]\nmagic = 1\n" + ONE + "at_most = 1", "unknown magic"),
        ("[options]\npoints = [true]\n" + ONE + "at_most = 1", "points cannot be"),
        ("[options]\nspeakers = 4\n" + ONE + "at_most = 1", "speakers cannot be 4"),
        ("[options]\nseed = 0.5\n" + ONE + "at_most = 1", "seed cannot be 0.5"),
        ("[[criterion]\n", "not a TOML file of criteria"),
        (b"\xff\xfe", "not a TOML file of criteria"),
    ],
)
def test_faults_of_a_criteria_file_are_named(tmp_path, text, said):
    path = tmp_path / "criteria.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(lk.FileFormatError, match=said) as caught:
        lk.read_criteria(path)
    assert str(path) in str(caught.value)


def test_a_missing_criteria_file_is_named(tmp_path):
    with pytest.raises(lk.FileFormatError, match="no such file"):
        lk.read_criteria(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        ({"metric": "speed", "at_most": 1}, "unknown metric 'speed'"),
        ({"metric": "act_dcf sre99", "at_most": 1}, "no operating point 'sre99'"),
        ({"metric": "dev_pav", "at_most": 1, "by": "room"}, "by is only for"),
        ({"metric": "dev_pav", "at_most": 1, "change_from": "x.csv"}, "x.csv"),
        ({"metric": "eer", "at_most": 1, "by": "room"}, "there is no column 'room'"),
        ({"metric": "eer", "at_most": 1, "change_from": "x.csv", "use": "interval"}, "has no interval"),
    ],
)
def test_criteria_that_cannot_be_judged_are_named(scores, criterion, said):
    with pytest.raises((lk.LlrkitError, OSError), match=said):
        lk.validate(scores, rows(criterion), replicates=0)


def test_report_states_everything_and_is_safe():
    trials = sample(30, 3000, seed=3)
    report = {name: f"the {name}" for name in REPORT_FIELDS if name != "bounds"}
    report["system"] = "<script>alert(1)</script> | & co"
    plain = rows(
        {"at_most": 0.9, "data": "simulated"}, {"metric": "eer", "at_most": 0.001},
        options={"ci": "speaker", "speakers": ["left", "right"]}, report=report,
    )  # fmt: skip
    found = lk.validate(trials, plain, replicates=20)
    text = found.to_markdown(verbal=True)
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\| &amp; co" in text
    for words in (
        "**bounds**: not stated", "**sources**: 30 (", "same-source",
        "| ECE | &lt;= 0.9 | simulated |", "| ECE | &lt;= 0.1 % | these comparisons |",
        "range these comparisons support",
        "range of the LLRs", "min Cllr",
        "Cllr - min", "ROC convex hull", "each speaker left out in turn", "design effect",
        "if calibrated", "Tippett at 0",
        "support for", "| FAIL |", "1 of 2 criteria is not met: accuracy (eer).",
    ):  # fmt: skip
        assert words in text, words
    assert "support for" not in found.to_markdown()
    assert repr(found).endswith("1 of 2 criteria is not met: accuracy (eer).")
    again = json.loads(json.dumps(found.to_dict()))
    assert again["matrix"][0]["data"] == "simulated"
    assert again["calibration"]["verdict"]["text"] == found.check.verdict.text
    assert len(again["misleading"]) == len(found.misleading)


CRITERIA = """
[options]
ci = "speaker"
speakers = ["left", "right"]
points = ["sre08", 0.3]

[report]
system = "test 1.0"

[[criterion]]
characteristic = "accuracy"
at_most = {bound}
use = "interval"

[[criterion]]
characteristic = "discriminating power"
metric = "act_dcf P=0.3"
at_most = 2.0
"""


@pytest.fixture
def files(tmp_path):
    scores, criteria = tmp_path / "llrs.csv", tmp_path / "criteria.toml"
    lk.write_trials(sample(20, 1500, names=True), scores)
    criteria.write_text(CRITERIA.format(bound=5.0))
    return scores, criteria


def run(*arguments):
    return CliRunner().invoke(cli, ["validate", *(str(argument) for argument in arguments)])


def test_command_passes_and_fails_by_exit_code(files):
    scores, criteria = files
    done = run(scores, "--criteria", criteria, "--json", "-", "--worst", "2", "--verbal")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["schema"] == "llrkit.validate/1"
    assert found["passed"] is True
    assert [row["characteristic"] for row in found["matrix"]] == ["accuracy", "discriminating power"]
    assert len(found["matrix"][0]["interval"]) == 2
    assert len(found["misleading"]) == 4
    assert "Both criteria are met." in done.stderr
    assert "support for" in done.stderr
    criteria.write_text(CRITERIA.format(bound=0.01))
    done = run(scores, "--criteria", criteria)
    assert done.exit_code == 1
    assert "1 of 2 criteria is not met" in done.stdout
    assert "FAIL" in done.stdout


def test_command_writes_a_report(files, tmp_path):
    scores, criteria = files
    out = tmp_path / "report.md"
    assert run(scores, "--criteria", criteria, "--report", out).exit_code == 0
    assert out.read_text().startswith("# Validation report")
    assert "test 1.0" in out.read_text()


def test_command_writes_a_page(files, tmp_path):
    scores, criteria = files
    criteria.write_text(CRITERIA.format(bound=5.0).replace("test 1.0", "<b>bold</b>"))
    out = tmp_path / "page.html"
    assert run(scores, "--criteria", criteria, "--html", out, "--verbal").exit_code == 0
    page = out.read_text()
    assert "<b>bold</b>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    for words in (
        "Both criteria are met.",
        "Most misleading comparisons",
        "support for",
        "each speaker left out in turn",
        "95 % interval",
        "Calibration tested",
        "not stated",
        "Tippett at 0",
    ):
        assert words in page


def test_setting_counts_sources_recordings_and_llrs_beyond_what_trials_support():
    table = {
        "llr": [9.0, 1.0, 0.5, -9.0, -1.0, 8.0, -2.0],
        "label": [1, 1, 1, 0, 0, 0, 0],
        "model": ["m1", "m2", "m2", "m1", "m1", "m2", "m3"],
        "seg": ["s1", "s2", "s3", "s2", "s3", "s1", "s1"],
        "who": ["a", "b", "b", "a", "a", "b", "c"],
        "other": ["a", "b", "b", "b", "b", "a", "a"],
    }
    trials = lk.Trials(table, score="llr", enroll="model", test="seg")
    found = find_scope(trials, lk.evaluate(trials), speakers=("who", "other"))
    assert (found.n_target, found.n_nontarget) == (3, 4)
    assert (found.sources.n, found.sources.n_target, found.sources.n_nontarget) == (3, 2, 3)
    assert (found.recordings.n, found.recordings.n_target, found.recordings.n_nontarget) == (6, 5, 6)
    assert (found.lowest, found.highest) == (-9.0, 9.0)
    elub = lk.bound_elub(lk.AffineMap(a=1.0, b=0.0), trials)
    assert found.supported == (elub.low, elub.high)
    assert found.n_beyond == sum(not elub.low <= x <= elub.high for x in table["llr"])
    assert found.beyond_by == max(9.0 - elub.high, elub.low + 9.0) > 0
    stronger = f"{found.n_beyond} LLRs are stronger, by {found.beyond_by:.2g} nats at most"
    assert found.words()["range these trials support"].endswith(stronger)
    within = replace(found, n_beyond=0, beyond_by=0.0)
    assert within.words()["range these trials support"].endswith("no LLR is stronger")
    assert found.calibration is found.bounds is None
    assert "bounds of the map" not in found.words()
    pieces = Pieces(trials.scores(), pieces=3)
    again = find_scope(pieces, lk.evaluate(pieces))
    assert again.sources is again.recordings is None
    assert again.n_beyond == found.n_beyond
    named = find_scope(trials, lk.evaluate(trials), recordings="seg")
    assert named.recordings.n == 3


def test_an_excess_over_the_supported_range_is_told_with_its_size(scores):
    elub = lk.bound_elub(lk.AffineMap(a=1.0, b=0.0), scores)
    slightly = lk.bound_fixed(lk.AffineMap(a=1.0, b=0.0), elub.low - 0.004, elub.high)
    llrs = slightly(scores)
    found = lk.validate(llrs, rows({"at_most": 1.0}), replicates=0)
    (low, high), values = found.setting.supported, np.concatenate([llrs.target, llrs.nontarget])
    n, most = np.count_nonzero((values < low) | (values > high)), max(low - values.min(), values.max() - high)
    assert n > 1000
    assert 0 < most < 0.03
    assert f"{n:,} LLRs are stronger, by {most:.2g} nats at most" in found.to_markdown()
    assert found.to_dict()["setting"]["beyond_by"] == most


@pytest.mark.parametrize("metric", ["cllr", "eer"])
def test_a_pass_whose_interval_crosses_the_limit_says_so(scores, metric):
    options = {"ci": "trial"}
    row = lk.validate(scores, {**rows({"metric": metric, "at_most": 1.0}), "options": options}, replicates=0)
    value, (low, high) = row.rows[0].result, row.rows[0].interval
    assert low < value < high
    note = "the limit lies inside the interval, the estimate decides"
    for limit, passed, said in (
        (high + 1e-6, True, ""),
        ((value + high) / 2, True, note),
        ((value + low) / 2, False, note),
        (low - 1e-6, False, ""),
    ):
        criteria = {**rows({"metric": metric, "at_most": limit}), "options": options}
        found = lk.validate(scores, criteria, replicates=0)
        assert (found.rows[0].passed, found.rows[0].note) == (passed, said)
        assert found.to_dict()["matrix"][0]["note"] == said
        assert (note in found.to_markdown()) == (note in repr(found)) == bool(said)


@pytest.mark.parametrize(
    ("bound", "why"),
    [
        (lambda m, s: lk.bound_fixed(m, -1.5, 2.0), "given with the map"),
        (lambda m, s: lk.bound_sources(m, 10), "logarithm of the number of training sources"),
        (lk.bound_elub, "Vergeer"),
        (lk.bound_invariance, "Alberink"),
    ],
)
def test_bounds_are_stated_with_their_reason(scores, bound, why):
    fitted = bound(lk.fit_logistic(scores), scores)
    llrs = fitted(scores)
    for calibration in (fitted, lk.AffineMap(a=1.0, b=0.0).then(fitted)):
        found = lk.validate(llrs, rows({"at_most": 1.0}), calibration=calibration, apply=False, replicates=0)
        bounds = found.setting.bounds
        values = np.concatenate([llrs.target, llrs.nontarget])
        assert (bounds.low, bounds.high) == (fitted.low, fitted.high)
        assert bounds.n_at_low == np.count_nonzero(values == fitted.low) > 0
        assert bounds.n_at_high == np.count_nonzero(values == fitted.high) > 0
        assert bounds.n_beyond == 0
        assert why in found.to_markdown()
    assert found.to_dict()["setting"]["bounds"]["high"] == fitted.high
    # LLRs that the map cannot have made are noticed
    other = lk.validate(scores, rows({"at_most": 1.0}), calibration=fitted, apply=False, replicates=0)
    wide = np.concatenate([scores.target, scores.nontarget])
    outside = np.count_nonzero((wide < fitted.low) | (wide > fitted.high))
    assert other.setting.bounds.n_beyond == outside > 0
    assert "this map did not make these LLRs" in other.to_markdown()


def test_a_map_without_bounds_says_so(scores):
    fitted = lk.fit_logistic(scores)
    found = lk.validate(fitted(scores), rows({"at_most": 1.0}), calibration=fitted, apply=False, replicates=0)
    text = found.to_markdown()
    assert "**calibration map**: logistic, trained on 300 same-source and 3,000 different-source" in text
    assert "**bounds of the map**: none" in text


def test_curves_and_bands_for_a_page(scores):
    assert lk.validate(scores, rows({"at_most": 1.0}), replicates=0).bands is None
    found = lk.validate(scores, rows({"at_most": 1.0}), replicates=20, curves=True)
    assert {curve.method for curve in found.check.curves} == {"logistic", "pav", "gaussian", "kde"}
    assert found.bands.det.level == 0.95
    wide = rows({"at_most": 1.0}, options={"level": 0.5, "ci": "trial"})
    assert lk.validate(scores, wide, replicates=0, curves=True).bands.det.level == 0.5


def test_command_states_the_calibration(files, tmp_path):
    scores, criteria = files
    trials = lk.read_trials(scores)
    fitted = lk.bound_elub(lk.fit_logistic(trials), trials)
    fitted.save(tmp_path / "cal.json")
    out = tmp_path / "report.md"
    done = run(scores, "--criteria", criteria, "--map", tmp_path / "cal.json", "--report", out, "--json", "-")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["setting"]["bounds"]["method"] == "elub"
    assert "logistic+elub, trained on" in out.read_text()


def test_command_names_faults(files):
    scores, criteria = files
    criteria.write_text("[[criterion]]\ncharacteristic = 'accuracy'\n")
    done = run(scores, "--criteria", criteria)
    assert isinstance(done.exception, lk.FileFormatError)
    assert "validate needs --criteria FILE" in str(run(scores).exception)
    assert "validate needs SCORES" in str(run("--criteria", criteria).exception)


def test_the_template_is_written_once_and_can_be_used_as_it_is(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, template = files[0], tmp_path / "own.toml"
    assert "fill it in" in run("--init", template).stdout
    found = json.loads(run(scores, "--criteria", template, "--json", "-").stdout)
    assert [row["decision"] for row in found["matrix"]][:2] == ["failed", "failed"]  # EER 25 %, as simulated
    written = template.read_text()
    assert "exists already" in str(run("--init", template).exception)
    assert "leave out" in str(run("--init", "other.toml", scores).exception)
    assert template.read_text() == written
    assert not (tmp_path / "other.toml").exists()
    (tmp_path / "criteria.toml").unlink()
    run("--init")
    assert (tmp_path / "criteria.toml").read_text() == written


def test_everything_the_template_shows_is_accepted():
    """The lines that are commented out, too: all six characteristics and all fields of the report."""
    commented = re.compile(r"# (?=\[\[|[a-z_]+ = )")
    shown = "\n".join(commented.sub("", line) for line in criteria_template().splitlines())
    found = criteria_from_dict(tomllib.loads(shown.replace('ci = "trial"\n', "")))
    assert {row.characteristic for row in found.rows} == set(CHARACTERISTICS)
    assert tuple(found.report) == REPORT_FIELDS


def test_template_and_page_ask_for_robustness_and_coherence_alike():
    """As defined by Meuwly et al. (2017): kept when a property changes, better with more or better data."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "validation.md"
    commented = re.compile(r"^# (?=\[\[criterion|\w+ = )", re.MULTILINE)
    template = criteria_template()
    texts = (
        commented.sub("", template[template.index("# How good") :]),
        re.search(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)[1],
    )
    for text in texts:
        rows = {row["characteristic"]: row for row in tomllib.loads(text)["criterion"]}
        assert "by" in rows["robustness"]
        assert "change_from" not in rows["robustness"]
        assert rows["coherence"]["change_from"] == "shorter.csv"
        assert rows["coherence"]["at_most"] == 0.0


def test_criteria_from_python_and_from_a_file_are_the_same(files):
    found = lk.read_criteria(files[1])
    assert found.rows == criteria_from_dict({
        "options": {"ci": "trial"},
        "criterion": [
            {"characteristic": "accuracy", "at_most": 5.0, "use": "interval"},
            {"characteristic": "discriminating power", "metric": "act_dcf P=0.3", "at_most": 2.0},
        ]
    }).rows  # fmt: skip
    assert found.folder == files[1].parent


def test_files_that_changes_are_counted_from_are_said_to_be_read_without_where(tmp_path, monkeypatch):
    """Only the scores obey --where: the value before is that of the whole other file."""
    rng = np.random.default_rng(5)
    lines = [f"{'target' if i < 60 else 'nontarget'},{x:.6f},{i % 2}"
             for i, x in enumerate(np.append(rng.normal(2, 2, 60), rng.normal(-2, 2, 300)))]  # fmt: skip
    (tmp_path / "clean.csv").write_text("\n".join(["label,score,room", *lines]) + "\n")
    (tmp_path / "criteria.toml").write_text(
        '[[criterion]]\ncharacteristic = "robustness"\nat_most = 9.0\nchange_from = "clean.csv"\n'
    )
    monkeypatch.chdir(tmp_path)
    asked = ("clean.csv", "--criteria", "criteria.toml", "--json", "-")
    result = run(*asked, "--where", "room == 1")
    assert result.exit_code == 0, result.stderr
    got = json.loads(result.stdout)
    assert got["cautions"] == [
        "clean.csv, from which a change is counted: read without --where, which is for the scores that are "
        "validated."
    ]
    whole = lk.read_trials("clean.csv")
    part = lk.read_trials("clean.csv", where="room == 1")
    assert_allclose(got["matrix"][0]["result"], lk.cllr(part) - lk.cllr(whole), rtol=1e-12)
    assert json.loads(run(*asked).stdout)["cautions"] == []
