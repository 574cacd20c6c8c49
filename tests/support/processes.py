"""Programs that tests start, and what is left of them."""

import os
import subprocess
import sys
from pathlib import Path


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"  # neither ended nor waiting to be forgotten


def started(script, path, **environment):
    """A Python program in a session of its own, and the first line it prints."""
    path.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    return process, process.stdout.readline().strip()


def members(session):
    """Living processes of a session."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in pids if alive(pid) and session_of(pid) == session]


def session_of(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
