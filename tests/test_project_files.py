"""The hooks, the Makefile and the templates name things that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
HOOKS = ("ruff-check", "ruff-format", "mypy", "import-rule")


def hooks(need):
    config = need("yaml").safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    return {hook["id"]: hook for hook in config["repos"][0]["hooks"]}


def test_the_hooks_are_those_listed_here(need):
    assert tuple(hooks(need)) == HOOKS


@pytest.mark.parametrize("name", HOOKS)
def test_the_program_and_the_files_of_a_hook_are_there(name, need, need_program):
    hook = hooks(need)[name]
    program, *arguments = hook["entry"].split()
    need_program(PROGRAMS / Path(program).name)
    assert hook["language"] == "system"
    assert Path(program).parent == Path(".venv/bin")
    done = subprocess.run(
        [PROGRAMS / Path(program).name, "--version"], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    for argument in arguments:
        assert "/" not in argument or (ROOT / argument).exists()


def test_hooks_and_make_run_the_same_linters(need):
    entries = {name: hook["entry"].removeprefix(".venv/bin/") for name, hook in hooks(need).items()}
    for name in ("ruff-check", "ruff-format", "mypy"):
        assert f"\t$(BIN)/{entries[name]}\n" in MAKEFILE


def test_pre_commit_accepts_the_hooks(need):
    need("pre_commit")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", ROOT / ".pre-commit-config.yaml"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_make_alone_lists_every_target(need_program):
    done = subprocess.run(
        [need_program("make"), "--no-print-directory"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    assert [line.split()[1] for line in done.stdout.splitlines()] == phony


def test_what_test_fast_runs_exists():
    places = re.search(r"^FAST := ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)[1].replace("\\\n", " ").split()
    assert len(places) > 5
    assert [place for place in places if not (ROOT / place).exists()] == []


def first_words(text, bullet):
    return [" ".join(point.split()[:5]) for point in re.split(f"^{bullet}", text, flags=re.MULTILINE)[1:]]


def test_the_pull_request_template_has_every_point_of_the_definition_of_done():
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    done = contributing.partition("## Definition of done\n")[2].partition("\n## ")[0]
    template = (ROOT / ".github" / "pull_request_template.md").read_text(encoding="utf-8")
    assert first_words(template, r"- \[ \] ") == first_words(done, "- ")
    assert len(first_words(done, "- ")) == 5


@pytest.mark.parametrize("name", ["bug_report.md", "feature_request.md"])
def test_issue_templates_ask_for_version_command_and_file(name):
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / name).read_text(encoding="utf-8")
    assert text.startswith("---\nname: ")
    for question in ("`llrkit --version`", "command", "**First lines of the file**"):
        assert question in text.replace("Command", "command")
