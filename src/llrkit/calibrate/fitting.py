"""What every fit does besides fitting: it remembers how scores were read, and bounds its LLRs if asked to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from llrkit.calibrate.composite.named_bounds import bound_map, parse_bound
from llrkit.calibrate.input_reading import reading_of
from llrkit.calibrate.maps import Map
from llrkit.errors import InputError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source

P = ParamSpec("P")
M_co = TypeVar("M_co", bound=Map, covariant=True)

BOUND_DOCUMENTATION = """
bound
    How strong an LLR may be: ``"none"``, ``"elub"``, ``"invariance"``, ``"sources"`` or
    ``"fixed:LOW,HIGH"``, see :func:`bound_map`. The result is a :class:`BoundedMap` around the fitted map.
speakers
    For ``bound="sources"``: the column, or the two columns, with the speakers of a trial.
"""


class FitFunction(Protocol[P, M_co]):
    """A fit function: its own options give its own kind of map, ``bound`` any kind."""

    __name__: str

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> M_co: ...
    @overload
    def __call__(
        self,
        source: ScoreSource,
        *args: Any,
        bound: str,
        speakers: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Map: ...


def fits_map(fit: Callable[P, M_co]) -> FitFunction[P, M_co]:
    """A fit whose map records how its training scores were read, with the options ``bound`` and ``speakers``.

    Examples
    --------
    >>> import llrkit as lk
    >>> dev = lk.Scores([2.0, 4.0], [0.0, 2.0])
    >>> lk.fit_cmlg(dev, bound="sources")
    BoundedMap(AffineMap(cmlg: llr = 2 * score -4), llr from -1.099 to 1.099)
    >>> lk.fit_cmlg(dev, bound="fixed:-2,3")([0.0, 9.0])
    array([-2.,  3.])
    """

    @wraps(fit)
    def fitting(
        source: ScoreSource,
        *args: Any,
        bound: str = "none",
        speakers: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Map:
        kind, _ = parse_bound(bound)  # a word nobody knows is refused before anything is read
        if speakers is not None and kind != "sources":
            raise InputError(f"speakers are counted for bound='sources', not for {bound!r}; leave them out")
        fitted = cast(Callable[..., Map], fit)(source, *args, **options)
        fitted = replace(fitted, reading=reading_of(as_source(source).roles))
        return bound_map(fitted, source, bound, speakers=speakers)

    declared = signature(fit)
    more = [
        Parameter("bound", Parameter.KEYWORD_ONLY, default="none", annotation="str"),
        Parameter("speakers", Parameter.KEYWORD_ONLY, default=None, annotation="str | Sequence[str] | None"),
    ]
    own = list(declared.parameters.values())
    rest = [option for option in own if option.kind is Parameter.VAR_KEYWORD]
    own = [option for option in own if option.kind is not Parameter.VAR_KEYWORD]
    fitting.__signature__ = declared.replace(parameters=[*own, *more, *rest])  # type: ignore[attr-defined]
    fitting.__doc__ = _documented(fit.__doc__ or "")
    return cast("FitFunction[P, M_co]", fitting)


def _documented(text: str) -> str:
    """The docstring of a fit with the options that all fits share."""
    indent = "    "
    shared = "".join(f"{indent}{line}\n" for line in BOUND_DOCUMENTATION.strip().splitlines())
    title = f"{indent}Parameters\n{indent}----------\n"
    if title in text:
        return text.replace(title, title + shared, 1)
    for section in ("References", "Examples"):
        head = f"{indent}{section}\n{indent}{'-' * len(section)}\n"
        if head in text:
            return text.replace(head, f"{title}{shared}\n{head}", 1)
    return f"{text.rstrip()}\n\n{title}{shared}{indent}"
