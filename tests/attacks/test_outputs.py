"""What is written: whole, on the disk, with the permissions it had; links and pipes stay what they are."""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest
from commands import run

import llrkit as lk
from llrkit.base.files import replacing, replacing_folder, write_atomically

SCORES = "score,label\n1.5,target\n-0.5,nontarget\n0.25,target\n0.75,nontarget\n"


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_the_permissions_of_a_file_are_kept(tmp_path):
    file = tmp_path / "out.json"
    for mode in (0o600, 0o640, 0o755):
        file.write_text("before")
        file.chmod(mode)
        write_atomically(file, "after")
        assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("after", mode)


def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "out.json", "new")
        lk.maps.AffineMap(a=1.0, b=0.0).save(tmp_path / "map.json")
    finally:
        os.umask(before)
    for name in ("out.json", "map.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "real.json", tmp_path / "link.json"
    file.write_text("before")
    link.symlink_to(file)
    write_atomically(link, "after")
    assert link.is_symlink()
    assert file.read_text() == "after"
    assert not hidden(tmp_path)


def test_a_link_to_nothing_yet_is_followed_and_one_to_itself_is_refused(tmp_path):
    link, loop = tmp_path / "link.json", tmp_path / "loop.json"
    link.symlink_to(tmp_path / "new.json")
    loop.symlink_to(loop)
    write_atomically(link, "new")
    assert (tmp_path / "new.json").read_text() == "new"
    assert link.is_symlink()
    with pytest.raises(OSError, match=r"loop\.json"):
        write_atomically(loop, "never")
    assert loop.is_symlink()


def test_a_write_protected_file_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "out.json"
    file.write_text("before")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # a superuser may write everything
    with pytest.raises(PermissionError):
        write_atomically(file, "after")
    assert file.read_text() == "before"


def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path):
    (tmp_path / "scores.csv").write_text(SCORES)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    code, _, said = run("convert", tmp_path / "scores.csv", pipe, "--to", "csv")
    reader.join(timeout=300)
    assert code == 0, said
    assert got == [SCORES]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.slow
def test_devices_are_written_to(tmp_path):
    (tmp_path / "scores.csv").write_text(SCORES)
    command = [sys.executable, "-m", "llrkit", "convert", str(tmp_path / "scores.csv"), "--to", "csv"]
    done = subprocess.run([*command, "/dev/stdout"], capture_output=True, text=True, check=False)
    assert done.stdout == SCORES
    with (tmp_path / "redirected").open("w") as out:  # after what is in there already
        out.write("before\n")
        out.flush()
        subprocess.run([*command, "/dev/stdout"], stdout=out, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "redirected").read_text() == "before\n" + SCORES
    assert run("convert", tmp_path / "scores.csv", "/dev/null", "--to", "csv")[0] == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


LEFT = """
import os, signal, sys
from llrkit.base.files import replacing, replacing_folder
with replacing(sys.argv[1]) as one, replacing(sys.argv[1]) as two, replacing_folder(sys.argv[2]) as three:
    one.write_text("half"); two.write_text("half"); (three / "x").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    out, folder = tmp_path / "out.json", tmp_path / "parts"
    subprocess.run([sys.executable, "-c", LEFT, out, folder], check=False)
    assert len(hidden(tmp_path)) == 3
    write_atomically(out, "whole")
    with replacing_folder(folder) as parts:
        (parts / "x").write_text("whole")
    assert hidden(tmp_path) == []
    assert (out.read_text(), (folder / "x").read_text()) == ("whole", "whole")


def test_what_another_run_is_writing_is_left_alone(tmp_path):
    out = tmp_path / "out.json"
    with replacing(out) as first:
        first.write_text("first")
        write_atomically(out, "second")
        assert first.read_text() == "first"
        assert out.read_text() == "second"
    assert out.read_text() == "first"
    assert hidden(tmp_path) == []


TOLD_TO_END = """
import sys
from llrkit.base.files import replacing
from llrkit.cli.program import ended_cleanly
with ended_cleanly(), replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_nothing(tmp_path, number):
    command = [sys.executable, "-c", TOLD_TO_END, str(tmp_path / "out.json")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        assert len(hidden(tmp_path)) == 1
        process.send_signal(number)
        process.wait(timeout=300)
    assert process.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []
