"""A case report in words: the statement, tables of what it rests on, and the whole as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from llrkit.base.text import Json, clean, markdown_table, printable
from llrkit.results.result import plain
from llrkit.results.vocabulary import LN10, LOG10, NATS, LlrUnit
from llrkit.theory.operating_points import verbal_word
from llrkit.verbs.case import CaseLLR, CaseReport, LLRInterval
from llrkit.verbs.given_calibration import bounding_map, why_bounded

PLACE_HEADER = ("trials of known origin", "same-source, as low", "different-source, as high")
PLACES_TITLE = "Trials of known origin with LLRs like these"
READER = (
    "A likelihood ratio compares two propositions. It says how much more probable the score is under one of "
    "them than under the other; it does not say how probable either proposition is, which also depends on "
    "everything else that is known of the case."
)


def headline(report: CaseReport, unit: LlrUnit = NATS) -> str:
    """What comes before every statement: that the validation failed, or decides nothing; empty otherwise."""
    if report.validation_outcome in (None, "passed"):
        return ""
    found = report.no_verdict if report.verdict is None else report.verdict.in_unit(unit).text
    end = "" if found.endswith("?") else "."
    if report.validation_outcome == "failed":
        said = "The validation failed: it does not support these LLRs as calibrated."
        return f"{said} Its LLRs are {found}{end}"
    return f"The validation is not decided: {found}{end}"


def ratio(llr: float) -> str:
    """The strength of an LLR as a ratio of at least one, to two digits.

    Examples
    --------
    >>> ratio(0.3), ratio(-4.05), ratio(9.0), ratio(40.0)
    ('1.3', '57', '8,100', '2.4e+17')
    """
    strength = abs(llr)
    # digits and power apart from 20 nats on: further out exp would overflow
    if strength > 20.0:
        power = math.floor(strength / LN10)
        digits = math.exp(strength - power * LN10)
        return f"{digits:.1f}e+{power:02d}"
    value = math.exp(strength)
    if value < 9.95:
        return f"{value:.1f}"
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return f"{round(value / step) * step:,.0f}"


def statement(report: CaseReport, comparison: CaseLLR) -> str:
    """What the LLR of a comparison says, with both propositions."""
    likelier, other = (report.h1, report.h2) if comparison.llr >= 0.0 else (report.h2, report.h1)
    said = (
        f"The score is about {ratio(comparison.llr)} times more probable if {likelier} rather than if {other}"
    )
    return f"{said}{_interval_in_words(report, comparison)}."


def _interval_in_words(report: CaseReport, comparison: CaseLLR) -> str:
    if comparison.interval is None or comparison.interval.low == comparison.interval.high:
        return ""  # none is known, or all of it is at a bound, which is said by itself
    ends = (comparison.interval.low, comparison.interval.high)
    level = f"{100 * comparison.interval.level:g} % interval"
    # the statement is about the likelier proposition, so a negative LLR turns the interval around
    if comparison.llr < 0.0:
        ends = (-ends[1], -ends[0])
    if ends[0] >= 0.0:
        return f" ({level} {ratio(ends[0])} to {ratio(ends[1])})"
    other = report.h2 if comparison.llr >= 0.0 else report.h1
    return f" ({level} from {ratio(ends[0])} times more probable if {other} up to {ratio(ends[1])} times)"


def in_words(report: CaseReport, comparison: CaseLLR) -> str:
    """The verbal equivalent, for the proposition that is supported."""
    word = verbal_word(comparison.llr)
    if word is None:
        return "Verbal equivalent (ENFSI 2015): no support for either proposition."
    supported = "first" if comparison.llr > 0.0 else "second"
    return f"Verbal equivalent (ENFSI 2015): {word} support for the {supported} proposition."


def remarks(report: CaseReport, comparison: CaseLLR) -> Iterator[str]:
    """What a reader must know of one LLR besides its value."""
    head = f"{comparison.name}: " if len(report.comparisons) > 1 else ""
    if comparison.at_bound and report.bounds is not None:
        yield (
            f"{head}the LLR is at the {comparison.at_bound} bound of the calibration; its "
            "training trials cannot support a stronger one."
        )
    if comparison.outside:
        yield (
            f"{head}the score is {comparison.outside} all scores that trained the calibration, "
            "which has no evidence about such scores."
        )
    if comparison.in_validation is not None:
        rate = comparison.in_validation.misleading(comparison.llr)
        kind, strong = (
            ("different-source", "as high or higher")
            if comparison.llr >= 0.0
            else ("same-source", "as low or lower")
        )
        yield (
            f"{head}in the validation {rate.count:,} of {rate.n:,} {kind} trials had an LLR "
            f"{strong}; with {100 * rate.level:g} % confidence the rate of such misleading LLRs is at most "
            f"{100 * rate.upper:.2g} %, if trials are independent."
        )


def table_header(unit: LlrUnit = NATS) -> tuple[str, ...]:
    """The head of the table of comparisons: LLRs in a unit, and always to base ten."""
    return ("comparison", "score", *(one.column for one in _units_of_table(unit)), "LR", "interval of the LR")


def _units_of_table(unit: LlrUnit) -> list[LlrUnit]:
    return list(dict.fromkeys((unit, LOG10)))


def comparison_rows(report: CaseReport, unit: LlrUnit = NATS) -> tuple[tuple[str, ...], ...]:
    """One row for each comparison, under :func:`table_header`."""
    rows = []
    for item in report.comparisons:
        ends = "" if item.interval is None else _interval_ends_in_words(item.interval, report.bounds)
        llrs = (f"{one.of(item.llr):.3f}" for one in _units_of_table(unit))
        rows.append(
            (item.name, f"{item.score:.6g}", *llrs, _signed_ratio(item.llr, exact=bool(item.at_bound)), ends)
        )
    return tuple(rows)


def _interval_ends_in_words(interval: LLRInterval, bounds: tuple[float, float] | None) -> str:
    """An interval as likelihood ratios; an end that is a bound of the calibration is called one."""
    low, high = bounds or (-math.inf, math.inf)
    if interval.low == interval.high and interval.low in (low, high):
        which = "upper" if interval.low == high else "lower"
        return f"{_signed_ratio(interval.low, exact=True)}, all of it at the {which} bound"
    at_low, at_high = interval.low <= low, interval.high >= high
    said = f"{_signed_ratio(interval.low, exact=at_low)}{' (lower bound)' if at_low else ''}"
    said += f" to {_signed_ratio(interval.high, exact=at_high)}"
    return f"{said} (upper bound)" if at_high else said


def _signed_ratio(llr: float, *, exact: bool = False) -> str:
    """A likelihood ratio, as a fraction of one where it is below one.

    A bound is ``exact``: it is a count plus one, not an estimate, so its digits are kept.
    """
    # a bound is a count plus one; up to e^20 it is shown as such
    whole = exact and math.log(9.95) <= abs(llr) <= 20.0
    strength = f"{math.exp(abs(llr)):,.0f}" if whole else ratio(llr)
    return strength if llr >= 0.0 else f"1/{strength}"


def place_rows(report: CaseReport) -> tuple[tuple[str, ...], ...]:
    """How many trials of known origin had LLRs like those of the case, under ``PLACE_HEADER``."""
    rows = []
    for item in report.comparisons:
        for kind, found in (("training", item.in_training), ("validation", item.in_validation)):
            if found is not None:
                pairs = ((found.as_low, found.n_target), (found.as_high, found.n_nontarget))
                shares = (f"{count:,} of {n:,} ({100 * count / n:.3g} %)" for count, n in pairs)
                rows.append((f"{kind}, {item.name}", *shares))
    return tuple(rows)


def facts(report: CaseReport, unit: LlrUnit = NATS) -> list[tuple[str, str]]:
    """What the LLRs rest on: propositions, calibration, intervals, bounds, conditions of use."""
    known = report.calibration.provenance
    trained = ""
    if "n_target" in known and "n_nontarget" in known:
        trained = (
            f", trained on {known['n_target']:,} same-source and {known['n_nontarget']:,} "
            "different-source trials"
        )
    made = report.calibration.method or report.calibration.kind
    bounds = "none"
    if report.bounds is not None:
        low, high = report.bounds
        bounds = f"LR from {_signed_ratio(low)} to {_signed_ratio(high)} ({unit.span(low, high)})"
        bounded = bounding_map(report.calibration)
        bounds += "" if bounded is None else f", {why_bounded(bounded)}"
    interval = report.comparisons[0].interval
    how = f"none: {report.no_interval}"
    if interval is not None:
        how = f"{100 * interval.level:g} %, the uncertainty due to the training trials: {interval.how}"
    found = report.comparisons[0].in_validation
    validated = "no trials of a validation were given"
    if found is not None:
        validated = f"{found.n_target:,} same-source and {found.n_nontarget:,} different-source trials: "
        validated += report.no_verdict if report.verdict is None else report.verdict.in_unit(unit).text
    rows = [
        ("first proposition", report.h1),
        ("second proposition", report.h2),
        ("calibration", f"{made}{trained}"),
        ("bounds of the LLR", bounds),
        ("interval", how),
        ("conditions of use", report.conditions or "not stated"),
        ("validation", validated),
    ]
    if "training_sha256" in known:
        rows.append(("SHA-256 of the training file", str(known["training_sha256"])))
    return rows


def case_to_dict(report: CaseReport) -> dict[str, Json]:
    """Plain values; what the first comparison says is at the top too."""
    rows = [_comparison_to_dict(report, item) for item in report.comparisons]
    bounds = None if report.bounds is None else {"low": report.bounds[0], "high": report.bounds[1]}
    return {
        **rows[0],
        "headline": headline(report),
        "validation_outcome": report.validation_outcome,
        "validation_verdict": plain(report.verdict),
        "bounds": bounds,
        "h1": report.h1,
        "h2": report.h2,
        "no_interval": report.no_interval,
        "conditions": report.conditions,
        "cautions": list(report.cautions),
        "calibration": plain({**report.calibration.provenance, "method": report.calibration.method}),
        "comparisons": rows,
    }


def _comparison_to_dict(report: CaseReport, item: CaseLLR) -> dict[str, Json]:
    found = item.in_validation
    return {
        "name": item.name,
        "score": item.score,
        "llr": item.llr,
        "log10_lr": item.log10_lr,
        # JSON has no infinity, and exp of more than 709 is one
        "lr": math.exp(item.llr) if abs(item.llr) < 700.0 else None,
        "interval": plain(item.interval),
        "at_bound": item.at_bound,
        "outside_training_range": item.outside,
        "statement": statement(report, item),
        "words": in_words(report, item) if report.verbal else None,
        "training": plain(item.in_training),
        "validation": plain(found),
        "misleading": None if found is None else found.misleading(item.llr).to_dict(),
    }


def statements(report: CaseReport) -> list[str]:
    """All statements, with verbal equivalents if they were asked for; named where there are several."""
    said = []
    for item in report.comparisons:
        head = f"{item.name}: " if len(report.comparisons) > 1 else ""
        said.append(head + statement(report, item))
        if report.verbal:
            said.append(head + in_words(report, item))
    return said


def all_remarks(report: CaseReport) -> list[str]:
    """Cautions, and what must be known of each LLR."""
    return [
        *report.cautions,
        *(text[0].upper() + text[1:] for item in report.comparisons for text in remarks(report, item)),
    ]


def case_markdown(report: CaseReport, made_from: Sequence[tuple[str, str]] = (), unit: LlrUnit = NATS) -> str:
    """The report in Markdown."""
    lines = ["# Case report", ""]
    if first := headline(report, unit):
        lines += [f"**{clean(first)}**", ""]
    for text in (*statements(report), *all_remarks(report), READER):
        lines += [clean(text), ""]
    lines += ["## Comparisons", "", *markdown_table(table_header(unit), comparison_rows(report, unit)), ""]
    places = place_rows(report)
    if places:
        lines += [f"## {PLACES_TITLE}", "", *markdown_table(PLACE_HEADER, places), ""]
    lines += ["## What the LLRs rest on", ""]
    lines += [f"- **{name}**: {clean(text)}" for name, text in facts(report, unit)]
    if made_from:
        lines += ["", "## Provenance", "", *(f"- **{name}**: {clean(text)}" for name, text in made_from)]
    return printable("\n".join(lines) + "\n")
