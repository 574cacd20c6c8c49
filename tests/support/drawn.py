"""What was drawn: lines by label, and an example of every plot."""

import numpy as np

import llrkit as lk
from llrkit.fits.mixtures import MixingCurve
from llrkit.metrics.theory_costs import theory_costs, zoo_curve
from llrkit.plot.cost_plots import CllrScatter
from llrkit.plot.llr_plots import FusionWeights
from llrkit.trust.null import LlrCurve
from llrkit.verbs.compare import PriorScan, ScoreToLlr
from llrkit.verbs.conditions import HeatMap


def lines(axes):
    """The labeled lines of matplotlib Axes."""
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def some_scores(seed=3, n_target=60, n_nontarget=300, scale=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    return lk.Scores(
        scale * rng.normal(2, 2, n_target) + offset, scale * rng.normal(-2, 2, n_nontarget) + offset
    )


def some_evaluation(**options):
    return lk.evaluate(some_scores(**options), points=["sre08", 0.5], ece=True)


def examples():
    """An example of what each plot draws, one for every kind of curve: (name of the plot, data)."""
    one, other = some_evaluation(), some_evaluation(seed=4, scale=2.0)
    for name in ("det", "roc", "ape", "bayes_error", "cross_entropy", "tippett", "pav"):
        yield name, one
        yield name, {"A": one, "B": other}
    yield "det", one.rocch
    yield "pav", {"PAV": one, "affine": ScoreToLlr([-3.0, 3.0], [-2.0, 1.0])}
    yield "histogram", one
    x = np.linspace(-4, 4, 9)
    logistic = LlrCurve("logistic", x, 0.4 * x + 0.1, 0.8 * x - 0.3, 0.8 * x + 0.3)
    yield "idempotence", [logistic, LlrCurve("kde", x, 0.5 * x, x - 1.0, x + 1.0)]
    yield "reliability", lk.metrics.reliability_curve(some_scores())
    yield "two_gaussians", lk.theory.GaussianLLR.from_eer(0.05)
    yield "cllr_scatter", CllrScatter("CMLG", "logistic", [0.1, 0.8], [0.11, 0.79], ("5-5", "full-full"))
    yield "prior_scan", PriorScan([-2.0, 0.0, 2.0], {"CMLG": [0.26, 0.39, 0.55]}, 0.24)
    yield "mixing", MixingCurve([0.0, 1.0, 9.0], [0.1, 0.3, 0.6])
    yield "heat_map", HeatMap([[0.2, 0.1], [0.1, 0.03]], ("5 s", "10 s"), ("5 s", "10 s"), value_name="EER")
    yield "theory", theory_costs("sre10", {"A": (0.05, 0.8), "B": (0.2, 0.99)})
    yield "fusion_weights", FusionWeights(("A", "B"), [0.9, -0.2], 0.1, [0.8, -0.3], [1.0, -0.1])
    yield "zoo", some_zoo()
    yield "cmc", lk.biometrics.Cmc(np.array([1, 2, 3]), np.array([0.8, 0.9, 1.0]))
    yield "groups", some_groups()
    several = some_classes()
    for name in ("class_det", "confusion", "class_calibration"):
        yield name, lk.multiclass.evaluate(several)
    yield "pair_histogram", lk.multiclass.pair_histograms(several, most=1)[0]
    yield "class_idempotence", lk.multiclass.idempotence(several)


def some_classes():
    rng = np.random.default_rng(2)
    labels = np.arange(240) % 4
    loglik = 1.5 * (rng.normal(size=(240, 4)) + 1.5 * np.eye(4)[labels])
    return lk.scores.ClassScores(loglik, labels, ["en", "de", "nl", "fr"])


def some_groups():
    """Two groups of people, one of them with more false matches."""
    rng = np.random.default_rng(1)
    sex, mated = np.array(["f", "m"])[np.arange(2000) % 2], np.arange(2000) % 5 == 0
    score = np.where(mated, 3.0, 0.0) + np.where((sex == "f") & ~mated, 0.5, 0.0) + rng.normal(size=2000)
    trials = lk.Trials({"score": score, "label": mated, "sex": sex})
    return lk.biometrics.differential(trials, "sex", fmr=0.05)


def some_zoo():
    rng = np.random.default_rng(8)
    target, nontarget = np.repeat(np.arange(20), 3), np.repeat(np.arange(20), 9)
    means = rng.normal(0, 1, (20, 2))
    return zoo_curve(
        lk.Scores(
            3 + means[target, 0] + rng.normal(0, 1, 60),
            -3 + means[nontarget, 1] + rng.normal(0, 1, 180),
            {"who": (target, nontarget)},
        ),
        "who",
    )
