"""DifferentialPerformance: error rates by group of people, as data, as a table and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

from llrkit._format import number, p_words
from llrkit._plain import Json
from llrkit.biometrics.verification_result import small_rate
from llrkit.metrics.curve_base import Curve
from llrkit.metrics.threshold_choice import Range

WORDS = {
    "max_over_min": "max / min",
    "max_over_geometric_mean": "max / geometric mean",
    "gini": "Gini",
    "range": "max - min",
}


@dataclass(frozen=True)
class GroupRate:
    """Both error rates of a group at the threshold."""

    fmr: float
    fnmr: float
    fmr_interval: Range | None
    fnmr_interval: Range | None
    n_fmr: int
    n_fnmr: int
    """Non-mated and mated comparisons."""
    errors_fmr: int
    errors_fnmr: int
    effective_fmr: float
    effective_fnmr: float
    """Independent comparisons that know the rates as well."""

    @property
    def effective_errors_fmr(self) -> float:
        """Errors among so many independent comparisons."""
        return self.fmr * self.effective_fmr

    @property
    def effective_errors_fnmr(self) -> float:
        """The same of false non-matches."""
        return self.fnmr * self.effective_fnmr


class Inequity(NamedTuple):
    """A measure of how unequal rates are, its interval, and what equal groups exceed rarely by chance."""

    value: float
    interval: Range
    by_chance: float


@dataclass(frozen=True, eq=False, repr=False)
class DifferentialPerformance(Curve):
    """The result of :func:`llrkit.biometrics.differential`."""

    columns: tuple[str, ...]
    """Columns that hold the groups."""
    threshold: float
    """The threshold of all groups."""
    factor: float
    """What scores of the file were multiplied by: -1 for distances."""
    groups: Mapping[str, GroupRate]
    """Error rates of each group."""
    measures: Mapping[str, Mapping[str, Inequity]]
    """By rate (``fmr``, ``fnmr``) and name of the measure."""
    joined: Mapping[str, float]
    """GARBE, FDR and the inequity rate, both rates counting half."""
    p_values: Mapping[str, Mapping[str, float]]
    """By rate and group: against all other groups, corrected for the number of groups (Holm)."""
    level: float
    """Confidence level of the intervals."""
    by_subject: bool
    """Whether subjects were taken into account."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "by": list(self.columns), "threshold": self.threshold / self.factor,
            "groups": {name: asdict(one) for name, one in self.groups.items()},
            "measures": {
                rate: {name: one._asdict() for name, one in own.items()}
                for rate, own in self.measures.items()
            },
            "joined": dict(self.joined),
            "p_values": {rate: dict(own) for rate, own in self.p_values.items()},
            "level": self.level, "by_subject": self.by_subject, "sentence": self.sentence,
        }  # fmt: skip

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows with one line for each group."""
        header = [
            " | ".join(self.columns),
            "non-mated",
            "FMR",
            "",
            "p (Holm)",
            "mated",
            "FNMR",
            "",
            "p (Holm)",
        ]
        return header, [[name, *self._half(name, "fmr"), *self._half(name, "fnmr")] for name in self.groups]

    def _half(self, name: str, rate: str) -> list[str]:
        one = self.groups[name]
        n, ends = getattr(one, f"n_{rate}"), getattr(one, f"{rate}_interval")
        if not n:
            return ["0", "-", "", "-"]
        p = self.p_values.get(rate, {}).get(name)
        shown = "-" if p is None else p_words(p).removeprefix("p ").removeprefix("= ")
        interval = f"[{small_rate(ends[0])}, {small_rate(ends[1])}]"
        return [f"{n:,}", small_rate(getattr(one, rate)), interval, shown]

    def measure_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows with one line for each measure."""
        header = ["", "FMR", "", "by chance", "FNMR", "", "by chance"]
        rows = []
        for name, words in WORDS.items():
            row = [words]
            for rate in ("fmr", "fnmr"):
                one = self.measures.get(rate, {}).get(name)
                low, high = ("", "") if one is None else map(number, one.interval)
                row += ["-", "", "-"] if one is None else [
                    number(one.value), f"[{low}, {high}]", number(one.by_chance)
                ]  # fmt: skip
            rows.append(row)
        return header, rows

    @property
    def sentence(self) -> str:
        """Which groups differ, in words."""
        alpha = 1.0 - self.level
        told = []
        for rate, word in (("fmr", "FMR"), ("fnmr", "FNMR")):
            if rate not in self.p_values:
                told.append(f"{word}: only one group has comparisons")
                continue
            differ = [name for name, p in self.p_values[rate].items() if p < alpha]
            ratio = self.measures[rate]["max_over_min"]
            worst = max((n for n in self.p_values[rate]), key=lambda name: getattr(self.groups[name], rate))
            what = f"differs for {', '.join(differ)}" if differ else "no difference shown"
            chance = f"equal groups reach {number(ratio.by_chance, 2)} by chance"
            told.append(f"{word}: {what}; highest for {worst}, max / min {number(ratio.value, 2)} ({chance})")
        how = "" if self.by_subject else ", if comparisons are independent"
        return f"{'. '.join(told)} (level {100 * alpha:g} %, Holm's correction{how})."

    def __repr__(self) -> str:
        header, rows = self.table()
        widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                 for line in (header, *rows)]  # fmt: skip
        return "\n".join([*lines, "", self.sentence])
