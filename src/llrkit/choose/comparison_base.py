"""Methods compared, of any kind of trials: trained on one set, evaluated on another, raw scores first."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from llrkit._format import number
from llrkit._plain import Json
from llrkit._progress import tracked
from llrkit._results import Result, flat, text_table
from llrkit.calibrate.saved_map import SavedMap
from llrkit.choose.methods import Methods, named_fits, quietly
from llrkit.errors import InputError

E = TypeVar("E")
M = TypeVar("M", bound=SavedMap)
RAW = "raw"
"""What the row of the scores as they are is called."""


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Result, Generic[E, M]):
    """What each method gives on the evaluation set; the raw scores come first."""

    evaluations: Mapping[str, E]
    """Evaluation by method; ``raw`` is that of the scores as they are."""
    maps: Mapping[str, M]
    """The trained maps by method."""
    failed: Mapping[str, str]
    """Methods that could not be trained, with the reason."""

    @abstractmethod
    def _loss(self, name: str) -> float:
        """What the best method has least of."""

    @abstractmethod
    def _row(self, name: str) -> dict[str, Json]:
        """The plain numbers of a method."""

    @abstractmethod
    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The comparison in plain words."""

    @property
    def best(self) -> str:
        """The method with the lowest loss."""
        trained = {name: self._loss(name) for name in self.maps}
        if not trained:
            why = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
            raise InputError(f"no method could be trained ({why})")
        return min(trained, key=trained.__getitem__)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        rows = [{"method": name, **self._row(name)} for name in self.evaluations]
        return {"rows": rows, "best": self.best, "failed": dict(self.failed)}

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return [flat({"method": name, **self._row(name)}) for name in self.evaluations]

    def __repr__(self) -> str:
        failed = [f"{name}: {reason}" for name, reason in self.failed.items()]
        return "\n".join([text_table(*self.table()), *failed])


def cllr_sentence(best: str, cllr: float, cllr_cal: float, raw: float) -> str:
    """What a comparison by Cllr comes to.

    Examples
    --------
    >>> cllr_sentence("cmlg", 0.25, 0.01, 0.5)
    'The lowest Cllr is that of cmlg: 0.2500 bits instead of 0.5000 with the raw scores; 0.0100 are still ...'
    """
    if not cllr < raw:
        return f"None of them is better than the raw scores, whose Cllr is {number(raw)} bits."
    return (
        f"The lowest Cllr is that of {best}: {number(cllr)} bits instead of {number(raw)} with the raw "
        f"scores; {number(cllr_cal)} are still lost to calibration."
    )


def compared_on(
    train: object,
    methods: Methods[M],
    known: Mapping[str, Callable[..., M]],
    options: Callable[[str], Mapping[str, object]],
    evaluate: Callable[[M | None], E],
) -> tuple[Mapping[str, E], Mapping[str, M], Mapping[str, str]]:
    """Evaluations, maps and failures of methods; ``evaluate`` takes a map, or None for the raw scores."""
    fits = named_fits(methods, known)
    evaluations, maps, failed = {RAW: evaluate(None)}, {}, {}
    for name, fit in tracked(fits.items(), "comparing", len(fits), "methods"):
        try:
            maps[name] = quietly(fit, train, options(name))
        except InputError as error:
            failed[name] = str(error)
            continue
        evaluations[name] = evaluate(maps[name])
    return MappingProxyType(evaluations), MappingProxyType(maps), MappingProxyType(failed)
