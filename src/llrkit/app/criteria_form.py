"""Validation criteria by form, as the TOML file that ``llrkit validate`` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from llrkit.app.choice_types import Criteria, ToValidate
from llrkit.app.project import FILES
from llrkit.base.text import Json
from llrkit.results.vocabulary import llr_unit
from llrkit.verbs.criteria import CHARACTERISTICS, LLRS, REPORT_FIELDS

METRICS = {
    "accuracy": ("cllr", "at_most", "0.5"),
    "discriminating power": ("eer", "at_most", "0.1"),
    "calibration": ("verdict", "", ""),
}
"""Rows of the form that are filled in at first: metric, limit, value."""
CHOICES = {
    "cllr": "Cllr (bits)",
    "min_cllr": "minimum Cllr (bits)",
    "cllr_cal": "Cllr lost to calibration (bits)",
    "eer": "equal error rate (0 to 1)",
    "auc": "area under the ROC (0 to 1)",
    "misleading_target": "strongest misleading LLR, same source",
    "misleading_nontarget": "strongest misleading LLR, different sources",
    "verdict": "no evidence of miscalibration",
}
"""Metrics of the form; a file of criteria can have more."""
SECONDARY = ("robustness", "coherence", "generalization")
"""How performance changes (Meuwly, Ramos & Haraksim 2017): over a column, or from another file."""
SHOWN = ("accuracy", "discriminating power", "calibration")
ALL = tuple(CHARACTERISTICS)


def criteria_text(asked: Criteria | ToValidate) -> str:
    """The criteria of a form as TOML.

    Examples
    --------
    >>> row = {"characteristic": "accuracy", "metric": "cllr", "limit": "at_most", "value": 0.3}
    >>> print(criteria_text({"rows": [row], "ci": "trial", "speakers": [], "interval": False,
    ...                      "report": {"system": 'A "b"'}}))
    [options]
    ci = "trial"
    <BLANKLINE>
    [report]
    system = "A \\"b\\""
    <BLANKLINE>
    [[criterion]]
    characteristic = "accuracy"
    metric = "cllr"
    at_most = 0.3
    <BLANKLINE>
    """
    lines = []
    options: dict[str, Json] = {"ci": asked["ci"], "speakers": list(asked["speakers"])}
    lines += _toml_table("[options]", {name: value for name, value in options.items() if value})
    stated = {name: asked["report"][name] for name in REPORT_FIELDS if asked["report"].get(name)}
    lines += _toml_table("[report]", stated)
    for row in asked["rows"]:
        values: dict[str, Json] = {"characteristic": row["characteristic"], "metric": row["metric"]}
        if "value" in row:  # a verdict has none
            nats = llr_unit(asked.get("base_10", False)).nats if row["metric"] in LLRS else 1.0
            values[row["limit"]] = row["value"] * nats
        if by := row.get("by"):
            values["by"] = by
        if before := row.get("change_from"):
            values["change_from"] = f"../{FILES}/{before}"  # as seen from the documents
        if asked["interval"] and not before and row["metric"] in ("cllr", "min_cllr", "eer", "auc"):
            values["use"] = "interval"
        lines += _toml_table("[[criterion]]", values)
    return "\n".join(lines)


def _toml_table(head: str, values: Mapping[str, Json]) -> list[str]:
    if not values:
        return []
    # a text in JSON is one in TOML, if it has no control characters, which forms have not
    return [
        head,
        *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()),
        "",
    ]
