"""SpoofTrials: targets, non-targets and spoofs, with the scores of ASV, CM and SASV systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from llrkit.base.arguments import Array
from llrkit.core.groups import ValueCounts, attack_positions, gated, regrouped, trials_with_value
from llrkit.errors import EmptyClassError, InputError
from llrkit.maps.map import Map
from llrkit.scores import DerivedSource, Scores, ScoreSource
from llrkit.scores.derived import chosen_systems
from llrkit.scores.labels import KIND, KINDS, Kind, kind_of
from llrkit.scores.source import require_column
from llrkit.scores.trials import KindTable

System = Literal["asv", "cm", "sasv"]
SYSTEMS: tuple[System, ...] = get_args(System)
Pair: TypeAlias = tuple[System, tuple[Kind, ...], tuple[Kind, ...], str | None]
"""A system, the kinds to accept and to reject, and the attack if it is one."""


class SpoofTrials:
    """Trials of three kinds, each with scores of up to three systems.

    Parameters
    ----------
    table
        A table (polars, pandas, a dict of columns), or a score source with one column of scores per system
        and a column of labels, such as ``lk.scan_trials(path, score=["asv", "cm"], positive="target")`` or
        ``lk.DaskSource.from_parquet(...)``.
    asv, cm, sasv
        The columns with the scores of the speaker verification system, of the countermeasure (higher meaning
        more bona fide), and of a system that does both; at least one. By default the columns of these names.
        In a table, trials without a score of a system are left out of what that system is needed for.
    label
        The column that says target, nontarget or spoof.
    attack
        The column with the attacks of the spoofs, if there is one.

    Examples
    --------
    >>> labels = ["target", "nontarget", "spoof"]
    >>> SpoofTrials({"asv": [2.0, -1.0, 1.5], "cm": [1.0, 3.0, -2.0], "label": labels})
    SpoofTrials(1 target, 1 nontarget, 1 spoof trials: asv, cm)
    """

    def __init__(
        self,
        table: object,
        *,
        asv: str | None = None,
        cm: str | None = None,
        sasv: str | None = None,
        label: str = "label",
        attack: str | None = None,
    ) -> None:
        given: dict[System, str | None] = {"asv": asv, "cm": cm, "sasv": sasv}
        self._source = table if isinstance(table, ScoreSource) else None
        self._table: KindTable | None = None
        if self._source is None:
            self._table = table if isinstance(table, KindTable) else KindTable(table, label)
            if attack is not None:
                require_column(attack, self._table.columns)
        names = self._source.roles.score if self._source is not None else self.columns
        if not any(given.values()):
            # Columns with the usual names, unless any was named.
            given = {system: system if system in names else None for system in SYSTEMS}
        self.systems: Mapping[System, str] = {system: name for system, name in given.items() if name}
        if not self.systems:
            raise InputError(
                f"no system has scores: name the column of asv, cm or sasv; there are {list(names)}"
            )
        for name in self.systems.values():
            require_column(name, names)
            own = [system for system, other in self.systems.items() if other == name]
            if len(own) > 1:
                raise InputError(
                    f"column {name!r} is named for {' and '.join(own)}: name one column for each"
                )
        self.label = (self._source.roles.label or label) if self._source is not None else label
        self.attack = attack
        self._bases: dict[System, ScoreSource] = {}
        self._carrying: dict[System, ScoreSource] = {}
        # Only the last pair is kept: an evaluation asks for several numbers of one pair in a row.
        self._last_pair: tuple[Pair, Scores] | None = None
        self._kinds: dict[System, tuple[Array, Array, Array]] = {}
        self._attacks: dict[System, Mapping[str, Array]] = {}
        self._both: ScoreSource | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns of a table; empty for other sources."""
        return [] if self._table is None else self._table.columns

    @property
    def kind_column(self) -> str:
        """The column of chunks that tells the kinds apart."""
        return KIND if self._table is not None else self.label

    def source_of(self, system: System, *columns: str) -> ScoreSource:
        """The trials that have a score of a system; chunks carry their kind and these columns.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        *columns
            Names of columns that chunks carry.
        """
        self.require_system(system)
        if system not in self._bases:
            self._bases[system] = self._scored_in(self.systems[system])
        carried = dict.fromkeys((self.kind_column, *((self.attack,) if self.attack else ()), *columns))
        if columns:
            return self._bases[system].with_columns(*carried)
        if system not in self._carrying:  # it keeps what it has read
            self._carrying[system] = self._bases[system].with_columns(*carried)
        return self._carrying[system]

    def require_system(self, system: System) -> None:
        """Refuse a system without scores.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        """
        if system not in self.systems:
            raise InputError(
                f"there are no scores of the {system} system; there are {', '.join(self.systems)}"
            )

    def _scored_in(self, *names: str) -> ScoreSource:
        """The trials that have a score in each of these columns."""
        if self._table is not None:
            return self._table.trials_of(*names)
        assert self._source is not None
        if self._source.roles.score == names:
            return self._source
        places = [self._source.roles.score.index(name) for name in names]
        return DerivedSource(self._source, partial(chosen_systems, places=places), score=names)

    def reading_apart(self, sources: Mapping[System, ScoreSource]) -> SpoofTrials:
        """The same, with a source of its own for each system, without the trials it gave no score.

        Parameters
        ----------
        sources
            A source for each system.
        """
        apart = SpoofTrials(self._source, **dict(self.systems), label=self.label, attack=self.attack)
        apart._bases |= sources
        return apart

    def pair(
        self, system: System, positive: Sequence[Kind], negative: Sequence[Kind], *, attack: str | None = None
    ) -> DerivedSource:
        """Two classes of trials, made of these kinds; ``attack`` keeps only the spoofs of one attack.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        positive
            Kinds of trials that form the first class.
        negative
            Kinds of trials that form the second class.
        attack
            Keep only the spoofs of this attack.

        Examples
        --------
        >>> trials = SpoofTrials({"cm": [1.0, 3.0, -2.0], "label": ["target", "nontarget", "spoof"]})
        >>> import llrkit as lk
        >>> lk.auc(trials.pair("cm", ("target", "nontarget"), ("spoof",)))
        1.0
        """
        chosen = None if attack is None or self.attack is None else (self.attack, attack)
        change = partial(
            regrouped,
            column=self.kind_column,
            positive=tuple(positive),
            negative=tuple(negative),
            attack=chosen,
        )
        # The columns that the change looks at; DerivedSource makes the source carry them.
        needs = (self.kind_column, *(chosen[:1] if chosen else ()))
        return DerivedSource(self.source_of(system), change, needs)

    def pair_to_count(
        self, system: System, positive: Sequence[Kind], negative: Sequence[Kind], *, attack: str | None = None
    ) -> ScoreSource:
        """The same as :meth:`pair` without further columns; of a table the scores themselves.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        positive
            Kinds of trials that form the first class.
        negative
            Kinds of trials that form the second class.
        attack
            Keep only the spoofs of this attack.
        """
        source = self.pair(system, positive, negative, attack=attack)
        if self._table is None:
            return source
        key = (system, tuple(positive), tuple(negative), attack)
        if self._last_pair is None or self._last_pair[0] != key:
            kinds = dict(zip(KINDS, self.ascending_kinds(system, attack), strict=True))
            made = Scores.part(_merged_kinds(kinds, positive), _merged_kinds(kinds, negative))
            made.ascending = True
            self._last_pair = key, made
        return self._last_pair[1]

    @property
    def in_memory(self) -> bool:
        """Whether all scores are in a table, to be sorted once for all numbers."""
        return self._table is not None

    def ascending_kinds(self, system: System, attack: str | None = None) -> tuple[Array, Array, Array]:
        """The scores of targets, non-targets and spoofs of a table, in ascending order; sorted once.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        attack
            Keep only the spoofs of this attack.
        """
        assert self._table is not None
        if system not in self._kinds:
            self.require_system(system)
            self._kinds[system] = self._table.ascending_kinds(self.systems[system])
        target, nontarget, spoof = self._kinds[system]
        if attack is not None and self.attack is not None:
            # spoof[:0] keeps the type where an attack has no score of this system.
            spoof = self.ascending_attacks(system).get(attack, spoof[:0])
        return target, nontarget, spoof

    def ascending_attacks(self, system: System) -> Mapping[str, Array]:
        """The scores of the spoofs of each attack in a table, in ascending order; sorted once.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        """
        assert self.attack is not None
        if system not in self._attacks:
            assert self._table is not None
            scores, attacks, names = self._table.spoofs_of(self.systems[system], self.attack)
            columns = {self.attack: (attacks[:0], attacks)}
            # As a chunk of non-targets, so that the function that tells attacks apart can be shared.
            spoofs = Scores.part(scores[:0], scores, columns, {} if names is None else {self.attack: names})
            places = attack_positions(spoofs, self.attack, np.ones(len(scores), dtype=bool))
            self._attacks[system] = {name: np.sort(scores[own]) for name, own in places.items()}
        return self._attacks[system]

    def gated(self, gate: System, threshold: float, system: System) -> SpoofTrials:
        """The trials with scores of both systems, those of the second -inf where the first rejects.

        Parameters
        ----------
        gate
            The system that decides first.
        threshold
            Its threshold.
        system
            The system whose scores are kept.
        """
        for needed in (gate, system):
            self.require_system(needed)
        first, second = self.systems[gate], self.systems[system]
        if self._table is not None:
            kept: KindTable | ScoreSource = self._table.gated(first, threshold, second)
        else:
            assert self._source is not None
            place = (self._source.roles.score.index(first), self._source.roles.score.index(second))
            change = partial(gated, place=place, threshold=threshold)
            kept = DerivedSource(self._source, change, score=(second,))
        return SpoofTrials(kept, **{system: second}, label=self.label, attack=self.attack)

    def source_of_both(self) -> ScoreSource:
        """The trials with ASV and CM scores, in two columns; chunks carry their kind."""
        self.require_system("asv")
        self.require_system("cm")
        if self._both is None:
            both = self._scored_in(self.systems["asv"], self.systems["cm"])
            # Kept, since it keeps what it has read: training reads it in every step.
            self._both = both.with_columns(self.kind_column)
        return self._both

    def fused(self, fusion: Map, name: str = "sasv llr") -> SpoofTrials:
        """The same trials with the LLRs that a fusion of ASV and CM scores gives, as SASV scores.

        Parameters
        ----------
        fusion
            A fusion of :func:`llrkit.spoof.fit_sasv`.
        name
            Name of the new column.
        """
        both = self.source_of_both()
        if self._table is None:
            # systems are known by their roles here, whatever their columns are called
            # Fusions match systems by name, so the columns get the names they had in training.
            named = DerivedSource(both, _unchanged_kinds, score=tuple(fusion.system_names) or None)
            kept: KindTable | ScoreSource = DerivedSource(fusion.on(named), _unchanged_kinds, score=(name,))
        else:
            asv, cm = self.systems["asv"], self.systems["cm"]
            kept = self._table.with_scores(asv, cm, name, lambda scores: fusion.checked(scores, {}))
        return SpoofTrials(kept, sasv=name, label=self.label, attack=self.attack)

    def counts(self, system: System) -> dict[Kind, float]:
        """How many trials of each kind have a score of a system.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        """
        if self.in_memory:
            return dict(zip(KINDS, map(len, self.ascending_kinds(system)), strict=True))
        name = self.kind_column
        seen = self.source_of(system).reduce(lambda chunk: ValueCounts.of(chunk, name)).counts
        total: dict[Kind, float] = dict.fromkeys(KINDS, 0)
        for word, (n_target, n_other) in seen.items():
            # Labels of a source are words, several of which may mean one kind.
            total[kind_of(word)] += n_target + n_other
        return total

    def require(self, system: System, *kinds: Kind) -> None:
        """Refuse a system without trials of these kinds.

        Parameters
        ----------
        system
            ``"asv"``, ``"cm"`` or ``"sasv"``.
        *kinds
            Kinds of trials: ``"target"``, ``"nontarget"``, ``"spoof"``.
        """
        have = self.counts(system)
        for kind in kinds:
            if not have[kind]:
                raise EmptyClassError(f"there are no {kind} trials with a score of the {system} system")

    def where(self, column: str, value: object) -> SpoofTrials:
        """The trials that have one value in a column.

        Parameters
        ----------
        column
            Name of the column.
        value
            The value.
        """
        if self._table is not None:
            kept: KindTable | ScoreSource = self._table.where(column, value)
        else:
            assert self._source is not None
            kept = trials_with_value(self._source, column, value)
        return SpoofTrials(kept, **dict(self.systems), label=self.label, attack=self.attack)

    def __repr__(self) -> str:
        systems = ", ".join(self.systems)
        if self._table is None:
            return f"SpoofTrials({systems} of {self._source!r})"
        n = self._table.counts()
        kinds = ", ".join(f"{n[kind]:,} {kind}" for kind in KINDS)
        return f"SpoofTrials({kinds} trials: {systems})"


def _merged_kinds(kinds: Mapping[Kind, Array], chosen: Sequence[Kind]) -> Array:
    """The scores of some kinds in ascending order."""
    if len(chosen) == 1:
        return kinds[chosen[0]]
    together = np.concatenate([kinds[kind] for kind in chosen])
    together.sort()
    return together


def _unchanged_kinds(chunk: Scores) -> Scores:
    return chunk
