"""compare(): train several fusions of ASV and CM scores on some trials, evaluate them on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from llrkit._arguments import takes
from llrkit._format import number
from llrkit._plain import Json
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.maps import Map
from llrkit.choose.comparison_base import RAW, Compared, compared_on
from llrkit.choose.methods import Methods
from llrkit.spoof.a_dcf_costs import Costs, spoof_costs
from llrkit.spoof.evaluate_spoof_trials import evaluate
from llrkit.spoof.sasv_fusion import METHODS, fit_sasv
from llrkit.spoof.spoof_evaluation_result import SpoofEvaluation
from llrkit.spoof.spoof_trials import SpoofTrials

_FITS: Mapping[str, Callable[..., Map]] = MappingProxyType(
    {method: partial(fit_sasv, method=method) for method in METHODS}
)


@dataclass(frozen=True, eq=False, repr=False)
class SasvComparison(Compared[SpoofEvaluation, Map]):
    """The results of each fusion on the evaluation set; the plain sum of both scores comes first."""

    costs: str
    """Priors and prices of the a-DCF."""
    on_training: Mapping[str, SpoofEvaluation]
    """The same on the trials of the training; empty if these are evaluated anyway."""

    @property
    def sentence(self) -> str:
        """The comparison in plain words."""
        return (
            f"The lowest actual a-DCF is that of {self.best}: {number(self._loss(self.best))}; its minimum "
            f"is {number(self._least(self.best))}, that of the plain sum of scores "
            f"{number(self._least(RAW))}."
        )

    # a fusion is trained on all three kinds of trials, with which every a-DCF can be computed

    def _loss(self, name: str) -> float:
        (cost,) = self.evaluations[name].a_dcf
        assert cost.act is not None
        return cost.act

    def _least(self, name: str) -> float:
        (cost,) = self.evaluations[name].a_dcf
        assert cost.min is not None
        return cost.min

    def _row(self, name: str) -> dict[str, Json]:
        return {**self._costs(name)}

    def _costs(self, name: str) -> dict[str, float | None]:
        sets = {"": self.evaluations[name]}
        if self.on_training:
            sets["train_"] = self.on_training[name]
        row: dict[str, float | None] = {}
        for prefix, result in sets.items():
            (cost,) = result.a_dcf
            # the sum of scores is no LLR: the threshold of LLRs means nothing for it
            row |= {f"{prefix}min": cost.min, f"{prefix}act": None if name == RAW else cost.act}
        return row

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {"costs": self.costs, **super().to_dict()}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        rows = {name: self._costs(name) for name in self.evaluations}
        shown = [
            [name, *("-" if value is None else number(value) for value in row.values())]
            for name, row in rows.items()
        ]
        return ["method", *(key.replace("_", " ") for key in rows[RAW])], shown


@takes(train=SpoofTrials, test=SpoofTrials, options=Mapping)
def compare(
    train: SpoofTrials,
    test: SpoofTrials,
    methods: Methods[Map] = METHODS,
    *,
    costs: Costs = "asvspoof5",
    options: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> SasvComparison:
    """Train fusions of ASV and CM scores on some trials and evaluate them on others by their a-DCF.

    The plain sum of both scores comes first, as the raw scores; it is no LLR and has no actual a-DCF. See
    :func:`fit_sasv` for the methods.

    Parameters
    ----------
    train
        Trials that the fusions are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of fusions, separated by commas, or a list of names and of functions.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    options
        Options of single methods: name -> options.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = np.repeat(["target", "nontarget", "spoof"], 400)
    >>> asv, cm = np.repeat([3.0, -3.0, 2.5], 400), np.repeat([3.0, 3.0, -3.0], 400)
    >>> def draw():
    ...     scores = {"asv": asv + 2 * rng.normal(size=1200), "cm": cm + 2 * rng.normal(size=1200)}
    ...     return SpoofTrials(scores | {"label": labels})
    >>> compare(draw(), draw(), costs="a-dcf1")
    method            min     act  train min  train act
    raw            0.3317       -     0.2953          -
    bayes          0.2181  0.2389     0.2047     0.2233
    bayes-trained  0.2278  0.2514     0.2075     0.2183
    linear         0.3381  0.3481     0.2981     0.3044
    """
    chosen = spoof_costs(costs)
    systems = [train.systems["asv"], train.systems["cm"]]
    raw = LinearMap(weights=np.ones(2), offset=0.0, systems=systems, method="sum")

    def on(trials: SpoofTrials, fusion: Map | None) -> SpoofEvaluation:
        return evaluate(trials.fused(raw if fusion is None else fusion), [chosen], tandem=())

    compared = compared_on(
        train,
        methods,
        _FITS,
        lambda name: {"costs": chosen, **options.get(name, {})},
        lambda fusion: on(test, fusion),
    )
    maps = {} if test is train else {RAW: raw, **compared[1]}
    on_training = MappingProxyType({name: on(train, fusion) for name, fusion in maps.items()})
    return SasvComparison(*compared, chosen.name, on_training)
