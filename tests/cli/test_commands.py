"""Evaluate and theory, standard input, keys, wrong use; a few in a process of their own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.cli import cli
from llrkit.cli.program import MOVED, exit_code_of
from llrkit.jobs.table import VERBS


def started(*arguments):
    command = [sys.executable, "-c", "from llrkit.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def score_file(tmp_path):
    rng = np.random.default_rng(5)
    path = tmp_path / "scores.csv"
    rows = [f"{x!r},target,{'fm'[i % 2]}" for i, x in enumerate(rng.normal(2, 2, 60).tolist())]
    rows += [f"{x!r},nontarget,{'fm'[i % 2]}" for i, x in enumerate(rng.normal(-2, 2, 300).tolist())]
    rows.append("-1.0,nontarget,x")
    path.write_text("\n".join(["score,label,sex", *rows]) + "\n")
    return path


def test_evaluate_json_alone_on_standard_output_equals_the_library(score_file):
    code, out, err = run("evaluate", score_file, "--point", "sre12", "--by", "sex", "--json", "-")
    assert code == 0
    found = json.loads(out)
    expected = lk.evaluate(lk.read_trials(score_file), points=["sre12"], by="sex").to_dict()
    assert {key: value for key, value in found.items() if key not in ("schema", "scores")} == expected
    assert set(found["groups"]) == {"f", "m"}
    assert "x" in found["skipped_groups"]
    assert "Cllr" in err


def test_groups_of_several_columns_in_table_and_json(score_file):
    header, *rows = score_file.read_text().splitlines()[:-1]
    lengths = [f"{row},{3 if i % 3 else 20}" for i, row in enumerate(rows)]
    score_file.write_text("\n".join([f"{header},s", *lengths]))
    expected = lk.evaluate(lk.read_trials(score_file), by=["sex", "s"])
    assert list(expected.groups) == [("f", "3"), ("f", "20"), ("m", "3"), ("m", "20")]
    _, out, _ = run("evaluate", score_file, "--by", "sex, s", "--json", "-")
    assert json.loads(out)["groups"] == expected.to_dict()["groups"]
    _, out, _ = run("evaluate", score_file, "--by", "sex,s", "--table", "csv")
    names = [line.split('",')[0] for line in out.splitlines()][2:]
    assert names == ['"f, 3', '"f, 20', '"m, 3', '"m, 20']


def test_standard_input_is_called_so(score_file):
    text = score_file.read_text()
    done = CliRunner().invoke(cli, ["evaluate", "-", "--json", "-"], input=text)
    assert json.loads(done.stdout)["scores"] == "standard input"
    done = CliRunner().invoke(cli, ["evaluate", "-"], input=text + "x,target,f\n")
    assert str(done.exception) == "standard input, line 363, column 'score': 'x' is not a number"


def test_labels_from_a_key_in_another_file_and_another_order(tmp_path):
    (tmp_path / "s.csv").write_text("model,test,score\na,1,2.5\na,2,-1\nb,1,0.5\n")
    (tmp_path / "k.tsv").write_text("test\tmodel\tlabel\n1\tb\tnontarget\n2\ta\tnontarget\n1\ta\ttarget\n")
    _, out, _ = run("evaluate", tmp_path / "s.csv", "--key", tmp_path / "k.tsv", "--json", "-")
    assert_allclose(json.loads(out)["cllr"], lk.cllr(lk.Scores([2.5], [-1.0, 0.5])), rtol=1e-14)


@pytest.mark.parametrize(
    ("scores", "key", "said"),
    [
        ("a,1,2\na,2,1", "1,a,target", "k.csv: no label for 1 trial: a 2"),
        ("a,1,2\na,1,3", "1,a,target", "s.csv: trial a 1 occurs more than once"),
        ("a,1,2\na,2,3", "1,a,target\n1,a,target\n2,a,nontarget", "k.csv: trial a 1 occurs more than once"),
        ("a,1,2\na,2,3", "1,a,target\n2,a,perhaps", "perhaps"),
    ],
)
def test_scores_and_key_that_do_not_match_are_named(tmp_path, scores, key, said):
    (tmp_path / "s.csv").write_text(f"model,test,score\n{scores}\n")
    (tmp_path / "k.csv").write_text(f"test,model,label\n{key}\n")
    code, _, err = run("evaluate", tmp_path / "s.csv", "--key", tmp_path / "k.csv")
    assert code == 2
    assert said in err


def test_infinities_are_spelled_in_json(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,label\n-inf,target\n1,target\n0,nontarget\n")
    out = tmp_path / "r.json"
    assert run("evaluate", path, "--json", out)[0] == 0
    assert json.loads(out.read_text())["cllr"] == "inf"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "s.csv"]


def test_log10_scores_are_rescaled_and_threshold_comes_from_development_data(tmp_path, score_file):
    ten = tmp_path / "ten.npz"
    scores = lk.read_trials(score_file).scores()
    np.savez(ten, target=scores.target / np.log(10), nontarget=scores.nontarget / np.log(10))
    found = json.loads(run("evaluate", ten, "--log10", "--threshold-from", ten, "--json", "-")[1])
    assert_allclose(found["cllr"], lk.cllr(scores), rtol=1e-12)
    assert_allclose(found["fixed_threshold"]["hter"], lk.metrics.hter(scores, dev=scores), rtol=1e-12)


WRONG_USE = [
    ("evaluate nothing.csv", "no such file"),
    ("evaluate bad.csv", "line 3"),
    ("evaluate ok.csv --point sre24", "--allow-unconfirmed"),
    ("evaluate ok.csv --point 0.1,1", "0.1,1"),
    ("evaluate ok.csv --by age", "'age'"),
    ("evaluate ok.csv --unreadable skip", "--unreadable"),
    ("evaluate", "'SCORES'"),
    ("evaluate ok.csv --speaker x", "did you mean '--speakers'?"),
    ("evaluate ok.csv --ci spekaer", "did you mean 'speaker'?"),
    ("evaluate ok.csv --seed 1 --seed 2", "--seed is given twice"),
    ("evaluate ok.csv b.csv", "b.csv"),
    ("evalute ok.csv", "did you mean 'evaluate'?"),
    ("plot dett ok.csv", "did you mean 'det'?"),
    ("calibrate ok.csv -o c --method logistik", "did you mean 'logistic'?"),
    ("theory --eer 60%", "eer"),
]


def test_wrong_use_gives_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text("score,label\n1,target\n0,nontarget\n")
    (tmp_path / "bad.csv").write_text("score,label\n1,target\nx,nontarget\n")
    for typed, said in WRONG_USE:
        code = exit_code_of(partial(cli.main, typed.split(), prog_name="llrkit"), debug=False)
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), typed
        assert said in err
        assert err.startswith("llrkit: error: ")
        assert err.count("\n") == 1


@pytest.mark.slow
def test_the_program_itself_gives_numbers_and_exit_codes(score_file):
    done = started("evaluate", score_file, "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["cllr"] == lk.cllr(lk.read_trials(score_file))
    assert started("evaluate", score_file, "--by", "age").returncode == 2


def test_theory_against_the_printed_table():
    # T1 of the theory digest: EER 5 %
    found = json.loads(run("theory", "--eer", "5%", "--json", "-")[1])
    assert_allclose(found["mu"], 5.411086908191, rtol=1e-12)
    assert_allclose(found["d_prime"], 3.289707253903, rtol=1e-12)
    assert_allclose(found["cllr"], 0.1835833745691, rtol=1e-12)
    points = {point["name"]: point["min_dcf"] for point in found["points"]}
    assert_allclose(points["sre08"], 0.2665837629454, rtol=1e-12)
    assert_allclose(points["sre10"], 0.7656571252078, rtol=1e-12)
    primaries = {row["name"]: row["min"] for row in found["primaries"]}
    assert_allclose([primaries["sre12"], primaries["sre16"]], [0.6420842018, 0.558746242], rtol=1e-9)


@pytest.mark.parametrize(
    "option", [("--d-prime", "3.289707253903"), ("--mu", "5.411086908191"), ("--cllr", "0.1835833745691")]
)
def test_theory_from_any_number_is_the_same_system(option):
    assert_allclose(json.loads(run("theory", *option, "--json", "-")[1])["eer"], 0.05, rtol=1e-11)


@pytest.mark.slow
def test_a_terminal_gets_a_drawn_table(score_file):
    leader, follower = pty.openpty()
    code = "from llrkit.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "evaluate", str(score_file)],
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 4096):
                shown += part
        except OSError:  # the other end is closed: the program is done
            pass
        assert process.wait(timeout=300) == 0
    os.close(leader)
    assert "│" in shown.decode()
    assert "min Cllr" in shown.decode()


def test_a_command_of_an_earlier_version_names_its_place():
    for words, place in MOVED.items():
        code, _, said = run(*(("simulate", words) if place.startswith("simulate") else (words,)))
        assert code == 2
        assert said.strip().endswith(f"it is now llrkit {place}")
        first, *rest = place.split()
        assert first in cli.commands
        assert not rest or rest[0].startswith("-") or f"{first} {rest[0]}" in VERBS
