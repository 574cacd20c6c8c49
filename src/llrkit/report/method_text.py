"""A text on how the numbers were found that can be pasted into a paper or a forensic report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llrkit._llr_units import NATS, LlrUnit
from llrkit._version import __version__
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.report.templating import TEXT

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
