"""Curves over lists and speakers: costs beside those that theory expects at an EER, and the zoo."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType

import numpy as np

from llrkit.base.arguments import FloatArray
from llrkit.core.groups import grouped, natural_order
from llrkit.core.numerics import probit
from llrkit.core.summaries import Moments
from llrkit.errors import InputError
from llrkit.metrics.discrimination import Curve
from llrkit.metrics.measure import Measurements
from llrkit.scores import ScoreSource, as_source
from llrkit.theory import PLDALLR, CalibratedPair, GammaLLR, GaussianLLR, MixtureLLR
from llrkit.theory.operating_points import AnyPoint, OperatingPoint, Preset, cost_of

CLLR = "Cllr"
DIFFERENCE = "Cllr minus that of Gaussian LLRs"
GAUSSIAN = "Gaussian"
# plots reach further where a measured list does
EER_RANGE = 0.002, 0.42
PLDA_DIM = 20


@dataclass(frozen=True, eq=False)
class TheoryCosts(Curve):
    """A cost against the EER: a line for each family of calibrated LLRs, a point for each measured list.

    The cost of a list is its minimum, which is what its scores would cost if they were calibrated perfectly.
    ``predicted`` is the cost of Gaussian LLRs with the EER of the list (equation 12 of the paper).

    Examples
    --------
    >>> curve = theory_costs("Cllr", {"mine": (0.05, 0.19)})
    >>> round(float(curve.predicted[0]), 4), round(curve.rms, 4), round(curve.rms_share, 3)
    (0.1836, 0.0064, 0.034)
    """

    cost_name: str
    eers: Mapping[str, FloatArray]
    """For each family, EERs from small to large."""
    costs: Mapping[str, FloatArray]
    lists: tuple[str, ...] = ()
    list_eers: FloatArray = field(default_factory=lambda: np.empty(0))
    list_costs: FloatArray = field(default_factory=lambda: np.empty(0))
    predicted: FloatArray = field(default_factory=lambda: np.empty(0))
    rms_of_runs: float = float("nan")
    """Where lists are means over seeds: the mean of the root mean squares of the seeds."""

    @property
    def rms(self) -> float:
        """Root mean square of predicted minus measured cost, NaN without lists.

        Of an experiment with several seeds it is the mean over seeds, as the experiment reports it: the
        deviations of single runs partly cancel in means over seeds.
        """
        if not self.lists:
            return float("nan")
        if not math.isnan(self.rms_of_runs):
            return self.rms_of_runs
        return float(np.sqrt(np.mean((self.predicted - self.list_costs) ** 2)))

    @property
    def rms_share(self) -> float:
        """The root mean square as a share of the mean measured cost."""
        mean = float(self.list_costs.mean()) if self.lists else 0.0
        return self.rms / mean if mean > 0.0 else float("nan")

    def beyond_gaussian(self) -> TheoryCosts:
        """The same minus the cost of Gaussian LLRs with the same EER: families differ little in Cllr."""
        gaussian = {
            name: np.array([_gaussian_pair_cost(float(eer), CLLR) for eer in eers])
            for name, eers in self.eers.items()
        }
        if self.cost_name != CLLR:
            raise InputError(f"only Cllr is drawn as a difference, not {self.cost_name}")
        return replace(
            self,
            cost_name=DIFFERENCE,
            costs=MappingProxyType({name: costs - gaussian[name] for name, costs in self.costs.items()}),
            list_costs=self.list_costs - self.predicted,
            predicted=np.zeros(len(self.lists)),
        )

    @property
    def sentence(self) -> str:
        """How well the EER predicts the cost of the lists under the Gaussian assumption."""
        if self.cost_name == DIFFERENCE:
            most = max(float(np.abs(costs).max()) for costs in self.costs.values())
            return f"The families differ from the Gaussian one by at most {most:.3f} bits at the same EER."
        if not self.lists:
            return f"{self.cost_name} of calibrated LLRs follows from the EER once their family is known."
        count = f"{len(self.lists)} lists" if len(self.lists) > 1 else "one list"
        over = "" if math.isnan(self.rms_of_runs) else " (mean over seeds)"
        return (
            f"{self.cost_name} from the EER, if LLRs are Gaussian, against the minimum of {count}: root mean "
            f"square{over} {self.rms:.4f}, {100 * self.rms_share:.1f} % of the mean."
        )


def theory_costs(
    cost: AnyPoint = CLLR,
    lists: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    *,
    rms_of_runs: float = float("nan"),
) -> TheoryCosts:
    """The curves of all families, and measured lists on top.

    Parameters
    ----------
    cost
        ``"Cllr"``, an operating point (its minimum DCF), or a preset (C_primary where it averages).
    lists
        For each measured list its EER and its minimum cost.
    rms_of_runs
        Where lists are means over seeds: the mean over seeds of the root mean square.
    """
    name = cost_name(cost)
    families = family_pairs()
    measured = [(float(eer), float(value)) for eer, value in lists.values()]
    return TheoryCosts(
        name,
        MappingProxyType({key: np.array([pair.eer for pair in pairs]) for key, pairs in families.items()}),
        MappingProxyType(
            {key: np.array([_cost_of_pair(p, cost) for p in pairs]) for key, pairs in families.items()}
        ),
        tuple(lists),
        np.array([eer for eer, _ in measured]),
        np.array([value for _, value in measured]),
        np.array([_gaussian_pair_cost(eer, cost) for eer, _ in measured]),
        rms_of_runs,
    )


def theory_costs_of(systems: Mapping[str, Measurements]) -> list[TheoryCosts]:
    """Cllr, every operating point and every primary cost that was measured of all systems, as curves."""
    if not systems:
        raise InputError("there are no measured lists")
    first = next(iter(systems.values()))
    cllrs = theory_costs(CLLR, {name: (one.eer, one.min_cllr) for name, one in systems.items()})
    curves = [cllrs, cllrs.beyond_gaussian()]
    # a point that a primary cost averages has no curve of its own
    averaged = {i for primary in first.primaries for i in primary.members}
    for i, result in enumerate(first.points):
        if i not in averaged:
            points = {name: (m.eer, m.points[i].min_dcf) for name, m in systems.items()}
            curves.append(theory_costs(result.point, points))
    for i, primary in enumerate(first.primaries):
        members = tuple(first.points[k].point for k in primary.members)
        means = {name: (m.eer, m.primaries[i].min) for name, m in systems.items()}
        curves.append(theory_costs(Preset(primary.name, members, source="measured"), means))
    return curves


# the members do not depend on any data
@cache
def family_pairs() -> Mapping[str, Sequence[CalibratedPair]]:
    """Members of each family with EERs from 0.2 to 42 % or as far as it goes.

    The mixture has two kinds of trials, equally frequent, one with four times the mean LLR of the other; PLDA
    has 20 dimensions that are equally good.
    """
    from scipy.special import ndtr

    low, high = (float(probit(rate)) for rate in EER_RANGE)
    # even on a probit axis, which the curves are drawn on
    eers = ndtr(np.linspace(low, high, 40))
    mu = np.geomspace(0.02, 25.0, 30)
    rho = np.tanh(np.linspace(1.2, 0.085, 16))  # their EERs cover a probit axis about evenly, the best first
    return MappingProxyType(
        {
            GAUSSIAN: [GaussianLLR.from_eer(float(eer)) for eer in eers],
            # the largest mean first, as EERs are to rise
            "mixture of two pairs": [MixtureLLR((0.5, 0.5), (m, 4.0 * m)) for m in mu[::-1]],
            f"PLDA, {PLDA_DIM} dimensions": [PLDALLR.isotropic(float(r), PLDA_DIM) for r in rho],
            "gamma": [GammaLLR(float(shape)) for shape in np.geomspace(0.0004, 5.0, 30)],
        }
    )


def cost_name(cost: AnyPoint) -> str:
    """How a cost is called on an axis.

    Examples
    --------
    >>> cost_name("Cllr"), cost_name("sre10"), cost_name("sre12")
    ('Cllr', 'minimum DCF (sre10)', 'C_primary (sre12)')
    """
    if cost == CLLR:
        return CLLR
    if isinstance(cost, OperatingPoint):
        return f"minimum DCF ({cost.name or f'prior {cost.effective_prior:.4g}'})"
    chosen = cost_of(cost)
    return f"{'C_primary' if chosen.averages else 'minimum DCF'} ({chosen.name})"


def _cost_of_pair(pair: CalibratedPair, cost: AnyPoint) -> float:
    if cost == CLLR:
        return pair.cllr
    # calibrated: the actual cost is the minimum
    return pair.act_dcf(cost) if isinstance(cost, OperatingPoint) else pair.c_primary(cost)


def _gaussian_pair_cost(eer: float, cost: AnyPoint) -> float:
    if not 0.0 < eer < 0.5:
        # the two ends of the relation: no errors, and no information
        return 0.0 if eer <= 0.0 else 1.0
    return _cost_of_pair(GaussianLLR.from_eer(eer), cost)


@dataclass(frozen=True, eq=False)
class ZooCurve(Curve):
    """Mean target and mean non-target score of each speaker, and the quartiles over speakers.

    A speaker in the upper quarter of both is a *chameleon*, in the lower quarter of both a *phantom*; with
    high target and low non-target scores a *dove*, the other way round a *worm* (Yager & Dunstone 2010).
    """

    speakers: tuple[str, ...]
    target_mean: FloatArray
    nontarget_mean: FloatArray
    target_quartiles: tuple[float, float]
    """First and third quartile of the target means."""
    nontarget_quartiles: tuple[float, float]
    n_left_out: int = 0
    """Speakers without finite scores of both classes."""

    @property
    def animals(self) -> tuple[str, ...]:
        """What each speaker is; empty for most."""
        low_t, high_t = self.target_quartiles
        low_n, high_n = self.nontarget_quartiles
        names = []
        for target, nontarget in zip(self.target_mean, self.nontarget_mean, strict=True):
            quarters = (
                # 1 in the upper quarter, -1 in the lower, 0 between
                int(target >= high_t) - int(target <= low_t),
                int(nontarget >= high_n) - int(nontarget <= low_n),
            )
            names.append(_ANIMALS.get(quarters, ""))
        return tuple(names)


_ANIMALS = {(1, 1): "chameleon", (-1, -1): "phantom", (1, -1): "dove", (-1, 1): "worm"}


def zoo_curve(source: ScoreSource, by: str) -> ZooCurve:
    """Mean scores of each speaker, where ``by`` is the column that names the speaker of a trial.

    References
    ----------
    N. Yager and T. Dunstone, "The biometric menagerie", IEEE PAMI 32 (2010).

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> scores = Scores([4.0, 2.0, 3.0], [-1.0, 0.0, -4.0], {"who": (["a", "b", "b"], ["a", "b", "b"])})
    >>> zoo_curve(scores, "who").target_mean, zoo_curve(scores, "who").nontarget_mean
    (array([4. , 2.5]), array([-1., -2.]))
    """
    moments = as_source(source).with_columns(by).reduce(grouped(Moments.of, by)).groups
    # a trial without a name belongs to no speaker
    usable = {
        key: m for key, m in moments.items() if key is not None and m.target.n > 0 and m.nontarget.n > 0
    }
    if not usable:
        raise InputError(f"no value of {by!r} has both target and non-target trials")
    keys = sorted(usable, key=natural_order)
    target = np.array([float(usable[key].target.mean[0]) for key in keys])
    nontarget = np.array([float(usable[key].nontarget.mean[0]) for key in keys])
    quartiles = [tuple(float(q) for q in np.quantile(means, (0.25, 0.75))) for means in (target, nontarget)]
    return ZooCurve(
        tuple(map(str, keys)),
        target,
        nontarget,
        target_quartiles=(quartiles[0][0], quartiles[0][1]),
        nontarget_quartiles=(quartiles[1][0], quartiles[1][1]),
        n_left_out=len(moments) - len(usable),
    )
