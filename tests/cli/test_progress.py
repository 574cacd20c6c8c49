"""The progress bar: rate and time left, on a terminal only, and only for what takes over two seconds."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import llrkit as lk
from llrkit._progress import stage, tracked, watched_by
from llrkit.cli.progress import Bar
from llrkit.io.files_to_trials import open_batches
from llrkit.io.reading_options import PLAIN
from llrkit.io.write import write_batches


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


def test_the_two_seconds_are_those_of_the_whole_command(screen):
    _, clock, draw = screen
    for i in range(4):
        with stage(f"pass {i}", 10) as done:
            clock.now += 0.8
            done(5)
            shown = draw()
        assert (f"pass {i}" in shown) == (i >= 2)


def test_work_inside_work_has_a_line_of_its_own(screen):
    _, clock, draw = screen
    for name in tracked(["cmlg", "pav"], "comparing", 2):
        clock.now += 3.0
        with stage(f"fitting {name}", None) as done:
            done(1)
            lines = draw()
    assert "comparing" in lines
    assert "fitting pav" in lines


def test_many_short_pieces_of_work_are_not_all_drawn():
    drawn = io.StringIO()
    bar = Bar(Console(file=drawn, force_terminal=True, width=120, color_system=None), after=0.0)
    start = time.monotonic()
    with watched_by(bar):
        for _ in tracked(range(2000), "fitting", 2000):
            with stage("summarizing", 1) as done:
                time.sleep(0.0003)  # half a second and more in all
                done(1)
    bar.close()
    ten_a_second = 10.0 * (time.monotonic() - start)
    assert "fitting" in drawn.getvalue()
    assert drawn.getvalue().count("fitting") <= ten_a_second + 10.0


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


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pl.DataFrame({"score": rng.normal(size=5000), "label": rng.integers(0, 2, 5000)})


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_reading_tells_how_much_is_done_of_all(table, tmp_path, monkeypatch, kind):
    import gzip

    monkeypatch.setenv("LLRKIT_AT_ONCE", "10000")
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


def test_writing_parquet_is_watched_though_polars_asks_from_its_own_thread(table, tmp_path):
    table.write_csv(tmp_path / "a.csv")
    scan, heard = open_batches(tmp_path / "a.csv", PLAIN), Heard()
    with watched_by(heard):
        write_batches(scan.read(scan.columns), scan.like, tmp_path / "a.parquet")
    assert [what for what, _, _ in heard.stages] == ["reading a.csv"]


def test_without_a_watcher_nothing_happens():
    with stage("anything", 3) as done:
        done(3)
    assert list(tracked([1, 2], "anything")) == [1, 2]


SLOW = """
import time
from llrkit._progress import tracked
from llrkit.cli.progress import shown_progress
with shown_progress(after=0.05):
    for _ in tracked(range(8), "counting sheep", 8):
        time.sleep(0.05)
print("done")
"""


def test_on_a_terminal_and_nowhere_else():
    quiet = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, check=True)
    assert (quiet.stdout, quiet.stderr) == ("done\n", "")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    out, _ = process.communicate(timeout=60)
    os.close(theirs)
    drawn = b""
    try:
        while part := os.read(ours, 65536):
            drawn += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert out == b"done\n"
    assert b"counting sheep" in drawn


def test_work_that_says_nothing_on_the_way_is_shown_too():
    drawn = io.StringIO()
    bar = Bar(Console(file=drawn, force_terminal=True, width=100, color_system=None), after=0.01)
    with watched_by(bar), stage("joining"):
        deadline = time.monotonic() + 20
        while "joining" not in drawn.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    bar.close()
    assert "joining" in drawn.getvalue()
