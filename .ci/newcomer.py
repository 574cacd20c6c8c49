#!/usr/bin/env python3
"""Time a newcomer's path: pip install of the wheel, the commands of the README, the report open in a browser.

    .ci/newcomer.py [WHEEL] [--note]    # by default the wheel in dist/

Prints the seconds, and with --note writes them into docs/tutorials/first-evaluation.md. Where there is no
Chromium the report is only looked at.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorials" / "first-evaluation.md"
MARKS = "<!-- .ci/newcomer.py --note writes from here -->\n", "<!-- to here -->\n"
PIP = ("install", "--quiet", "--disable-pip-version-check")


def run(*command, cwd=ROOT, quiet=False):
    """Run a program; whatever it says is shown if it fails."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=quiet, text=True, check=False)
    if done.returncode:
        told = f"{done.stdout or ''}{done.stderr or ''}"
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{told}")
    return done


def environment(place):
    """A clean environment; gives its folder of programs."""
    run(sys.executable, "-m", "venv", place)
    return place / "bin"


def readme_commands():
    """The five commands of the README, and those before them that make their files."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split("## Five commands", 1)[1].split("```")[1]
    return [line.partition("  #")[0].split() for line in re.findall(r"^llrkit .*$", block, re.MULTILINE)]


def open_report(report):
    """Open the report as a reader would; gives whether there was a browser to do it."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser:
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom")
        dom = run(browser, *options, report.as_uri(), quiet=True).stdout
    else:
        dom = report.read_text(encoding="utf-8")
    if "Cllr" not in dom or (browser and "main-svg" not in dom):
        sys.exit("the report does not show its plots")
    return browser is not None


def timed(wheel, work):
    """The seconds of every step, by its name."""
    times = {}
    start = time.perf_counter()
    programs = environment(work / "newcomer")
    run(programs / "pip", *PIP, wheel)
    times["pip install"] = time.perf_counter() - start
    data = work / "newcomer" / "data"
    data.mkdir()
    for words in readme_commands():
        start = time.perf_counter()
        run(programs / words[0], *words[1:], cwd=data, quiet=True)
        times[" ".join(words[:3])] = time.perf_counter() - start
    start = time.perf_counter()
    opened = "report open in a browser" if open_report(data / "report.html") else "report read (no browser)"
    times[opened] = time.perf_counter() - start
    return times


def sentence(times):
    """What the page says of them."""
    total = sum(times.values())
    install, *commands, opening = times.values()
    shown = "opening the report in a browser" if "report open in a browser" in times else "reading the report"
    return (
        f"From nothing to the first report takes about {total:.0f} s on {os.cpu_count()} cores: "
        f"{install:.0f} s for `pip install`,\n{sum(commands):.0f} s for the commands of the README, "
        f"{opening:.0f} s for {shown}.\n"
    )


def noted(text, words):
    """The page with these words between the marks."""
    before, rest = text.split(MARKS[0])
    return before + MARKS[0] + words + MARKS[1] + rest.split(MARKS[1])[1]


def main():
    """Time it."""
    given = [word for word in sys.argv[1:] if word != "--note"]
    (wheel,) = map(Path, given) if given else (ROOT / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        times = timed(wheel.resolve(), Path(folder))
    for name, seconds in times.items():
        print(f"{seconds:8.1f} s  {name}")
    print(sentence(times), end="")
    if "--note" in sys.argv:
        PAGE.write_text(noted(PAGE.read_text(encoding="utf-8"), sentence(times)), encoding="utf-8")


if __name__ == "__main__":
    main()
