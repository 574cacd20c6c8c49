"""A part of ``make attack``, the same every time: tables from a grammar, and commands that are killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kills import COMMANDS

from llrkit.cli import cli
from llrkit.cli.read_and_written_paths import FILLED, WRITTEN, leaves

ATTACK = Path(__file__).parents[2] / "benchmarks" / "attack.py"


def attack(*arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(ATTACK), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_tables_and_folders_are_read_as_python_reads_them():
    said = attack("tables", "400", "--seed", "19")
    for what in ("folder read", "folder refused", "text read", "text refused"):
        assert what in said


@pytest.mark.slow
def test_killed_commands_are_taken_up_as_if_nothing_had_been():
    quick = ("apply", "calibrate", "convert", "convert with a key", "simulate gaussian", "theory")
    said = attack("kills", "8", "--seed", "19", "--commands", ",".join(quick))
    assert " 8 killed" in said


def test_every_command_that_writes_is_among_those_that_are_killed():
    writing = {
        " ".join(path) for path, command in leaves(cli)
        if {option.name for option in command.params} & (WRITTEN | FILLED)
    }  # fmt: skip
    assert {name for name in COMMANDS if name in writing} == writing
    for name, variants in COMMANDS.items():
        assert len(set(variants)) > 1, name
