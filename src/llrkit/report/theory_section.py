"""A section that puts measured lists on the curves of theory: costs against the equal error rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.over_groups import group_name
from llrkit.metrics.theory_costs import TheoryCosts, theory_costs_of
from llrkit.plot.theory_plot import theory
from llrkit.report.section_types import Section


def theory_section(systems: Mapping[str, Evaluation]) -> Section:
    """Every system, or every group of it where there are groups, as a point on the curves of theory."""
    lists: dict[str, Evaluation] = {}
    for name, result in systems.items():
        several = len(systems) > 1
        groups = {
            f"{name} {group_name(key)}" if several else group_name(key): group
            for key, group in result.groups.items()
        }
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
    return Section("Theory", words, pictures=[theory(curve, renderer="none") for curve in curves])
