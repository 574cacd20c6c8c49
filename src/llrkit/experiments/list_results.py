"""Trial lists as in the paper: calibrate on one list, evaluate on its counterpart, put all in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from llrkit._cached import cached_property
from llrkit._plain import Json
from llrkit.calibrate.maps import Map
from llrkit.calibrate.poor_fit_guard import without_guard
from llrkit.choose.methods import fit_quietly
from llrkit.core.elementary_functions import LN2
from llrkit.core.loss_sums import LossSums
from llrkit.core.pav_and_hull import pav_blocks
from llrkit.core.summary_algebra import both
from llrkit.core.threshold_grid import Grid, collect_again, require_both_classes
from llrkit.core.trial_counts import count_on
from llrkit.errors import InputError, SeparationError
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.metrics import discrimination
from llrkit.metrics.det_shape import det_slope_from_bins
from llrkit.metrics.llr_costs import cross_entropy_from_losses
from llrkit.scores import Scores, ScoreSource
from llrkit.theory.gaussian_pair import cllr_from_eer

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

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, without those of one map for all lists."""
        return {name: getattr(self, name) for name in (*LABELS, *NUMBERS)}


LABELS = ("enroll", "test", "n_target", "n_nontarget")
NUMBERS = ("eer", "raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer", "det_slope")
POOLED = ("pooled_cmlg", "pooled_logistic")
ONE_MAP = (*POOLED, "conditioned_cmlg", "left_out_cmlg", "quality_logistic")
assert {*LABELS, *NUMBERS, *ONE_MAP} == {item.name for item in fields(ListResult)}


@dataclass(frozen=True)
class ListTable:
    """All lists of an experiment, and what the paper says about all of its own."""

    lists: tuple[ListResult, ...]

    def column(self, name: str) -> npt.NDArray[np.float64]:
        """One number of every list."""
        return np.array([getattr(result, name) for result in self.lists], dtype=np.float64)

    @cached_property
    def mean(self) -> dict[str, float]:
        """Means over the lists; numbers that do not exist for a list are left out."""
        return {name: float(_without_nan(self.column(name)).mean()) for name in (*NUMBERS, *ONE_MAP)}

    @cached_property
    def std(self) -> dict[str, float]:
        """Standard deviations over the lists, divided by N."""
        return {name: float(_without_nan(self.column(name)).std()) for name in (*NUMBERS, *ONE_MAP)}

    @property
    def sd(self) -> Mapping[str, float]:
        """Standard deviations over seeds; there are none in a single run."""
        return {}

    @property
    def eer_range(self) -> tuple[float, float]:
        """Smallest and largest EER of the lists."""
        eers = self.column("eer")
        return float(eers.min()), float(eers.max())

    @property
    def correlation(self) -> float:
        """Correlation of the Cllr of the two calibration methods over the lists."""
        x, y = self.column("cmlg"), self.column("logistic")
        vary = len(x) > 1 and np.ptp(x) > 0.0 and np.ptp(y) > 0.0
        return float(np.corrcoef(x, y)[0, 1]) if vary else float("nan")

    @property
    def rms_cllr_from_eer(self) -> float:
        """Root mean square of Cllr predicted from the EER minus minimum Cllr."""
        return float(np.sqrt(np.mean((self.column("cllr_from_eer") - self.column("min_cllr")) ** 2)))

    @property
    def trials(self) -> int:
        """Number of evaluated trials of all lists."""
        return sum(result.n_target + result.n_nontarget for result in self.lists)

    def rows(self) -> list[dict[str, Json]]:
        """The lists as plain numbers."""
        return [result.to_dict() for result in self.lists]

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "lists": self.rows(),
            "mean": {name: self.mean[name] for name in NUMBERS},
            "std": {name: self.std[name] for name in NUMBERS},
            "correlation": self.correlation,
            "rms_cllr_from_eer": self.rms_cllr_from_eer,
            "pooled": {name.removeprefix("pooled_"): self.column(name).tolist() for name in POOLED},
        }


def _without_nan(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The numbers that exist: a list that is told apart without error has no DET slope."""
    existing = values[~np.isnan(values)]
    return existing if len(existing) else np.array([np.nan])


def fit_both(source: ScoreSource) -> dict[str, Map]:
    """CMLG with alpha 1/2 and logistic regression with prior 1/2, on one set of trials.

    Where the classes do not overlap, logistic regression is kept finite by a regularization of 0.01
    (:func:`is_regularized` tells).
    """
    with without_guard():  # its warnings would not be heard, and the maps are judged on other trials
        try:
            logistic = fit_quietly("logistic", source, {})
        except SeparationError:
            logistic = fit_quietly("logistic", source, {"regularization": REGULARIZATION})
        return {"cmlg": fit_quietly("cmlg", source, {}), "logistic": logistic}


def is_regularized(maps: Mapping[str, Map]) -> bool:
    """Whether the training trials of a list could be told apart without error."""
    return bool(maps["logistic"].options.get("regularization"))


def measure_list(
    evaluation: ScoreSource,
    maps: Mapping[str, Map],
    *,
    enroll: str,
    test: str,
) -> ListResult:
    """Everything about one list in two passes; ``maps`` are by name of the field they fill.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> train, trials = (lk.simulate_trials(pair, n_target=900, n_nontarget=9000, rng=i) for i in (1, 2))
    >>> result = measure_list(trials, fit_both(train), enroll="5", test="full")
    >>> round(result.eer, 2), abs(result.cmlg - result.logistic) < 0.01, round(result.cllr_from_eer, 2)
    (0.1, True, 0.36)
    """
    grid = collect_again(evaluation, evaluation.reduce(Grid.of))
    after_maps = both(*(_losses_after_map(fitted) for fitted in maps.values()))
    counts, raw, mapped = evaluation.reduce(both(count_on(grid), LossSums.of, after_maps)).summaries
    require_both_classes(counts.n_target, counts.n_nontarget)
    bins = counts.bins()
    blocks = pav_blocks(bins)
    eer = discrimination.eer_from_blocks(blocks)
    costs = {name: _cllr_after_map(losses) for name, losses in zip(maps, mapped.summaries, strict=True)}
    return ListResult(
        enroll=enroll,
        test=test,
        n_target=int(counts.n_target),
        n_nontarget=int(counts.n_nontarget),
        eer=eer,
        raw_cllr=_cllr_after_map(raw),
        min_cllr=discrimination.min_cllr_from_blocks(blocks),
        cllr_from_eer=float(cllr_from_eer(eer)) if eer > 0.0 else 0.0,
        det_slope=det_slope_from_bins(bins).slope,
        **costs,
    )


def calibrated(raw: ScoreSource, maps: Mapping[str, Map]) -> dict[str, ScoreSource]:
    """The trials of a list as each method calibrates them."""
    return {name: maps[name].on(raw) for name in METHODS}


def closer_look(raw: ScoreSource, llrs: Mapping[str, ScoreSource]) -> Mapping[str, Evaluation]:
    """Everything about one list: its raw scores, and the LLRs of each method."""
    systems = {"raw scores": raw, "CMLG": llrs["cmlg"], "logistic regression": llrs["logistic"]}
    return MappingProxyType({name: evaluate(source) for name, source in systems.items()})


def _losses_after_map(fitted: Map) -> Callable[[Scores], LossSums]:
    return lambda chunk: LossSums.of(fitted(chunk))


def _cllr_after_map(losses: LossSums) -> float:
    return float(cross_entropy_from_losses(losses)[0] / LN2)


def pool_lists(lists: Sequence[Scores]) -> Scores:
    """All trials of several lists together, with the columns they carry."""
    if not lists:
        raise InputError("there are no lists to pool")
    columns = {
        name: (
            np.concatenate([trials.columns[name][0] for trials in lists]),
            np.concatenate([trials.columns[name][1] for trials in lists]),
        )
        for name in lists[0].columns
    }
    return Scores.from_classes(
        np.concatenate([trials.target for trials in lists]),
        np.concatenate([trials.nontarget for trials in lists]),
        columns,
    )
