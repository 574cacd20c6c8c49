"""C_avg: the costs of the NIST language recognition evaluations, as presets with their sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit.core.elementary_functions import probability
from llrkit.errors import InputError, UnconfirmedPresetError, UnknownNameError
from llrkit.metrics.discrimination import min_dcf
from llrkit.metrics.llr_costs import act_dcf
from llrkit.multiclass.class_counts_and_priors import count_classes
from llrkit.multiclass.class_losses import ClassLosses, Detection
from llrkit.multiclass.class_metrics import losses_at
from llrkit.multiclass.one_against_others import only, pair
from llrkit.scores.class_labels import listed
from llrkit.scores.class_scores import ClassSource


@dataclass(frozen=True)
class CavgPreset:
    """How an evaluation averages the detection errors of its languages.

    ``p_target`` holds one or more priors of the target language, whose costs are averaged; ``p_out`` is the
    prior of out-of-set languages. A ``normalized`` cost is divided by the prior of the target, so that
    rejecting everything costs 1. ``unit`` says over what the mean is taken: all languages, the languages
    within each cluster, or pairs of languages.
    """

    name: str
    """Name of the preset."""
    p_target: tuple[float, ...] = (0.5,)
    """Priors of the target language, whose costs are averaged."""
    p_out: float = 0.0
    """Prior of out-of-set languages."""
    normalized: bool = False
    """Whether the cost is divided by the prior of the target."""
    unit: Literal["all", "clusters", "pairs"] = "all"
    """What the mean is taken over."""
    source: str = ""
    """Where the definition comes from."""
    confirmed: bool = True
    """Whether the definition could be confirmed."""

    def __post_init__(self) -> None:
        for prior in self.p_target:
            probability(prior, "p_target")
            if not 0.0 <= self.p_out < 1.0 - prior:
                raise InputError(f"p_out must be at least 0 and below 1 - p_target, got {self.p_out!r}")

    def require_plain(self) -> None:
        """Refuse a cost that needs more than the trials: clusters, pairs, an out-of-set class."""
        if self.unit != "all" or self.p_out > 0.0:
            raise InputError(f"{self.name} does not average over all classes alone; use cavg() for it")


_LRE07 = "NIST's scoring script score_lre07.v01d, Cmiss = Cfa = 1, Ptarget = 0.5"
_OUT = "Poutofset = 0.2"
_FROM_MEMORY = "the evaluation plan itself was not at hand"
_PRESETS = (
    CavgPreset("lre07", source=f"NIST LRE 2007, closed set: {_LRE07}"),
    CavgPreset("lre07-open", p_out=0.2, source=f"NIST LRE 2007, open set: {_LRE07}, {_OUT}"),
    CavgPreset("lre09", source=f"NIST LRE 2009, closed set: as 2007; {_LRE07}"),
    CavgPreset("lre09-open", p_out=0.2, source=f"NIST LRE 2009, open set: as 2007; {_LRE07}, {_OUT}"),
    CavgPreset(
        "lre11", unit="pairs", confirmed=False,
        source="NIST LRE 2011: mean actual cost of the language pairs with the largest minimum cost, as many "
        f"pairs as languages; {_FROM_MEMORY}",
    ),
    CavgPreset(
        "lre15", unit="clusters", confirmed=False,
        source=f"NIST LRE 2015: mean over clusters of the LRE 2007 cost within each; {_FROM_MEMORY}",
    ),
    CavgPreset(
        "lre17", p_target=(0.5, 0.1), normalized=True, confirmed=False,
        source="NIST LRE 2017: mean of beta = 1 and 9; how data sources are averaged is not confirmed and "
        f"not done here; {_FROM_MEMORY}",
    ),
    CavgPreset(
        "lre22", p_target=(0.5, 0.1), normalized=True,
        source="NIST LRE 2022: mean of the normalized costs at beta = 1 and 9 (Ptarget = 0.5 and 0.1)",
    ),
)  # fmt: skip
PRESETS: Mapping[str, CavgPreset] = {preset.name: preset for preset in _PRESETS}


@takes()
def cavg_preset(name: str | CavgPreset, *, allow_unconfirmed: bool = False) -> CavgPreset:
    """The cost of an evaluation by name.

    Parameters
    ----------
    name
        Name of the evaluation, or the preset itself.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> cavg_preset("lre22").p_target
    (0.5, 0.1)
    >>> cavg_preset("lre11")
    Traceback (most recent call last):
    llrkit.errors.UnconfirmedPresetError: preset 'lre11' is not confirmed (NIST LRE 2011: ...
    """
    if isinstance(name, CavgPreset):
        return name
    preset = PRESETS.get(str(name).lower())
    if preset is None:
        raise UnknownNameError(f"unknown cost {not_among(name, PRESETS)}")
    if not (preset.confirmed or allow_unconfirmed):
        raise UnconfirmedPresetError(
            f"preset {preset.name!r} is not confirmed ({preset.source}); pass allow_unconfirmed=True "
            "(--allow-unconfirmed) to use it"
        )
    return preset


@takes()
def cavg(
    source: ClassSource,
    preset: str | CavgPreset = "lre07",
    *,
    out_of_set: str | None = None,
    clusters: Mapping[str, Sequence[str]] | None = None,
    allow_unconfirmed: bool = False,
) -> float:
    """Average detection cost over languages (or whatever the classes are), at the Bayes thresholds.

    ``1/N sum_t [Ptarget Pmiss(t) + sum_{n != t} Pnon Pfa(t, n) + Pout Pfa(t, out)]`` with
    ``Pnon = (1 - Ptarget - Pout) / (N - 1)``; class t is accepted when its detection LLR is at least
    ``log((1 - Ptarget) / Ptarget)``. False alarms are averaged over pairs of classes, not pooled.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    preset
        "lre07", "lre09" (with "-open" for open sets), "lre11", "lre15", "lre17", "lre22", or a
        :class:`CavgPreset`.
    out_of_set
        For open sets: the class that stands for every language outside the set. It is never a target.
    clusters
        For "lre15": name of each cluster -> its classes.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [2.1, 0.0, 2.0]], [0, 1, 2])
    >>> lk.multiclass.cavg(scores), round(lk.multiclass.cavg(scores, "lre22"), 6)
    (0.08333333333333333, 0.583333)
    """
    definition = cavg_preset(preset, allow_unconfirmed=allow_unconfirmed)
    if (definition.unit == "clusters") != (clusters is not None):
        raise InputError(f"{definition.name}: clusters are {'needed' if clusters is None else 'not used'}")
    if (definition.p_out > 0.0) != (out_of_set is not None):
        raise InputError(
            f"{definition.name}: {'name the class that stands for' if out_of_set is None else 'has no'} "
            "out-of-set trials (out_of_set)"
        )
    if definition.unit == "pairs":
        return _cost_of_worst_pairs(source, definition)
    if clusters is not None:
        _check_clusters(clusters)
        return float(
            np.mean(
                [_cost_over_all_classes(only(source, names), definition, None) for names in clusters.values()]
            )
        )
    return _cost_over_all_classes(source, definition, out_of_set)


def detections_of(preset: CavgPreset, n_classes: int, out: int | None) -> list[Detection]:
    """The detections whose errors a cost is made of: one for each prior of the target."""
    detections = []
    for prior in preset.p_target:
        weights = np.ones(n_classes)
        if out is not None:
            weights[out] = preset.p_out / ((1.0 - prior - preset.p_out) / (n_classes - 2))
        detections.append(Detection(weights, math.log((1.0 - prior) / prior)))
    return detections


def cavg_from_losses(preset: CavgPreset, losses: ClassLosses, accepted: slice, out: int | None) -> float:
    """The cost from counted detections."""
    costs = [
        _average_over_languages(preset, prior, counts / losses.n, out)
        for prior, counts in zip(preset.p_target, losses.accepted[accepted], strict=True)
    ]
    return float(np.mean(costs))


def _average_over_languages(preset: CavgPreset, prior: float, rates: FloatArray, out: int | None) -> float:
    """``rates[t, n]``: the share of class n that model t accepts."""
    targets = [t for t in range(len(rates)) if t != out]
    inside = rates[np.ix_(targets, targets)]
    n = len(targets)
    miss = 1.0 - np.diag(inside)
    false_alarms = inside.sum(axis=1) - np.diag(inside)
    cost = prior * miss + (1.0 - prior - preset.p_out) / (n - 1) * false_alarms
    if out is not None:
        cost = cost + preset.p_out * rates[targets, out]
    return float(cost.mean()) / (prior if preset.normalized else 1.0)


def _cost_over_all_classes(source: ClassSource, preset: CavgPreset, out_of_set: str | None) -> float:
    classes = count_classes(source).classes
    if out_of_set is not None and out_of_set not in classes:
        raise UnknownNameError(f"there is no class {out_of_set!r}; the classes are {listed(classes)}")
    out = None if out_of_set is None else classes.index(out_of_set)
    if len(classes) - (out is not None) < 2:
        raise InputError(f"{preset.name}: at least two target classes are needed")
    losses, _ = losses_at(source, detections=detections_of(preset, len(classes), out))
    return cavg_from_losses(preset, losses, slice(None), out)


def _cost_of_worst_pairs(source: ClassSource, preset: CavgPreset) -> float:
    classes = count_classes(source).classes
    point = preset.p_target[0]
    pairs = [pair(source, a, b) for a, b in combinations(classes, 2)]
    # the actual cost of a pair is that of the detection of its first class, half of each error
    least = np.array([min_dcf(one, point) for one in pairs])
    worst = np.argsort(-least, kind="stable")[: len(classes)]
    return float(np.mean([point * act_dcf(pairs[i], point) for i in worst]))


def _check_clusters(clusters: Mapping[str, Sequence[str]]) -> None:
    if not clusters:
        raise InputError("no clusters were given")
    for name, members in clusters.items():
        if len(members) < 2:
            raise InputError(f"cluster {name!r} has fewer than two classes")
