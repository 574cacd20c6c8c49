"""The command line as users start it: closed streams, odd terminals and names, pipes, and exit codes."""

import json
import os
import subprocess
import sys
import threading

import pytest

import llrkit as lk
from llrkit.cli.program import exit_code_of, explained
from llrkit.errors import ClusterError, InputError

ROWS = [f"e{i},t{i},{(i * 37 % 100) / 10 - 5 + i % 2},{i % 2}" for i in range(60)]
SCORES = "\n".join(["enroll,test,score,label", *ROWS, ""])


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(SCORES)
    return path


def llrkit(*arguments, shell=None, **options):
    """The program as users start it; ``shell`` is what stands behind the command."""
    command = [sys.executable, "-m", "llrkit", *map(str, arguments)]
    environment = {**os.environ, **options.pop("env", {})}
    if shell is not None:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(command, capture_output=True, env=environment, timeout=300, **options)


def one_line(text):
    lines = [line for line in text.decode().splitlines() if not line.startswith("llrkit: warning")]
    assert len(lines) == 1, text
    return lines[0]


@pytest.mark.slow
def test_closed_streams(scores):
    done = llrkit("evaluate", scores, shell=">&-")
    assert done.returncode == 1
    assert one_line(done.stderr)
    done = llrkit("evaluate", scores, shell="2>&-")
    assert done.returncode == 0
    assert b"Cllr" in done.stdout
    done = llrkit("evaluate", scores, shell="<&- >/dev/full")
    assert done.returncode == 1
    assert one_line(done.stderr)


@pytest.mark.slow
def test_terminals_that_lack_characters(scores):
    done = llrkit("evaluate", scores, "--table", "markdown", env={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stdout.decode("latin-1").count("|") > 20) == (0, True)


@pytest.mark.slow
def test_file_names_that_are_not_text(tmp_path):
    folder = os.fsencode(tmp_path)
    names = [folder + b"/\xff1.csv", folder + b"/\xff2.csv"]
    for name in names:
        with open(name, "w") as file:
            file.write(SCORES)
    first, second = map(os.fsdecode, names)
    for command in (
        ["report", first, second, "-o", tmp_path / "r.html"],
        ["fuse", first, second, "-o", tmp_path / "f.json"],
    ):
        done = llrkit(*command)
        assert done.returncode == 0, (command, done.stderr)
    done = llrkit("convert", first, second.replace(".csv", ".parquet"))
    assert done.returncode == 2
    assert one_line(done.stderr)


@pytest.mark.slow
def test_a_wrong_backend_for_pictures(scores, tmp_path):
    done = llrkit("plot", "det", scores, "-o", tmp_path / "p.png", env={"MPLBACKEND": "nonsense"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.png").stat().st_size > 0


@pytest.mark.slow
def test_standard_input_and_pipes(scores, tmp_path):
    plain = llrkit("evaluate", scores, "--json", "-").stdout
    piped = llrkit("evaluate", "-", "--json", "-", input=SCORES.encode())
    assert piped.returncode == 0, piped.stderr
    assert json.loads(piped.stdout)["cllr"] == json.loads(plain)["cllr"]
    key = "".join(f"e{i},t{i},{i % 2}\n" for i in range(60))
    no_labels = "\n".join(line.rpartition(",")[0] for line in SCORES.splitlines()) + "\n"
    (tmp_path / "u.csv").write_text(no_labels)
    key = b"enroll,test,label\n" + key.encode()
    keyed = llrkit("evaluate", tmp_path / "u.csv", "--key", "-", "--json", "-", input=key)
    assert json.loads(keyed.stdout)["cllr"] == json.loads(plain)["cllr"]
    done = llrkit("evaluate", "-", "--key", "-", input=b"x")
    assert done.returncode == 2


@pytest.mark.slow
def test_a_named_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[SCORES], daemon=True)
    writer.start()
    done = llrkit("evaluate", tmp_path / "pipe")
    assert done.returncode == 0, done.stderr
    assert llrkit("evaluate", "/dev/zero").returncode == 2


FAULTY = """
import llrkit.cli
def broken(*a, **k): raise KeyError("two\\nlines")
llrkit.cli.cli.commands["theory"].callback = broken
llrkit.cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("debug", [False, True])
def test_the_last_net(debug):
    command = [sys.executable, "-c", FAULTY, "theory", *(["--debug"] if debug else [])]
    done = subprocess.run(command, capture_output=True, timeout=300)
    assert done.returncode == 70
    assert f"(llrkit {lk.__version__}," in done.stderr.decode().splitlines()[-1]
    assert (b"Traceback" in done.stderr) == debug
    assert debug or len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("x"), 2), (FileNotFoundError(2, "No file", "x"), 2), (OSError(28, "No space"), 1),
        (ClusterError("x"), 1), (MemoryError(), 1), (RecursionError("deep"), 70), (KeyboardInterrupt(), 130),
        (AssertionError(), 70),
    ],
)  # fmt: skip
def test_exit_codes(error, code, capsys):
    def work():
        raise error

    assert explained(error)[1] == code
    assert exit_code_of(work, debug=False) == code
    assert len(capsys.readouterr().err.splitlines()) == 1
