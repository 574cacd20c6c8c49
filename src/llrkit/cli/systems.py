"""Several score files, or several columns of one, as systems with a name each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.engines import open_scores
from llrkit.cli.output import read_options
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.scores.source import ScoreSource

score_columns_option = click.option(
    "--score-columns", metavar="COL,COL", help="Columns of a file that are systems of their own."
)
names_option = click.option(
    "--names", metavar="NAME,NAME", help="What to call the systems; by default files or columns."
)


def read_systems(
    files: tuple[str, ...],
    score_columns: str | None,
    names: str | None,
    reading: dict[str, Any],
) -> dict[str, ScoreSource]:
    """Trials by the name of their system, in the order given, on a cluster if one was asked for."""
    options = read_options(**reading)
    columns = score_columns.split(",") if score_columns else [None]
    if score_columns and options["score"]:
        raise InputError("--score-column and --score-columns do not go together")
    titles = system_names(files, columns, names)
    wanted = [(file, column) for file in files for column in columns]
    return {
        title: open_scores(file, **{**options, "score": column or options["score"]})
        for title, (file, column) in zip(titles, wanted, strict=True)
    }


def system_names(files: tuple[str, ...], columns: list[Any], names: str | None) -> list[str]:
    """Names as short as they can be while all are different.

    Examples
    --------
    >>> system_names(("a/dev.csv", "b/dev.csv"), [None], None)
    ['a/dev.csv', 'b/dev.csv']
    >>> system_names(("dev.csv",), ["plda", "cosine"], None)
    ['plda', 'cosine']
    """
    stems: list[str] = [Path(file).name.split(".")[0] or file for file in files]
    shorts = stems if len(set(stems)) == len(stems) else list(files)
    made = [
        short if column is None else column if len(files) == 1 else f"{short} {column}"
        for short in shorts
        for column in columns
    ]
    if names is not None:
        given = names.split(",")
        if len(given) != len(made):
            raise InputError(f"--names: {len(given)} names for {len(made)} systems ({', '.join(made)})")
        made = given
    if len(set(made)) < len(made):
        raise InputError(f"the names of the systems are not all different: {', '.join(made)}")
    return made
