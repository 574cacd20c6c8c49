"""Several systems on the same trials: differences in pairs, with p-values corrected for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

from llrkit._format import chance, counted, number, p_words, percent
from llrkit._plain import Json
from llrkit._results import Result, html_table, html_text
from llrkit.errors import SystemCountError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.presets import Points
from llrkit.trust.differences.compare_systems import Difference, SystemComparison, compare_systems

RATES = ("eer", "eer_roc", "p_miss", "p_fa")
_WORDS = {
    "eer": "EER", "eer_roc": "EER (ROC)", "auc": "AUC", "cllr": "Cllr", "min_cllr": "min Cllr",
    "min_dcf": "min DCF", "act_dcf": "act DCF", "p_miss": "Pmiss", "p_fa": "Pfa",
    "min": "min C_primary", "act": "act C_primary",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseComparison(Result):
    """What :func:`compare_many_systems` found."""

    names: tuple[str, ...]
    """Names of the systems."""
    pairs: tuple[SystemComparison, ...]
    """The comparison of each pair of systems."""
    corrected: tuple[Mapping[str, float], ...]
    """Of each pair the p-values by name of the number, corrected for the number of pairs (Holm)."""

    @property
    def level(self) -> float:
        """Of the intervals; tests are made at one less this level."""
        return self.pairs[0].level

    def number_name(self, key: str) -> str:
        """A number in words: ``"points.0.min_dcf"`` is the minimum cost at the first operating point.

        Parameters
        ----------
        key
            Key of a number in the differences.
        """
        kind, _, rest = key.partition(".")
        if not rest:
            return _WORDS.get(key, key)
        place, _, name = rest.partition(".")
        found = self.pairs[0].evaluations[0]
        if kind == "points":
            return f"{_WORDS[name]} {found.points[int(place)].point.name}"
        return f"{_WORDS[name]} {found.primaries[int(place)].name}"

    def table(self, pair: int) -> tuple[list[str], list[list[str]]]:
        """Header and rows of one pair; the corrected p-values stand there if there are several pairs.

        Parameters
        ----------
        pair
            Position of the pair, from 0.
        """
        comparison, many = self.pairs[pair], len(self.pairs) > 1
        header = ["", *comparison.names, "difference", f"{100 * self.level:g} % interval", "p"]
        rows = []
        for key, one in comparison.differences.items():
            show = percent if key.rpartition(".")[2] in RATES else number
            ends = f"[{show(one.low).removesuffix(' %')}, {show(one.high)}]"
            values = [show(value) for value in (one.first, one.second, one.difference)]
            p_values = [one.p_value, *([self.corrected[pair][key]] if many else [])]
            rows.append([self.number_name(key), *values, ends, *map(chance, p_values)])
        return header + (["p (Holm)"] if many else []), rows

    def _frame_rows(self) -> list[dict[str, Json]]:
        return [
            {**row, "corrected_p_value": corrected.get(str(row["number"]))}
            for pair, corrected in zip(self.pairs, self.corrected, strict=True)
            for row in pair._frame_rows()
        ]

    def _repr_html_(self) -> str:
        tables = "".join(html_table(*self.table(i)) for i in range(len(self.pairs)))
        return tables + html_text(self.sentence)

    def not_tested(self, pair: int) -> list[str]:
        """The numbers of a pair that could not be tested, each reason once.

        Parameters
        ----------
        pair
            Position of the pair, from 0.
        """
        by_reason: dict[str, list[str]] = {}
        for key, reason in self.pairs[pair].no_test.items():
            by_reason.setdefault(reason, []).append(self.number_name(key))
        return [f"no test of {', '.join(names)}: {reason}" for reason, names in by_reason.items()]

    @property
    def sentence(self) -> str:
        """What the tests of EER and Cllr say, with their level."""
        said = [self._outcome(key) for key in ("eer", "cllr")]
        how = f"level {100 * (1.0 - self.level):g} %"
        if self.pairs[0].independent:
            how += ", if trials are independent"
        if len(self.pairs) > 1:
            how += f", Holm's correction for {counted(len(self.pairs), 'pair')}"
        return f"{'; '.join(said)} ({how})."

    def _outcome(self, key: str) -> str:
        name, alpha = self.number_name(key), 1.0 - self.level
        tested = [
            (pair, corrected[key])
            for pair, corrected in zip(self.pairs, self.corrected, strict=True)
            if key in corrected
        ]
        if not tested:
            return f"{name}: not tested ({self.pairs[0].no_test[key]})"
        if len(self.pairs) == 1:
            ((pair, p),) = tested
            return f"{name}: {_better(pair, pair[key], key) if p < alpha else 'not decided'}, {p_words(p)}"
        differ = [f"{_order_of_pair(pair, pair[key])}" for pair, p in tested if p < alpha]
        listed = f" ({', '.join(differ)})" if differ else ""
        return f"{name}: {len(differ)} of {counted(len(tested), 'pair')} differ{listed}"

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        first = self.pairs[0]
        rows = [
            {**pair.to_dict(), "corrected_p_values": dict(corrected)}
            for pair, corrected in zip(self.pairs, self.corrected, strict=True)
        ]
        for row in rows:
            for shared in ("kind", "level", "n_speakers", "notes"):
                del row[shared]
        return {
            "systems": list(self.names), "kind": first.kind, "level": first.level,
            "n_speakers": first.n_speakers, "notes": list(first.notes), "correction": "holm",
            "points": [point.point.name for point in first.evaluations[0].points], "pairs": rows,
            "sentence": self.sentence,
        }  # fmt: skip

    def __repr__(self) -> str:
        lines: list[str] = []
        for i in range(len(self.pairs)):
            header, body = self.table(i)
            rows = [header, *body]
            widths = [max(len(row[k]) for row in rows) for k in range(len(header))]
            for row in rows:
                cells = [
                    cell.rjust(w) if k else cell.ljust(w)
                    for k, (cell, w) in enumerate(zip(row, widths, strict=True))
                ]
                lines.append("  ".join(cells).rstrip())
            lines += [*self.not_tested(i), ""]
        return "\n".join([*lines, self.sentence])


@takes_labels
def compare_many_systems(
    source: ScoreSource,
    points: Points = ("sre08", "sre10"),
    *,
    all_pairs: bool = False,
    **options: object,
) -> PairwiseComparison:
    """Differences between systems that scored the same trials: the first against each other, or all pairs.

    Each pair is compared by :func:`compare_systems`. The p-values of each number are also corrected for the
    number of pairs by Holm's method, see ``holm``; they are not corrected for the choice of a number.

    Parameters
    ----------
    source
        Trials with two or more scores each: ``Trials(..., score=["a", "b", "c"])``, or ``Scores`` of shape
        (n, K).
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    all_pairs
        Compare every system with every other; by default the first with each of the others.
    **options
        As in :func:`compare_systems`: ``ci``, ``speakers``, ``recordings``, ``level``, ``replicates``,
        ``seed``, ``allow_unconfirmed``.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> clean = lk.theory.GaussianLLR.from_eer(0.10).rvs(500, 5000, rng)
    >>> three = [np.column_stack([x, x, x + rng.normal(0, 1.5, len(x))]) for x in clean]
    >>> found = lk.compare_many_systems(lk.Scores(*three), points=[0.1], all_pairs=True)
    >>> [pair.names for pair in found.pairs]
    [('system1', 'system2'), ('system1', 'system3'), ('system2', 'system3')]
    >>> [corrected["eer"] < 0.01 for corrected in found.corrected]
    [False, True, True]
    """
    source = as_source(source)
    names = source.roles.score
    if len(names) < 2:
        raise SystemCountError(f"scores of two or more systems are needed, got {len(names)}")
    chosen = list(combinations(range(len(names)), 2)) if all_pairs else [(0, k) for k in range(1, len(names))]
    pairs = tuple(compare_systems(_two_of_systems(source, i, j), points, **options) for i, j in chosen)
    corrected: list[dict[str, float]] = [{} for _ in pairs]
    for key in dict.fromkeys(key for pair in pairs for key in pair.differences):
        tested = [k for k, pair in enumerate(pairs) if key in pair.differences]
        for k, p in zip(tested, holm([pairs[k][key].p_value for k in tested]), strict=True):
            corrected[k][key] = p
    return PairwiseComparison(names, pairs, tuple(MappingProxyType(one) for one in corrected))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by the step-down method of Holm (1979).

    The k-th smallest of m is multiplied by m - k + 1; none is smaller than one before it, none larger than
    1. The chance of any false rejection is then at most the level, whatever the dependence of the tests.

    References
    ----------
    Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.

    Examples
    --------
    >>> [round(p, 12) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for k, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - k) * p_values[i]))
        corrected[i] = largest
    return corrected


def _two_of_systems(source: ScoreSource, i: int, j: int) -> ScoreSource:
    """Two of the systems of a source; the source itself if it has no other."""
    names = source.roles.score
    if len(names) == 2:
        return source

    def select(chunk: Scores) -> Scores:
        target, nontarget = chunk.target[:, [i, j]], chunk.nontarget[:, [i, j]]
        return Scores.part(target, nontarget, chunk.columns, chunk.categories)

    return DerivedSource(source, select, score=(names[i], names[j]))


def _better(pair: SystemComparison, one: Difference, key: str) -> str:
    show = percent if key in RATES else number
    name, low, high = pair.names[0], one.first, one.second
    if one.difference > 0.0:
        name, low, high = pair.names[1], one.second, one.first
    return f"{name} is lower ({show(low)} against {show(high)})"


def _order_of_pair(pair: SystemComparison, one: Difference) -> str:
    first, second = pair.names if one.difference < 0.0 else pair.names[::-1]
    return f"{first} below {second}"
