"""The warnings of llrkit on standard error: one line each, or none where a command says it itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from llrkit.cli.piped_inputs import as_given


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings of llrkit as one line each on standard error."""
    import warnings

    from llrkit.errors import LlrkitWarning

    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LlrkitWarning)
            yield
    finally:
        said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, LlrkitWarning))
        for message in said:
            click.echo(f"llrkit: warning: {as_given(message)}", err=True)
    for warning in caught:
        if not issubclass(warning.category, LlrkitWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


@contextmanager
def unwarned(*categories: type[Warning], when: bool = True) -> Iterator[None]:
    """Without warnings of what the command says in its own words."""
    import warnings

    with warnings.catch_warnings():
        for category in categories if when else ():
            warnings.simplefilter("ignore", category)
        yield
