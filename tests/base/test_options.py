"""An option is declared once: every surface shows its declaration, and one place checks its value."""

import subprocess
import sys
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from llrkit.base.options import Options, documented, opt, schema
from llrkit.cli.options import options_of, typed_options
from llrkit.errors import OptionError
from llrkit.io.read_options import Reading


@dataclass(frozen=True, kw_only=True)
class ToBrew(Options):
    """A job that does not exist."""

    beans: str = opt("arabica", "Which beans.", choices=("arabica", "robusta"))
    grams: int = opt(15, "How much.", "whole", low=1)
    strength: float = opt(0.5, "How strong.", "share", flag="--how-strong")
    sugar: bool = opt(False, "With sugar.", "flag", against=("milk",))
    milk: str | None = opt(None, "The kind of milk.")
    foam: float | None = opt(None, "Share of foam.", "share", needs=("milk",))
    cups: int = opt(1, "How many cups.", "whole", high=12)
    guests: tuple[str, ...] = opt((), "Who drinks it.", "names")


@click.command()
@options_of(ToBrew)
def brew(**typed):
    """Brew."""
    print(typed_options(ToBrew, typed).to_dict())


def test_a_new_field_is_found_on_every_surface():
    @documented(ToBrew)
    def brewed(**options):
        """Brew.

        Parameters
        ----------
        {options}
        """

    shown = CliRunner().invoke(brew, ["--help"]).output
    for name, text in (("beans", "Which beans."), ("strength", "How strong."), ("guests", "Who drinks it.")):
        assert f"{name}\n    {text}" in getdoc(brewed)
        assert schema(ToBrew)["properties"][name]["description"] == text
        assert text in shown
    assert "--how-strong SHARE" in shown
    assert "[arabica|robusta]" in shown


def test_what_is_typed_means_what_python_says():
    typed = [
        "--beans",
        "robusta",
        "--grams",
        "20",
        "--how-strong",
        "80 %",
        "--milk",
        "oat",
        "--guests",
        "a, b",
    ]
    wanted = ToBrew(beans="robusta", grams=20, strength=0.8, milk="oat", guests=["a", "b"])
    assert CliRunner().invoke(brew, typed).output == f"{wanted.to_dict()}\n"
    assert ToBrew.of(None, wanted.to_dict()) == wanted


@pytest.mark.parametrize(
    ("options", "in_python", "typed"),
    [
        ({"strength": 1.5}, "strength must be", "--how-strong must be"),
        ({"grams": 0}, "grams must be at least 1", "--grams must be at least 1"),
        ({"grams": float("inf")}, "grams: inf is not a whole number", "--grams: inf is not"),
        ({"cups": 13}, "cups must be at most 12", "--cups must be at most 12"),
        ({"grams": "a{b}"}, "grams: 'a{b}'", "--grams: 'a{b}'"),
        ({"sugar": "no"}, "sugar must be true or false", "--sugar must be"),
        ({"beans": "tea"}, "beans='tea': expected one of arabica, robusta", "--beans='tea'"),
        ({"foam": 0.1}, "foam needs milk", "--foam needs --milk"),
        ({"sugar": True, "milk": "oat"}, "sugar and milk cannot be combined", "--sugar and --milk cannot"),
    ],
)
def test_a_value_that_is_not_taken_is_spelled_for_python_and_for_commands(options, in_python, typed):
    with pytest.raises(OptionError) as refused:
        ToBrew.of(None, options)
    assert str(refused.value).startswith(in_python)
    assert refused.value.typed.startswith(typed)


def test_the_spelling_of_a_command_is_recognized_in_python():
    with pytest.raises(OptionError, match="did you mean 'strength'"):
        ToBrew.of(None, {"how_strong": 0.2})


def test_a_word_that_only_code_gives_cannot_be_asked_for():
    assert Reading(missing="subset").missing == "subset"
    with pytest.raises(OptionError):
        Reading.of(None, {"missing": "subset"})


def test_the_keywords_for_type_checkers_are_up_to_date():
    script = Path(__file__).parents[2] / ".ci" / "keywords.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
