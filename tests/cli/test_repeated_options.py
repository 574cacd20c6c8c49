"""An option that takes one value is refused if it is given twice, on every command."""

import click
import pytest
from commands import run

from llrkit.cli import cli
from llrkit.cli.read_and_written_paths import leaves


def single_valued(command):
    return [
        option
        for option in command.params
        if isinstance(option, click.Option) and not (option.multiple or option.count or option.is_flag)
    ]


COMMANDS = {path: command for path, command in leaves(cli) if single_valued(command)}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_second_value_is_refused(path):
    tried = 0
    for option in single_valued(COMMANDS[path]):
        for first in option.opts:  # a short name and the long one are the same option
            values = ["1"] * option.nargs
            code, out, err = run(*path, first, *values, option.opts[-1], *values)
            name = max(option.opts, key=len)
            assert (code, out) == (2, "")
            assert err == f"llrkit: error: {name} is given twice; it takes one value"
            tried += 1
    assert tried


def test_what_may_be_repeated_stays(tmp_path):
    (tmp_path / "s.csv").write_text("score,label\n1,1\n0,0\n2,1\n-1,0\n")
    code, out, _ = run(
        "evaluate", tmp_path / "s.csv", "--point", "0.1", "--point", "0.2", "--debug", "--debug"
    )
    assert code == 0
    assert [name in out for name in ("P=0.1", "P=0.2")] == [True, True]


def test_an_option_of_a_method_is_given_once(tmp_path):
    again = ("--option", "alpha=0.3", "--option", "alpha=0.4")
    (tmp_path / "s.csv").write_text("score,label\n1,1\n0,0\n2,1\n-1,0\n")
    code, _, err = run("calibrate", tmp_path / "s.csv", "--method", "cmlg", *again, "-o", tmp_path / "c.json")
    assert (code, err) == (2, "llrkit: error: --option alpha is given twice; it takes one value")
