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
from llrkit.base.text import number, percent
from llrkit.fits.training_checks import TiedScores
from llrkit.metrics.measure import Measurements
from llrkit.metrics.theory_costs import TheoryCosts, theory_costs_of
from llrkit.plot.picture import Picture
from llrkit.report.document import TEXT, Banner, Provenance, Said, Section
from llrkit.report.tables import ALL, TextTable, of_one_kind, same_points, summary_table
from llrkit.results.vocabulary import NATS, LlrUnit, llr_unit, vocabulary
from llrkit.trust.bands import CurveBands
from llrkit.trust.calibration_check import HEADER, LEGEND, CalibrationCheck, Verdict, rows_of_tests
from llrkit.verbs.compare import Comparison, ScoreToLlr
from llrkit.verbs.diagnose import diagnosis_of
from llrkit.verbs.evaluation_result import (
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
        """Says it in the vocabulary and the unit that were asked for."""
        return said_of(self.systems, self.words, self.unit)

    @property
    def lead(self) -> str:
        """What is said first."""
        told = self.headline or (self.alone.sentence if self.alone else "")
        return told or headline(self.systems, self.checks)

    def verdicts(self) -> list[SystemVerdict]:
        """What is said about each system, with advice unless calibrators are compared."""
        return verdicts(self.systems, self.checks, self.ties, advise=self.alone is None, unit=self.unit)

    def methods(self) -> str:
        """The text on methods."""
        compared = list(self.compared.maps) if self.compared is not None else ()
        return methods_text(self.systems, compared, checked=bool(self.checks), unit=self.unit)

    def own_sections(self) -> list[Section]:
        """Intervals, curves, distributions, tests, conditions and calibrators, where they are known."""
        tested = any(section.banner for section in self.first)  # a validation shows tests beside its matrix
        sections = [
            *intervals(self.systems),
            curves(self.systems, self.bands, llrs=self.llrs),
            distributions(self.systems),
            *calibration(self.checks, tested=tested, unit=self.unit),
            *conditions(self.systems, self.by),
        ]
        if self.compared is not None:
            sections.append(calibrators(self.compared, alone=self.compared is self.results))
        return sections


def said_of(systems: Mapping[str, Evaluation], words: str, unit: LlrUnit = NATS) -> Said:
    """A report in a vocabulary, its pictures in a unit; names of systems and points stay as they are."""
    points = (point.point.name for result in systems.values() for point in result.points)
    return Said(vocabulary(words), (*systems, *points), unit)


@dataclass(frozen=True)
class SystemVerdict:
    """A system in plain language: what the test of its calibration says, how much is lost, what to do."""

    name: str
    word: str
    grade: str
    said: str
    todo: tuple[str, ...]


def judged_systems(
    systems: Mapping[str, Evaluation], checks: Mapping[str, CalibrationCheck]
) -> dict[str, Verdict]:
    """The verdict on each system: that of its check where one was made, which is the closer look."""
    return {
        name: checks[name].verdict if name in checks else result.verdict for name, result in systems.items()
    }


def verdicts(
    systems: Mapping[str, Evaluation],
    checks: Mapping[str, CalibrationCheck],
    ties: Mapping[str, TiedScores],
    *,
    advise: bool = True,
    unit: LlrUnit = NATS,
) -> list[SystemVerdict]:
    """What to say about each system; badge, text and advice come from one verdict.

    ``ties`` change the advice for scores that were looked at. ``advise`` is False for calibrators that are
    compared: the comparison says which one to take.
    """
    told = []
    for name, verdict in judged_systems(systems, checks).items():
        result = systems[name]
        todo = _what_to_do(result, verdict, ties.get(name)) if advise else ()
        said = sentence(result, verdict.in_unit(unit))
        told.append(SystemVerdict(name, *BADGES[verdict.outcome], said, todo))
    return told


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
    todo.append("llrkit compare TRAIN EVALUATION shows which calibrator is best on your data.")
    return tuple(todo)


def headline(systems: Mapping[str, Evaluation], checks: Mapping[str, CalibrationCheck]) -> str:
    """The report in one or two sentences; what one system's numbers mean stands in its verdict."""
    told = judged_systems(systems, checks)
    if len(systems) == 1:
        # The verdict of a single system says the rest.
        (result,) = systems.values()
        return f"EER {percent(result.eer)}, Cllr {number(result.cllr)} bits."
    eers = {name: percent(result.eer) for name, result in systems.items()}
    separates = min(systems, key=lambda name: systems[name].eer)
    informs = min(systems, key=lambda name: systems[name].cllr)
    if len(set(eers.values())) == 1:
        said = (
            f"All separate the classes equally well (EER {eers[separates]}); read as LLRs, {informs} is best"
        )
    else:
        also = "it is best as well" if informs == separates else f"{informs} is best"
        said = f"Best at separating the classes: {separates} (EER {eers[separates]}); read as LLRs, {also}"
    outcomes = Counter(BADGES[verdict.outcome][0] for verdict in told.values())
    counted = ", ".join(f"{word} {n}" for word, n in outcomes.items())
    return f"{said} (Cllr {number(systems[informs].cllr)} bits). Tests of calibration: {counted}."


def curves(
    systems: Mapping[str, Evaluation], bands: Mapping[str, CurveBands], *, llrs: bool = False
) -> Section:
    """All plots in which systems share axes."""
    drawn = [
        plot.det(systems, bands=bands, renderer="none"),
        plot.bayes_error(systems, renderer="none"),
        plot.tippett(systems, bands=bands, renderer="none"),
        plot.pav(systems, llrs=llrs, renderer="none"),
        plot.ape(systems, renderer="none"),
        plot.roc(systems, renderer="none"),
    ]
    # The curve is made on request only, and all systems share the axes.
    if all(result.ece is not None for result in systems.values()):
        drawn.insert(4, plot.cross_entropy(systems, bands=bands, renderer="none"))
    return Section(
        "Curves",
        pictures=drawn,
        hint="Point at a line to read thresholds, error rates and priors, or move to a plot with the Tab key "
        "and along its lines with the arrow keys; drag to zoom in, double-click to zoom out.",
    )


def distributions(systems: Mapping[str, Evaluation]) -> Section:
    """One histogram for each system."""
    return Section(
        "Distributions",
        (
            "Histograms of the LLRs; the lines are calibrated Gaussian LLRs with the EER of the system. "
            "LLRs of another shape differ from the lines even where they are calibrated.",
        ),
        pictures=[plot.histogram({name: result}, renderer="none") for name, result in systems.items()],
        small=len(systems) > 1,
    )


def conditions(systems: Mapping[str, Evaluation], by: str) -> list[Section]:
    """For each system with groups a table, and each group beside all trials."""
    sections = []
    for name, result in systems.items():
        if not (result.groups or result.skipped_groups):
            continue
        title = f"Conditions: {by}" if len(systems) == 1 else f"Conditions: {by}, {name}"
        left_out = [
            f"{by} = {group_name(key)} left out: {why}." for key, why in result.skipped_groups.items()
        ]
        if result.groups:
            left_out.append(on_groups(result.groups, by))
        if result.shared is not None:
            left_out.append(result.shared.sentence(by))
        tables = [summary_table(result, row_title=by)] if result.groups else []
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


def calibrators(comparison: Comparison, *, alone: bool) -> Section:
    """What the calibrators make of scores, and which is best; ``alone`` if the page is about nothing else."""
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


INTERVALS = {
    "trial": "Intervals as if trials were independent; they are too short where trials share speakers.",
    "speaker": "Intervals for trials that share speakers (each speaker left out in turn, bootstrap-t).",
    "bootstrap": "Intervals by drawing speakers with replacement.",
}


def intervals(systems: Mapping[str, Evaluation]) -> list[Section]:
    """The intervals of the numbers, if they were asked for; what holds for all systems is said once."""
    tables: list[TextTable] = []
    said: dict[str, list[str]] = {}
    for name, result in systems.items():
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
        line if len(names) == len(systems) else f"{', '.join(names)}: {line[0].lower()}{line[1:]}"
        for line, names in said.items()
    ]
    return [Section("How sure", tuple(lines), tables)] if tables else []


def calibration(
    checks: Mapping[str, CalibrationCheck], *, tested: bool = False, unit: LlrUnit = NATS
) -> list[Section]:
    """Whether the LLR of the LLR is the LLR, system by system; ``tested`` if the tests are shown already."""
    if not checks:
        return []
    said, tables, pictures = [], [], []
    for name, check in checks.items():
        said.append(f"{name}: {check.verdict.in_unit(unit).sentence}")
        if not tested:
            tables.append(TextTable(HEADER, tuple(rows_of_tests(check, unit)), name, numeric=True))
        if check.curves:
            picture: Picture = plot.idempotence(check, renderer="none")
            pictures.append(replace(picture, title=f"{picture.title}: {name}"))
    notes = dict.fromkeys(
        f"{note[0].upper()}{note[1:]}." for check in checks.values() for note in check.notes
    )
    return [Section("Calibration tested", (*said, *notes), tables, pictures, note=LEGEND)]


def theory_section(systems: Mapping[str, Evaluation]) -> Section:
    """Every system, or every group of it where there are groups, as a point on the curves of theory."""
    lists: dict[str, Evaluation] = {}
    for name, result in systems.items():
        prefix = f"{name} " if len(systems) > 1 else ""
        groups = {f"{prefix}{group_name(key)}": group for key, group in result.groups.items()}
        # A system with groups is shown by its groups, not by itself as well.
        lists |= groups or {name: result}
    return section_of(theory_costs_of(lists))


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


REFERENCES = {
    "cllr": "N. Brümmer and J. du Preez, Application-independent evaluation of speaker detection, "
    "Computer Speech and Language 20 (2006) 230-275.",
    "bosaris": "N. Brümmer and E. de Villiers, The BOSARIS toolkit: theory, algorithms and code for "
    "surviving the new DCF, arXiv:1304.2865 (2013).",
    "gaussian": "D. A. van Leeuwen and N. Brümmer, The distribution of calibrated likelihood-ratios in "
    "speaker recognition, Interspeech 2013.",
    "det": "A. Martin, G. Doddington, T. Kamm, M. Ordowski and M. Przybocki, The DET curve in assessment "
    "of detection task performance, Eurospeech 1997.",
    "thirty": "G. Doddington, M. Przybocki, A. Martin and D. Reynolds, The NIST speaker recognition "
    "evaluation - overview, methodology, systems, results, perspective, Speech Communication 31 (2000) "
    "225-254.",
    "ece": "D. Ramos and J. Gonzalez-Rodriguez, Reliable support: measuring calibration of likelihood "
    "ratios, Forensic Science International 230 (2013) 156-169.",
    "jackknife": "B. Efron, Nonparametric standard errors and confidence intervals, Canadian Journal of "
    "Statistics 9 (1981) 139-158.",
    "dyadic": "P. M. Aronow, C. Samii and V. A. Assenova, Cluster-robust variance estimation for dyadic "
    "data, arXiv:1312.3398 (2015).",
    "bootstrap": "N. Poh, A. Martin and S. Bengio, Performance generalization in biometric authentication "
    "using joint user-specific and sample bootstraps, IEEE Transactions on Pattern Analysis and Machine "
    "Intelligence 29 (2007) 492-498.",
    "devpav": "P. Vergeer, Y. van Schaik and M. Sjerps, Measuring calibration of likelihood-ratio systems: "
    "A comparison of four metrics, including a new metric devPAV, Forensic Science International 321 (2021) "
    "110722.",
}


def methods_text(
    systems: Mapping[str, Evaluation],
    methods: Sequence[str] = (),
    *,
    checked: bool = False,
    unit: LlrUnit = NATS,
) -> str:
    """Paragraphs and references in plain text.

    ``methods`` are the calibrators that were compared; ``checked`` says whether calibration was tested.

    Examples
    --------
    >>> import llrkit as lk
    >>> text = methods_text({"mine": lk.evaluate(lk.Scores([1.0, 2.0], [0.0, 1.5]))})
    >>> "There were 2 target and 2 non-target trials." in text, text.count("[1]")
    (True, 2)
    """
    first = next(iter(systems.values()))
    cited: list[str] = []

    def cite(key: str) -> str:
        # Numbered in the order of citation; the list follows from what the text has cited.
        if key not in cited:
            cited.append(key)
        return f"[{cited.index(key) + 1}]"

    return TEXT.get_template("methods.txt.j2").render(
        version=__version__,
        counts=_counts_in_words(systems),
        points=first.points,
        ece=first.ece is not None,
        methods=list(methods),
        sure=first.uncertainty,
        checked=checked,
        base_10=unit.base_10,
        cite=cite,
        cited=lambda: [REFERENCES[key] for key in cited],
    )


def _counts_in_words(systems: Mapping[str, Evaluation]) -> str:
    counts = {(e.n_target, e.n_nontarget) for e in systems.values()}
    if len(counts) == 1:
        target, nontarget = next(iter(counts))
        return f"There were {target:,} target and {nontarget:,} non-target trials."
    told = (f"{name}: {e.n_target:,} target, {e.n_nontarget:,} non-target" for name, e in systems.items())
    return f"Numbers of trials: {'; '.join(told)}."
