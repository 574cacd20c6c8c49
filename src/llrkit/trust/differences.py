"""Differences of systems on the same trials: two of them, pairs of many, and DeLong's test.

Both systems see the same trials and the same speakers, so an error is that of the difference itself: the
influences of both systems side by side, or the difference without each speaker in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import ndtr

from llrkit.base.arguments import RNG, Array, FloatArray, IntArray, seed_of, whole_number, yes_or_no
from llrkit.base.text import Json, chance, counted, not_among, number, p_words, percent
from llrkit.core.numerics import probability
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import SystemCountError, TooFewTrialsError, UnknownNameError
from llrkit.fits.folds import deal_folds
from llrkit.metrics.measure import Measurements, measure
from llrkit.results.result import Result, html_table, html_text, text_table
from llrkit.scores import POSITION, AnyTrials, DerivedSource, Labels, Scores, ScoreSource, as_source
from llrkit.scores.derived import chosen_systems
from llrkit.theory.operating_points import Points
from llrkit.trust.bootstrap import (
    bootstrap_numbers,
    checked_replicates,
    speaker_resampling,
    tail_probabilities,
)
from llrkit.trust.influence import Functional, StepInfluences, StepTable, functionals, trial_numbers
from llrkit.trust.jackknife import MANY_MAKERS, Jackknife, count_by_speaker, leave_out, makers_of_errors
from llrkit.trust.recalibration_line import as_rows
from llrkit.trust.speakers import (
    Contributions,
    Speakers,
    covariance,
    find_speakers,
    kind_asked_for,
    quantile,
    require_columns,
    two_sided_p,
)

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
    """What :func:`llrkit.compare_systems` found, by name of the number (as in ``Evaluation.intervals``)."""

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
        Trials with two scores each: ``Trials(..., score=["a", "b"])``, ``Scores`` of shape (n, 2), or an
        array of that shape that comes with ``labels``.
    labels
        The label of each trial, where the first argument is an array.
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    ci
        ``"trial"``: trials are independent. For AUC this is DeLong's test, see
        :func:`llrkit.trust.delong_test`; for other numbers the delta method, and for minimum Cllr, whose map
        is fitted, also a jackknife that leaves out groups of trials, whichever error is larger.
        ``"speaker"``: a jackknife that leaves out one speaker after the other, for both systems; rates,
        minima and 1 - AUC by the logarithm of their ratio. Rates and actual costs with errors of fewer than a
        quarter of all speakers (effectively) are tested by random signs of the speakers, those of fewer than
        4 speakers not at all. ``"bootstrap"``: speakers are drawn with replacement, the same for both
        systems. By default ``"speaker"`` if ``speakers`` are given, otherwise ``"trial"``.
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
    # weighted trials do not add up to their number, which decides whether errors are few
    trials = trial_numbers(source)
    numbers = [functionals(result, trials) for result in results]
    # both systems have the same numbers in the same order, because their points are the same
    every = list(zip(numbers[0].numbers, numbers[1].numbers, strict=True))
    reasons = {a.name: a.reason or b.reason for a, b in every if a.reason or b.reason}
    pairs = [(a, b) for a, b in every if a.name not in reasons]
    n_speakers: int | None = None
    differences: dict[str, Difference] = {}
    if ci == "bootstrap":
        assert speakers is not None
        resampling = speaker_resampling(source, speakers, recordings, seed)
        # the same draws for both systems: what chance does to one it does to the other
        drawn = [
            bootstrap_numbers(one, result, resampling, checked_replicates(replicates), slope=False)
            for one, result in zip(systems, results, strict=True)
        ]
        n_speakers = resampling.speakers.n
        for a, b in pairs:
            gap, drawn_gap = a.value - b.value, drawn[0][a.name] - drawn[1][a.name]
            moved = drawn_gap + 2.0 * (gap - float(drawn_gap.mean()))  # see percentile_interval
            low, high = np.quantile(moved, tail_probabilities(n_speakers, level)).tolist()
            # each tail counts replicates at 0 itself; the added one keeps p above 0
            beyond = min(np.count_nonzero(moved <= 0.0), np.count_nonzero(moved >= 0.0))
            p = min(1.0, 2.0 * (float(beyond) + 1.0) / (len(moved) + 1.0))
            differences[a.name] = Difference(a.value, b.value, low, high, float(drawn_gap.std()), p)
    else:
        both = side_by_side(numbers[0].influences, numbers[1].influences)
        if ci == "speaker":
            assert speakers is not None
            known = find_speakers(source, speakers)
            n_speakers, errors = known.n_speakers, speaker_errors(source, results, both, pairs, known)
        else:
            errors = {**trial_errors(source, results, both, pairs, min(trials or class_sizes(results[0])))}
        reasons |= {name: error for name, error in errors.items() if isinstance(error, str)}
        for a, b in pairs:
            if not isinstance(error := errors[a.name], str):
                gap, reach = a.value - b.value, error.reach(level)
                differences[a.name] = Difference(
                    a.value, b.value, gap - reach, gap + reach, error.standard_error, error.p_value(gap)
                )
    return SystemComparison(
        (names[0], names[1]),
        ci,
        level,
        MappingProxyType(differences),
        MappingProxyType(reasons),
        (results[0], results[1]),
        n_speakers,
    )


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
            show, one = percent if key in RATES else number, pair[key]
            lower, low, high = (
                (pair.names[1], one.second, one.first)
                if one.difference > 0.0
                else (pair.names[0], one.first, one.second)
            )
            better = f"{lower} is lower ({show(low)} against {show(high)})"
            return f"{name}: {better if p < alpha else 'not decided'}, {p_words(p)}"
        differ = [
            " below ".join(pair.names if pair[key].difference < 0.0 else pair.names[::-1])
            for pair, p in tested
            if p < alpha
        ]
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

    Each pair is compared by :func:`llrkit.compare_systems`. The p-values of each number are also corrected
    for the number of pairs by Holm's method, see ``holm``; they are not corrected for the choice of a number.

    Parameters
    ----------
    source
        Trials with two or more scores each: ``Trials(..., score=["a", "b", "c"])``, ``Scores`` of shape
        (n, K), or an array of that shape that comes with ``labels``.
    labels
        The label of each trial, where the first argument is an array.
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    all_pairs
        Compare every system with every other; by default the first with each of the others.
    **options
        As in :func:`llrkit.compare_systems`: ``ci``, ``speakers``, ``recordings``, ``level``, ``replicates``,
        ``rng``, ``allow_unconfirmed``.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> clean = lk.theory.GaussianLLR.from_eer(0.10).rvs(500, 5000, rng)
    >>> three = [np.column_stack([x, x, x + rng.normal(0, 1.5, len(x))]) for x in clean]
    >>> found = lk.trust.compare_many_systems(lk.Scores(*three), points=[0.1], all_pairs=True)
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
        # Holm's correction is over the pairs in which this number could be tested
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
        # the running maximum keeps corrected p-values in the order of the plain ones
        largest = max(largest, min(1.0, (len(p_values) - k) * p_values[i]))
        corrected[i] = largest
    return corrected


@dataclass(frozen=True)
class DeLong(Result):
    """Areas under two ROCs on the same trials, their covariance, and the test of their difference."""

    auc: tuple[float, float]
    """Areas under the two ROCs."""
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Covariance matrix of the two areas."""

    @property
    def z(self) -> float:
        """Difference of the areas in standard errors."""
        (aa, ab), (_, bb) = self.covariance
        variance, gap = aa + bb - 2.0 * ab, self.auc[0] - self.auc[1]
        if variance > 0.0:
            return gap / math.sqrt(variance)
        # equal placements of all trials: no variance, and a gap that is then exact
        return 0.0 if gap == 0.0 else math.copysign(math.inf, gap)

    @property
    def p_value(self) -> float:
        """Two-sided."""
        return 2.0 * float(ndtr(-abs(self.z)))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        covariance = [list(row) for row in self.covariance]
        return {"auc": list(self.auc), "covariance": covariance, "z": self.z, "p_value": self.p_value}


def delong_test(source: AnyTrials, labels: Labels | None = None) -> DeLong:
    """Test whether two systems that scored the same trials have the same AUC.

    The variance of the placements, as in DeLong, DeLong & Clarke-Pearson (1988): for each target the share
    of non-targets below it, for each non-target the share of targets above it, ties counting one half;
    sample covariances with n - 1. Trials are taken as independent.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([[1.0, 0.2], [2.0, 1.0], [3.0, 3.0]], [[0.0, 1.5], [1.5, 0.1], [0.5, 0.7]])
    >>> test = lk.trust.delong_test(scores)
    >>> [round(area, 4) for area in test.auc], round(test.p_value, 4)
    ([0.8889, 0.6667], 0.4795)
    """
    source = as_source(source, labels)
    results = [measure(only_systems(source, (k,)), []) for k in (0, 1)]
    tables = [StepTable(result, []) for result in results]
    for table in tables:
        table.add_placements()
    n = class_sizes(results[0])
    if min(n) < 2:
        raise TooFewTrialsError("DeLong's test needs at least two trials of each class")
    products = covariance(source, side_by_side(*(table.influences() for table in tables))).independent
    # each system has four sums: losses and placements, of targets and of non-targets
    # losses come first in each system's sums; the test needs the placements behind them
    rows = np.array(
        [[products[4 * i + 2 : 4 * i + 4, 4 * j + 2 : 4 * j + 4] for j in (0, 1)] for i in (0, 1)]
    )
    # sample covariances with n - 1, as DeLong et al. have them; products are of centered placements
    spread = rows[:, :, 0, 0] / (n[0] * (n[0] - 1.0)) + rows[:, :, 1, 1] / (n[1] * (n[1] - 1.0))
    return DeLong((results[0].auc, results[1].auc), as_rows(spread))


FLIPS = 3999
"""Random choices of the signs of all speakers."""


@dataclass(frozen=True, eq=False)
class DifferenceError(ReadOnlyArrays):
    """The standard error of a difference, and what the difference is compared with.

    Student's t suits most numbers. Where few speakers make the errors it is too cautious: those who make most
    of the difference make most of its standard error too. If both systems are equally good, either could
    have been the better one for each speaker; so the difference is compared with those that have random signs
    of the speakers in place of theirs. Such a test keeps its level however unequal the speakers are.

    Examples
    --------
    >>> round(DifferenceError(0.1).p_value(0.2), 4)
    0.0455
    >>> DifferenceError(0.1, 0.0, np.array([0.1, 0.2, 0.3])).p_value(0.25)
    0.5
    """

    standard_error: float
    df: float = math.inf
    flipped: FloatArray | None = None
    """Sizes of the difference with random signs of the speakers, ascending; None for Student's t."""

    def p_value(self, gap: float) -> float:
        """Two-sided test that there is no difference."""
        if self.flipped is not None:
            # a hair below the gap, so that rounding does not hide a flip of the same size
            as_large = len(self.flipped) - int(np.searchsorted(self.flipped, abs(gap) * (1.0 - 1e-12)))
            # the observed signs are one of the possible ones: hence the 1 in both places
            return (1.0 + as_large) / (1.0 + len(self.flipped))
        return two_sided_p(gap, self.standard_error, self.df)

    def reach(self, level: float) -> float:
        """Half the width of the interval, which excludes 0 where the test rejects."""
        if self.flipped is None:
            return quantile(level, self.df) * self.standard_error
        # the interval ends where the test would reject, so test and interval never disagree
        most = math.floor((1.0 - level) * (1.0 + len(self.flipped)) + 1e-9) - 1
        return float(self.flipped[min(len(self.flipped) - 1 - most, len(self.flipped) - 1)])


def flipped_sizes(gap: Jackknife) -> FloatArray:
    """Sizes that the first difference would have with random signs of the speakers, ascending.

    Pseudo-values around the difference itself, uncorrected for bias. What pairs of speakers count twice is
    taken out (``counted_once``).

    Examples
    --------
    >>> means = np.array([1.0, 2.0, 3.0])  # of three speakers: their signs give 0, 2/3, 4/3 or 2
    >>> left_out = (means.sum() - means) / 2
    >>> np.unique(flipped_sizes(Jackknife(("mean",), np.array([2.0]), left_out[:, None])).round(6))
    array([0.      , 0.666667, 1.333333, 2.      ])
    """
    around = gap.deviations[:, 0] + gap.values[0]
    share = float(np.broadcast_to(gap.counted_once, 1)[0])
    # taking out what pairs count twice shrinks the variance, and so the sizes by its root
    sizes = np.abs(_random_signs(gap.n_speakers) @ around) / gap.n_speakers * math.sqrt(share)
    return np.asarray(np.sort(sizes))


# cached, because all numbers of a comparison flip the same speakers
@lru_cache(maxsize=2)
def _random_signs(n: int) -> FloatArray:
    """Random signs of n speakers, one row for each flip."""
    heads = np.random.default_rng([7, n]).integers(0, 2, size=(FLIPS, n)).astype(np.float64)
    signs = heads * 2.0 - 1.0
    signs.flags.writeable = False
    return signs


Pairs = Sequence[tuple[Functional, Functional]]

MOST_GROUPS = 100
"""Groups of independent trials that are left out one after the other."""
RARE_SHARE = 0.25
"""Errors are rare if fewer than a quarter of the speakers make them, effectively."""
_FEW_COMPARED = 30.0
"""With more speakers, less of what pairs count twice has to stay in the errors of minimum costs."""
ONE_SPEAKER = "all trials of a class are of one speaker: without it there is nothing to compare"


def only_systems(source: ScoreSource, which: Sequence[int]) -> DerivedSource:
    """One system of a source that has several, or some of them."""

    def select(chunk: Scores) -> Scores:
        if chunk.target.ndim != 2:
            raise SystemCountError("scores of two systems are needed, got one")
        return chosen_systems(chunk, which)

    return DerivedSource(source, select, score=tuple(source.roles.score[i] for i in which))


def side_by_side(first: StepInfluences, second: StepInfluences) -> Contributions:
    """What the trials add by their scores of two systems, so that the covariance of both is known."""
    one, other = first.contributions, second.contributions
    columns = [(*one.columns(i), *(one.size + column for column in other.columns(i))) for i in (0, 1)]

    def of(values: Array, class_index: int) -> list[FloatArray]:
        return [*one.of(values[:, 0], class_index), *other.of(values[:, 1], class_index)]

    return Contributions(one.size + other.size, of, (columns[0], columns[1]))


def class_sizes(result: Measurements) -> tuple[float, float]:
    """Numbers, or weights, of targets and of non-targets."""
    bins = result.summaries.bins
    return float(bins.n_target), float(bins.n_nontarget)


@dataclass(frozen=True)
class TrialGroups(Speakers):
    """Independent trials dealt out to groups, which are then left out as speakers are."""

    def of(self, chunk: Scores, class_index: int) -> tuple[IntArray, IntArray]:
        """The group of each trial of a class, and nobody."""
        place = np.asarray(chunk.columns[POSITION][class_index])
        # deal_folds gives fold * n + fold; the remainder is the fold
        group = deal_folds(place, self.n, 0) % self.n
        return group, np.full(len(group), self.n)


def trial_errors(
    source: ScoreSource,
    results: Sequence[Measurements],
    both: Contributions,
    pairs: Pairs,
    smaller_class: float,
) -> dict[str, DifferenceError]:
    """Errors for independent trials: unbiased variances of the influences of each class.

    The map of the minimum Cllr follows the trials it is fitted to, which influences at the fitted map do
    not show: there the larger of that error and of the one by leaving out groups of trials is taken.
    """
    spread = covariance(source, both).independent
    sizes = np.array(class_sizes(results[0]))
    # sums come in pairs, targets first; n - 1 because their means were taken off
    unbiased = np.sqrt(np.tile(sizes / np.maximum(sizes - 1.0, 1.0), both.size // 2))
    errors: dict[str, DifferenceError] = {}
    for a, b in pairs:
        weights = np.concatenate([a.coefficients, -b.coefficients]) * unbiased
        errors[a.name] = DifferenceError(math.sqrt(max(float(weights @ spread @ weights), 0.0)))
    # leaving out more groups than the smaller class has trials would leave groups empty
    groups, fitted = int(min(MOST_GROUPS, smaller_class)), "min_cllr"
    if fitted not in errors or source.roles.weight is not None:
        return errors
    dealt = TrialGroups((POSITION,), {}, targets_cross=False, n_groups=groups)
    first, second = (
        leave_out(count_by_speaker(only_systems(source, (k,)), result, dealt), result).select([fitted])
        for k, result in enumerate(results)
    )
    error = float((first - second).standard_error[0])
    # the error at the fitted map does not show the fit, leaving groups out does
    if error > errors[fitted].standard_error:
        errors[fitted] = DifferenceError(error, groups - 1.0)
    return errors


def speaker_errors(
    source: ScoreSource,
    results: Sequence[Measurements],
    both: Contributions,
    pairs: Pairs,
    speakers: Speakers,
) -> dict[str, DifferenceError | str]:
    """Errors for trials that share speakers, both systems without the same speaker in turn, or why none.

    Rates, minima and the area above the ROC are compared by the logarithm of their ratio, and so are actual
    costs whose errors come from fewer than 8 effective speakers, or from fewer than a quarter of all: a few
    speakers make most of the errors, and the difference would be too skewed for a test. Its error is that of
    the logarithm times the logarithmic mean of the two. Rates and actual costs whose errors come from fewer
    than a quarter of all speakers are tested by changing the signs of speakers.

    Trials between two speakers are left out with either, and do not count twice. How much that is, influences
    at a fixed threshold say; some 2/S of it stays in, as in intervals. The threshold of a minimum cost moves
    with the trials, so there half of it stays in, and less with more than 30 speakers: without it tests at
    P = 0.01 rejected up to 11 % with 30, and with half of it only 1.4 % with 100 (benchmarks/sizes.py).
    """
    groups = speakers.grouped()
    names = [a.name for a, _ in pairs]
    spread = covariance(source, both, groups)
    shares = np.array(
        [spread.share_without_pairs(np.concatenate([a.coefficients, -b.coefficients])) for a, b in pairs]
    )
    cells = [count_by_speaker(only_systems(source, (k,)), result, groups) for k, result in enumerate(results)]
    first, second = (leave_out(one, result).select(names) for one, result in zip(cells, results, strict=True))
    made = [makers_of_errors(one, result) for one, result in zip(cells, results, strict=True)]
    # a reason in either system is reason enough
    few = {**made[1][1], **made[0][1]}
    errors: dict[str, DifferenceError | str] = {}
    for name, share in zip(names, shares, strict=True):
        a, b = first.select([name]), second.select([name])
        minimum = name.endswith((".min_dcf", ".min"))
        # half stays in for up to 30 speakers, then less (benchmarks/sizes.py, see above)
        if minimum:
            share += (1.0 - share) * 0.5 * min(1.0, _FEW_COMPARED / groups.n_compared)
        else:
            share = min(1.0, share * (1.0 + 2.0 / groups.n_compared))
        # left out, the only speaker of a class takes all its trials along
        if not np.isfinite(a.without + b.without).all():
            errors[name] = ONE_SPEAKER
        elif name in few:
            errors[name] = f"{few[name]}: no test of so few can be trusted"
        else:
            fewest = min(makers.get(name, math.inf) for makers, _ in made)
            # few speakers with most errors: Student's t is too cautious there
            rare = fewest < RARE_SHARE * groups.n
            many = fewest >= MANY_MAKERS and not rare
            plain = name == "cllr" or (name.endswith((".act_dcf", ".act")) and many)
            mean = 1.0
            if not plain:
                if name == "auc":
                    # the area above the ROC is the error, and its ratio has a meaning
                    a, b = (
                        replace(one, values=1.0 - one.values, without=1.0 - one.without) for one in (a, b)
                    )
                mean = _logarithmic_mean(float(a.values[0]), float(b.values[0]))
                a, b = a.on_scales(["cost"]), b.on_scales(["cost"])
                if not np.isfinite(a.without + b.without).all():
                    errors[name] = (
                        "without one of the speakers it is 0: no test of so few errors can be trusted"
                    )
                    continue
            gap = replace(a - b, counted_once=float(share))
            flipped = mean * flipped_sizes(gap) if rare else None
            # the error of a logarithm times the logarithmic mean of both values is that of the difference
            errors[name] = DifferenceError(mean * float(gap.standard_error[0]), float(gap.df[0]), flipped)
    return errors


def _logarithmic_mean(a: float, b: float) -> float:
    """What a difference of logarithms is multiplied by to give the difference itself.

    Examples
    --------
    >>> round(_logarithmic_mean(0.2, 0.1) * math.log(0.2 / 0.1), 12)
    0.1
    """
    return (a - b) / math.log(a / b) if min(a, b) > 0.0 and a != b else a
