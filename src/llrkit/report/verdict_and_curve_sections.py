"""What stands in a report: verdicts, tables and pictures of evaluations, put together from the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from llrkit import plot
from llrkit._format import number, percent
from llrkit._llr_units import NATS, LlrUnit
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.evaluation.compare import Comparison, ScoreToLlr
from llrkit.evaluation.diagnose import diagnosis_of
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_words import on_groups, sentence
from llrkit.evaluation.over_groups import group_name
from llrkit.metrics.measurements import Measurements
from llrkit.plot.picture import Picture
from llrkit.report.report_tables import ALL
from llrkit.report.section_types import Section
from llrkit.report.summary_table import summary_table
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.calibration.verdict import Verdict
from llrkit.trust.intervals.curve_bands import CurveBands

MOST_PANELS = 24
"""Small multiples beyond this many are left out; the table has them all."""
NO_CHECKS: Mapping[str, CalibrationCheck] = MappingProxyType({})
NO_TIES: Mapping[str, TiedScores] = MappingProxyType({})
BADGES = {
    "evidence": ("miscalibrated", "poor"),
    "none_found": ("no error found", "good"),
    "too_few": ("too few trials", "fair"),
    "reversed": ("reversed", "poor"),
    "uninformative": ("uninformative", "poor"),
    "infinite": ("unusable as LLRs", "poor"),
}
"""Word and grade by the outcome of the verdict."""


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
    checks: Mapping[str, CalibrationCheck] = NO_CHECKS,
    ties: Mapping[str, TiedScores] = NO_TIES,
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


def headline(systems: Mapping[str, Evaluation], checks: Mapping[str, CalibrationCheck] = NO_CHECKS) -> str:
    """The report in one or two sentences; what one system's numbers mean stands in its verdict."""
    told = judged_systems(systems, checks)
    if len(systems) == 1:
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
        pictures = [_group_beside_all(plot.det, name, group, result) for name, group in shown.items()]
        pictures += [
            _group_beside_all(plot.bayes_error, name, group, result) for name, group in shown.items()
        ]
        if len(result.groups) > MOST_PANELS:
            left_out.append(
                f"Pictures of the first {MOST_PANELS} of {len(result.groups)} values; the table has all."
            )
        sections.append(Section(title, tuple(left_out), tables, pictures, small=True))
    return sections


def _group_beside_all(draw: object, name: str, group: Evaluation, pooled: Evaluation) -> Picture:
    systems = {ALL if name != ALL else f"{ALL} of them": pooled, name: group}
    options = {"points": False} if draw is plot.det else {}
    picture: Picture = draw(systems, renderer="none", **options)  # type: ignore[operator]
    return replace(picture, title=f"{picture.title}: {name}")


def calibrators(comparison: Comparison, *, alone: bool) -> Section:
    """What the calibrators make of scores, and which is best; ``alone`` if the page is about nothing else."""
    words = [f"{name} could not be trained: {why}" for name, why in comparison.failed.items()]
    pictures = []
    if comparison.maps:
        if not alone:  # else it is the headline of the page
            words.insert(0, comparison.sentence)
        maps: dict[str, Measurements | ScoreToLlr] = {
            "PAV on these trials": comparison.evaluations["raw"], **comparison.map_curves(),
        }  # fmt: skip
        pictures.append(plot.pav(maps, renderer="none"))
    tables = [] if alone else [summary_table(comparison)]
    return Section("Calibrators compared", tuple(words), tables, pictures)
