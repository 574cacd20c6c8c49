"""What every fit does besides: it remembers how scores were read, bounds LLRs if asked to, and is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import ParamSpec, Protocol, TypeVar, cast, overload

from llrkit._docstrings import with_parameters
from llrkit.calibrate.bounds.bounds_by_groups import bound_groups, bounding_groups
from llrkit.calibrate.bounds.named_bounds import bound_map, parse_bound
from llrkit.calibrate.maps import Map
from llrkit.calibrate.option_checks import names_of
from llrkit.calibrate.poor_fit_guard import guarded
from llrkit.calibrate.recorded_reading import reading_of
from llrkit.calibrate.training_densities import with_group_spread
from llrkit.errors import InputError
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source

P = ParamSpec("P")
M_co = TypeVar("M_co", bound=Map, covariant=True)

BOUND_DOCUMENTATION = {
    "bound": """\
How strong an LLR may be: ``"none"`` (the default without groups), ``"elub"``, ``"invariance"``, ``"sources"``
or ``"fixed:LOW,HIGH"``, see :func:`llrkit.bound_map`. The result is a bounded map around the fitted one.""",
    "speakers": """\
For ``bound="sources"`` and ``groups``: the column, or the two columns, with the speakers of a trial.""",
    "groups": """\
The column with what may be new in use: attacks, devices, speakers. LLRs are bounded by ``log(1 + groups)`` of
the other class, where that has several groups, else by its speakers or trials; unless ``bound`` asks for
another bound or none: then groups only deal folds, in fits that have some.""",
}


class FitFunction(Protocol[P, M_co]):
    """A fit function: its own options give its own kind of map, ``bound`` any kind."""

    __name__: str

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> M_co: ...
    @overload
    def __call__(
        self,
        scores: object,
        labels: object,
        /,
        *,
        positive: object = None,
        weights: object = None,
        **options: object,
    ) -> M_co: ...
    @overload
    def __call__(
        self,
        source: ScoreSource,
        *args: object,
        bound: str,
        speakers: str | Sequence[str] | None = None,
        **options: object,
    ) -> Map: ...
    @overload
    def __call__(
        self,
        source: ScoreSource,
        *args: object,
        groups: str | Sequence[str],
        speakers: str | Sequence[str] | None = None,
        **options: object,
    ) -> Map: ...


def fits_map(fit: Callable[P, M_co]) -> FitFunction[P, M_co]:
    """A fit whose map records its training scores, with the options ``bound``, ``speakers`` and ``groups``.

    A fit that has ``groups`` of its own deals its folds by them; one column of groups bounds its LLRs, too.

    Examples
    --------
    >>> import llrkit as lk
    >>> dev = lk.Scores([2.0, 4.0], [0.0, 2.0])
    >>> lk.fit_cmlg(dev, bound="sources")
    BoundedMap(AffineMap(cmlg: llr = 2 * score -4), llr from -1.099 to 1.099)
    >>> lk.fit_cmlg(dev, bound="fixed:-2,3")([0.0, 9.0])
    array([-2.,  3.])
    """

    declared = signature(fit)

    def deals_groups(options: Mapping[str, object]) -> bool:
        """Whether the fit itself takes groups, to deal folds; CMLG does where it chooses alpha."""
        if "alpha" in declared.parameters and options.get("alpha") != "auto":
            return False
        return "groups" in declared.parameters

    @wraps(fit)
    def fitting(
        source: ScoreSource,
        *args: object,
        bound: str | None = None,
        speakers: str | Sequence[str] | None = None,
        **options: object,
    ) -> Map:
        given, bound = bound, "none" if bound is None else bound
        kind, _ = parse_bound(bound)  # a word nobody knows is refused before anything is read
        deals = deals_groups(options)
        groups = options.get("groups") if deals else options.pop("groups", None)
        columns = () if groups is None else names_of(groups, "groups")
        if groups is not None and not columns:
            raise InputError("groups are one or two columns, got none")
        other_bound = given is not None and kind != "sources"
        if columns and other_bound and not deals:
            raise InputError(f"groups bound the LLRs: leave out bound={bound!r} or the groups")
        by_groups = bool(columns) and not other_bound and (len(columns) == 1 or not deals)
        if speakers is not None and kind != "sources" and not by_groups:
            raise InputError(f"speakers need bound='sources', not {bound!r}; leave the speakers out")

        def fitted_to(trials: ScoreSource) -> Map:
            with bounding_groups(by_groups):
                fitted = cast(Callable[..., Map], fit)(trials, *args, **options)
            return replace(fitted, reading=reading_of(as_source(source).roles))

        # a bound that costs much is the user's wish: the map inside is judged
        fitted = guarded(fitted_to, source, fit.__name__, options)
        if speakers is None and columns:
            fitted = with_group_spread(fitted, source, columns)
        if by_groups:
            if speakers is not None:
                fitted = with_group_spread(fitted, source, names_of(speakers, "speakers"))
            return bound_groups(fitted, source, columns, speakers)
        return bound_map(fitted, source, bound, speakers=speakers)

    names = "str | Sequence[str] | None"
    more = [
        Parameter("bound", Parameter.KEYWORD_ONLY, default=None, annotation="str | None"),
        Parameter("speakers", Parameter.KEYWORD_ONLY, default=None, annotation=names),
        *(
            []
            if "groups" in declared.parameters
            else [Parameter("groups", Parameter.KEYWORD_ONLY, default=None, annotation=names)]
        ),
    ]
    own = list(declared.parameters.values())
    rest = [option for option in own if option.kind is Parameter.VAR_KEYWORD]
    own = [option for option in own if option.kind is not Parameter.VAR_KEYWORD]
    fitting.__signature__ = declared.replace(parameters=[*own, *more, *rest])  # type: ignore[attr-defined]
    if fit.__doc__:  # there is none with python -OO
        order = [option.name for option in [*own, *more, *rest]]
        fitting.__doc__ = with_parameters(_with_both_uses(fit.__doc__), BOUND_DOCUMENTATION, order)
    return cast("FitFunction[P, M_co]", takes_labels(fitting))


def _with_both_uses(text: str) -> str:
    """The docstring of a fit with groups of its own: one entry for what they do to bounds and to folds."""
    shared = "".join(f"    {line}\n" for line in BOUND_DOCUMENTATION["groups"].splitlines())
    return cleandoc(text).replace("\ngroups\n", f"\ngroups\n{shared}", 1)
