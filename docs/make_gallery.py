"""Draws the pictures of gallery.md from simulated trials, and a screenshot of a report.

    python docs/make_gallery.py [--screenshot]

The screenshot needs Playwright and Chromium; without ``--screenshot`` it is left as it is.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import llrkit as lk
from llrkit.evaluation.alpha_scan import PriorScan
from llrkit.evaluation.condition_map import HeatMap
from llrkit.evaluation.mixing_curve import MixingCurve
from llrkit.metrics.theory_costs import theory_costs
from llrkit.metrics.zoo import zoo_curve
from llrkit.plot.weights_and_speakers import FusionWeights

FOLDER = Path(__file__).parent / "pictures" / "gallery"
EERS = np.array([
    [26.0, 21.5, 18.1, 15.8, 13.5], [21.5, 16.6, 13.1, 10.9, 8.8], [18.1, 13.1, 9.7, 7.7, 5.8],
    [15.8, 10.9, 7.7, 5.9, 4.3], [13.5, 8.8, 5.8, 4.3, 2.9],
])  # fmt: skip
DURATIONS = ("5 s", "10 s", "20 s", "40 s", "full")


def scores(eer: float, rng: np.random.Generator, scale: float = 1.0, offset: float = 0.0) -> lk.Scores:
    """Gaussian LLRs, calibrated if neither scaled nor shifted."""
    target, nontarget = lk.theory.GaussianLLR.from_eer(eer).rvs(1500, 40_000, rng)
    return lk.Scores(scale * target + offset, scale * nontarget + offset)


def systems(rng: np.random.Generator) -> dict[str, lk.Evaluation]:
    """Three systems, one of them calibrated."""
    made = {
        "calibrated": scores(0.03, rng),
        "twice too large": scores(0.06, rng, 2.0, 1.0),
        "too small, shifted": scores(0.12, rng, 0.4, -1.0),
    }
    return {name: lk.evaluate(part, ece=True) for name, part in made.items()}


def searches() -> lk.biometrics.Cmc:
    """300 mated searches of a gallery of 40."""
    rng = np.random.default_rng(5)
    probe, candidate = (index.ravel() for index in np.indices((300, 40)))
    mate = candidate == probe % 40
    table = {"score": 2.2 * mate + rng.normal(size=len(mate)), "label": mate, "probe": probe}
    return lk.biometrics.identification(lk.Trials(table), "probe").cmc


def people() -> lk.biometrics.DifferentialPerformance:
    """Four groups, one of them with more false matches."""
    rng = np.random.default_rng(6)
    group, mated = rng.choice(["A", "B", "C", "D"], 60_000), rng.random(60_000) < 0.1
    score = np.where(mated, 4.0, 0.0) + np.where((group == "C") & ~mated, 0.5, 0.0) + rng.normal(size=60_000)
    trials = lk.Trials({"score": score, "label": mated, "group": group})
    return lk.biometrics.differential(trials, "group", fmr=0.005)


def zoo(rng: np.random.Generator) -> object:
    """Speakers who differ in how well they are recognized and how easily confused."""
    target, nontarget = np.repeat(np.arange(120), 10), np.repeat(np.arange(120), 40)
    habits = rng.normal(0, 1, (120, 2))
    return zoo_curve(
        lk.Scores(
            5 + 1.2 * habits[target, 0] + rng.normal(0, 2, 1200),
            -5 + 0.7 * habits[nontarget, 1] + rng.normal(0, 2, 4800),
            {"speaker": (target, nontarget)},
        ),
        "speaker",
    )


def idempotence(rng: np.random.Generator) -> object:
    """LLRs that are twice too large: the slope of the LLR of the LLR is one half."""
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(300, 3000, rng)
    found = lk.check_calibration(lk.Scores(2 * target, 2 * nontarget))
    return [curve for curve in found.curves if curve.method in ("logistic", "kde")]


def of_classes(rng: np.random.Generator) -> dict[str, object]:
    """Scores of four languages, twice as large as they should be, two of them alike."""
    near = np.array([[3.2, 0, 0, 0], [0, 3.2, 1.6, 0], [0, 1.6, 3.2, 0], [0, 0, 0, 3.2]])
    labels = np.repeat(np.arange(4), 250)
    trials = lk.ClassScores(
        3.2 * (near[labels] + rng.normal(0, 1.4, (1000, 4))), labels, ("Dutch", "Danish", "Swedish", "Thai")
    )
    found = lk.multiclass.evaluate(trials)
    return {
        "class_det": lk.plot.class_det(found),
        "confusion": lk.plot.confusion(found),
        "class_calibration": lk.plot.class_calibration(found),
        "pair_histogram": lk.plot.pair_histogram(lk.multiclass.pair_histograms(trials)[0]),
        "class_idempotence": lk.plot.class_idempotence(lk.multiclass.idempotence(trials)),
    }


def prior_scan(rng: np.random.Generator) -> PriorScan:
    """Wider target scores: the weight of the classes decides."""
    log_odds = np.arange(-10.0, 5.0)
    train, test = (lk.Scores(rng.normal(5, 1.6, 20_000), rng.normal(0, 1, 400_000)) for _ in range(2))
    costs: dict[str, list[float]] = {"CMLG": [], "logistic regression": []}
    for odds in log_odds:
        alpha = float(1 / (1 + np.exp(-odds)))
        for name, fitted in (
            ("CMLG", lk.fit_cmlg(train, alpha=alpha)),
            ("logistic regression", lk.fit_logistic(train, prior=alpha)),
        ):
            costs[name].append(lk.c_primary(fitted.on(test), "sre12", actual=True))
    return PriorScan(log_odds, costs, lk.c_primary(test, "sre12", actual=False))


def reliability() -> object:
    """Posteriors of LLRs that are twice too large; its own generator leaves the other pictures alone."""
    pair = lk.theory.GaussianLLR.from_eer(0.08).rvs(1_200, 4_800, np.random.default_rng(1))
    return lk.reliability_curve(lk.Scores(*(2.0 * llrs for llrs in pair)))


def mixing(rng: np.random.Generator) -> MixingCurve:
    """Easy and difficult trials, told apart by nothing but the shape of the scores."""
    pair = lk.theory.MixtureLLR([0.3, 0.7], [1.0, 9.0])
    return lk.mixing_curve(lk.fit_mixture(lk.Scores(*pair.rvs(20_000, 40_000, rng)), components="grid"))


def measured(rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """EER and minimum DCF of Gaussian lists, and of lists in which half the trials are harder."""
    lists = {}
    for eer in (0.01, 0.02, 0.05, 0.1):
        gaussian = scores(eer, rng)
        pair = lk.theory.MixtureLLR((0.5, 0.5), (mu := lk.theory.GaussianLLR.from_eer(eer).mu, 0.25 * mu))
        mixed = lk.Scores(*pair.rvs(1500, 40_000, rng))
        lists |= {
            f"{kind} {eer:g}": (lk.eer(made), lk.min_dcf(made, "sre10"))
            for kind, made in (("Gaussian", gaussian), ("mixed", mixed))
        }
    return lists


def draw_all(rng: np.random.Generator) -> None:
    """One PNG for each kind of plot."""
    found = systems(rng)
    large = found["twice too large"]
    few = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.05).rvs(200, 4000, rng))
    few_result = lk.evaluate(few)
    drawn = {
        "det": lk.plot.det(found),
        "det_band": lk.plot.det(
            {"calibrated": few_result}, points=False, bands={"calibrated": lk.curve_bands(few, few_result)}
        ),
        "roc": lk.plot.roc(found),
        "bayes_error": lk.plot.bayes_error(found),
        "ape": lk.plot.ape(found),
        "ece": lk.plot.cross_entropy(found),
        "tippett": lk.plot.tippett(large),
        "tippett_crossing": lk.plot.tippett(large, style="crossing", log10=True),
        "pav": lk.plot.pav(found),
        "histogram": lk.plot.histogram(large),
        "reliability": lk.plot.reliability(reliability()),
        "idempotence": lk.plot.idempotence(idempotence(rng)),
        "two_gaussians": lk.plot.two_gaussians(lk.theory.GaussianLLR.from_eer(0.05)),
        "cllr_scatter": lk.plot.cllr_scatter(_scatter(rng)),
        "prior_scan": lk.plot.prior_scan(prior_scan(rng)),
        "mixing": lk.plot.mixing(mixing(rng)),
        "heat_map": lk.plot.heat_map(
            HeatMap(EERS / 100, DURATIONS, DURATIONS, value_name="EER", percent=True)
        ),
        "theory": lk.plot.theory(theory_costs("sre10", measured(rng))),
        "fusion_weights": lk.plot.fusion_weights(
            FusionWeights(("i-vector", "x-vector", "ResNet"), [0.21, -0.08, 0.93], -0.33, [0.1, -0.2, 0.8],
                          [0.32, 0.04, 1.06])
        ),
        "zoo": lk.plot.zoo(zoo(rng)),
        "cmc": lk.plot.cmc(searches()),
        "groups": lk.plot.groups(people()),
        **of_classes(rng),
    }  # fmt: skip
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, axes in drawn.items():
        axes.figure.savefig(FOLDER / f"{name}.png", dpi=110)
        plt.close(axes.figure)


def _scatter(rng: np.random.Generator) -> object:
    from llrkit.plot.paper_figures import CllrScatter

    x, y, labels = [], [], []
    for i, row in enumerate(EERS):
        for j, eer in enumerate(row):
            train, test = scores(eer / 100, rng, 3.0, 5.0), scores(eer / 100, rng, 3.0, 5.0)
            x.append(lk.cllr(lk.fit_cmlg(train).on(test)))
            y.append(lk.cllr(lk.fit_logistic(train).on(test)))
            labels.append(f"{DURATIONS[i]} / {DURATIONS[j]}")
    return CllrScatter("CMLG", "logistic regression", np.array(x), np.array(y), tuple(labels))


def screenshot(rng: np.random.Generator) -> None:
    """The top of a report, as Chromium shows it."""
    from playwright.sync_api import sync_playwright

    page_file = Path(tempfile.mkdtemp()) / "report.html"
    lk.write_report(systems(rng), page_file, title="Three systems")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 3000})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        bottom = page.evaluate(
            "document.getElementById('figure2').closest('figure').getBoundingClientRect().top"
        )
        page.screenshot(
            path=FOLDER.parent / "report.png", clip={"x": 0, "y": 0, "width": 1280, "height": bottom}
        )
        browser.close()


def main() -> None:
    """Draw everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--screenshot", action="store_true")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.ShapeWarning)  # some scores are here to show what goes wrong
        draw_all(np.random.default_rng(2013))
    if options.screenshot:
        screenshot(np.random.default_rng(2013))


if __name__ == "__main__":
    main()
