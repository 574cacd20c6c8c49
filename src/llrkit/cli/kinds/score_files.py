"""ScoreFiles: files of one kind of trials, with a method for each command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

import click

from llrkit.cli.kinds.asked_options import ToApply, ToCalibrate, ToCompare, ToEvaluate, ToFuse, ToReport
from llrkit.cli.trial_input import TrialInput
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.plot.all_plots import Shown


@dataclass(frozen=True)
class ScoreFiles:
    """The files of a command, whose kind is known; what a kind cannot do is refused."""

    paths: tuple[str, ...]
    given: TrialInput

    holds: ClassVar[str]
    """What the files hold, in words."""

    def evaluate(self, asked: ToEvaluate) -> None:
        """Print the numbers of the file."""
        self._cannot()

    def report(self, asked: ToReport) -> None:
        """Write a report."""
        self._cannot()

    def calibrate(self, asked: ToCalibrate) -> None:
        """Train a map and save it."""
        self._cannot()

    def fuse(self, asked: ToFuse) -> None:
        """Train one map of several systems and save it."""
        self._cannot()

    def apply(self, asked: ToApply) -> None:
        """Write what a saved map makes of the scores."""
        self._cannot()

    def compare(self, asked: ToCompare) -> None:
        """Train methods on the first file and print what they give on the second."""
        self._cannot()

    def curves(self, figure: str) -> Sequence[Shown]:
        """What a figure draws of the files."""
        self._cannot()

    def _cannot(self) -> NoReturn:
        raise InputError(f"llrkit {click.get_current_context().info_name} is not for {self.holds}")


def refuse_options(names: Sequence[str], why: str) -> None:
    """Refuse options of the command, by their parameters, unless they say what they say by default."""
    context = click.get_current_context()
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in names and value and value != option.get_default(context):
            raise InputError(f"{max(option.opts, key=len)} {why}")
