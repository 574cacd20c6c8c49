"""CONTRIBUTING's list of functions is the way that ``llrkit evaluate scores.csv`` takes."""

import re
import sys
from pathlib import Path

import pytest
from commands import run

import llrkit

SOURCE = Path(llrkit.__file__).parent
CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def listed():
    """(number or None, function, module) of each line of the list."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    section = text[text.index("## How a score becomes a number") : text.index("## Definition of done")]
    lines = re.findall(r"^ *(?:(\d)\.|-) `([\w.]+)` in `([\w/.]+)`", section, flags=re.M)
    return [(int(number) if number else None, name.split(".")[-1], module) for number, name, module in lines]


def test_at_most_eight_functions_read_options_or_choose(listed):
    numbers = [number for number, _, _ in listed if number is not None]
    assert numbers == list(range(1, 9))
    assert len(listed) > len(numbers)


def test_the_functions_are_called_in_this_order(listed, tmp_path):
    rows = [f"{score},{label}" for score, label in [(2.0, "target"), (0.5, "target"), (-1.0, "nontarget")]]
    (tmp_path / "scores.csv").write_text("\n".join(["score,label", *rows, "0.75,nontarget", ""]))
    wanted = {(str(SOURCE / module), name) for _, name, module in listed}
    calls = []

    def watch(frame, event, _):
        if event == "call":
            call = (frame.f_code.co_filename, frame.f_code.co_name)
            if call in wanted:
                calls.append(call)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        code, _, _ = run("evaluate", tmp_path / "scores.csv")
    finally:
        sys.setprofile(before)
    assert code == 0
    rest = iter(calls)  # a subsequence: looking for several classes glances at the header too
    missing = [name for _, name, module in listed if (str(SOURCE / module), name) not in rest]
    assert missing == []
