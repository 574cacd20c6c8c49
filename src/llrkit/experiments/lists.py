"""Results of trial lists, their means over lists and seeds, and the values that the paper prints.

The paper is D. A. van Leeuwen and N. Brümmer, "The distribution of calibrated likelihood-ratios in speaker
recognition", Interspeech 2013. Where each number stands:

- section 4.1: 25 trial lists from durations of 5, 10, 20, 40 s and whole recordings on both sides; EER 2.9
  to 26 % (SRE10 det 5); calibration trained on 427,375 trials of SRE08, evaluated on 10,007,900 of SRE10
  (both are multiples of 25: 17,095 and 400,316 a list); mean Cllr 0.375 for CMLG with alpha 1/2, 0.376
  for logistic regression, mean minimum Cllr 0.370, "highly correlated".
- section 5, footnote: slope of the DET between 0.1 and 50 %, mean -0.99, standard deviation 0.06.
- section 5, equation 12: Cllr computed from the EER is 0.006 from the minimum Cllr, root mean square.
- figure 2 is drawn between 0.27 and 0.60; its data are not in the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array
from llrkit.base.process import cached_property
from llrkit.base.text import Json
from llrkit.core.cells import Grid, collect_again, count_on, require_both_classes
from llrkit.core.losses import LossSums
from llrkit.core.numerics import LN2
from llrkit.core.pav import pav_blocks
from llrkit.core.summaries import both
from llrkit.errors import InputError, SeparationError
from llrkit.fits.folds import fit_quietly
from llrkit.maps.map import Map
from llrkit.metrics import discrimination
from llrkit.metrics.costs import cross_entropy_from_losses
from llrkit.metrics.discrimination import det_slope_from_bins
from llrkit.scores import Scores, ScoreSource
from llrkit.theory.gaussian import cllr_from_eer
from llrkit.verbs.evaluate import Evaluation, evaluate

METHODS = ("cmlg", "logistic")
REGULARIZATION = 0.01


@dataclass(frozen=True, kw_only=True)
class ListResult:
    """One trial list: how hard it is, and the Cllr of its scores raw and calibrated.

    ``cmlg`` and ``logistic`` were trained on the counterpart of this list. The others are of one map for all
    lists: ``pooled_cmlg`` and ``pooled_logistic`` do not know the conditions, ``conditioned_cmlg`` and
    ``quality_logistic`` do, and ``left_out_cmlg`` is conditioned too but never saw a trial with
    these conditions. ``cllr_from_eer`` is what calibrated Gaussian LLRs of this EER have.
    """

    enroll: str
    test: str
    n_target: int
    n_nontarget: int
    eer: float
    raw_cllr: float
    cmlg: float = float("nan")
    logistic: float = float("nan")
    min_cllr: float
    cllr_from_eer: float
    det_slope: float
    pooled_cmlg: float = float("nan")
    pooled_logistic: float = float("nan")
    conditioned_cmlg: float = float("nan")
    left_out_cmlg: float = float("nan")
    quality_logistic: float = float("nan")


LABELS = ("enroll", "test", "n_target", "n_nontarget")
NUMBERS = ("eer", "raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer", "det_slope")
POOLED = ("pooled_cmlg", "pooled_logistic")
ONE_MAP = (*POOLED, "conditioned_cmlg", "left_out_cmlg", "quality_logistic")
COSTS = (*NUMBERS, *ONE_MAP)
# A field that is in neither list would be missing from means and JSON without a word.
assert {*LABELS, *COSTS} == {item.name for item in fields(ListResult)}


@dataclass(frozen=True)
class ListTable:
    """Results of all lists of an experiment; of several runs with other seeds, their means."""

    lists: tuple[ListResult, ...]
    runs: tuple[ListTable, ...] = ()
    """The table of each seed, if this one holds the means of several."""
    seeds: tuple[int, ...] = ()

    @classmethod
    def of_seeds(cls, tables: Mapping[int, ListTable]) -> ListTable:
        """The means of tables that have the same lists, by seed."""
        runs = tuple(tables.values())
        labels = [[[getattr(row, name) for name in LABELS] for row in run.lists] for run in runs]
        # A mean over seeds makes sense only for the same lists, trial for trial.
        if not runs or any(other != labels[0] for other in labels):
            raise InputError("the runs do not have the same trial lists")
        lists = [
            replace(rows[0], **{name: float(np.mean([getattr(row, name) for row in rows])) for name in COSTS})
            for rows in zip(*(run.lists for run in runs), strict=True)
        ]
        return cls(tuple(lists), runs, tuple(tables))

    def column(self, name: str) -> npt.NDArray[np.float64]:
        """A number of all lists."""
        return np.array([getattr(result, name) for result in self.lists], dtype=np.float64)

    @cached_property
    def mean(self) -> dict[str, float]:
        """The mean over the lists of every number."""
        return {name: float(_without_nan(self.column(name)).mean()) for name in COSTS}

    @cached_property
    def std(self) -> dict[str, float]:
        """The standard deviation over the lists of every number; the mean of that of each run."""
        if self.runs:
            # The mean of the spreads: means over seeds are closer together than the lists of one seed.
            return {name: float(np.mean([run.std[name] for run in self.runs])) for name in COSTS}
        return {name: float(_without_nan(self.column(name)).std()) for name in COSTS}

    @cached_property
    def summary(self) -> dict[str, float]:
        """Numbers of all lists together; their means over the runs.

        The correlation of the costs of the two calibrations, the root mean square of the Cllr that follows
        from the EER less the minimum, and the smallest and the largest EER.
        """
        if self.runs:
            summaries = [run.summary for run in self.runs]
            return {name: float(np.mean([one[name] for one in summaries])) for name in summaries[0]}
        x, y, eers = self.column("cmlg"), self.column("logistic"), self.column("eer")
        # A correlation with a constant is undefined, and NumPy would warn.
        vary = len(x) > 1 and np.ptp(x) > 0.0 and np.ptp(y) > 0.0
        # Per seed, and averaged above: in means over seeds the deviations of single runs cancel
        # (docs/notes/decisions-fits.md).
        gaps = self.column("cllr_from_eer") - self.column("min_cllr")
        return {
            "correlation": float(np.corrcoef(x, y)[0, 1]) if vary else float("nan"),
            "rms_cllr_from_eer": float(np.sqrt(np.mean(gaps**2))),
            "eer_min": float(eers.min()),
            "eer_max": float(eers.max()),
        }

    @cached_property
    def sd(self) -> dict[str, float]:
        """The standard deviation over the runs of every mean and summary; empty without runs."""
        numbers = [run.mean | run.summary for run in self.runs]
        return {name: _sd_over_seeds([one[name] for one in numbers]) for name in (numbers or [{}])[0]}

    @property
    def trials(self) -> int:
        """Evaluated trials of all lists."""
        return sum(result.n_target + result.n_nontarget for result in self.lists)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        rows: list[dict[str, Json]] = [
            {name: getattr(result, name) for name in (*LABELS, *NUMBERS)} for result in self.lists
        ]
        plain: dict[str, Json] = {
            "lists": rows,
            "mean": {name: self.mean[name] for name in NUMBERS},
            "std": {name: self.std[name] for name in NUMBERS},
            **{name: self.summary[name] for name in ("correlation", "rms_cllr_from_eer")},
            "pooled": {name.removeprefix("pooled_"): self.column(name).tolist() for name in POOLED},
        }
        if not self.runs:
            return plain
        for row, results in zip(rows, zip(*(run.lists for run in self.runs), strict=True), strict=True):
            row["sd"] = {name: _sd_over_seeds([getattr(one, name) for one in results]) for name in NUMBERS}
        one_map: dict[str, Json] = {
            name: {"mean": self.mean[name], "sd": self.sd[name], "lists": self.column(name).tolist()}
            for name in ONE_MAP
        }
        return {
            **plain,
            **{name: self.summary[name] for name in ("eer_min", "eer_max")},
            "sd": {name: value for name, value in self.sd.items() if name not in ONE_MAP},
            "one_map": one_map,
            "seeds": list(self.seeds),
        }


def _without_nan(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The numbers that exist: a list that is told apart without error has no DET slope."""
    existing = values[~np.isnan(values)]
    # One NaN instead of an empty array, whose mean would be a warning.
    return existing if len(existing) else np.array([np.nan])


def fit_both(source: ScoreSource) -> dict[str, Map]:
    """CMLG with alpha 1/2 and logistic regression with prior 1/2, on one set of trials.

    Where the classes do not overlap, logistic regression is kept finite by a regularization of 0.01
    (:func:`is_regularized` tells).
    """
    try:
        logistic = fit_quietly("logistic", source, {})
    except SeparationError:
        logistic = fit_quietly("logistic", source, {"regularization": REGULARIZATION})
    return {"cmlg": fit_quietly("cmlg", source, {}), "logistic": logistic}


def is_regularized(maps: Mapping[str, Map]) -> bool:
    """Whether the training trials of a list could be told apart without error."""
    return bool(maps["logistic"].options.get("regularization"))


def measure_list(evaluation: ScoreSource, maps: Mapping[str, Map], *, enroll: str, test: str) -> ListResult:
    """Everything about one list in two passes; ``maps`` are by name of the field they fill.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> train, trials = (
    ...     lk.simulate.simulate_trials(pair, n_target=900, n_nontarget=9000, rng=i) for i in (1, 2)
    ... )
    >>> result = measure_list(trials, fit_both(train), enroll="5", test="full")
    >>> round(result.eer, 2), abs(result.cmlg - result.logistic) < 0.01, round(result.cllr_from_eer, 2)
    (0.1, True, 0.36)
    """
    grid = collect_again(evaluation, evaluation.reduce(Grid.of))
    # fitted=fitted binds the map of this round; a closure would see the last one.
    after_maps = both(*(lambda chunk, fitted=fitted: LossSums.of(fitted(chunk)) for fitted in maps.values()))
    # Counts, raw losses and the losses after every map in one pass.
    counts, raw, mapped = evaluation.reduce(both(count_on(grid), LossSums.of, after_maps)).summaries
    require_both_classes(counts.n_target, counts.n_nontarget)
    bins = counts.bins()
    blocks = pav_blocks(bins)
    eer = discrimination.eer_from_blocks(blocks)
    losses = dict(zip(("raw_cllr", *maps), (raw, *mapped.summaries), strict=True))
    cllrs = {name: float(cross_entropy_from_losses(sums)[0] / LN2) for name, sums in losses.items()}
    return ListResult(
        enroll=enroll,
        test=test,
        n_target=int(counts.n_target),
        n_nontarget=int(counts.n_nontarget),
        eer=eer,
        min_cllr=discrimination.min_cllr_from_blocks(blocks),
        # The inverse normal distribution of 0 is infinite; perfect separation costs nothing.
        cllr_from_eer=float(cllr_from_eer(eer)) if eer > 0.0 else 0.0,
        det_slope=det_slope_from_bins(bins).slope,
        **cllrs,
    )


def calibrated(raw: ScoreSource, maps: Mapping[str, Map]) -> dict[str, ScoreSource]:
    """The trials of a list as each method calibrates them."""
    return {name: maps[name].on(raw) for name in METHODS}


def closer_look(raw: ScoreSource, llrs: Mapping[str, ScoreSource]) -> Mapping[str, Evaluation]:
    """Everything about one list: its raw scores, and the LLRs of each method."""
    systems = {"raw scores": raw, "CMLG": llrs["cmlg"], "logistic regression": llrs["logistic"]}
    return MappingProxyType({name: evaluate(source) for name, source in systems.items()})


def pool_lists(lists: Sequence[Scores]) -> Scores:
    """All trials of several lists together, with the columns they carry."""
    if not lists:
        raise InputError("there are no lists to pool")

    def pooled(arrays: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
        target, nontarget = zip(*arrays, strict=True)
        return np.concatenate(target), np.concatenate(nontarget)

    columns = {name: pooled(trials.columns[name] for trials in lists) for name in lists[0].columns}
    return Scores.from_classes(*pooled((trials.target, trials.nontarget) for trials in lists), columns)


def _sd_over_seeds(values: Sequence[float]) -> float:
    # Few seeds: the unbiased estimate, which one seed does not have.
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


SOURCE = "van Leeuwen & Brümmer, Interspeech 2013"

PAPER: Mapping[str, float] = {
    "eer_min": 0.029,
    "eer_max": 0.26,
    "cmlg": 0.375,
    "logistic": 0.376,
    "min_cllr": 0.370,
    "rms_cllr_from_eer": 0.006,
    "det_slope": -0.99,
    "det_slope_std": 0.06,
    "train_trials": 427_375,
    "eval_trials": 10_007_900,
}
