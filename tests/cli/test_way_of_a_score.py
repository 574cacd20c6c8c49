"""CONTRIBUTING.md follows a score through the house: these functions are called, in this order."""

import re
import sys
from pathlib import Path

from click.testing import CliRunner

from llrkit.cli import cli

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"^\d+\. `(\w+)` in `(\S+\.py)`", re.MULTILINE)


def test_evaluate_is_followed_in_fifteen_functions(tmp_path):
    listed = STEP.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert 10 < len(listed) <= 15
    (name, file), *steps = listed
    assert f"def {name}(" in (ROOT / "src" / "llrkit" / file).read_text()  # the entry, which exits
    lines = [f"{(i * 37 % 101) / 9.0 - 5.0 * (i % 3 > 0)},{int(i % 3 == 0)}" for i in range(300)]
    (tmp_path / "scores.csv").write_text("score,label\n" + "\n".join(lines) + "\n")
    called = []

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and "llrkit" in code.co_filename:
            called.append((code.co_name, code.co_filename))

    command = cli.commands["evaluate"]  # made before it is followed, with what was typed in it
    sys.setprofile(watch)
    try:
        done = CliRunner().invoke(command, [str(tmp_path / "scores.csv")])
    finally:
        sys.setprofile(None)
    assert "Cllr" in done.output
    at = 0
    for name, file in steps[1:]:  # the function that makes commands was called when this one was made
        at = next(i for i, (one, path) in enumerate(called[at:], at) if one == name and path.endswith(file))
    assert f"def {steps[0][0]}(" in (ROOT / "src" / "llrkit" / steps[0][1]).read_text()
