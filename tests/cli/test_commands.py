"""The command line as a person uses it: in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.cli import cli


def run(*arguments: str, cwd=None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from llrkit.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


@pytest.fixture
def score_file(tmp_path):
    rng = np.random.default_rng(5)
    path = tmp_path / "scores.csv"
    rows = [f"{x!r},target,{'fm'[i % 2]}" for i, x in enumerate(rng.normal(2, 2, 60).tolist())]
    rows += [f"{x!r},nontarget,{'fm'[i % 2]}" for i, x in enumerate(rng.normal(-2, 2, 300).tolist())]
    rows.append("-1.0,nontarget,x")
    path.write_text("\n".join(["score,label,sex", *rows]) + "\n")
    return path


def test_evaluate_prints_a_table_that_lines_up_and_a_sentence(score_file):
    done = run("evaluate", str(score_file), "--point", "sre08", "--point", "0.05")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    rows = [re.match(r"(\S.*?)  +(\S.*?)(?:  |$)", line) for line in lines[1 : lines.index("")]]
    assert [row[1] for row in rows if row][:3] == ["trials", "EER", "EER (ROC)"]
    assert len({row.end(2) for row in rows if row}) == 1  # numbers end in the same column
    assert "min DCF P=0.05" in done.stdout
    assert "lost to discrimination" in lines[-1]


def test_evaluate_json_alone_on_standard_output_equals_the_library(score_file):
    done = run("evaluate", str(score_file), "--point", "sre12", "--by", "sex", "--json", "-")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["schema"] == "llrkit.evaluate/1"
    expected = lk.evaluate(lk.read_trials(score_file), ["sre12"], by="sex").to_dict()
    assert {key: value for key, value in found.items() if key not in ("schema", "scores")} == expected
    assert set(found["groups"]) == {"f", "m"}
    assert "x" in found["skipped_groups"]
    assert found["primary"]["name"] == "sre12"
    assert "Cllr" in done.stderr
    for key in ("n_target", "n_nontarget", "eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal", "points"):
        assert key in found
    assert set(found["points"][0]) >= {"name", "p_target", "c_miss", "c_fa", "min_dcf", "act_dcf"}


def test_groups_of_several_columns_in_table_json_and_plot(score_file, tmp_path):
    header, *rows = score_file.read_text().splitlines()[:-1]
    lengths = [f"{row},{3 if i % 3 else 20}" for i, row in enumerate(rows)]
    score_file.write_text("\n".join([f"{header},s", *lengths]))
    expected = lk.evaluate(lk.read_trials(score_file), by=["sex", "s"])
    assert list(expected.groups) == [("f", "3"), ("f", "20"), ("m", "3"), ("m", "20")]
    done = CliRunner().invoke(cli, ["evaluate", str(score_file), "--by", "sex, s", "--json", "-"])
    assert json.loads(done.stdout)["groups"] == expected.to_dict()["groups"]
    assert "sex, s  target" in done.stderr
    assert re.search(r"\(sex, s = [fm], \d+\)", done.stderr)
    done = CliRunner().invoke(cli, ["evaluate", str(score_file), "--by", "sex,s", "--table", "csv"])
    assert [line.split('",')[0] for line in done.stdout.splitlines()][2:] == [
        '"f, 3',
        '"f, 20',
        '"m, 3',
        '"m, 20',
    ]
    picture = tmp_path / "det.svg"
    done = CliRunner().invoke(cli, ["plot", "det", str(score_file), "--by", "sex,s", "-o", str(picture)])
    assert (done.exit_code, picture.exists()) == (0, True)


def test_standard_input_is_called_so(score_file):
    def piped(*arguments, text):
        return CliRunner().invoke(cli, [*arguments], input=text)

    text = score_file.read_text()
    done = piped("evaluate", "-", "--json", "-", text=text)
    assert json.loads(done.stdout)["scores"] == "standard input"
    assert done.stderr.startswith("standard input\n")
    done = piped("evaluate", "-", "--table", "csv", text=text)
    assert done.stdout.splitlines()[1].startswith("standard input,60,301,")
    done = piped("evaluate", "-", text=text + "x,target,f\n")
    assert str(done.exception) == "standard input, line 363, column 'score': 'x' is not a number"


def test_labels_from_a_key_in_another_file_and_another_order(tmp_path):
    (tmp_path / "s.csv").write_text("model,test,score\na,1,2.5\na,2,-1\nb,1,0.5\n")
    (tmp_path / "k.tsv").write_text("test\tmodel\tlabel\n1\tb\tnontarget\n2\ta\tnontarget\n1\ta\ttarget\n")
    found = json.loads(run("evaluate", "s.csv", "--key", "k.tsv", "--json", "-", cwd=tmp_path).stdout)
    assert_allclose(found["cllr"], lk.cllr(lk.Scores([2.5], [-1.0, 0.5])), rtol=1e-14)


@pytest.mark.parametrize(
    ("scores", "key", "said"),
    [
        ("a,1,2\na,2,1", "1,a,target", "k.csv: no label for 1 trial: a 2"),
        ("a,1,2", "1,a,target\n2,a,nontarget\n3,c,nontarget", "s.csv: no score for 2 trials: a 2; c 3"),
        ("a,1,2\na,1,3", "1,a,target", "s.csv: trial a 1 occurs more than once"),
        ("a,1,2\na,2,3", "1,a,target\n1,a,target\n2,a,nontarget", "k.csv: trial a 1 occurs more than once"),
        ("a,1,2\na,2,3", "1,a,target\n2,a,perhaps", "perhaps"),
    ],
)
def test_scores_and_key_that_do_not_match_are_named(tmp_path, scores, key, said):
    (tmp_path / "s.csv").write_text(f"model,test,score\n{scores}\n")
    (tmp_path / "k.csv").write_text(f"test,model,label\n{key}\n")
    done = run("evaluate", "s.csv", "--key", "k.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_infinities_are_spelled_in_json(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("score,label\n-inf,target\n1,target\n0,nontarget\n")
    out = tmp_path / "r.json"
    assert run("evaluate", str(path), "--json", str(out)).returncode == 0
    assert json.loads(out.read_text())["cllr"] == "inf"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "s.csv"]


def test_log10_scores_are_rescaled_and_threshold_comes_from_development_data(tmp_path, score_file):
    ten = tmp_path / "ten.npz"
    scores = lk.read_trials(score_file).scores()
    np.savez(ten, target=scores.target / np.log(10), nontarget=scores.nontarget / np.log(10))
    done = run("evaluate", str(ten), "--log10", "--threshold-from", str(ten), "--json", "-")
    found = json.loads(done.stdout)
    assert_allclose(found["cllr"], lk.cllr(scores), rtol=1e-12)
    assert_allclose(found["fixed_threshold"]["hter"], lk.hter(scores, scores), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "nothing.csv"], "no such file"),
        (["evaluate", "bad.csv"], "line 3"),
        (["evaluate", "ok.csv", "--point", "sre99"], "unknown operating point"),
        (["evaluate", "ok.csv", "--point", "sre24"], "--allow-unconfirmed"),
        (["evaluate", "ok.csv", "--point", "0.1,1"], "a prior and the costs of a miss and of a false alarm"),
        (["evaluate", "ok.csv", "--point", "1.5"], "strictly between 0 and 1"),
        (["evaluate", "ok.csv", "--by", "age"], "there is no column 'age'"),
        (["evaluate", "ok.csv", "--score-column", "x"], "there is no column 'x'"),
        (["evaluate"], "missing argument 'SCORES'; see llrkit evaluate --help"),
        (["evaluate", "ok.csv", "--xyz"], "no such option '--xyz'; see llrkit evaluate --help"),
        (["evaluate", "ok.csv", "--speaker", "x"], "no such option '--speaker' (did you mean '--speakers'?)"),
        (["evaluate", "ok.csv", "--by"], "option '--by' requires an argument; see llrkit evaluate --help"),
        (
            ["evaluate", "ok.csv", "--ci", "spekaer"],
            "--ci: 'spekaer' (did you mean 'speaker'?): ",
        ),
        (["evaluate", "ok.csv", "--seed", "x"], "invalid value for '--seed': 'x' is not a whole number"),
        (["evaluate", "ok.csv", "b.csv"], "got unexpected extra argument (b.csv); see llrkit evaluate"),
        (["evalute", "ok.csv"], "no such command 'evalute' (did you mean 'evaluate'?); there are adapt, "),
        (["recognize", "trian"], "no such command 'trian' (did you mean 'train'?); there are cohort, "),
        (["plot", "dett", "ok.csv"], "KIND: 'dett' (did you mean 'det'?): expected one of det, roc, "),
        (["--verson"], "no such option '--verson' (did you mean '--version'?); see llrkit --help"),
        (["calibrate", "ok.csv", "-o", "c", "--method", "logistik"], "(did you mean 'logistic'?)"),
        (
            ["calibrate", "ok.csv", "-o", "c", "--option", "priorr=1"],
            "(did you mean 'prior'?): logistic ",
        ),
        (["evaluate", "ok.csv", "--label-column", "lable"], "'lable' (did you mean 'label'?); there are: "),
        (["evaluate", "ok.csv", "--point", "sre8"], "'sre8' (did you mean 'sre08'?)"),
        (["theory"], "give at least one"),
        (["theory", "--eer", "60%"], "eer"),
        (["theory", "--cllr", "abc"], "is not a number"),
    ],
)
def test_wrong_use_gives_one_line_and_exit_code_2(tmp_path, arguments, said):
    (tmp_path / "ok.csv").write_text("score,label\n1,target\n0,nontarget\n")
    (tmp_path / "bad.csv").write_text("score,label\n1,target\nx,nontarget\n")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.startswith("llrkit: error: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_command_without_arguments_still_shows_its_help(tmp_path):
    done = run("simulate", cwd=tmp_path)
    assert (done.returncode, "Usage: llrkit simulate" in done.stdout + done.stderr) == (2, True)


def test_unwritable_json_leaves_nothing_and_fails(tmp_path, score_file):
    done = run("evaluate", str(score_file), "--json", str(tmp_path / "no" / "r.json"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_theory_against_the_printed_table():
    # T1 of the theory digest: EER 5 %
    done = run("theory", "--eer", "5%", "--json", "-")
    found = json.loads(done.stdout)
    assert found["schema"] == "llrkit.theory/1"
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
    assert_allclose(json.loads(run("theory", *option, "--json", "-").stdout)["eer"], 0.05, rtol=1e-11)


def test_theory_shows_several_systems_side_by_side():
    done = run("theory", "--eer", "1%", "--eer", "10%", "--sigma", "2")
    first = done.stdout.splitlines()[1]
    assert first.split()[0] == "EER"
    assert first.count("%") == 3


@pytest.mark.parametrize("command", [[], *([name] for name in sorted(cli.commands))])
def test_help_has_an_example(command):
    done = run(*command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert "  llrkit " in done.stdout


def test_the_list_of_commands_fits_a_terminal_of_80_columns():
    listed = run("--help").stdout.split("Commands:")[1].splitlines()[1:]
    assert len(listed) > 20
    assert [line for line in listed if line.endswith("...")] == []


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['llrkit', '--help']\n"
        "from llrkit.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'scipy', 'polars', 'matplotlib', 'plotly', 'numpy', 'rich'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "HEAVY []"


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
        assert process.wait(timeout=60) == 0
    os.close(leader)
    assert "│" in shown.decode()
    assert "min Cllr" in shown.decode()
