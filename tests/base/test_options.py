"""An option is declared once: every surface shows its declaration, and one place checks its value."""

import subprocess
import sys
from inspect import getdoc
from pathlib import Path

import pytest
from click.testing import CliRunner

from llrkit.app.forms import field_of
from llrkit.base.options import Options, as_typed, documented, flag_of, opt, schema, typed_options
from llrkit.cli.jobs import job_command
from llrkit.errors import OptionError
from llrkit.io.read_options import Reading
from llrkit.jobs.options import JsonOutput, MapOutput
from llrkit.jobs.table import VERBS, Verb


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
    pours: tuple[float, ...] = opt((), "Seconds of each pour.", "numbers", metavar="S,S")
    degrees: tuple[float, ...] = opt((), "How hot.", "numbers")
    filter: bool = opt(True, "Filter it.", "flag")
    roast: str | None = opt(None, "How dark.", only=("beans", "robusta"))


@pytest.fixture
def brew(monkeypatch):
    """A command of the job."""
    monkeypatch.setitem(VERBS, "brew", Verb((ToBrew,), "nowhere:brew"))

    return job_command("brew", lambda job: print(job[ToBrew].to_dict(), job.words()[2:]))


def test_a_new_field_is_found_on_every_surface(brew):
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
        assert field_of(ToBrew, name).hint.startswith(text)
    assert "--how-strong SHARE" in shown
    assert "[arabica|robusta]" in shown
    assert [value for value, _ in field_of(ToBrew, "beans").choices] == ["", "robusta"]


def test_what_is_typed_means_what_python_says(brew):
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
    again = ["--beans", "robusta", "--grams", "20", "--how-strong", "0.8", "--milk", "oat", "--guests", "a,b"]
    assert CliRunner().invoke(brew, typed).output == f"{wanted.to_dict()} {again}\n"
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


def test_a_file_cannot_be_standard_output_unless_that_is_shown():
    with pytest.raises(OptionError, match="name a file"):
        MapOutput(output="-")
    assert JsonOutput(json="-").json == "-"


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


def test_several_numbers_are_typed_between_commas_or_one_by_one():
    for typed in (("30,45.5",), ("30", "45.5"), [30, 45.5]):
        assert typed_options(ToBrew, {"pours": typed}).pours == (30.0, 45.5)
    with pytest.raises(OptionError, match="'x' is not a number"):
        ToBrew(pours="30,x")
    with pytest.raises(OptionError, match="'90,5' is not a number"):
        typed_options(ToBrew, {"degrees": ("90,5",)})


def test_what_is_on_by_default_is_typed_to_turn_it_off():
    assert flag_of(ToBrew, "filter") == "--no-filter"
    assert typed_options(ToBrew, {"no_filter": True}).given() == {"filter": False}
    assert typed_options(ToBrew, {"no_filter": False}).given() == {}
    assert [flag for _, flag, _ in as_typed(ToBrew(filter=False))] == ["--no-filter"]


def test_an_option_of_one_word_is_refused_with_another():
    assert ToBrew(beans="robusta", roast="dark").roast == "dark"
    with pytest.raises(OptionError, match="roast is for beans robusta, not arabica"):
        ToBrew(roast="dark")


def test_no_class_of_options_declares_more_than_fifteen():
    """What is larger is composed of parts, each with a name."""
    parts = {one for verb in VERBS.values() for part in verb.parts for one in part.__mro__}
    for part in parts:
        own = [
            name
            for name in vars(part).get("__annotations__", {})
            if name in getattr(part, "__dataclass_fields__", {})
        ]
        assert len(own) <= 15, part.__name__
