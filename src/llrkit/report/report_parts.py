"""What a report is about, and everything that can be said about how it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

from llrkit.calibrate.tied_scores import TiedScores
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.report.provenance import Provenance
from llrkit.report.section_types import Section
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.intervals.curve_bands import CurveBands

Results: TypeAlias = Evaluation | Comparison | Mapping[str, Evaluation]
"""What a report is about."""


class Parts(TypedDict):
    """All keywords of :func:`llrkit.write_report`, for whatever writes the report."""

    title: str
    by: str
    comparison: Comparison | None
    bands: Mapping[str, CurveBands]
    checks: Mapping[str, CalibrationCheck]
    ties: Mapping[str, TiedScores]
    first: Sequence[Section]
    sections: Sequence[Section]
    cautions: Sequence[str]
    llrs: bool
    words: str
    base_10: bool
    made_from: Provenance | None
