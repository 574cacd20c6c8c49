"""FNMR at given FMRs (ISO/IEC 19795-1), with failures to enroll or acquire, and rules of thumb on sizes.

Intervals are those of a miss rate at a false-alarm rate, :func:`llrkit.trust.intervals.miss_at_fa`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from llrkit.base.arguments import Array, BoolArray
from llrkit.base.options import documented
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, counted, percent
from llrkit.core.cells import BelowCounts
from llrkit.core.groups import ValueCounts, plain_value
from llrkit.core.numerics import probability
from llrkit.core.order import Ranking
from llrkit.core.pav import error_path
from llrkit.errors import InputError, ReversedScoresWarning, UnknownNameError
from llrkit.metrics.discrimination import (
    Range,
    reversed_text,
    same_rate,
    separation,
    threshold_for_false_alarms,
)
from llrkit.metrics.measure import measure
from llrkit.results.result import text_table
from llrkit.scores import AnyTrials, DerivedSource, Labels, Scores, ScoreSource, as_source
from llrkit.trust.intervals import miss_at_fa
from llrkit.trust.speakers import find_speakers, quantile
from llrkit.verbs.options import RatesOptions

if TYPE_CHECKING:
    from llrkit.keywords import RatesKeywords

Failure = Literal["enroll", "acquire", "failure"]
_NO_FAILURE = frozenset({"", "-", "0", "0.0", "false", "no", "none", "n/a", "na", "ok", "success"})
_WORDS: Mapping[Failure, frozenset[str]] = {
    "enroll": frozenset({"fte", "enroll", "enrol", "enrollment", "enrolment"}),
    "acquire": frozenset({"fta", "ftx", "acquire", "acquisition", "capture", "extraction"}),
    "failure": frozenset({"1", "1.0", "true", "yes", "failure", "failed", "fail"}),
}


def failure_of(value: object, column: str = "") -> Failure | None:
    """Which failure a value of the column means; None if nothing failed.

    Examples
    --------
    >>> failure_of("FTE"), failure_of("fta"), failure_of(True), failure_of("ok"), failure_of(None)
    ('enroll', 'acquire', 'failure', None, None)
    """
    # NumPy and polars values become plain ones, so that True and 1.0 are spelled alike.
    value = plain_value(value)
    word = "" if value is None else str(value).strip().lower()
    if word in _NO_FAILURE:
        return None
    for kind, words in _WORDS.items():
        if word in words:
            return kind
    where = f"column {column!r}: " if column else ""
    raise InputError(
        f"{where}unknown failure {value!r}; known are fte (enroll), fta (acquire), true (any), and '', "
        "'-', 0, false, no, none, ok for comparisons where nothing failed"
    )


@dataclass(frozen=True)
class FailureCounts:
    """Comparisons that no score could be computed for, by what failed: mated and non-mated ones."""

    column: str
    """Column that marks failures."""
    counts: Mapping[str, tuple[float, float]]
    """Failed mated and non-mated comparisons, by kind of failure."""
    n: tuple[float, float]
    """All mated and non-mated comparisons."""

    @property
    def rates(self) -> tuple[float, float]:
        """The share of mated and of non-mated comparisons with a failure."""
        failed = [sum(pair[i] for pair in self.counts.values()) for i in (0, 1)]
        # No comparisons of a class: nothing failed.
        mated, nonmated = (k / n if n else 0.0 for k, n in zip(failed, self.n, strict=True))
        return mated, nonmated

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        counts = {kind: list(pair) for kind, pair in self.counts.items()}
        return {"column": self.column, "counts": counts, "rates": list(self.rates), "n": list(self.n)}

    @property
    def sentence(self) -> str:
        """What failed and what that means for the rates, in words."""
        names = {"enroll": "to enroll", "acquire": "to acquire", "failure": "without more detail"}
        told = [f"{counted(round(sum(pair)), 'failure')} {names[kind]}" for kind, pair in self.counts.items()]
        mated, nonmated = (percent(rate) for rate in self.rates)
        return (
            f"{', '.join(told) or 'No failures'} ({mated} of the mated, {nonmated} of the non-mated "
            "comparisons) count as rejected in FRR, FAR and EER."
        )


def fold_failures(source: ScoreSource, column: str) -> tuple[ScoreSource, FailureCounts]:
    """Comparisons with a failure to enroll or to acquire as rejected at every threshold (score -inf).

    With ``f`` the share of failures, the FNMR becomes ``FRR = f + (1 - f) FNMR`` and the FMR becomes
    ``FAR = (1 - f) FMR``, the generalized rates of ISO/IEC 19795-1, with shares of comparisons. A
    comparison of score -inf that no failure explains is refused.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    column
        Column that says whether the comparison failed.

    Examples
    --------
    >>> import llrkit as lk
    >>> column = {"failed": (["", "", "fta", ""], ["", ""])}
    >>> scores = lk.Scores([2.0, 1.0, 5.0, -2.0], [0.0, -1.0], column)
    >>> folded, failures = fold_failures(scores, "failed")
    >>> failures.rates
    (0.25, 0.0)
    >>> lk.threshold_for(folded, false_alarm_rate=0.0, ci="none").p_miss
    0.5
    """
    source = as_source(source)
    wide = source.with_columns(column)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    counts: dict[str, tuple[float, float]] = {}
    total = 0.0, 0.0
    for value, (mated, nonmated) in values.items():
        total = total[0] + mated, total[1] + nonmated
        kind = failure_of(value, column)
        if kind is not None:
            before = counts.get(kind, (0, 0))
            counts[kind] = before[0] + mated, before[1] + nonmated

    def without_reason(chunk: Scores) -> float:
        failed = _failed_comparisons(chunk, column)
        pairs = zip((chunk.target, chunk.nontarget), failed, strict=True)
        return float(sum(np.count_nonzero(np.isneginf(scores) & ~why) for scores, why in pairs))

    # A missing score is -inf after reading; where nothing failed it would be a rejection that nobody can
    # explain.
    unexplained = wide.reduce(without_reason)
    if unexplained:
        raise InputError(
            f"{counted(round(unexplained), 'comparison')} without score (or with -inf) where {column!r} says "
            "that nothing failed"
        )
    folded = DerivedSource(source, partial(_failures_rejected, column=column), (column,))
    return folded, FailureCounts(column, MappingProxyType(dict(sorted(counts.items()))), total)


def without_failures(source: ScoreSource, column: str) -> ScoreSource:
    """The comparisons where nothing failed; for numbers of the scores themselves.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    column
        Column that says whether the comparison failed.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2.0, -1.0], [0.0], {"failed": (["", "fta"], [""])})
    >>> lk.auc(without_failures(scores, "failed"))
    1.0
    """
    as_source(source).with_columns(column)  # a name that does not exist is refused here already
    return DerivedSource(as_source(source), partial(_nothing_failed, column=column), (column,))


def _failed_comparisons(chunk: Scores, column: str) -> tuple[BoolArray, BoolArray]:
    """Which mated and which non-mated comparisons failed."""
    names = chunk.categories.get(column)

    def failed(codes: Array) -> BoolArray:
        # Each value is looked up once, and spread over the comparisons by its code.
        values: Iterable[object] = names or ()
        if names is None:
            values, codes = np.unique(codes, return_inverse=True)
        meant = np.array([failure_of(value, column) is not None for value in values], dtype=bool)
        return np.asarray(meant[codes]) if len(codes) else np.zeros(0, dtype=bool)

    mated, nonmated = chunk.columns[column]
    return failed(mated), failed(nonmated)


def _nothing_failed(chunk: Scores, column: str) -> Scores:
    return chunk.select(*(~failed for failed in _failed_comparisons(chunk, column)))


def _failures_rejected(chunk: Scores, column: str) -> Scores:
    mated, nonmated = _failed_comparisons(chunk, column)
    # -inf is rejected at every threshold, which gives the rates of ISO/IEC 19795-1 for shares of
    # comparisons.
    target = np.where(mated, -math.inf, chunk.target)
    nontarget = np.where(nonmated, -math.inf, chunk.nontarget)
    return Scores.part(target, nontarget, chunk.columns, chunk.categories)


ENOUGH_ERRORS = 30
"""With so many errors the true rate is within 30 % of the one seen, at 90 % confidence (Doddington)."""


def support(errors: float, n: float) -> str:
    """What a rate rests on, in words.

    Examples
    --------
    >>> support(45, 1000)
    '45 errors (rule of 30 met)'
    >>> support(7, 1000)
    '7 errors (fewer than 30)'
    >>> support(0, 1000)
    'no error (rule of 3: at most 0.003)'
    """
    seen = round(errors)
    if seen == 0:  # the rate that no error among n independent comparisons excludes at 95 %
        # -ln(0.05) is about 3.
        return f"no error (rule of 3: at most {min(3.0 / n, 1.0):.3g})"
    words = "rule of 30 met" if seen >= ENOUGH_ERRORS else f"fewer than {ENOUGH_ERRORS}"
    return f"{counted(seen, 'error')} ({words})"


def comparisons_needed(rate: float) -> float:
    """Comparisons without an error that it takes to show a rate (rule of 3).

    Examples
    --------
    >>> comparisons_needed(1e-6)
    3000000.0
    """
    return 3.0 / rate


def name_of_rate(rate: float) -> str:
    """What the FNMR at an FMR is called: FMR1000 at one in a thousand, ZeroFMR at none.

    Examples
    --------
    >>> name_of_rate(1e-3), name_of_rate(0.0), name_of_rate(0.03)
    ('FMR1000', 'ZeroFMR', 'FNMR at FMR 0.03')
    """
    if rate == 0.0:
        return "ZeroFMR"
    one_in = 1.0 / rate
    # Compared with a tolerance, since the quotient is rounded.
    power_of_ten = abs(one_in - round(one_in)) < 1e-6 * one_in and str(round(one_in)).strip("0") == "1"
    return f"FMR{round(one_in)}" if power_of_ten and one_in > 1.5 else f"FNMR at FMR {rate:g}"


@dataclass(frozen=True)
class RatesAtFmr:
    """The errors at the threshold for one FMR."""

    wanted: float
    """The FMR that was asked for."""
    threshold: float
    """Comparisons with a score of at least this match."""
    threshold_interval: Range | None
    """Thresholds that the comparisons cannot tell from it."""
    fmr: float
    """False match rate on these comparisons."""
    fnmr: float
    """False non-match rate on these comparisons."""
    n_false_matches: float
    """Number of false matches."""
    n_false_nonmatches: float
    """Number of false non-matches."""
    fnmr_interval: Range | None
    """Interval of the FNMR; None if there is none."""
    no_interval: str
    """Why there is no interval, if there is none."""
    fnmr_bound: float
    """One-sided upper bound of the FNMR at the threshold."""
    fmr_bound: float
    """One-sided upper bound of the FMR at the threshold."""
    factor: float = 1.0
    """What scores of the file were multiplied by: -1 for distances."""

    @property
    def tar(self) -> float:
        """True accept (or match) rate: 1 - FNMR."""
        return 1.0 - self.fnmr

    @property
    def name(self) -> str:
        """What the FNMR at this FMR is called, FMR1000 say."""
        return name_of_rate(self.wanted)

    @property
    def in_file(self) -> float:
        """The threshold for the numbers that the file holds."""
        # Distances were multiplied by -1, and the user's threshold is a distance.
        return self.threshold / self.factor

    @property
    def in_file_interval(self) -> Range | None:
        """Its interval for the numbers that the file holds."""
        if self.threshold_interval is None:
            return None
        # A negative factor swaps the ends.
        low, high = sorted(end / self.factor for end in self.threshold_interval)
        return low, high

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain = asdict(self) | {"name": self.name, "tar": self.tar, "threshold": self.in_file}
        plain["threshold_interval"] = self.in_file_interval
        del plain["factor"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


@dataclass(frozen=True, repr=False)
class VerificationRates:
    """The result of :func:`llrkit.biometrics.verification_rates`."""

    rows: tuple[RatesAtFmr, ...]
    """The errors at each FMR that was asked for."""
    n_mated: int
    """Number of mated comparisons."""
    n_nonmated: int
    """Number of non-mated comparisons."""
    eer: float
    """On the interpolated ROC."""
    zero_fnmr: float
    """The lowest FMR without any false non-match."""
    failures: FailureCounts | None
    """Comparisons without a score, if they were marked."""
    level: float
    """Confidence level of the intervals."""
    n_subjects: int | None
    """Number of subjects; None if comparisons are taken as independent."""

    def __getitem__(self, name: str) -> RatesAtFmr:
        """By name: FMR100, FMR1000, ZeroFMR."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownNameError(f"{name!r} was not asked for; there are {[row.name for row in self.rows]}")

    @property
    def rate_words(self) -> tuple[str, str]:
        """What the rates of false matches and of false non-matches are called."""
        return ("FMR", "FNMR") if self.failures is None else ("FAR", "FRR")

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "rates": [row.to_dict() for row in self.rows],
            "n_mated": self.n_mated, "n_nonmated": self.n_nonmated, "eer_roc": self.eer,
            "zero_fnmr": self.zero_fnmr, "n_subjects": self.n_subjects, "level": self.level,
            "failures": None if self.failures is None else self.failures.to_dict(),
            "notes": self.notes,
        }  # fmt: skip

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows: the rate asked for, its threshold, both rates, and what they rest on."""
        fmr, fnmr = self.rate_words
        header = [fmr, "threshold", "", fnmr, "", "TAR", "false matches", f"{fmr} below", f"{fnmr} below",
                  "false non-matches"]  # fmt: skip
        rows = []
        for row in self.rows:
            of_threshold, of_fnmr = row.in_file_interval, row.fnmr_interval
            rows.append([
                f"{row.wanted:g}", f"{row.in_file:.6g}",
                "" if of_threshold is None else f"[{of_threshold[0]:.4g}, {of_threshold[1]:.4g}]",
                small_rate(row.fnmr),
                "-" if of_fnmr is None else f"[{small_rate(of_fnmr[0])}, {small_rate(of_fnmr[1])}]",
                small_rate(row.tar), support(row.n_false_matches, self.n_nonmated), small_rate(row.fmr_bound),
                small_rate(row.fnmr_bound), support(row.n_false_nonmatches, self.n_mated),
            ])  # fmt: skip
        return header, rows

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the rates."""
        level = f"{100 * self.level:g} %"
        kind = (
            "as if comparisons were independent, which they are not where they share subjects"
            if self.n_subjects is None
            else f"for {counted(self.n_subjects, 'subject')} whose comparisons depend on each other"
        )
        told = [f"intervals at {level} and one-sided upper bounds ('below') {kind}"]
        if self.n_subjects is not None:
            told.append("the rules of 3 and of 30 count comparisons as if they were independent")
        told += [f"{row.name}: {row.no_interval}" for row in self.rows if row.no_interval]
        few = [row.name for row in self.rows if row.n_false_matches < ENOUGH_ERRORS and not row.no_interval]
        if few:
            told.append(f"fewer than {ENOUGH_ERRORS} false matches stand behind {', '.join(few)}")
        return told + ([] if self.failures is None else [self.failures.sentence])

    def __repr__(self) -> str:
        return text_table(*self.table(), left=())


def small_rate(rate: float) -> str:
    """A rate with digits enough for rare errors.

    Examples
    --------
    >>> small_rate(0.0375), small_rate(2.13e-5), small_rate(0.0), small_rate(1.0)
    ('0.0375', '2.13e-05', '0', '1')
    """
    return f"{rate:.4g}" if rate >= 1e-3 or rate == 0.0 else f"{rate:.2e}"


@documented(RatesOptions)
def verification_rates(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: RatesOptions | None = None,
    **changes: Unpack[RatesKeywords],
) -> VerificationRates:
    """FNMR (and TAR = 1 - FNMR) at given false match rates, as ISO/IEC 19795-1 and NIST FRTE report them.

    For each FMR the lowest threshold whose FMR on these comparisons is no larger; a comparison is a match
    when its score is at or above the threshold. The interval of the FNMR takes into account that the
    threshold was found on the same comparisons. One-sided upper bounds are of both rates at the threshold.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.02).rvs(2000, 50000, np.random.default_rng(1)))
    >>> rates = verification_rates(scores, fmr=[1e-2, 1e-3])
    >>> [round(row.fnmr, 4) for row in rates.rows], round(rates["FMR1000"].tar, 4)
    ([0.0355, 0.1945], 0.8055)
    >>> [round(end, 3) for end in rates["FMR1000"].fnmr_interval]
    [0.171, 0.221]
    """
    asked = RatesOptions.of(options, changes)
    source = as_source(source, labels)
    wanted, level = asked.fmr, asked.level
    if not wanted:
        raise InputError("give at least one FMR")
    probability(level, "level")
    failed: FailureCounts | None = None
    if asked.failures is not None:
        source, failed = fold_failures(source, asked.failures)
    result = measure(source, [])
    bins = result.summaries.bins
    if separation(Ranking(bins), result.auc).reversed:
        warn_caller(reversed_text(bins, result.auc), ReversedScoresWarning)
    path = error_path(bins)
    thresholds = [threshold_for_false_alarms(source, bins, rate) for rate in wanted]
    below = source.reduce(BelowCounts.at(thresholds))
    people = find_speakers(source, asked.speakers) if asked.speakers else None
    # where rejecting everything is the answer, intervals are those of a threshold above all finite scores
    finite = path.threshold[np.isfinite(path.threshold)]
    # A threshold of inf has no neighborhood; just above the highest finite score rejects the same
    # comparisons.
    cuts = np.minimum(thresholds, np.nextafter(finite[-1], math.inf) if len(finite) else 0.0)
    found = miss_at_fa(source, result, cuts, people, level)
    rates = found.rates
    rows = []
    for i, (rate, threshold) in enumerate(zip(wanted, thresholds, strict=True)):
        at = int(np.searchsorted(rates.thresholds, cuts[i]))
        # By the rule of 3, fewer non-mated comparisons cannot show such a rate.
        if rate == 0.0 or result.n_nontarget < comparisons_needed(rate):
            n, needed = result.n_nontarget, "infinitely many"
            if rate > 0.0:
                needed = f"{comparisons_needed(rate):,.0f}"
            interval = None
            reason = f"an FMR of {rate:g} takes {needed} non-mated comparisons to show; there are {n:,}"
        else:
            interval = found.interval(cuts[i])
            reason = "" if interval else "too few errors of a kind, or of too few subjects"
        # where infinite scores must be rejected no threshold does it, and no error is left
        # The upper bound of a rate of no errors: (1 - p)^n = 1 - level.
        nothing = float(-np.expm1(np.log1p(-level) / path.n_nontarget))
        # No threshold but inf reaches the wanted rate.
        rejects_all = threshold == math.inf and not (path.p_fa[:-1] <= rate).any()
        # Only where comparisons of score inf would have to be rejected is there no threshold at all.
        beyond = rejects_all and math.isinf(path.threshold[-2])
        n_miss = path.n_target if rejects_all else float(below.target[i])
        n_fa = 0.0 if rejects_all else float(path.n_nontarget - below.nontarget[i])
        # Subjects make the effective number of comparisons smaller, and the interval of the threshold
        # wider.
        effect = rates.design_effect(1, at)
        rows.append(
            RatesAtFmr(
                wanted=rate,
                threshold=threshold,
                threshold_interval=(
                    same_rate(source, bins, "p_fa", rate, quantile(level), effect) if rate > 0.0 else None
                ),
                fmr=n_fa / path.n_nontarget,
                fnmr=n_miss / path.n_target,
                n_false_matches=n_fa,
                n_false_nonmatches=n_miss,
                fnmr_interval=interval,
                no_interval=reason,
                fnmr_bound=1.0 if beyond else float(rates.miss.bound[at]),
                fmr_bound=nothing if beyond else float(rates.fa.bound[at]),
                factor=source.roles.factor,
            )
        )
    # The last threshold without a miss.
    i = int(np.searchsorted(path.p_miss, 0.0, side="right")) - 1
    return VerificationRates(
        rows=tuple(rows),
        n_mated=round(path.n_target),
        n_nonmated=round(path.n_nontarget),
        eer=result.eer_roc,
        zero_fnmr=float(path.p_fa[i]),
        failures=failed,
        level=level,
        n_subjects=None if people is None else people.n_speakers,
    )
