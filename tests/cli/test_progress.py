"""The progress bar, with a clock that is set by hand, and what reading tells it."""

from __future__ import annotations

import gzip
import io
import os
import pty
import select
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import llrkit as lk
from llrkit.base.process import stage, tracked, watched_by
from llrkit.cli.progress import Bar


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def screen():
    """A bar on a pretended terminal, with a clock that is set by hand: draw() gives what is drawn."""
    clock, drawn = Clock(), io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=120, legacy_windows=False, color_system=None)
    bar = Bar(console, clock, auto=False)

    def draw():
        if bar._progress is not None:
            bar._progress.refresh()
        return drawn.getvalue()

    with watched_by(bar):
        yield bar, clock, draw
    bar.close()


def test_nothing_is_drawn_before_two_seconds(screen):
    _, clock, draw = screen
    with stage("reading a.csv", 1000, "bytes") as done:
        for _ in range(9):
            clock.now += 0.2
            done(100)
    assert draw() == ""


def test_share_rate_and_time_left(screen):
    _, clock, draw = screen
    with stage("reading a.csv", 100e6, "bytes") as done:
        for _ in range(4):  # 10 MB a second; after four seconds six are left
            clock.now += 1.0
            done(10e6)
        last = draw().split("reading a.csv")[-1]
    assert " 40%" in last
    assert "10.0 MB/s" in last
    assert "00:06 left" in last


def test_the_bar_goes_away_when_work_fails(screen):
    bar, clock, draw = screen

    def fail():
        with stage("reading", 10) as done:
            clock.now += 5
            done(1)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert draw()
    assert bar._progress.tasks == []


class Heard:
    """A watcher that writes down what it is told."""

    def __init__(self):
        self.stages, self.amounts, self.open = [], {}, set()

    def begin(self, what, total, unit):
        self.stages.append((what, total, unit))
        self.open.add(len(self.stages) - 1)
        return len(self.stages) - 1

    def advance(self, work, amount):
        self.amounts[work] = self.amounts.get(work, 0) + amount

    def end(self, work):
        self.open.remove(work)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_reading_tells_how_much_is_done_of_all(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("LLRKIT_AT_ONCE", "10000")
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"score": rng.normal(size=5000), "label": rng.integers(0, 2, 5000)})
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        table.write_parquet(path)
    else:
        content = table.write_csv().encode()
        path.write_bytes(gzip.compress(content) if kind == "csv.gz" else content)
    heard = Heard()
    with watched_by(heard):
        lk.eer(lk.scan_trials(path))
    total, unit = (5000, "trials") if kind == "parquet" else (path.stat().st_size, "bytes")
    whole = [work for work, amount in heard.amounts.items() if amount == total]
    assert heard.stages[whole[-1]] == (f"reading t.{kind}", total, unit)
    assert heard.open == set()


def test_without_a_watcher_nothing_happens():
    with stage("anything", 3) as done:
        done(3)
    assert list(tracked([1, 2], "anything")) == [1, 2]


COUNT = """
import sys
from llrkit.base.process import tracked
from llrkit.cli.progress import shown_progress
with shown_progress(after=0.0):
    for _ in tracked(range(1), "counting sheep", 1):
        sys.stdin.read()  # until whoever watches has seen it
print("done")
"""


@pytest.mark.slow
def test_on_a_terminal_and_nowhere_else():
    command = [sys.executable, "-c", COUNT]
    quiet = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert (quiet.stdout, quiet.stderr) == ("done\n", "")
    ours, theirs = pty.openpty()
    terminal, pipe = {**os.environ, "TERM": "xterm"}, subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=theirs, env=terminal) as process:
        os.close(theirs)
        drawn = b""
        while b"counting sheep" not in drawn and select.select([ours], [], [], 300)[0]:
            drawn += os.read(ours, 65536)
        process.stdin.close()
        assert process.stdout.read() == b"done\n"
    os.close(ours)
    assert b"counting sheep" in drawn
