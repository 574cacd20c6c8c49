"""A part of ``make attack``, the same every time: tables from a grammar, and commands that are killed."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mixed_folders import check_folder, check_text, folder_case, text_case

ATTACK = Path(__file__).parents[2] / "benchmarks" / "attack.py"


@pytest.mark.parametrize(("texts", "folders"), [(60, 12), pytest.param(2000, 300, marks=pytest.mark.slow)])
def test_tables_and_folders_are_read_as_python_reads_them(tmp_path, texts, folders):
    rng = random.Random(19)
    seen = Counter(check_text(tmp_path / "scores.csv", *text_case(rng)) for _ in range(texts))
    assert set(seen) == {"read", "refused"}
    place = tmp_path / "d"
    seen = Counter(check_folder(place, folder_case(rng, place), tmp_path) for _ in range(folders))
    assert set(seen) == {"read", "refused"}


@pytest.mark.slow
def test_killed_commands_are_taken_up_as_if_nothing_had_been():
    quick = "apply,calibrate,convert,convert with a key,simulate scores,theory"
    command = [sys.executable, str(ATTACK), "kills", "12", "--seed", "19", "--commands", quick]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 12 killed" in done.stdout
