"""Validation criteria: a small TOML file, read with every fault named."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, SupportsFloat

from llrkit.base.text import did_you_mean
from llrkit.errors import FileFormatError, InputError, LlrkitError
from llrkit.metrics.measure import resolve_points
from llrkit.results.vocabulary import Amount
from llrkit.trust.bootstrap import checked_replicates
from llrkit.trust.speakers import kind_asked_for
from llrkit.verbs.options import EvaluateOptions

CHARACTERISTICS = {
    "accuracy": ("cllr", "ECE"),
    "discriminating power": ("min_cllr", "ECE after PAV, DET"),
    "calibration": ("cllr_cal", "ECE, Tippett"),
    "robustness": ("cllr", "Tippett, DET"),
    "coherence": ("cllr", "ECE, DET"),
    "generalization": ("cllr", "ECE, Tippett"),
}
"""Performance characteristics (Meuwly, Ramos & Haraksim 2017), the usual metric and graph of each."""

REPORT_FIELDS = (
    "laboratory", "purpose", "system", "version", "hypotheses", "population", "conditions", "data",
    "independence", "calibration", "bounds", "limitations",
)  # fmt: skip
"""What a validation report states in words; whatever is missing is reported as not stated."""

_OPTIONS = ("ci", "speakers", "recordings", "points", "level", "seed", "replicates")
_CRITERION = ("characteristic", "metric", "at_most", "at_least", "use", "by", "change_from", "graph", "data")
_USES = ("estimate", "interval")
LLRS = ("misleading_target", "misleading_nontarget")
"""Metrics that are LLRs: the strongest one for the wrong side among the trials of a class."""
NO_INTERVAL = {
    **dict.fromkeys(("cllr_cal", "dev_pav", "cv_loss"), "it is compared with its null distribution"),
    **dict.fromkeys(LLRS, "it is a single trial"),
}
"""Metrics that never have an interval, and why."""
RATES = frozenset({"eer", "eer_roc", "p_miss", "p_fa"})
"""Metrics that are shares of trials: shown in percent, limits from 0 to 1. The area under the ROC is a share
of pairs, with the same limits."""


@dataclass(frozen=True)
class Criterion:
    """One row of the validation matrix before it is judged."""

    characteristic: str
    """What is judged: accuracy, calibration, robustness and so on."""
    metric: str
    """The number that is judged, with its operating point where it has one."""
    at_most: float = math.inf
    """Upper limit."""
    at_least: float = -math.inf
    """Lower limit."""
    use: str = "interval"
    """``"interval"`` judges both ends of the interval if there is one, ``"estimate"`` the number itself."""
    by: str | None = None
    """A column: every condition must meet the criterion, and the worst one is reported."""
    change_from: str | None = None
    """A file of trials: the change from its value is judged."""
    graph: str = ""
    data: str = ""

    @property
    def kind(self) -> str:
        """The metric without its operating point."""
        return self.metric.replace(":", " ", 1).partition(" ")[0]

    @property
    def is_rate(self) -> bool:
        """Whether the metric is a share of trials, shown in percent."""
        return self.kind in RATES

    @property
    def is_llr(self) -> bool:
        """Whether the metric is an LLR, in nats."""
        return self.metric in LLRS

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """The LLRs in its words."""
        limits = (limit for limit in (self.at_least, self.at_most) if math.isfinite(limit))
        return tuple(Amount(limit, "g") for limit in limits) if self.is_llr else ()

    @property
    def words(self) -> str:
        """The criterion as a sentence; limits of rates in percent, those of LLRs in nats."""
        bounds = []
        for sign, limit in ((">=", self.at_least), ("<=", self.at_most)):
            if math.isfinite(limit):
                shown = f"{100 * limit:.12g} %" if self.is_rate else f"{limit:.12g}"
                bounds.append(f"{sign} {Amount(limit, 'g') if self.is_llr else shown}")
        said = " and ".join(bounds) if bounds else "no evidence of miscalibration"
        said += f" for every {self.by}" if self.by else ""
        return said + (f" more than in {self.change_from}" if self.change_from else "")


@dataclass(frozen=True)
class Criteria:
    """What a system is validated against."""

    rows: tuple[Criterion, ...]
    """The criteria, in the order of the file."""
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    """Keywords of :func:`llrkit.evaluate`; its ``rng`` is called ``seed``."""
    report: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What the owner of the system states in words."""
    folder: Path | None = None
    """Where files named in the criteria are looked for."""

    def why_estimate(self, criterion: Criterion) -> str | None:
        """Why a criterion that asks for an interval is judged by its estimate; None if it is not.

        What has an interval on other trials, and none on these, is not decided.

        Parameters
        ----------
        criterion
            One of the rows.
        """
        if criterion.use != "interval":
            return None
        if criterion.metric == "verdict":
            return ""
        if criterion.change_from is not None:
            return "a change from another file has no interval"
        if criterion.metric in NO_INTERVAL:
            return NO_INTERVAL[criterion.metric]
        asked = self.keywords()
        kind = kind_asked_for(asked.get("ci"), asked.get("speakers"), EvaluateOptions.otherwise)
        return "no intervals were asked for (ci in [options])" if kind == "none" else None

    def require_options(self) -> None:
        """Refuse options that :func:`llrkit.evaluate` would refuse when the trials have been read."""
        try:
            asked = EvaluateOptions(**self.keywords())
            resolve_points(asked.points, allow_unconfirmed=False)
            checked_replicates(asked.replicates)
        except LlrkitError as error:
            raise InputError(f"[options]: {error}") from None
        except OverflowError:
            raise InputError("[options]: an operating point is too large a number") from None

    def keywords(self) -> dict[str, Any]:
        """The options, which were checked when the criteria were made."""
        return {"rng" if name == "seed" else name: value for name, value in self.options.items()}


def criteria_template() -> str:
    """A TOML file of criteria with comments, to be filled in: all characteristics, limits as examples.

    Examples
    --------
    >>> [row["characteristic"] for row in tomllib.loads(criteria_template())["criterion"]]
    ['accuracy', 'discriminating power', 'calibration']
    """
    return Path(__file__).with_name("criteria_template.toml").read_text(encoding="utf-8")


def read_criteria(path: str | Path) -> Criteria:
    """Read a TOML file of criteria.

    Parameters
    ----------
    path
        A TOML file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "criteria.toml"
    >>> _ = file.write_text('[[criterion]]\\ncharacteristic = "accuracy"\\nat_most = 0.2\\n')
    >>> read_criteria(file).rows[0].words
    '<= 0.2'
    """
    place = Path(path)
    try:
        plain = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileFormatError(f"{place}: no such file") from None
    # deep brackets break the parser itself, before any of our checks
    except RecursionError:
        raise FileFormatError(f"{place}: not a TOML file of criteria (brackets inside brackets)") from None
    except (OSError, ValueError) as error:  # also of bytes that are no text, and of numbers that are too long
        raise FileFormatError(f"{place}: not a TOML file of criteria ({error})") from None
    try:
        return criteria_from_dict(plain, folder=place.parent)
    except InputError as error:
        raise FileFormatError(f"{place}: {error}") from None


def criteria_from_dict(plain: Mapping[str, object], *, folder: Path | None = None) -> Criteria:
    """Criteria from what a TOML file holds: tables ``report``, ``options`` and ``criterion``."""
    plain = _known_table("the file", plain, ("report", "options", "criterion"))
    rows = plain.get("criterion", [])
    if not isinstance(rows, list) or not rows:
        raise InputError("no [[criterion]] is given; at least one is needed")
    options = _known_table("[options]", plain.get("options", {}), _OPTIONS)
    report = _known_table("[report]", plain.get("report", {}), REPORT_FIELDS)
    criteria = tuple(_criterion_from_toml(row, i + 1) for i, row in enumerate(rows))
    texts = {name: str(value) for name, value in report.items()}
    made = Criteria(criteria, MappingProxyType(dict(options)), MappingProxyType(texts), folder)
    made.require_options()
    for i, (row, criterion) in enumerate(zip(rows, criteria, strict=True)):
        # who insists on an interval that nobody computes is told so
        if row.get("use") == "interval" and (why := made.why_estimate(criterion)):
            raise InputError(
                f'criterion {i + 1}: {criterion.metric} has no interval for use = "interval": {why}'
            )
    return made


def _criterion_from_toml(row: object, number: int) -> Criterion:
    where = f"criterion {number}"
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: expected a table")
    _known_table(where, row, _CRITERION)
    characteristic = row.get("characteristic")
    if not isinstance(characteristic, str) or characteristic not in CHARACTERISTICS:
        raise InputError(
            f"{where}: characteristic {characteristic!r} is not one of {', '.join(CHARACTERISTICS)}"
        )
    usual, graph = CHARACTERISTICS[characteristic]
    values = dict(row)
    for name in ("at_most", "at_least"):
        if name in values:
            values[name] = _number_in_criteria(values[name], f"{where}: {name}")
    for name in ("metric", "by", "change_from", "graph", "data"):
        if not isinstance(values.get(name, ""), str):
            raise InputError(f"{where}: {name} must be a text, got {_shown_in_criteria(values[name])}")
    if values.get("use", "interval") not in _USES:
        raise InputError(f"{where}: use must be {' or '.join(_USES)}, got {values['use']!r}")
    criterion = Criterion(**{"metric": usual, "graph": graph, **values})
    bounded = math.isfinite(criterion.at_most) or math.isfinite(criterion.at_least)
    # a verdict passes or fails by itself; every other metric needs a limit
    if bounded == (criterion.metric == "verdict"):
        said = "takes no bound" if bounded else "needs at_most or at_least"
        raise InputError(f"{where}: {criterion.metric} {said}")
    if criterion.at_least > criterion.at_most:
        raise InputError(f"{where}: at_least {criterion.at_least:g} is above at_most {criterion.at_most:g}")
    # a limit that no rate, or change of a rate, can exceed: 8 where 8 % is meant
    is_share = criterion.is_rate or criterion.kind == "auc"
    lowest = 0.0 if criterion.change_from is None else -1.0
    what = "a rate" if criterion.is_rate else "an area"
    what = what if criterion.change_from is None else f"a change of {what}"
    for name in ("at_most", "at_least"):
        limit = getattr(criterion, name)
        if is_share and math.isfinite(limit) and not lowest <= limit <= 1.0:
            meant = f"; {limit:g} % is {limit / 100:g}" if lowest <= limit / 100 <= 1.0 else ""
            raise InputError(
                f"{where}: {name} = {limit:g} for {criterion.metric}, which is {what}, "
                f"between {lowest:g} and 1{meant}"
            )
    return criterion


def _number_in_criteria(value: object, name: str) -> float:
    try:
        # bool is an int in Python; true is no limit
        number = math.nan if isinstance(value, bool) or not isinstance(value, SupportsFloat) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise InputError(f"{name} must be a number, got {_shown_in_criteria(value)}")
    return number


def _shown_in_criteria(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def _known_table(where: str, table: object, known: tuple[str, ...]) -> Mapping[str, object]:
    """A table, if its names are known."""
    if not isinstance(table, Mapping):
        raise InputError(f"{where} must be a table, got {type(table).__name__}")
    unknown = [str(name) for name in table if name not in known]
    if unknown:
        first, *more = unknown
        said = ", ".join([f"{first}{did_you_mean(first, known)}", *more])
        raise InputError(f"{where}: unknown {said}; known are {', '.join(known)}")
    return table
