"""Every command that writes JSON, in this process: the members and numbers that were frozen."""

import json
import re
from contextlib import chdir
from pathlib import Path

import kills
import pytest
from commands import run
from golden_numbers import assert_golden
from json_outputs import OUTPUTS, more_inputs

from llrkit.jobs.table import VERBS

WITH_JSON = {name for name, verb in VERBS.items() if any(option == "json" for _, option, _ in verb.options())}
ELSEWHERE = {"paper durations", "paper prior-scan", "paper real"}
"""They take long and have tests of their own."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setattr(kills, "llrkit", lambda text: run(*text.split()))
        kills.make_inputs(folder)
        more_inputs(folder)
    (folder / "o").mkdir()
    return folder


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_command_writes_the_frozen_numbers(command, place, monkeypatch):
    monkeypatch.chdir(place)
    code, _, said = run(*command.split(), "--json", "o/numbers.json")
    assert code in (0, 1), said
    document = json.loads(Path("o/numbers.json").read_text())
    words = command.split()
    name = ".".join(words[:2]) if words[0] in ("biometrics", "speech", "simulate") else words[0]
    if name == "shift" and "-o" in words:  # then the numbers are a calibration
        name = "adapt"
    assert re.fullmatch(rf"llrkit\.{name}(\.methods)?/{2 if name == 'compare' else 1}", document["schema"])
    assert_golden("commands", command, {"exit": code, **document})


def test_every_command_with_json_is_run():
    called = {name for name in WITH_JSON for line in OUTPUTS if line.startswith(f"{name} ")}
    assert called | ELSEWHERE == WITH_JSON
