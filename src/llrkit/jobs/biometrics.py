"""biometrics and spoof: error rates of people, their groups and searches, and of attacks on a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from llrkit.base.text import Json, percent
from llrkit.biometrics.people_groups import differential
from llrkit.biometrics.searches import identification
from llrkit.biometrics.verification import VerificationRates, verification_rates, without_failures
from llrkit.errors import InputError, MissingScoresWarning, PooledClassesWarning, ReversedScoresWarning
from llrkit.io.joins import titles_of
from llrkit.io.read_options import Reading
from llrkit.io.selection import read_candidates
from llrkit.jobs import options as of
from llrkit.jobs.evaluate import ties_of, write_page
from llrkit.jobs.job import Run, unwarned
from llrkit.jobs.kinds import open_spoof_trials, speaking_of_kinds
from llrkit.results.vocabulary import vocabulary
from llrkit.scores.source import ScoreSource
from llrkit.spoof.attacks import attack_detection
from llrkit.spoof.costs import FREE_2019, min_t_dcf, spoof_costs
from llrkit.spoof.evaluation import SpoofEvaluation
from llrkit.spoof.evaluation import evaluate as evaluate_spoof_trials
from llrkit.spoof.trials import SpoofTrials
from llrkit.verbs.evaluate import evaluate
from llrkit.verbs.options import DifferentialOptions, IdentifyOptions, RatesOptions, SpoofOptions

if TYPE_CHECKING:
    from llrkit.report.document import Section


def rates_of_file(run: Run) -> None:
    """FNMR and thresholds at false match rates."""
    path, asked, page = run.job[of.ScoreFile].scores, run.job[RatesOptions], run.job[of.PageOutput].html
    trials = _with_failures(run, path)
    run.result = rates = verification_rates(trials, options=asked)
    (name,) = titles_of([path])
    run.sections = lambda: [rates_section({name: rates})]
    sizes = f"{rates.n_mated:,} mated and {rates.n_nonmated:,} non-mated comparisons"
    run.table(*rates.table(), title=f"{path}: {sizes}, EER {percent(rates.eer)}", left=(2, 4, 6, 9))
    run.say(*(f"Note: {note}" for note in rates.notes))
    if page is not None:
        scored = trials if asked.failures is None else without_failures(trials, asked.failures)
        with unwarned(ReversedScoresWarning):  # which the rates have told
            result = evaluate(scored, speakers=asked.speakers, level=asked.level, ece=True)
        left_out = "Comparisons with a failure count in the error rates at false match rates only."
        write_page(
            run, {name: result}, page, ties=ties_of({name: result}, {name: scored}), first=run.sections(),
            cautions=[] if asked.failures is None else [left_out], words="biometrics",
        )  # fmt: skip
    run.content = {"scores": path, **rates.to_dict()}


def _with_failures(run: Run, path: str) -> ScoreSource:
    """The trials of a file; those with a failure need no score."""
    if run.job[RatesOptions].failures is None:
        return run.open(path)
    if run.job[Reading].missing_scores == "drop":
        raise InputError(
            "--failures counts trials without a score, and --missing-scores drop removes them; give one of "
            "the two"
        )
    with unwarned(MissingScoresWarning):
        # a cluster reads scores only where they are
        return run.open(path) if run.job[of.ClusterChoice].any else run.open(path, missing_scores="reject")


def rates_section(rates: Mapping[str, VerificationRates]) -> Section:
    """The tables of a report, by system."""
    from llrkit.report.document import Section
    from llrkit.report.tables import TextTable

    tables, notes = [], []
    for name, one in rates.items():
        header, rows = one.table()
        caption = name if len(rates) > 1 else ""
        for columns in (range(6), (0, *range(6, len(header)))):  # side by side they are wider than a page
            cells = tuple(tuple(row[i] for i in columns) for row in rows)
            tables.append(TextTable(tuple(header[i] for i in columns), cells, caption, numeric=True))
        notes += [
            f"{name}: {note}." if len(rates) > 1 else f"{note[0].upper()}{note[1:]}." for note in one.notes
        ]
    return Section("Error rates at false match rates", tuple(dict.fromkeys(notes)), tables)


def differential_of_file(run: Run) -> None:
    """FMR and FNMR of groups of people at one threshold."""
    path, asked = run.job[of.ScoreFile].scores, run.job[DifferentialOptions]
    trials = run.open(path)
    if asked.threshold is not None:  # typed as the file has scores, which may be distances
        asked = replace(asked, threshold=asked.threshold * trials.roles.factor)
    run.result = result = differential(trials, options=asked)
    title = f"{path}: threshold {result.threshold / result.factor:.6g}"
    run.table(*result.table(), title=title, left=(0, 3, 7))
    run.say("")
    run.table(*result.measure_table(), left=(0, 2, 5))
    if result.joined:
        garbe, fdr, inequity = (result.joined[name] for name in ("garbe", "fdr", "inequity_rate"))
        run.say(f"\nGARBE {garbe:.4f}, FDR {fdr:.4f}, inequity rate {inequity:.4g}")
    run.say(f"\n{result.sentence}")
    run.content = {"scores": path, **result.to_dict()}


def identification_of_file(run: Run) -> None:
    """Ranks of mates, and FNIR at FPIRs."""
    path, asked, mates = run.job[of.ScoreFile].scores, run.job[IdentifyOptions], run.job[of.MateFile].mates
    if mates is None:
        trials: ScoreSource = run.open(path)
    else:
        if run.job[Reading].given() or run.job[of.ClusterChoice].any or asked.probe or asked.enrolled:
            raise InputError("--mates is for candidate lists of NIST FRTE; leave out other reading options")
        trials, asked = read_candidates(path, mates), replace(asked, enrolled="enrolled")
    run.result = result = identification(trials, options=asked)
    title = f"{path}: {result.n_mated:,} mated and {result.n_nonmated:,} non-mated searches"
    run.table(*result.rank_table(), title=title, left=(2,))
    if result.open_set:
        run.say("")
        run.table(*result.open_set_table(), left=(3, 5, 6))
    run.say(*(f"Note: {note}" for note in result.notes))
    run.content = {"scores": path, **result.to_dict()}


# targets, non-targets and spoofs


def evaluate_spoofs(run: Run) -> None:
    """EERs, a-DCF, t-DCF, t-EER; in the words of biometrics also APCER and BPCER."""
    path, columns, asked = run.job[of.ScoreFile].scores, run.job[of.SpoofColumns], run.job[SpoofOptions]
    words, extras = run.job[of.SayOptions].words, run.job[of.SpoofExtras]
    if extras.cm_threshold is not None and words != "biometrics":
        raise InputError("--cm-threshold is for APCER and BPCER (--vocabulary biometrics)")
    reading = run.job[Reading]
    named = {"asv": columns.asv, "cm": columns.cm, "sasv": columns.sasv}
    trials = open_spoof_trials(path, named, reading, attack=columns.attack, client=run.client(reading))
    if extras.cm_threshold is not None and "cm" not in trials.systems:
        raise InputError("--cm-threshold is for the scores of a countermeasure (--cm-column)")
    with unwarned(PooledClassesWarning), speaking_of_kinds():
        run.result = result = evaluate_spoof_trials(trials, options=asked)
        others = _other_t_dcfs(run, trials, result)
        pad = None
        if words == "biometrics" and result.cm_eer is not None:
            pad = attack_detection(
                trials, threshold=extras.cm_threshold, asv_threshold=result.asv_threshold,
                speakers=asked.speakers or None, level=asked.level,
            )  # fmt: skip
    say = vocabulary(words).say
    rows = [(say(name), say(value), say(note)) for name, value, note in result.rows()]
    run.table(("", "", ""), rows, title=path, left=(0, 2))
    if result.attacks:
        run.say("")
        run.table(*result.attack_rows())
    for reason in dict.fromkeys(result.reasons.values()):
        run.note(f"Left out: {say(reason)}")
    run.say(*(f"\nIntervals: {say(note)}" for note in result.interval_notes))
    for row in others:
        how = "best ASV threshold" if row["variant"] == "free" else "trials that pass both systems counted"
        run.say(f"min t-DCF {row['name']}, {how}: {row['min']:.4f}")
    run.content = {"scores": path, **result.to_dict()}
    if pad is not None:
        run.say("")
        run.table(("", "", ""), pad.rows(), left=(0, 2))
        run.say(f"Note: {pad.note}")
        run.content["attack_detection"] = pad.to_dict()
    if others:
        run.content["t_dcf_variants"] = [*others]


def _other_t_dcfs(run: Run, trials: SpoofTrials, result: SpoofEvaluation) -> list[dict[str, Json]]:
    """The minimum t-DCFs of other definitions that were asked for; without intervals."""
    variants = run.job[of.SpoofExtras].t_dcf
    if variants and result.asv_threshold is None:
        raise InputError("--t-dcf is for a tandem of ASV and CM scores with all three kinds of trials")
    rows: list[dict[str, Json]] = []
    for variant in dict.fromkeys(variants):
        for name in result.tandem_names:
            if variant == "free" and spoof_costs(name).form == "asvspoof2019":
                run.note(f"Left out: {FREE_2019}")
                continue
            if variant == "free":
                least = min_t_dcf(trials, name, asv_threshold="free")
            else:
                assert result.asv_threshold is not None
                least = min_t_dcf(trials, name, asv_threshold=result.asv_threshold, counting="joint")
            rows.append({"name": name, "variant": variant, "min": least})
    return rows
