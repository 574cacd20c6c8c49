"""The warnings of llrkit on standard error: one line each, or none where a command says it itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from llrkit.cli.piped_inputs import as_given

if TYPE_CHECKING:
    import warnings

_WARNED = "llrkit.warned"
"""Where a command finds the warnings that were given while it ran."""


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings of llrkit as one line each on standard error."""
    import warnings

    from llrkit.errors import LlrkitWarning

    caught: list[warnings.WarningMessage] = []
    context = click.get_current_context(silent=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LlrkitWarning)
            if context is not None:
                context.meta.setdefault(_WARNED, []).append(caught)
            yield
    finally:
        said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, LlrkitWarning))
        for message in said:
            click.echo(f"llrkit: warning: {as_given(message)}", err=True)
    for warning in caught:
        if not issubclass(warning.category, LlrkitWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def left_out() -> dict[str, int]:
    """How many trials this command has left out so far, by the message that said so."""
    from llrkit.errors import LeftOutWarning

    said = _warnings_so_far()
    return {str(one): one.trials for one in said if isinstance(one, LeftOutWarning) and one.trials}


def is_told(text: str) -> bool:
    """Whether a warning that was given while this command ran has these words in it."""
    return any(text in str(warning) for warning in _warnings_so_far())


def _warnings_so_far() -> list[Warning | str]:
    context = click.get_current_context(silent=True)
    lists: list[list[warnings.WarningMessage]] = [] if context is None else context.meta.get(_WARNED, [])
    return [warning.message for warnings_ in lists for warning in warnings_]


def trained_without() -> dict[str, int]:
    """What a calibration file records of the training trials that were left out; nothing if none was."""
    n = sum(left_out().values())
    return {"training_left_out": n} if n else {}


@contextmanager
def unwarned(*categories: type[Warning], when: bool = True) -> Iterator[None]:
    """Without warnings of what the command says in its own words."""
    import warnings

    with warnings.catch_warnings():
        for category in categories if when else ():
            warnings.simplefilter("ignore", category)
        yield
