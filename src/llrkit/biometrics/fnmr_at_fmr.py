"""FNMR at given FMRs with thresholds, intervals, one-sided bounds and what the comparisons can show."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from llrkit.biometrics.failures import FailureCounts, fold_failures
from llrkit.biometrics.rules_of_thumb import comparisons_needed
from llrkit.biometrics.verification_result import RatesAtFmr, VerificationRates
from llrkit.core.elementary_functions import probability
from llrkit.core.pav_and_hull import ErrorPath, error_path
from llrkit.core.trial_counts import BelowCounts
from llrkit.errors import InputError
from llrkit.metrics.measure import measure
from llrkit.metrics.threshold_choice import same_rate, threshold_for_false_alarms
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.miss_at_fa import MissAtFa, miss_at_fa
from llrkit.trust.intervals.speakers import Columns, find_speakers

FMRS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@takes_labels
def verification_rates(
    source: ScoreSource,
    fmr: Sequence[float] | float = FMRS,
    *,
    failures: str | None = None,
    speakers: Columns | None = None,
    level: float = 0.95,
) -> VerificationRates:
    """FNMR (and TAR = 1 - FNMR) at given false match rates, as ISO/IEC 19795-1 and NIST FRTE report them.

    For each FMR the lowest threshold whose FMR on these comparisons is no larger; a comparison is a match
    when its score is at or above the threshold. The interval of the FNMR takes into account that the
    threshold was found on the same comparisons. One-sided upper bounds are of both rates at the threshold.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    fmr
        False match rates between 0 and 1; 0 gives ZeroFMR, the FNMR without any false match.
    failures
        A column that marks failures to enroll and to acquire (``fte``, ``fta``, true): these comparisons
        are rejected at every threshold, see :func:`fold_failures`.
    speakers
        The column, or the two columns, with the subjects of the two sides of a comparison; without them
        comparisons are taken as independent.
    level
        Confidence level, between 0 and 1.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.02).rvs(2000, 50000, np.random.default_rng(1)))
    >>> rates = verification_rates(scores, [1e-2, 1e-3])
    >>> [round(row.fnmr, 4) for row in rates.rows], round(rates["FMR1000"].tar, 4)
    ([0.0355, 0.1945], 0.8055)
    >>> [round(end, 3) for end in rates["FMR1000"].fnmr_interval]
    [0.171, 0.221]
    """
    wanted = [float(rate) for rate in np.atleast_1d(np.asarray(fmr, dtype=np.float64))]
    for rate in wanted:
        if not 0.0 <= rate <= 1.0:
            raise InputError(f"an FMR is between 0 and 1, got {rate!r}")
    if not wanted:
        raise InputError("give at least one FMR")
    probability(level, "level")
    source = as_source(source)
    failed: FailureCounts | None = None
    if failures is not None:
        source, failed = fold_failures(source, failures)
    result = measure(source, [])
    bins = result.summaries.bins
    path = error_path(bins)
    thresholds = [threshold_for_false_alarms(source, bins, rate) for rate in wanted]
    below = source.reduce(BelowCounts.at(thresholds))
    people = find_speakers(source, speakers) if speakers is not None else None
    cuts = np.minimum(thresholds, _threshold_above_all(path))
    found = miss_at_fa(source, result, cuts, people, level)
    rates = found.rates
    rows = []
    for i, (rate, threshold) in enumerate(zip(wanted, thresholds, strict=True)):
        at = int(np.searchsorted(rates.thresholds, cuts[i]))
        interval, reason = _fnmr_interval(rate, cuts[i], found, result.n_nontarget)
        # where infinite scores must be rejected no threshold does it, and no error is left
        nothing = float(-np.expm1(np.log1p(-level) / path.n_nontarget))
        rejects_all = threshold == math.inf and not (path.p_fa[:-1] <= rate).any()
        beyond = rejects_all and math.isinf(path.threshold[-2])
        n_miss = path.n_target if rejects_all else float(below.target[i])
        n_fa = 0.0 if rejects_all else float(path.n_nontarget - below.nontarget[i])
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


def _threshold_above_all(path: ErrorPath) -> float:
    """A finite threshold above all finite scores, where rejecting everything is the answer."""
    finite = path.threshold[np.isfinite(path.threshold)]
    return float(np.nextafter(finite[-1], math.inf)) if len(finite) else 0.0


def _fnmr_interval(
    rate: float, threshold: float, found: MissAtFa, n: int
) -> tuple[tuple[float, float] | None, str]:
    """The interval of the FNMR at an FMR, or why there is none."""
    if rate == 0.0 or n < comparisons_needed(rate):
        needed = "infinitely many" if rate == 0.0 else f"{comparisons_needed(rate):,.0f}"
        return None, f"an FMR of {rate:g} takes {needed} non-mated comparisons to show; there are {n:,}"
    ends = found.interval(threshold)
    return ends, "" if ends else "too few errors of a kind, or of too few subjects"
