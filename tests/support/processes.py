"""Programs that tests start, and what is left of them."""

import os
import subprocess
import sys
import time
from pathlib import Path


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"  # neither ended nor waiting to be forgotten


def started(script, path, **environment):
    """A Python program in a session of its own, and the first line it prints.

    Its standard input is a pipe: a program that reads it to the end lives as long as the test.
    """
    path.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, env={**os.environ, **environment},
    )  # fmt: skip
    return process, process.stdout.readline().strip()


def wait_until(condition, seconds=300.0):
    """Wait for something that will happen; the limit is only reached where it does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited for {seconds:g} s in vain"
        time.sleep(0.01)


def members(session):
    """Living processes of a session."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if alive(pid) and session_of(pid) == session]


def session_of(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
