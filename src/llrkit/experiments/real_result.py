"""The paper's experiment on real data: what is common to embeddings and to scored trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from llrkit._plain import Json
from llrkit.calibrate.affine.gaussian_tests import shape_statistics
from llrkit.core.moments import Moments
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.experiments.list_results import ListTable
from llrkit.experiments.paper_values import PAPER
from llrkit.scores import ScoreSource

SHAPE = ("skewness_target", "skewness_nontarget", "kurtosis_target", "kurtosis_nontarget", "sd_ratio")


@dataclass(frozen=True)
class RealResult:
    """The table of an experiment on real data, and what has to be known to read it."""

    table: ListTable
    shapes: tuple[Mapping[str, float], ...]
    """For each list: skewness and excess kurtosis of both classes, spread of non-targets over targets."""
    about: Mapping[str, Json]
    seconds: float
    closer: Mapping[str, Evaluation]
    """One of the lists: raw scores, and both calibrations."""
    skipped: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Conditions that could not be used, with the reason."""
    regularized: tuple[str, ...] = ()
    """Lists whose training trials do not overlap: logistic regression was regularized there."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        rows = zip(self.table.rows(), self.shapes, strict=True)
        return {
            **self.table.to_dict(),
            "lists": [{**row, **numbers} for row, numbers in rows],
            "paper": dict(PAPER),
            "seconds": self.seconds,
            "trials": self.table.trials,
            **self.about,
            "skipped": dict(self.skipped),
            "regularized": list(self.regularized),
        }


def shape_of(source: ScoreSource) -> dict[str, float]:
    """How far scores are from two Gaussians of equal variance.

    Examples
    --------
    >>> import llrkit as lk
    >>> measures = shape_of(lk.Scores([0.0, 2.0], [-2.0, 2.0]))
    >>> measures["sd_ratio"], measures["skewness_target"]
    (2.0, 0.0)
    """
    measures = shape_statistics(source.reduce(Moments.of))
    return {name: measures[name] for name in SHAPE}
