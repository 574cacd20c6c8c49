"""compare(): train several calibrators on one set, evaluate them on another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit._format import number
from llrkit._plain import Json
from llrkit.calibrate.maps import Map
from llrkit.choose.comparison_base import RAW, Compared, cllr_sentence, compared_on
from llrkit.choose.fit_best import fit_best
from llrkit.choose.methods import CANDIDATES, METHODS, Methods
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_rows import named_rows
from llrkit.metrics.curve_base import Curve, as_floats, same_length
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.presets import Points

_FITS: dict[str, Callable[..., Map]] = {**METHODS, "best": fit_best}


@dataclass(frozen=True, eq=False)
class ScoreToLlr(Curve):
    """What a calibration map makes of scores.

    Examples
    --------
    >>> ScoreToLlr([-1.0, 0.0, 1.0], [-2.0, 0.5, 3.0]).llr
    array([-2. ,  0.5,  3. ])
    """

    score: FloatArray
    llr: FloatArray

    def __post_init__(self) -> None:
        as_floats(self, "score", "llr")
        same_length(self, "score", "llr")
        super().__post_init__()


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared[Evaluation, Map]):
    """The results of each calibrator on the evaluation set; the raw scores come first."""

    @property
    def sentence(self) -> str:
        """The comparison in plain words."""
        best = self.evaluations[self.best]
        return cllr_sentence(self.best, best.cllr, best.cllr_cal, self.evaluations[RAW].cllr)

    def map_curves(self, points: int = 257) -> dict[str, ScoreToLlr]:
        """The LLRs of each map over the range of the raw scores, for maps of a single score.

        Parameters
        ----------
        points
            Number of scores at which each map is evaluated.
        """
        low, high = self.evaluations[RAW].moments.extremes
        scores = np.linspace(low, high, points)
        plain = {name: fitted for name, fitted in self.maps.items() if not fitted.needs}
        return {name: ScoreToLlr(scores, fitted(scores, outside="ignore")) for name, fitted in plain.items()}

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return named_rows("method", self.evaluations)

    def _loss(self, name: str) -> float:
        return self.evaluations[name].cllr

    def _row(self, name: str) -> dict[str, Json]:
        result = self.evaluations[name]
        numbers = {key: getattr(result, key) for key in ("cllr", "min_cllr", "cllr_cal", "eer")}
        return {**numbers, "points": [point.to_dict() for point in result.points]}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        first = next(iter(self.evaluations.values()))
        header = ["method", "Cllr", "min Cllr", "Cllr - min"]
        header += [f"{kind} {point.point.name}" for point in first.points for kind in ("min", "act")]
        rows = []
        for name, result in self.evaluations.items():
            costs = [number(cost) for point in result.points for cost in (point.min_dcf, point.act_dcf)]
            numbers = [number(value) for value in (result.cllr, result.min_cllr, result.cllr_cal)]
            rows.append([name, *numbers, *costs])
        return header, rows


@takes_labels
@takes(options=Mapping)
def compare(
    train: ScoreSource,
    test: ScoreSource,
    methods: Methods[Map] = CANDIDATES,
    *,
    points: Points = ("sre08", "sre10"),
    options: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Comparison:
    """Train calibrators on one set of trials and evaluate them on another, raw scores first.

    "best" stands for :func:`llrkit.fit_best`, with ``options={"best": {...}}`` for its groups. A method that
    cannot be trained (classes that do not overlap, say) is listed in ``failed``.

    Parameters
    ----------
    train
        Trials that the calibrators are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of calibrators, separated by commas, or a list of names and of functions.
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    options
        Keywords by calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(7)
    >>> draw = lambda: lk.Scores(rng.normal(8, 2, 500), rng.normal(0, 2, 2000))
    >>> lk.compare(draw(), draw(), methods="cmlg,logistic", points=["sre08"])
    method      Cllr  min Cllr  Cllr - min  min sre08  act sre08
    raw       0.7689    0.0738      0.6952     0.1015     1.1751
    cmlg      0.0844    0.0738      0.0107     0.1015     0.1066
    logistic  0.0838    0.0738      0.0101     0.1015     0.1176
    """
    train, test = as_source(train), as_source(test)
    compared = compared_on(
        train,
        methods,
        _FITS,
        lambda name: options.get(name, {}),
        lambda fitted: evaluate(test if fitted is None else fitted.on(test), points),
    )
    return Comparison(*compared)
