"""Line-up calibration: an LLR from the rank of a trial's score among those of foils."""

from __future__ import annotations

import numpy as np

from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.monotone.lineup.foil_counts import Foils
from llrkit.calibrate.monotone.lineup.lineup_map import LineupMap
from llrkit.calibrate.monotone.lineup.rank_probabilities import best_d_prime, rank_histogram
from llrkit.calibrate.option_checks import one_of
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source

SMOOTHING = ("add-one", "gaussian", "empirical")
TIES = ("spread", "pessimistic")
LARGEST_COHORT = 4095


@fits_map
def fit_lineup(
    source: ScoreSource,
    *,
    by: str = "test",
    smoothing: str = "add-one",
    ties: str = "spread",
    cohort: int | None = None,
) -> LineupMap:
    """Calibration by rank: how often a target comes r-th among N foils, over how often chance would.

    The foils of a trial are the non-target trials with the same value in column ``by``, for example all
    that were scored against the same test segment. Foils and a non-target are exchangeable, so
    ``P(rank | nontarget) = 1 / (N + 1)`` and ``LR(r) = (N + 1) P(r | target)``: at most N + 1, with mean
    1 over the ranks. Only the order of the scores within a line-up matters, so no condition of the test
    segment can shift them.

    All targets are brought to one cohort size N: a rank among more foils becomes the distribution of
    the rank among N of them drawn at random (hypergeometric). Three passes: moments; the targets of each
    line-up; their foils counted. Memory grows with the number of targets.

    Parameters
    ----------
    by
        Column that says which trials are compared with each other.
    smoothing
        ``"add-one"``: one more target at every rank, ``LR(r) = (N + 1) (n_r + 1) / (n + N + 1)``. For fewer
        foils at use the ranks are thinned out, for more the LR is the mean over all draws of N.
        ``"gaussian"``: ``LR(r) = E[h'(t)]``, t ~ Beta(r, N - r + 2), for the ROC of two Gaussians,
        ``h'(t) = exp(-d' probit(t) - d'^2 / 2)``, with the d' most likely for the ranks (and one more
        target spread over all of them, so that it stays finite). ``"empirical"``: the same for the
        ROC whose slope is the mean of the densities Beta(r_i, N - r_i + 2) over the targets.
    ties
        A score tied with foils has several ranks at once (``"spread"``), or the worst (``"pessimistic"``).
    cohort
        N; by default one that nine of ten targets reach, at most 4095. Targets with fewer foils are left
        out and counted in ``details``.

    References
    ----------
    van Leeuwen & Brümmer, "A speaker line-up for the likelihood ratio", Interspeech 2011.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> scores = Scores([3.0, 1.5], [0.0, 1.0, 2.0, 0.5], {"test": (["x", "y"], ["x", "x", "y", "y"])})
    >>> lineup = fit_lineup(scores, by="test")  # one target is first of three, one second
    >>> np.exp(lineup.llr_of_rank([1, 2, 3], 2))  # 3 (1 + 1) / (2 + 3), ...
    array([1.2, 1.2, 0.6])
    """
    one_of(smoothing, SMOOTHING, "smoothing")
    one_of(ties, TIES, "way with ties")
    if cohort is not None and not (isinstance(cohort, int) and 1 <= cohort <= LARGEST_COHORT):
        raise InputError(f"cohort must be a whole number from 1 to {LARGEST_COHORT}, got {cohort!r}")
    if as_source(source).roles.weight is not None:
        raise InputError("a line-up ranks the trials of each test, so trials cannot have weights")
    moments = training_moments(source)
    wide = as_source(source).with_columns(by)
    targets = wide.reduce(lambda chunk: Foils.of(chunk, by, targets=True))
    above, tied, sizes = wide.reduce(targets.counter(by)).arrays
    if not sizes.any():
        raise TooFewTrialsError(f"no target has a foil: no value of {by!r} has trials of both classes")
    size = cohort or min(int(np.quantile(sizes[sizes > 0], 0.1, method="lower")), LARGEST_COHORT)
    used = sizes >= size
    if not used.any():
        raise TooFewTrialsError(f"no target has {size} foils; the most are {int(sizes.max())}")
    if ties == "pessimistic":
        above, tied = above + tied, np.zeros_like(tied)
    counts = rank_histogram(above[used], tied[used], sizes[used], size)
    added = {"add-one": 1.0, "gaussian": 1.0 / (size + 1), "empirical": 0.0}[smoothing]
    share = (counts + added) / (counts + added).sum()
    details = {
        "cohort": size, "n_used": int(used.sum()), "n_too_few_foils": int((~used & (sizes > 0)).sum()),
        "n_without_foils": int((sizes == 0).sum()), "n_lineups": len(targets.by_value), "passes": 3,
    }  # fmt: skip
    return LineupMap(
        by=by, smoothing=smoothing, ties=ties, cohort=size, share=share,
        d_prime=best_d_prime(share) if smoothing == "gaussian" else 0.0, method="lineup",
        options={"by": by, "smoothing": smoothing, "ties": ties, "cohort": cohort},
        details=details, provenance=provenance(moments),
    )  # fmt: skip
