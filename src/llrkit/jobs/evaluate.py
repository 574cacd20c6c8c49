"""evaluate: the numbers of a score file, of two classes or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llrkit import multiclass
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, agreeing, counted
from llrkit.core.groups import speaks_of_spoofs
from llrkit.errors import InputError, PooledClassesWarning, ReversedScoresWarning, ShapeWarning
from llrkit.io.joins import titles_of
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.jobs.job import Run, unwarned
from llrkit.jobs.kinds import class_prior, of_classes, read_classes, refuse_for_two
from llrkit.metrics.costs import c_primary
from llrkit.results.vocabulary import llr_unit, vocabulary
from llrkit.scores.source import ScoreSource
from llrkit.scores.trials import repeated_trials
from llrkit.theory.operating_points import costs_of
from llrkit.trust.influence import REASONS
from llrkit.verbs import evaluate as in_words
from llrkit.verbs.evaluate import Evaluation, evaluate, group_name, saturation
from llrkit.verbs.options import EvaluateOptions

if TYPE_CHECKING:
    from llrkit.fits.training_checks import TiedScores
    from llrkit.report.document import Section


NEEDS_SHARE = (
    "--known needs a cost that mixes known and unknown non-targets (--point sre12), or their share "
    "(--p-known)"
)


def evaluate_file(run: Run) -> None:
    """The numbers of a file: EER, Cllr and costs, or those of several classes."""
    path = run.job[of.ScoreFile].scores
    if of_classes(run, path):
        refuse_for_two(run, of.KnownImpostors, of.SayOptions, of.CalibrationFile)
        evaluate_classes(run, path, run.job[of.PageOutput].html)
        return
    asked, known, said = run.job[EvaluateOptions], run.job[of.KnownImpostors], run.job[of.SayOptions]
    if known.known and asked.equalize:
        raise InputError("--known and --equalize cannot be combined")
    if known.known and "points" not in asked.given():
        asked = EvaluateOptions.of(asked, {"points": ("sre12",)})
    page = run.job[of.PageOutput].html
    of_kinds = speaks_of_spoofs(asked.shared)
    with unwarned(PooledClassesWarning, when=of_kinds):
        trials = run.open(path)
    costs = _known_costs(trials, asked, known) if known.known else []
    moved, of_shift = named_shift(run, trials)
    # the sentence below a table for the terminal says so itself
    with (
        unwarned(ReversedScoresWarning, when=run.paper_table is None),
        unwarned(PooledClassesWarning, when=of_kinds),
    ):
        dev = run.open(str(asked.threshold_from), key=None, nontargets=None) if asked.threshold_from else None
        run.result = result = evaluate(
            trials, options=asked, threshold_from=dev, ece=page is not None and not asked.equalize
        )
    (name,) = titles_of([path])
    chosen = " and ".join(run.job[Reading].where)
    if not run.say_paper_table(**for_paper(result, path), words=said.words):
        say_evaluation(run, result, title=f"{path}, only {chosen}" if chosen else path)
    run.say(*map(_words_on_known, costs))
    if moved:
        run.say_below(f"\n{moved}")
    if page is not None:
        write_page(run, {name: result}, page, ties=ties_of({name: result}, {name: trials}),
                   cautions=[moved] if moved else [])  # fmt: skip
    run.sections = lambda: _evaluation_sections(name, result, said)
    saturated = saturation(result, trials)
    for text in saturated:
        warn_caller(text, ShapeWarning)
    # else there are none, and looking takes seconds
    again = _repeated_trials(run, trials) if run.job[Reading].repeated == "keep" else {}
    run.content = {
        "scores": path, **result.to_dict(), **({"known": [asdict(cost) for cost in costs]} if costs else {}),
        **of_shift, **({"where": [*run.job[Reading].where]} if chosen else {}),
        **({"saturated": [*saturated]} if saturated else {}), **again,
    }  # fmt: skip


def for_paper(result: Evaluation, path: str) -> dict[str, Any]:
    """What the table for a paper has as rows, and what these are."""
    (name,) = titles_of([path])
    rows = result if result.by else {name: result}
    return {"results": rows, "row_title": ", ".join(result.by) or "system"}


def _evaluation_sections(name: str, result: Evaluation, asked: of.SayOptions) -> Sequence[Section]:
    """Numbers, curves and conditions."""
    from llrkit import plot
    from llrkit.report.document import Section
    from llrkit.report.sections import SystemReport
    from llrkit.report.tables import TextTable

    one = {name: result}
    report = SystemReport(one, by=", ".join(result.by), words=asked.words, base_10=asked.base_10)
    said = report.said
    rows = tuple(tuple(map(said.text, row)) for row in in_words.rows(result, said.unit))
    drawn = [plot.det(one, renderer="none"), plot.tippett(one, renderer="none"),
             plot.histogram(one, renderer="none")]  # fmt: skip
    if result.ece is not None:  # found where a page was asked for
        drawn.append(plot.ece(one, renderer="none"))
    sections = [
        Section("Numbers", (), [TextTable(("", "", ""), rows)]),
        Section("Curves", (), (), drawn),
        *report.conditions(),
    ]
    return [said.section(section) for section in sections]


@dataclass(frozen=True)
class KnownCost:
    """A cost with the share of non-targets that are known; without one there is no number."""

    name: str
    p_known: float | None = None
    min: float | None = None
    act: float | None = None


def _known_costs(trials: ScoreSource, asked: EvaluateOptions, known: of.KnownImpostors) -> list[KnownCost]:
    """Minimum and actual cost of every point with the two kinds of non-targets weighted."""
    found = []
    for cost in costs_of(asked.points, allow_unconfirmed=asked.allow_unconfirmed):
        share = cost.p_known if known.p_known is None else known.p_known
        if share is None:
            found.append(KnownCost(cost.name))
            continue
        least, actual = (
            c_primary(trials, evaluation=cost, actual=actual, known=known.known, p_known=known.p_known)
            for actual in (False, True)
        )
        found.append(KnownCost(cost.name, share, least, actual))
    if all(cost.p_known is None for cost in found):
        raise InputError(NEEDS_SHARE)
    return found


def _words_on_known(cost: KnownCost) -> str:
    if cost.p_known is None:
        return f"{cost.name} does not mix known and unknown non-targets (--p-known gives their share)"
    return (
        f"{cost.name}, {100 * cost.p_known:g} % of non-targets known: minimum {cost.min:.4f}, "
        f"actual {cost.act:.4f}"
    )


def _repeated_trials(run: Run, trials: ScoreSource) -> dict[str, int | None]:
    """What is known of trials that occur more than once, which count each time; said if there are any."""
    known = repeated_trials(trials)
    if n := known.get("repeated_trials"):
        again = agreeing(n, "is repeated and counts", "are repeated and count")
        run.note(f"{counted(n, 'trial')} {again} each time (--duplicates drop or error)")
    return known


def say_evaluation(run: Run, result: Evaluation, *, title: str) -> None:
    """The table of an evaluation, its groups, and the sentence, in the words of a community."""
    asked = run.job[of.SayOptions]
    by, unit = ", ".join(result.by), llr_unit(asked.base_10)
    keep = (*result.by, *map(group_name, result.groups), *(point.point.name for point in result.points))

    def say(text: str) -> str:
        return vocabulary(asked.words).say(text, keep=keep)

    table = [(say(name), value, say(note)) for name, value, note in in_words.rows(result, unit)]
    run.table(("", "", ""), table, title=title, left=(0, 2))
    if result.groups:
        of_spoofs = result.shared is not None and result.shared.of_kinds
        header, rows = in_words.group_rows(result.groups, by, of_spoofs=of_spoofs)
        run.say("")
        run.table([header[0], *map(say, header[1:])], rows)
        run.say(f"\n{say(in_words.on_groups(result.groups, by))}")
    if result.shared is not None:
        run.say(say(result.shared.sentence(by)))
    skipped = list(result.skipped_groups.items())
    for name, reason in skipped[:5]:
        run.note(f"{by} = {group_name(name)} left out: {reason}")
    if len(skipped) > 5:
        run.note(f"... and {len(skipped) - 5:,} more values of {by} left out")
    if result.uncertainty is not None:
        shown = in_words.numbers_of_table(result, unit)
        missing = in_words.without_interval(result.uncertainty, shown, but=REASONS)
        run.say(*(f"\nIntervals: {say(note)}" for note in (*result.uncertainty.notes, *missing)))
    told = in_words.sentence(result, result.verdict.in_unit(unit))
    run.say(f"\n{vocabulary(asked.words).say_of_sources(told, keep=keep)}")


def named_shift(run: Run, trials: ScoreSource) -> tuple[str, dict[str, Json]]:
    """What the named calibration says of scores, in words and as plain values; nothing without one."""
    asked, speakers = run.job[of.CalibrationFile], run.job[EvaluateOptions].speakers
    if asked.map is None:
        return "", {}
    from llrkit.errors import TooFewTrialsError
    from llrkit.maps.files import load_map
    from llrkit.shift.shift_check import check_shift, text_by_labels
    from llrkit.verbs.given_calibration import scores_beside

    fitted = load_map(asked.map, accept_changed=asked.accept_changed)
    scores = trials
    if trials.roles.calibrated and not (fitted.reading or {}).get("calibrated"):
        beside = scores_beside(trials, fitted)
        if beside is None:
            names = ", ".join((fitted.reading or {}).get("score") or ()) or "which is not known"
            raise InputError(
                f"--map {asked.map}: the file holds LLRs but not the raw scores in the column of training "
                f"({names}), which are needed to find a shift"
            )
        scores = beside
    try:
        check = check_shift(fitted, scores, speakers=speakers or None)
    except TooFewTrialsError as error:
        text = f"No shift was looked for: {error}."
        return text, {"shift": {"text": text}}
    text = check.text
    if check.refusal:  # what scores do not tell, their labels do
        llrs = fitted.on(trials) if scores is trials else trials
        text = text_by_labels(fitted, check, scores, llrs)
    return text, {"shift": {**check.to_dict(), "text": text}}


def ties_of(results: Mapping[str, Evaluation], systems: Mapping[str, ScoreSource]) -> dict[str, TiedScores]:
    """Clipped, saturated and tied scores, of systems that need advice: where an error was found."""
    from llrkit.fits.training_checks import TiedScores

    wrong = (name for name, result in results.items() if result.verdict.outcome == "evidence")
    return {name: TiedScores.of_source(systems[name]) for name in wrong}


def write_page(run: Run, results: Any, *paths: str | None, **parts: Any) -> None:
    """Write the report of a job, with the hashes of its files and the command line, and say where it is.

    ``parts`` are further keywords of :func:`llrkit.write_report`.
    """
    from llrkit.report.page import write_report  # needs a template engine, which tables do not

    full_paths = run.job[of.PageOutput].full_paths
    said = run.job[of.SayOptions]
    without = [f"{text}." for text in run.left_out()]
    for file in () if full_paths else run.job.read:
        without = [text.replace(file, Path(file).name) for text in without]
    cautions = [*parts.pop("cautions", ()), *dict.fromkeys(run.calibrated), *without]
    made_from = parts.pop("made_from", None) or run.provenance()
    by = ", ".join(run.job[EvaluateOptions].by) or "condition"
    for path in filter(None, paths):
        write_report(
            results, path, made_from=made_from, by=by, cautions=cautions,
            **{"words": said.words, "base_10": said.base_10, **parts},
        )  # fmt: skip
    run.say_reports(*paths)


# several classes


def evaluate_classes(run: Run, path: str, page: str | None) -> None:
    """The numbers of a file of several classes, and a page; points named lre... are costs of all."""
    from llrkit.multiclass.evaluation import class_rows, class_sentence, rows

    refuse_for_two(run, EvaluateOptions, but=("points", "allow_unconfirmed"))
    asked = run.job[EvaluateOptions]
    points = asked.given().get("points", ())
    costs = tuple(point for point in points if point.lower().startswith("lre"))
    scores = read_classes(run, path)
    if run.job[of.ClassChoice].posteriors:
        scores = scores.without_prior("counts")
    run.result = result = multiclass.evaluate(
        scores,
        prior=class_prior(run),
        cavg=costs or ("lre07", "lre22"),
        points=tuple(point for point in points if point not in costs) or (0.5, 0.1),
        detection=True if page else None,
        allow_unconfirmed=asked.allow_unconfirmed,
    )
    if not run.say_paper_table(result):
        run.table(("", "", ""), rows(result), title=path, left=(0, 2))
        run.say("")
        run.table(*class_rows(result))
        run.say(f"\n{class_sentence(result)}")
    if page is not None:
        from llrkit.errors import ConstantScoreError, InfiniteScoreError
        from llrkit.report.page import write_class_report

        try:
            means = multiclass.idempotence(scores)
        except (ConstantScoreError, InfiniteScoreError):  # nothing to show
            means = None
        pairs = multiclass.pair_histograms(scores)
        made_from = run.provenance()
        write_class_report(result, page, pairs=pairs, idempotence=means, made_from=made_from)
        run.say_reports(page)
    run.content = {"scores": path, **result.to_dict()}
