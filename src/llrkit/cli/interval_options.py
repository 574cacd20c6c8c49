"""The options of intervals, as they were typed, as arguments of the library."""

from __future__ import annotations

from typing import TypedDict

from llrkit.cli.output import parse_share, split_names


class IntervalArguments(TypedDict):
    """How the library is asked for intervals."""

    ci: str | None
    speakers: list[str] | None
    recordings: list[str] | None
    level: float
    replicates: int
    rng: int


def interval_arguments(
    ci: str | None, speakers: str | None, recordings: str | None, level: str, replicates: int, seed: int
) -> IntervalArguments:
    """What the options of intervals, as they were typed, ask of the library.

    Examples
    --------
    >>> interval_arguments("bootstrap", "left,right", None, "90%", 200, 7)["level"]
    0.9
    """
    return {
        "ci": ci,
        "speakers": split_names(speakers),
        "recordings": split_names(recordings),
        "level": parse_share(level, "--level"),
        "replicates": replicates,
        "rng": seed,
    }
