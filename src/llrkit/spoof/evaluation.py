"""evaluate(): all numbers of trials of three kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from llrkit.base.arguments import real_number, seed_of
from llrkit.base.options import documented
from llrkit.base.text import Json, counted, number, percent
from llrkit.core.cells import BelowCounts
from llrkit.core.counting import count_bins
from llrkit.core.numerics import probability
from llrkit.errors import EmptyClassError, InputError
from llrkit.results.result import Result, html_table
from llrkit.scores.labels import KINDS, Kind
from llrkit.spoof.costs import Costs, SpoofCosts, asv_eer_threshold, cm_source, decision_score, spoof_costs
from llrkit.spoof.counts import KindCounts, at_thresholds, attack_names, count_kinds, t_eer_nearest
from llrkit.spoof.intervals import SpoofCounts, SpoofSettings, cm_thresholds, spoof_intervals, spoof_numbers
from llrkit.spoof.trials import SpoofTrials, System
from llrkit.trust.jackknife import Uncertainty
from llrkit.trust.speakers import find_speakers
from llrkit.verbs.options import SpoofOptions

if TYPE_CHECKING:
    from llrkit.keywords import SpoofKeywords

EER_WORDS = {
    "roc": "on the interpolated ROC",
    "hull": "on the ROC convex hull (ROCCH-EER)",
    "nearest": "mean of both rates at the observed point where they are nearest",
}


EER_TITLES = (
    ("sv_eer", "SV-EER"),
    ("spf_eer", "SPF-EER"),
    ("sasv_eer", "SASV-EER"),
    ("cm_eer", "CM-EER"),
    ("t_eer", "t-EER"),
)
OF_NO_ATTACK = ("sv_eer",)
"""Numbers without spoofs, which are the same for every attack."""


class NamedCost(NamedTuple):
    """A cost by the name of its priors and prices: at the best threshold, and at that of LLRs."""

    name: str
    """The priors and costs: a preset, or the numbers."""
    min: float | None
    """The cost at the best threshold; None if it cannot be computed."""
    act: float | None
    """The cost at the threshold of LLRs; None if it cannot be computed."""


@dataclass(frozen=True, eq=False, repr=False)
class SpoofEvaluation(Result):
    """The result of :func:`llrkit.spoof.evaluate`; a number that does not exist is None and has a reason."""

    n: Mapping[Kind, float]
    """Trials of each kind."""
    score: str
    """The column of the system that decides alone, whose EERs and a-DCF these are."""
    numbers: Mapping[str, float]
    """All numbers by name, such as ``a_dcf.0.min``."""
    cost_names: tuple[str, ...]
    """Names of the a-DCFs, in the order of their numbers."""
    tandem_names: tuple[str, ...]
    """Names of the t-DCFs, in the order of their numbers."""
    eer_convention: str
    """How equal error rates are taken: "roc", "hull" or "nearest"."""
    reasons: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Why other numbers do not exist."""
    asv_threshold: float | None = None
    """Threshold of the ASV system in the t-DCF; None without a tandem."""
    asv_rates: tuple[float, float, float] | None = None
    """Pmiss, Pfa of non-targets and Pfa of spoofs of the ASV system at its threshold."""
    attacks: Mapping[str, SpoofEvaluation] = field(default_factory=lambda: MappingProxyType({}))
    """The same for the spoofs of each attack, by its name."""
    uncertainty: Uncertainty | None = None
    """Intervals and what to know about them; None unless speakers were given."""

    @property
    def sv_eer(self) -> float | None:
        """Targets against non-targets."""
        return self.numbers.get("sv_eer")

    @property
    def spf_eer(self) -> float | None:
        """Targets against spoofs."""
        return self.numbers.get("spf_eer")

    @property
    def sasv_eer(self) -> float | None:
        """Targets against non-targets and spoofs."""
        return self.numbers.get("sasv_eer")

    @property
    def cm_eer(self) -> float | None:
        """Bona fide trials against spoofs, by the countermeasure."""
        return self.numbers.get("cm_eer")

    @property
    def t_eer(self) -> float | None:
        """Concurrent tandem equal error rate, a share."""
        return self.numbers.get("t_eer")

    @property
    def a_dcf(self) -> tuple[NamedCost, ...]:
        """Architecture-agnostic costs."""
        return tuple(self._costs("a_dcf", self.cost_names).values())

    @property
    def t_dcf(self) -> tuple[NamedCost, ...]:
        """Tandem costs."""
        return tuple(self._costs("t_dcf", self.tandem_names).values())

    def _costs(self, kind: str, names: tuple[str, ...]) -> dict[str, NamedCost]:
        """Costs by what the names of their numbers begin with, such as ``a_dcf.0.``."""
        get, prefixes = self.numbers.get, [f"{kind}.{i}." for i in range(len(names))]
        rows = {p: NamedCost(n, get(f"{p}min"), get(f"{p}act")) for p, n in zip(prefixes, names, strict=True)}
        # Costs that need a kind of trials that is not there have neither number.
        return {p: row for p, row in rows.items() if row.min is not None or row.act is not None}

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Lower and upper end by name of the number; empty unless speakers were given."""
        return MappingProxyType({}) if self.uncertainty is None else self.uncertainty.intervals

    @property
    def interval_notes(self) -> list[str]:
        """What to know about the intervals, and why some numbers have none; empty without speakers."""
        if self.uncertainty is None:
            return []
        titles = dict(EER_TITLES) | self._cost_titles()
        concerned: dict[tuple[str, str], list[str]] = {}
        for attack, one in ({"": self} | dict(self.attacks)).items():
            for key, reason in one.uncertainty.no_interval.items() if one.uncertainty is not None else ():
                # the table of attacks has neither
                unseen = attack and (key in OF_NO_ATTACK or key.endswith(".act"))
                if key in titles and key in one.numbers and not unseen:
                    concerned.setdefault((titles[key], reason), []).append(attack)
        told = list(self.uncertainty.notes)
        for (title, reason), attacks in concerned.items():
            which = ", ".join(filter(None, attacks))
            if which:
                which = f" (also of {which})" if "" in attacks else f" of {which}"
            told.append(f"none for {title}{which}: {reason}")
        return told

    @property
    def conventions(self) -> dict[str, str]:
        """What the numbers mean where several meanings are in use."""
        nearest = self.eer_convention == "nearest"
        return {
            "decision": "accept when score >= threshold",
            "ties": "targets first (EERs), otherwise pooled" if nearest else "pooled",
            "eer": EER_WORDS[self.eer_convention],
            "a_dcf": "divided by the cheaper of accepting and rejecting all; act at the threshold of LLRs",
            "t_dcf": "error rates of ASV and CM multiplied; divided by the cheaper of a CM that accepts all "
            "and one that rejects all; ASV at its nearest-point equal-error threshold unless one was given",
            "t_eer": "concurrent, a share; straight lines between observed thresholds",
        }

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Json] = {f"n_{kind}": round(n) for kind, n in self.n.items()}
        plain["score"] = self.score
        plain |= {name: self.numbers.get(name) for name in ("sv_eer", "spf_eer", "sasv_eer", "cm_eer")}
        for kind, names in (("a_dcf", self.cost_names), ("t_dcf", self.tandem_names)):
            costs = self._costs(kind, names).items()
            plain[kind] = [{**cost._asdict(), **self._uncertain(prefix)} for prefix, cost in costs]
        plain["t_eer"] = self.t_eer
        plain |= self._uncertain("")
        if self.uncertainty is not None:
            plain["ci"] = self.uncertainty.settings()
        if self.asv_rates is not None:
            names = ("p_miss", "p_fa", "p_fa_spoof")
            plain["asv"] = {"threshold": self.asv_threshold, **dict(zip(names, self.asv_rates, strict=True))}
        if self.reasons:
            plain["missing"] = dict(self.reasons)
        plain["attacks"] = {name: one.to_dict() for name, one in self.attacks.items()}
        if self.attacks:
            plain["worst_attack"] = self.worst_attack
        # The numbers of an attack are part of a whole that states its conventions once.
        return plain | {"conventions": self.conventions} if self.cost_names or self.tandem_names else plain

    @property
    def worst_attack(self) -> dict[str, dict[str, str | float]]:
        """For every number that depends on the attack, the one where it is largest."""
        worst: dict[str, dict[str, str | float]] = {}
        for name in dict.fromkeys(name for one in self.attacks.values() for name in one.numbers):
            if name not in OF_NO_ATTACK:
                own = {
                    attack: one.numbers[name] for attack, one in self.attacks.items() if name in one.numbers
                }
                attack = max(own, key=own.__getitem__)
                worst[name] = {"attack": attack, "value": own[attack]}
        return worst

    def _uncertain(self, prefix: str) -> dict[str, Json]:
        return {} if self.uncertainty is None else self.uncertainty.with_prefix(prefix)

    def _frame_rows(self) -> list[dict[str, Json]]:
        rows: list[dict[str, Json]] = []
        for attack, one in ({None: self} | dict(self.attacks)).items():
            rows.append({"attack": attack, **{f"n_{kind}": n for kind, n in one.n.items()}})
            for name, value in one.numbers.items():
                rows[-1][name] = value
                if one.uncertainty is not None:
                    rows[-1][f"{name}_low"], rows[-1][f"{name}_high"] = one.intervals.get(name, (None, None))
        return rows

    def _repr_html_(self) -> str:
        tables = html_table(["", "", ""], self.rows(), left=(0, 2))
        return tables + (html_table(*self.attack_rows()) if self.attacks else "")

    def rows(self) -> list[tuple[str, str, str]]:
        """The table: name, value, and what it is."""
        # With CM scores alone and no non-targets, targets are just bona fide speech.
        alone = set(self.numbers) == {"cm_eer"} and not self.n["nontarget"]
        table = [("trials", sizes_in_words(self.n, bona_fide=alone), "")]
        notes = {
            "sv_eer": f"targets against non-targets, by {self.score}",
            "spf_eer": f"targets against spoofs, by {self.score}",
            "sasv_eer": f"targets against both, by {self.score}",
            "cm_eer": "bona fide against spoofed, by the countermeasure",
            "t_eer": "ASV and CM in tandem, concurrent",
        }
        table += [
            self._row(title, key, notes[key], percent) for key, title in EER_TITLES if key in self.numbers
        ]
        for key, title in self._cost_titles().items():
            if key in self.numbers:
                note = "best threshold" if key.endswith("min") else "threshold of LLRs"
                note += f" of {self.score}" if key.startswith("a_dcf") else ""
                table.append(self._row(title, key, note, number))
        return table

    def _cost_titles(self) -> dict[str, str]:
        """All costs by their key, with what they are called."""
        kinds = (("a_dcf", "a-DCF", self.cost_names), ("t_dcf", "t-DCF", self.tandem_names))
        return {
            f"{prefix}.{i}.{kind}": f"{kind} {title} {name}"
            for prefix, title, names in kinds
            for i, name in enumerate(names)
            for kind in ("min", "act")
        }

    def _row(self, name: str, key: str, note: str, show: Callable[[float], str]) -> tuple[str, str, str]:
        interval = ""
        if key in self.intervals:
            low, high = self.intervals[key]
            interval = f"[{show(low).removesuffix(' %')}, {show(high)}]"
        return name, show(self.numbers[key]), "  ".join(filter(None, (interval, note)))

    def attack_rows(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of a table with one line per attack."""
        titles = {"spf_eer": "SPF-EER", "cm_eer": "CM-EER", "t_eer": "t-EER"}
        titles |= {key: title for key, title in self._cost_titles().items() if key.endswith("min")}
        keys = [key for key in titles if any(key in one.numbers for one in self.attacks.values())]
        rows = []
        for attack, one in self.attacks.items():
            row = [attack, f"{round(one.n['spoof']):,}"]
            for key in keys:
                shown = ("", "", "")
                if key in one.numbers:
                    shown = one._row("", key, "", percent if key.endswith("eer") else number)
                row.append(" ".join(shown[1:]).rstrip())
            rows.append(row)
        return ["attack", "spoofs", *(titles[key] for key in keys)], rows

    def __repr__(self) -> str:
        table = self.rows()
        widths = [max(len(row[i]) for row in table) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}  {value:>{widths[1]}}  {note}".rstrip() for name, value, note in table]
        return "\n".join(lines)


def sizes_in_words(n: Mapping[Kind, float], *, bona_fide: bool = False) -> str:
    """How many trials of each kind; to a countermeasure alone, targets are bona fide trials.

    Examples
    --------
    >>> sizes_in_words({"target": 3, "nontarget": 0, "spoof": 1}, bona_fide=True)
    '3 bona fide + 1 spoof'
    >>> sizes_in_words({"target": 1, "nontarget": 2, "spoof": 0})
    '1 target + 2 non-targets + 0 spoofs'
    """
    words = {"target": "target", "nontarget": "non-target", "spoof": "spoof"}
    if bona_fide:
        return f"{round(n['target']):,} bona fide + {counted(round(n['spoof']), words['spoof'])}"
    return " + ".join(counted(round(n[kind]), words[kind]) for kind in KINDS)


@documented(SpoofOptions, without=("costs",))
def evaluate(
    trials: SpoofTrials,
    costs: Sequence[Costs] | Costs | None = None,
    *,
    options: SpoofOptions | None = None,
    **changes: Unpack[SpoofKeywords],
) -> SpoofEvaluation:
    """Evaluate targets, non-targets and spoofs: EERs of each pair, a-DCF, t-DCF, t-EER, and every attack.

    With ``speakers`` all numbers get intervals for trials that share speakers (a jackknife).

    Parameters
    ----------
    trials
        The trials.
    costs
        Priors and prices of the a-DCF: names of presets, or :class:`SpoofCosts`; by default
        ``"asvspoof5"`` and ``"a-dcf1"``.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = ["target"] * 300 + ["nontarget"] * 300 + ["spoof"] * 300
    >>> asv, cm = np.repeat([3.0, -3.0, 2.0], 300), np.repeat([3.0, 3.0, -3.0], 300)
    >>> trials = SpoofTrials({"asv": asv + 2 * rng.normal(size=900), "cm": cm + 2 * rng.normal(size=900),
    ...                       "label": labels})
    >>> result = evaluate(trials)
    >>> [round(rate, 3) for rate in (result.sv_eer, result.spf_eer, result.cm_eer, result.t_eer)]
    [0.06, 0.397, 0.073, 0.088]
    >>> result.t_dcf[0].name, round(result.t_dcf[0].min, 3)
    ('asvspoof5', 0.322)
    """
    asked = SpoofOptions.of(options, changes if costs is None else {**changes, "costs": costs})
    if not isinstance(trials, SpoofTrials):
        raise InputError(
            f"expected SpoofTrials, got {type(trials).__name__}: SpoofTrials(table, asv=, cm=, sasv=)"
        )
    seed, level = seed_of(asked.rng), probability(asked.level, "level")
    costs, tandem = _all_costs(asked.costs), _all_costs(asked.tandem)
    # The counts of the systems that decide alone, and why there are none where a countermeasure remains.
    counted: dict[System, KindCounts] = {}
    uncounted: dict[str, str] = {}
    for name in trials.systems:
        try:
            # A countermeasure has two classes, bona fide and spoofed, which are counted elsewhere.
            if name != "cm":
                counted[name] = count_kinds(trials, name)
        except EmptyClassError as error:
            if "cm" not in trials.systems:
                raise
            uncounted[name] = str(error)
    fixed = None
    if asked.asv_threshold != "eer":
        try:
            fixed = real_number(float(asked.asv_threshold), "asv_threshold")
        except (TypeError, ValueError):
            got = f"{{}} must be eer or a number, got {asked.asv_threshold!r}"
            raise asked.error(got, "asv_threshold") from None
    settings = SpoofSettings(costs, tandem, asked.eer, level, seed, asv_fixed=fixed)
    where = fixed  # of the ASV system of a tandem, if there is one
    if "asv" not in counted or "cm" not in trials.systems:
        if fixed is not None:
            raise SpoofOptions.error("{} is for a tandem of ASV and CM scores", "asv_threshold")
    elif fixed is None:
        # Without targets or non-targets there is no equal-error threshold, but CM numbers remain.
        with suppress(EmptyClassError):
            where = asv_eer_threshold(trials, counted["asv"].bins())
    attacks: list[str] = []
    if trials.attack is not None:
        # From counts that are there anyway; a countermeasure alone needs a pass for its attacks.
        attacks = next(iter(counted.values())).attacks if counted else attack_names(trials, "cm")
    people = None
    if asked.speakers:  # once for all attacks
        # Found in the trials of any system: all have the same speakers.
        people = find_speakers(trials.source_of(next(iter(trials.systems))), asked.speakers)

    def one(attack: str | None) -> SpoofEvaluation:
        of_attack = replace(settings, attack=attack)
        counts = _spoof_counts(trials, of_attack, counted, where)
        numbers, reasons = spoof_numbers(counts, settings)
        if asked.eer == "nearest" and "t_eer" in numbers:
            # The nearest point exists for single trials only, so it is not among the numbers of counted
            # bins.
            numbers["t_eer"] = t_eer_nearest(trials, attack=attack)
        # trials with a score of the system that decides, or of the countermeasure
        if counts.decision is not None:
            n = dict(zip(KINDS, counts.decision.n, strict=True))
        else:
            n = trials.counts("cm")
            # Trials of a countermeasure alone: spoofs may be those of one attack.
            if counts.cm is not None:
                n["spoof"] = counts.cm.n_nontarget
        result = SpoofEvaluation(
            n=MappingProxyType(n),
            score=trials.systems[decision_score(trials)],
            numbers=MappingProxyType(numbers),
            cost_names=tuple(cost.name for cost in settings.costs),
            tandem_names=tuple(cost.name for cost in settings.tandem),
            eer_convention=asked.eer,
            reasons=MappingProxyType({**uncounted, **reasons}),
            asv_threshold=where,
            asv_rates=counts.asv_rates,
        )
        if people is None:
            return result
        return replace(result, uncertainty=spoof_intervals(trials, counts, of_attack, people))

    # Before the attacks: if nothing can be evaluated there is one error, not one for each of them.
    whole = one(None)
    if not whole.numbers:
        raise InputError(f"nothing can be evaluated: {'; '.join(dict.fromkeys(whole.reasons.values()))}")
    return replace(whole, attacks=MappingProxyType({attack: one(attack) for attack in attacks}))


def _all_costs(costs: Sequence[Costs] | Costs) -> tuple[SpoofCosts, ...]:
    given = (costs,) if isinstance(costs, str) or not isinstance(costs, Sequence) else costs
    return tuple(spoof_costs(cost) for cost in given)


def _spoof_counts(
    trials: SpoofTrials, settings: SpoofSettings, counted: dict[System, KindCounts], where: float | None
) -> SpoofCounts:
    """What the numbers of all spoofs, or of one attack, are made of; ``where`` the ASV system decides."""
    system, attack = decision_score(trials), settings.attack
    decision, asv = counted.get(system), counted.get("asv")
    decision_rates, asv_rates, cm, cm_rates = None, None, None, None
    if decision is not None and settings.costs:
        cuts = [cost.threshold for cost in settings.costs]
        decision_rates = at_thresholds(trials, system, cuts, attack)
    if where is not None:
        p_miss, p_fa, p_fa_spoof = at_thresholds(trials, "asv", [where], attack)[0].tolist()
        asv_rates = p_miss, p_fa, p_fa_spoof
    if "cm" in trials.systems:
        source = cm_source(trials, attack)
        # Spoofs may have no CM scores at all.
        with suppress(EmptyClassError):
            cm = count_bins(source)
        if cm is not None and asv_rates is not None:
            below = source.reduce(BelowCounts.at(cm_thresholds(settings, asv_rates)))
            accepted = cm.n_nontarget - below.nontarget
            cm_rates = np.column_stack([below.target / cm.n_target, accepted / cm.n_nontarget])
    return SpoofCounts(
        decision=None if decision is None else decision.bins(attack),
        asv=None if asv is None else asv.bins(attack),
        cm=cm,
        decision_rates=decision_rates,
        asv_rates=asv_rates,
        cm_rates=cm_rates,
    )
