#!/usr/bin/env python3
"""Write src/llrkit/keywords.pyi: the options of every job as keywords, for editors and type checkers.

A verb takes its options as ``**options: Unpack[EvaluateKeywords]``; Python cannot derive such a type from the
dataclass that declares the options, so it is written from that. ``--check`` fails if the file is out of date.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from llrkit.base.options import Option, Options, declared, defaults
from llrkit.io.read_options import Reading
from llrkit.speech import options as speech
from llrkit.verbs import options as verbs

FILE = Path(__file__).parents[1] / "src" / "llrkit" / "keywords.pyi"
JOBS: dict[type[Options], set[str]] = {
    Reading: {"key"},
    verbs.EvaluateOptions: set(),
    verbs.RatesOptions: set(),
    verbs.DifferentialOptions: {"by"},
    verbs.IdentifyOptions: {"probe"},
    verbs.SpoofOptions: {"costs"},
    verbs.ThresholdOptions: set(),
    verbs.DiagnoseOptions: set(),
    verbs.ValidateOptions: set(),
    verbs.CaseOptions: set(),
    speech.SpeechInput: set(),
    speech.TrainOptions: {"backend"},
    verbs.FuseOptions: set(),
    verbs.ApplyOptions: set(),
    verbs.AdaptOptions: set(),
}
"""The jobs, each with the options that are parameters of their own."""
TYPES = {
    "text": "str", "column": "str", "share": "float", "number": "float", "whole": "int", "flag": "bool",
    **dict.fromkeys(("name", "names", "columns", "texts"), "str | Sequence[str]"),
    **dict.fromkeys(("shares", "numbers"), "float | Sequence[float]"),
    "wholes": "int | Sequence[int]",
    **dict.fromkeys(("read", "write"), "str | PathLike[str]"),
}  # fmt: skip
HEAD = '''"""The options of jobs as keywords, written by .ci/keywords.py from their declarations."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from llrkit.base.arguments import RNG
from llrkit.io.read_options import Reading
from llrkit.maps.map import Map
from llrkit.scores.derived import AnyTrials
from llrkit.speech.embeddings import Embeddings
from llrkit.speech.frames import Frames
from llrkit.spoof.costs import Costs
from llrkit.theory.operating_points import AnyPoint, Point, Points
from llrkit.verbs.criteria import Criteria
'''


def accepted(option: Option, default: object) -> str:
    """The type of what an option takes in Python."""
    kind = option.accepts or TYPES[option.kind]
    if option.choices:
        kind = f"Literal[{', '.join(f'{word!r}'.replace(chr(39), chr(34)) for word in option.choices)}]"
    return f"{kind} | None" if default in (None, ()) else kind


def lines() -> Iterator[str]:
    """The text of the file."""
    yield HEAD
    for job, own in JOBS.items():
        yield f"\nclass {job.__name__.removesuffix('Options')}Keywords(TypedDict, total=False):\n"
        for name in (name for name in declared(job) if name not in own):
            yield f"    {name}: {accepted(declared(job)[name], defaults(job)[name])}\n"


def main() -> None:
    """Write the file, or compare it."""
    text = "".join(lines())
    if "--check" not in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE} is not up to date: run make keywords")


if __name__ == "__main__":
    main()
