"""Differences of systems on the same trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from llrkit.base.arguments import RNG, FloatArray, seed_of, whole_number, yes_or_no
from llrkit.base.text import Json, chance, counted, not_among, number, p_words, percent
from llrkit.core.functions import probability
from llrkit.errors import SystemCountError, UnknownNameError
from llrkit.metrics.measure import Measurements, measure
from llrkit.results.result import Result, html_table, html_text, text_table
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory.odds import Points
from llrkit.trust.bootstrap import (
    bootstrap_numbers,
    checked_replicates,
    speaker_resampling,
    tail_probabilities,
)
from llrkit.trust.influence import Functional, functionals, trial_numbers
from llrkit.trust.paired import (
    DifferenceError,
    class_sizes,
    only_systems,
    side_by_side,
    speaker_errors,
    trial_errors,
)
from llrkit.trust.speakers import find_speakers, kind_asked_for, require_columns

KINDS = ("trial", "speaker", "bootstrap")
INDEPENDENT_TRIALS = (
    "tests and intervals hold if trials are independent; if they share speakers, give speakers"
)


@dataclass(frozen=True)
class Difference:
    """A number of two systems on the same trials; ``difference`` is the first less the second."""

    first: float
    second: float
    low: float
    high: float
    standard_error: float
    p_value: float
    """Two-sided test that there is no difference."""

    @property
    def difference(self) -> float:
        """First less second."""
        return self.first - self.second


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison(Result):
    """What :func:`compare_systems` found, by name of the number (as in ``Evaluation.intervals``)."""

    names: tuple[str, str]
    """Names of the two systems."""
    kind: str
    """Kind of the intervals and tests."""
    level: float
    """Confidence level of the intervals."""
    differences: Mapping[str, Difference]
    """Difference of each number, with its interval and p-value."""
    no_test: Mapping[str, str]
    """Numbers without a test, with the reason."""
    evaluations: tuple[Measurements, Measurements]
    """Metrics of the two systems."""
    n_speakers: int | None
    """Number of speakers; None if trials are taken as independent."""

    @property
    def independent(self) -> bool:
        """Whether trials were taken as independent."""
        return self.kind == "trial"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tests are based on, in words."""
        return (INDEPENDENT_TRIALS,) if self.independent else ()

    def __getitem__(self, name: str) -> Difference:
        if name not in self.differences:
            raise UnknownNameError(
                f"no difference for {not_among(name, self.differences, '; there are: ')}"
                + (f" ({self.no_test[name]})" if name in self.no_test else "")
            )
        return self.differences[name]

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        rows = {name: {**asdict(d), "difference": d.difference} for name, d in self.differences.items()}
        return {
            "systems": list(self.names), "kind": self.kind, "level": self.level, "differences": rows,
            "no_test": dict(self.no_test), "n_speakers": self.n_speakers, "notes": list(self.notes),
        }  # fmt: skip

    def _frame_rows(self) -> list[dict[str, Json]]:
        systems = {"first_system": self.names[0], "second_system": self.names[1]}
        return [
            {"number": name, **systems, **asdict(one), "difference": one.difference}
            for name, one in self.differences.items()
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        rows = []
        for name, d in self.differences.items():
            values = [number(value) for value in (d.first, d.second, d.difference)]
            rows.append([name, *values, f"[{number(d.low)}, {number(d.high)}]", f"{d.p_value:.2g}"])
        return ["", *self.names, "difference", f"{100 * self.level:g} % interval", "p"], rows

    def __repr__(self) -> str:
        return "\n".join([text_table(*self.table()), *self.notes])


def compare_systems(
    source: AnyTrials,
    labels: Labels | None = None,
    points: Points = ("sre08", "sre10"),
    *,
    ci: str | None = None,
    speakers: str | Sequence[str] | None = None,
    recordings: str | Sequence[str] | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    rng: RNG = 0,
    allow_unconfirmed: bool = False,
) -> SystemComparison:
    """Differences between two systems that scored the same trials, with intervals and tests.

    The two systems see the same trials, so most of what chance does to one it does to the other: the
    interval of the difference is much shorter than those of the two numbers suggest.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    source
        Trials with two scores each: ``Trials(..., score=["a", "b"])``, or ``Scores`` of shape (n, 2).
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    ci
        ``"trial"``: trials are independent. For AUC this is DeLong's test, see :func:`delong_test`; for
        minimum costs and minimum Cllr, whose map is fitted, a jackknife that leaves out groups of trials;
        for other numbers the delta method. ``"speaker"``: a jackknife that leaves out one speaker after
        the other, for both systems; rates, minima and 1 - AUC by the logarithm of their ratio. Rates and
        actual costs with errors of fewer than a quarter of all speakers (effectively) are tested by random
        signs of the speakers, those of fewer than 4 speakers not at all. ``"bootstrap"``: speakers are drawn
        with replacement, the same for both systems. By default ``"speaker"`` if ``speakers`` are given,
        otherwise ``"trial"``.
    speakers, recordings, level, replicates, rng
        As in :func:`evaluate`.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> first = lk.theory.GaussianLLR.from_eer(0.10).rvs(500, 5000, rng)
    >>> both = [np.column_stack([x, x + rng.normal(0, 1.5, len(x))]) for x in first]
    >>> comparison = lk.compare_systems(lk.Scores(*both), points=[0.1])
    >>> comparison["eer"].difference < 0, comparison["eer"].p_value < 0.001
    (True, True)
    """
    source = as_source(source, labels)
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
    seed = seed_of(rng)
    ci = kind_asked_for(ci, speakers, "trial")
    require_columns(ci, KINDS, speakers, recordings)
    probability(level, "level")
    whole_number(replicates, 1, "replicates")
    names = source.roles.score
    if len(names) != 2:
        raise SystemCountError(
            f"scores of two systems are needed, got {len(names)}: two arrays go side by side, "
            "np.column_stack([first, second]) and the labels"
        )
    systems = [only_systems(source, (k,)) for k in (0, 1)]
    results = [measure(one, points, allow_unconfirmed=allow_unconfirmed) for one in systems]
    trials = trial_numbers(source)
    numbers = [functionals(result, trials) for result in results]
    every = list(zip(numbers[0].numbers, numbers[1].numbers, strict=True))
    reasons = {a.name: a.reason or b.reason for a, b in every if a.reason or b.reason}
    pairs = [(a, b) for a, b in every if a.name not in reasons]
    n_speakers: int | None = None
    if ci == "bootstrap":
        assert speakers is not None
        resampling = speaker_resampling(source, speakers, recordings, seed)
        drawn = [
            bootstrap_numbers(one, result, resampling, checked_replicates(replicates), slope=False)
            for one, result in zip(systems, results, strict=True)
        ]
        n_speakers = resampling.speakers.n
        differences = {
            a.name: _bootstrap_difference(a, b, drawn[0][a.name] - drawn[1][a.name], n_speakers, level)
            for a, b in pairs
        }
    else:
        both = side_by_side(numbers[0].influences, numbers[1].influences)
        if ci == "speaker":
            assert speakers is not None
            known = find_speakers(source, speakers)
            n_speakers, errors = known.n_speakers, speaker_errors(source, results, both, pairs, known)
        else:
            errors = {**trial_errors(source, results, both, pairs, min(trials or class_sizes(results[0])))}
        reasons |= {name: error for name, error in errors.items() if isinstance(error, str)}
        differences = {
            a.name: _difference_of_numbers(a, b, error, level)
            for a, b in pairs
            if not isinstance(error := errors[a.name], str)
        }
    return SystemComparison(
        (names[0], names[1]),
        ci,
        level,
        MappingProxyType(differences),
        MappingProxyType(reasons),
        (results[0], results[1]),
        n_speakers,
    )


def _difference_of_numbers(a: Functional, b: Functional, error: DifferenceError, level: float) -> Difference:
    gap, reach = a.value - b.value, error.reach(level)
    return Difference(a.value, b.value, gap - reach, gap + reach, error.standard_error, error.p_value(gap))


def _bootstrap_difference(
    a: Functional, b: Functional, drawn: FloatArray, n_speakers: int, level: float
) -> Difference:
    gap = a.value - b.value
    moved = drawn + 2.0 * (gap - float(drawn.mean()))  # see percentile_interval
    low, high = (float(end) for end in np.quantile(moved, tail_probabilities(n_speakers, level)))
    beyond = min(np.count_nonzero(moved <= 0.0), np.count_nonzero(moved >= 0.0))
    p = min(1.0, 2.0 * (float(beyond) + 1.0) / (len(moved) + 1.0))
    return Difference(a.value, b.value, low, high, float(drawn.std()), p)


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
            lines += [text_table(*self.table(i)), *self.not_tested(i), ""]
        return "\n".join([*lines, self.sentence])


def compare_many_systems(
    source: AnyTrials,
    labels: Labels | None = None,
    points: Points = ("sre08", "sre10"),
    *,
    all_pairs: bool = False,
    **options: Any,
) -> PairwiseComparison:
    """Differences between systems that scored the same trials: the first against each other, or all pairs.

    Each pair is compared by :func:`compare_systems`. The p-values of each number are also corrected for the
    number of pairs by Holm's method, see ``holm``; they are not corrected for the choice of a number.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
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
    source = as_source(source, labels)
    yes_or_no(all_pairs, "all_pairs")
    names = source.roles.score
    if len(names) < 2:
        raise SystemCountError(f"scores of two or more systems are needed, got {len(names)}")
    chosen = [(i, j) for i, j in combinations(range(len(names)), 2) if all_pairs or i == 0]
    pairs = tuple(
        compare_systems(source if len(names) == 2 else only_systems(source, pair), points=points, **options)
        for pair in chosen
    )
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


def _better(pair: SystemComparison, one: Difference, key: str) -> str:
    show = percent if key in RATES else number
    name, low, high = pair.names[0], one.first, one.second
    if one.difference > 0.0:
        name, low, high = pair.names[1], one.second, one.first
    return f"{name} is lower ({show(low)} against {show(high)})"


def _order_of_pair(pair: SystemComparison, one: Difference) -> str:
    first, second = pair.names if one.difference < 0.0 else pair.names[::-1]
    return f"{first} below {second}"
