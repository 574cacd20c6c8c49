"""What is written: whole, on the disk, with the permissions it had; links and pipes stay what they are."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from commands import run

import llrkit as lk
from llrkit import _atomic
from llrkit._atomic import locked_folder, replacing, replacing_folder, write_atomically

SCORES = "score,label\n1.5,target\n-0.5,nontarget\n0.25,target\n0.75,nontarget\n"


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_the_permissions_of_a_file_are_kept(tmp_path, mode):
    file = tmp_path / "out.json"
    file.write_text("before")
    file.chmod(mode)
    write_atomically(file, "after")
    assert file.read_text() == "after"
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "out.json", "new")
        lk.AffineMap(a=1.0, b=0.0).save(tmp_path / "map.json")
    finally:
        os.umask(before)
    for name in ("out.json", "map.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_what_is_private_is_so_while_it_is_written(tmp_path):
    file = tmp_path / "out.json"
    file.write_text("before")
    file.chmod(0o600)
    with replacing(file) as temporary:
        assert stat.S_IMODE(temporary.parent.stat().st_mode) == 0o700


def test_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, _atomic.Path.replace

    def watched_fsync(handle):
        events.append(("fsync", os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    def watched_replace(self, target):
        events.append(("replace", str(target)))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(_atomic.Path, "replace", watched_replace)
    write_atomically(tmp_path / "out.json", "all of it")
    (first, what), second, third = events
    assert first == "fsync"
    assert what.endswith("/out.json")
    assert what != str(tmp_path / "out.json")
    assert second == ("replace", str(tmp_path / "out.json"))
    assert third == ("fsync", str(tmp_path))


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
    with pytest.raises(PermissionError, match=r"out\.json: is write-protected"):
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
    reader.join(timeout=30)
    assert code == 0, said
    assert got == [SCORES]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_to(tmp_path):
    (tmp_path / "scores.csv").write_text(SCORES)
    command = [sys.executable, "-m", "llrkit", "convert", str(tmp_path / "scores.csv"), "--to", "csv"]
    done = subprocess.run([*command, "/dev/stdout"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (SCORES, "4 trials written to /dev/stdout\n")
    dash = subprocess.run([*command, "-"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (dash.stdout, dash.stderr) == (done.stdout, done.stderr)
    assert not (tmp_path / "-").exists()
    with (tmp_path / "redirected").open("w") as out:  # after what is in there already
        out.write("before\n")
        out.flush()
        subprocess.run([*command, "/dev/stdout"], stdout=out, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "redirected").read_text() == "before\n" + SCORES
    assert run("convert", tmp_path / "scores.csv", "/dev/null", "--to", "csv")[0] == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_long_names_can_be_written(tmp_path):
    file = tmp_path / ("ü" * 120 + ".json")
    write_atomically(file, "long")
    assert file.read_text() == "long"


LEFT = """
import os, signal, sys
from llrkit._atomic import replacing, replacing_folder
with replacing(sys.argv[1]) as one, replacing(sys.argv[1]) as two, replacing_folder(sys.argv[2]) as three:
    one.write_text("half"); two.write_text("half"); (three / "x").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


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


def test_a_strangers_folder_of_that_name_is_left_alone(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("kept")
    (tmp_path / ".out.json.0.llrkit").symlink_to(tmp_path / "elsewhere")
    write_atomically(tmp_path / "out.json", "new")
    assert (tmp_path / "elsewhere" / "kept").read_text() == "kept"
    assert (tmp_path / "out.json").read_text() == "new"


def test_a_folder_is_locked_once(tmp_path):
    with locked_folder(tmp_path) as first, locked_folder(tmp_path) as second:
        assert (first, second) == (True, False)
    with locked_folder(tmp_path) as again:
        assert again


def wait_for(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.005)
    return met


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ending"), [(signal.SIGTERM, "csv"), (signal.SIGTERM, "parquet"), (signal.SIGHUP, "csv")]
)
def test_a_run_that_is_told_to_end_leaves_nothing(tmp_path, number, ending):
    rows = "".join(f"{i % 977}.5,{'target' if i % 3 else 'nontarget'}\n" for i in range(500_000))
    (tmp_path / "scores.csv").write_text("score,label\n" + rows)
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / f"llrs.{ending}"
    process = subprocess.Popen(
        [sys.executable, "-m", "llrkit", "convert", str(tmp_path / "scores.csv"), str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert wait_for(lambda: hidden(tmp_path / "out") or process.poll() is not None)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert hidden(tmp_path / "out") == []
    assert "Traceback" not in said
    assert process.returncode in (0, 128 + number)
    assert out.exists() == (process.returncode == 0)


STUCK = """
import sys, time
from llrkit._atomic import replacing
from llrkit.cli import termination

termination.GRACE_SECONDS = 0.2
with termination.ended_cleanly(), replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("ready", flush=True)
    while True:
        try:
            time.sleep(0.05)
        except SystemExit:
            pass  # as a call that hears of no signal
"""


def test_a_run_that_does_not_hear_is_ended_all_the_same(tmp_path):
    out = tmp_path / "out.json"
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_json_of_a_command_keeps_its_permissions(tmp_path):
    (tmp_path / "scores.csv").write_text(SCORES)
    out = tmp_path / "out.json"
    out.write_text("{}")
    out.chmod(0o600)
    code, _, said = run("evaluate", tmp_path / "scores.csv", "--json", out)
    assert code == 0, said
    assert json.loads(out.read_text())["n_target"] == 2
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
