"""A report on systems: its sections, one for each kind of result, and its text on methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from llrkit import plot
from llrkit._version import __version__
from llrkit.base.process import cached_property
from llrkit.base.text import number, percent, table_beside
from llrkit.fits.training_checks import TiedScores
from llrkit.metrics.measure import Measurements
from llrkit.metrics.theory_costs import TheoryCosts
from llrkit.plot.picture import Picture
from llrkit.report.document import TEXT, Banner, Provenance, Said, Section
from llrkit.report.tables import ALL, TextTable, of_one_kind, same_points, summary_table
from llrkit.results.vocabulary import LlrUnit, llr_unit, vocabulary
from llrkit.trust.bands import CurveBands
from llrkit.trust.calibration_check import HEADER, LEGEND, CalibrationCheck, Verdict, rows_of_tests
from llrkit.verbs.compare import Comparison, ScoreToLlr
from llrkit.verbs.diagnose import diagnosis_of
from llrkit.verbs.evaluate import (
    Evaluation,
    group_name,
    numbers_of_table,
    on_groups,
    sentence,
    without_interval,
)
from llrkit.verbs.validate import (
    FULL_HEADER,
    SHOWN,
    Validation,
    full_cells,
    misleading_rows,
    misleading_shares,
    outcome,
    stated,
)

MOST_PANELS = 24
"""Small multiples beyond this many are left out; the table has them all."""
BADGES = {
    "evidence": ("miscalibrated", "poor"),
    "none_found": ("no error found", "good"),
    "too_few": ("too few trials", "fair"),
    "reversed": ("reversed", "poor"),
    "uninformative": ("uninformative", "poor"),
    "infinite": ("unusable as LLRs", "poor"),
}
"""Word and grade by the outcome of the verdict."""
WANTED = "a report needs an Evaluation, a Comparison, or a dict of Evaluations by system"
Results: TypeAlias = Evaluation | Comparison | Mapping[str, Evaluation]
"""What a report is about."""
INTERVALS = {
    "trial": "Intervals as if trials were independent; they are too short where trials share speakers.",
    "speaker": "Intervals for trials that share speakers (each speaker left out in turn, bootstrap-t).",
    "bootstrap": "Intervals by drawing speakers with replacement.",
}
REFERENCES = dict(table_beside(__file__, "references.txt"))


@dataclass(frozen=True, eq=False)
class SystemReport:
    """What a report on systems is made of and what it says, whether as a page or as a document.

    The first fields are the keywords of :func:`llrkit.write_report`, which describes them.

    Examples
    --------
    >>> import llrkit as lk
    >>> report = SystemReport(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> report.lead, [section.title for section in report.own_sections()]
    ('EER 23.08 %, Cllr 0.7140 bits.', ['Curves', 'Distributions'])
    """

    results: Results
    title: str = "Evaluation of detection scores"
    by: str = "condition"
    comparison: Comparison | None = None
    bands: Mapping[str, CurveBands] = field(default_factory=dict)
    checks: Mapping[str, CalibrationCheck] = field(default_factory=dict)
    ties: Mapping[str, TiedScores] = field(default_factory=dict)
    first: Sequence[Section] = ()
    sections: Sequence[Section] = ()
    cautions: Sequence[str] = ()
    llrs: bool = False
    made_from: Provenance | None = None
    words: str = "nist"
    base_10: bool = False
    headline: str = ""
    """For evaluations that are not of systems: what is said first."""
    what: str = ""
    """And what they are of."""

    @cached_property
    def systems(self) -> dict[str, Evaluation]:
        """The evaluations by the name of their system, whatever form they were given in."""
        if isinstance(self.results, Evaluation):
            return {"scores": self.results}
        given = self.results.evaluations if isinstance(self.results, Comparison) else self.results
        systems = {str(name): value for name, value in of_one_kind(given, Evaluation, WANTED).items()}
        same_points(systems)
        # Tables and the panel put their costs side by side.
        return systems

    @property
    def compared(self) -> Comparison | None:
        """The comparison of calibrators, if there is one."""
        return self.results if isinstance(self.results, Comparison) else self.comparison

    @property
    def alone(self) -> Comparison | None:
        """The same, if the report is about nothing else."""
        return self.results if isinstance(self.results, Comparison) and self.results.maps else None

    @property
    def unit(self) -> LlrUnit:
        """Of LLRs."""
        return llr_unit(self.base_10)

    @property
    def said(self) -> Said:
        """Says it in the vocabulary and the unit that were asked for; names of systems and points stay."""
        points = (point.point.name for result in self.systems.values() for point in result.points)
        return Said(vocabulary(self.words), (*self.systems, *points), self.unit)

    @property
    def judged(self) -> dict[str, Verdict]:
        """The verdict on each system: that of its check where one was made, which is the closer look."""
        return {
            name: self.checks[name].verdict if name in self.checks else result.verdict
            for name, result in self.systems.items()
        }

    @property
    def lead(self) -> str:
        """What is said first, in one or two sentences; what one system's numbers mean is in its verdict."""
        if told := self.headline or (self.alone.sentence if self.alone else ""):
            return told
        systems = self.systems
        if len(systems) == 1:
            # The verdict of a single system says the rest.
            (result,) = systems.values()
            return f"EER {percent(result.eer)}, Cllr {number(result.cllr)} bits."
        eers = {name: percent(result.eer) for name, result in systems.items()}
        separates = min(systems, key=lambda name: systems[name].eer)
        informs = min(systems, key=lambda name: systems[name].cllr)
        if len(set(eers.values())) == 1:
            said = f"All separate the classes equally well (EER {eers[separates]})"
            also = f"{informs} is best"
        else:
            also = "it is best as well" if informs == separates else f"{informs} is best"
            said = f"Best at separating the classes: {separates} (EER {eers[separates]})"
        outcomes = Counter(BADGES[verdict.outcome][0] for verdict in self.judged.values())
        counted = ", ".join(f"{word} {n}" for word, n in outcomes.items())
        cllr = number(systems[informs].cllr)
        return f"{said}; read as LLRs, {also} (Cllr {cllr} bits). Tests of calibration: {counted}."

    def verdicts(self) -> list[SystemVerdict]:
        """What to say about each system; badge, text and advice come from one verdict.

        Ties change the advice for scores that were looked at. Calibrators that are compared get none: the
        comparison says which one to take.
        """
        told = []
        for name, verdict in self.judged.items():
            result = self.systems[name]
            todo = () if self.alone is not None else _what_to_do(result, verdict, self.ties.get(name))
            said = sentence(result, verdict.in_unit(self.unit))
            told.append(SystemVerdict(name, *BADGES[verdict.outcome], said, todo))
        return told

    def methods(self) -> str:
        """Paragraphs and references on methods, in plain text.

        Examples
        --------
        >>> import llrkit as lk
        >>> text = SystemReport({"mine": lk.evaluate(lk.Scores([1.0, 2.0], [0.0, 1.5]))}).methods()
        >>> "There were 2 target and 2 non-target trials." in text, text.count("[1]")
        (True, 2)
        """
        first = next(iter(self.systems.values()))
        cited: list[str] = []

        def cite(key: str) -> str:
            # Numbered in the order of citation; the list follows from what the text has cited.
            if key not in cited:
                cited.append(key)
            return f"[{cited.index(key) + 1}]"

        return TEXT.get_template("methods.txt.j2").render(
            version=__version__,
            counts=_counts_in_words(self.systems),
            points=first.points,
            ece=first.ece is not None,
            methods=[] if self.compared is None else list(self.compared.maps),
            sure=first.uncertainty,
            checked=bool(self.checks),
            base_10=self.base_10,
            cite=cite,
            cited=lambda: [REFERENCES[key] for key in cited],
        )

    def own_sections(self) -> list[Section]:
        """Intervals, curves, distributions, tests, conditions and calibrators, where they are known."""
        sections = [*self.intervals(), self.curves(), self.distributions(), *self.calibration()]
        sections += self.conditions()
        return sections if self.compared is None else [*sections, self.calibrators(self.compared)]

    def intervals(self) -> list[Section]:
        """The intervals of the numbers, if they were asked for; what holds for all systems is said once."""
        tables: list[TextTable] = []
        said: dict[str, list[str]] = {}
        for name, result in self.systems.items():
            uncertainty = result.uncertainty
            if uncertainty is None:
                continue
            shown = numbers_of_table(result)
            cells = tuple((row.name, row.value, row.interval) for row in shown if row.interval)
            header = ("number", "value", f"{100 * uncertainty.level:g} % interval")
            tables.append(TextTable(header, cells, name, numeric=True))
            # the number of speakers is stated once
            counted = not uncertainty.n_speakers or any("speakers" in note for note in uncertainty.notes)
            speakers = [] if counted else [f"{uncertainty.n_speakers:,} speakers"]
            about = [f"{line}." for line in (*uncertainty.notes, *speakers)]
            missing = [f"{line[0].upper()}{line[1:]}." for line in without_interval(uncertainty, shown)]
            # Lines that are the same for all systems are said once, the others with their names.
            for line in (INTERVALS[uncertainty.kind], *about, *missing):
                said.setdefault(line, []).append(name)
        lines = [
            line if len(names) == len(self.systems) else f"{', '.join(names)}: {line[0].lower()}{line[1:]}"
            for line, names in said.items()
        ]
        return [Section("How sure", tuple(lines), tables)] if tables else []

    def curves(self) -> Section:
        """All plots in which systems share axes."""
        drawn = [
            plot.det(self.systems, bands=self.bands, renderer="none"),
            plot.bayes_error(self.systems, renderer="none"),
            plot.tippett(self.systems, bands=self.bands, renderer="none"),
            plot.pav(self.systems, llrs=self.llrs, renderer="none"),
            plot.ape(self.systems, renderer="none"),
            plot.roc(self.systems, renderer="none"),
        ]
        # The curve is made on request only, and all systems share the axes.
        if all(result.ece is not None for result in self.systems.values()):
            drawn.insert(4, plot.cross_entropy(self.systems, bands=self.bands, renderer="none"))
        return Section(
            "Curves",
            pictures=drawn,
            hint="Point at a line to read thresholds, error rates and priors, or move to a plot with the Tab "
            "key and along its lines with the arrow keys; drag to zoom in, double-click to zoom out.",
        )

    def distributions(self) -> Section:
        """One histogram for each system."""
        return Section(
            "Distributions",
            (
                "Histograms of the LLRs; the lines are calibrated Gaussian LLRs with the EER of the system. "
                "LLRs of another shape differ from the lines even where they are calibrated.",
            ),
            pictures=[
                plot.histogram({name: result}, renderer="none") for name, result in self.systems.items()
            ],
            small=len(self.systems) > 1,
        )

    def calibration(self) -> list[Section]:
        """Whether the LLR of the LLR is the LLR, system by system."""
        tested = any(section.banner for section in self.first)  # a validation shows tests beside its matrix
        if not self.checks:
            return []
        said, tables, pictures = [], [], []
        for name, check in self.checks.items():
            said.append(f"{name}: {check.verdict.in_unit(self.unit).sentence}")
            if not tested:
                tables.append(TextTable(HEADER, tuple(rows_of_tests(check, self.unit)), name, numeric=True))
            if check.curves:
                picture: Picture = plot.idempotence(check, renderer="none")
                pictures.append(replace(picture, title=f"{picture.title}: {name}"))
        notes = dict.fromkeys(
            f"{note[0].upper()}{note[1:]}." for check in self.checks.values() for note in check.notes
        )
        return [Section("Calibration tested", (*said, *notes), tables, pictures, note=LEGEND)]

    def conditions(self) -> list[Section]:
        """For each system with groups a table, and each group beside all trials."""
        sections = []
        for name, result in self.systems.items():
            if not (result.groups or result.skipped_groups):
                continue
            title = f"Conditions: {self.by}" if len(self.systems) == 1 else f"Conditions: {self.by}, {name}"
            left_out = [
                f"{self.by} = {group_name(key)} left out: {why}."
                for key, why in result.skipped_groups.items()
            ]
            if result.groups:
                left_out.append(on_groups(result.groups, self.by))
            if result.shared is not None:
                left_out.append(result.shared.sentence(self.by))
            tables = [summary_table(result, row_title=self.by)] if result.groups else []
            shown = {group_name(key): group for key, group in list(result.groups.items())[:MOST_PANELS]}
            pictures = []
            for draw in (partial(plot.det, points=False), plot.bayes_error):
                for name, group in shown.items():
                    # A group may itself be called "all".
                    beside = {ALL if name != ALL else f"{ALL} of them": result, name: group}
                    picture: Picture = draw(beside, renderer="none")
                    pictures.append(replace(picture, title=f"{picture.title}: {name}"))
            if len(result.groups) > MOST_PANELS:
                left_out.append(
                    f"Pictures of the first {MOST_PANELS} of {len(result.groups)} values; the table has all."
                )
            sections.append(Section(title, tuple(left_out), tables, pictures, small=True))
        return sections

    def calibrators(self, comparison: Comparison) -> Section:
        """What the calibrators make of scores, and which is best."""
        alone = comparison is self.results
        words = [f"{name} could not be trained: {why}" for name, why in comparison.failed.items()]
        pictures = []
        if comparison.maps:
            if not alone:  # else it is the headline of the page
                words.insert(0, comparison.sentence)
            # PAV on these trials is the best that any monotone map could do, and is drawn beside the others.
            maps: dict[str, Measurements | ScoreToLlr] = {
                "PAV on these trials": comparison.evaluations["raw"], **comparison.map_curves(),
            }  # fmt: skip
            pictures.append(plot.pav(maps, renderer="none"))
        tables = [] if alone else [summary_table(comparison)]
        return Section("Calibrators compared", tuple(words), tables, pictures)


@dataclass(frozen=True)
class SystemVerdict:
    """A system in plain language: what the test of its calibration says, how much is lost, what to do."""

    name: str
    word: str
    grade: str
    said: str
    todo: tuple[str, ...]


def _what_to_do(result: Evaluation, verdict: Verdict, tied: TiedScores | None) -> tuple[str, ...]:
    # Before the diagnosis: advice on calibration makes no sense for these outcomes.
    if verdict.outcome == "none_found":
        return (
            "No error was found, which is no proof of calibration: errors smaller than those the test finds "
            "may be there. Test again when the conditions change.",
        )
    if verdict.outcome == "too_few":
        return ("More trials are needed to say whether the scores can be read as LLRs.",)
    if verdict.outcome in ("reversed", "uninformative"):
        return ("Check the direction of the scores and the labels before anything else.",)
    diagnosis = diagnosis_of(result, tied=tied)
    advised = [f"{name} ({why})" for name, good, why in diagnosis.advice if good]
    # Suspicions first: a wrong scale or direction makes every other advice void.
    todo = [f"{words[0].upper()}{words[1:]}" for words in result.suspicions]
    todo += [
        f"In the scores, {found}."
        for found in (*diagnosis.problems, *diagnosis.notes)
        if found not in result.suspicions
    ]
    if not advised:
        return (*todo, "No calibration is advised before this is settled.")
    todo.append("Train a calibration on other trials of the same kind: " + "; ".join(advised) + ".")
    todo.append("llrkit diagnose TRAIN EVALUATION shows which calibrator is best on your data.")
    return tuple(todo)


def _counts_in_words(systems: Mapping[str, Evaluation]) -> str:
    counts = {(e.n_target, e.n_nontarget) for e in systems.values()}
    if len(counts) == 1:
        target, nontarget = next(iter(counts))
        return f"There were {target:,} target and {nontarget:,} non-target trials."
    told = (f"{name}: {e.n_target:,} target, {e.n_nontarget:,} non-target" for name, e in systems.items())
    return f"Numbers of trials: {'; '.join(told)}."


def section_of(curves: Sequence[TheoryCosts]) -> Section:
    """Curves with the sentence of each."""
    words = (
        "What a perfectly calibrated system must cost at its equal error rate, if its LLRs are of one of "
        "these families; the points are minimum costs of what was measured. The families agree on Cllr and "
        "differ at rare priors: a point near the Gaussian line of Cllr does not show that LLRs are Gaussian.",
        " ".join(curve.sentence for curve in curves),
    )
    return Section("Theory", words, pictures=[plot.theory(curve, renderer="none") for curve in curves])


VALIDATION_REFERENCES = (
    "Validation matrix: D. Meuwly, D. Ramos and R. Haraksim, A guideline for the validation of likelihood "
    "ratio methods used for forensic evidence evaluation, Forensic Science International 276 (2017) 142-153. "
    "What a report states: G. S. Morrison et al., Consensus on validation of forensic voice comparison, "
    "Science & Justice 61 (2021) 299-309. Range that is supported: P. Vergeer, A. van Es, A. de Jongh, "
    "I. Alberink and R. Stoel, Numerical likelihood ratios outputted by LR systems are often based on "
    "extrapolation: when to stop extrapolating?, Science & Justice 56 (2016) 482-491."
)


def validation(
    result: Validation, *, verbal: bool = False, words: str = "forensic", base_10: bool = False
) -> list[Section]:
    """Outcome, validation matrix and tests of calibration; what was validated; the worst trials."""
    unit = llr_unit(base_10)
    said = Said(vocabulary(words), result.names, unit, of_sources=True)
    tested = tuple(rows_of_tests(result.check, unit))
    tests = TextTable(HEADER, tested, "Tests of calibration", numeric=True)
    matrix = TextTable(FULL_HEADER, tuple(tuple(full_cells(row, unit)) for row in result.rows))
    header, cells = misleading_rows(result, verbal, unit)
    facts = tuple(stated(result, unit))
    about = "Whatever is not stated was not given with the criteria; the rest is counted."
    sections = [
        Section("Validation", (outcome(result),), [matrix, tests], banner=Banner(SHOWN[result.outcome])),
        Section(
            "What was validated", (about,), [TextTable(("", ""), facts)], note=VALIDATION_REFERENCES
        ),
        Section(
            "Most misleading trials", (misleading_shares(result),),
            [TextTable(header, cells)] if cells else [],
        ),
    ]  # fmt: skip
    return [replace(said.section(section), note=section.note) for section in sections]  # references stay
