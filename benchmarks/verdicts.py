"""How often the verdict on calibration is right: calibrated LLRs, and what is made of them."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

import numpy as np

import llrkit as lk
from llrkit.core.density_grid import DensityGrid
from llrkit.trust.calibration.null_distribution import CalibratedCells, judged_range
from llrkit.trust.calibration.recalibration import identity_test, recalibrate
from llrkit.trust.calibration.verdict import LEVEL, Verdict, verdict

CASES = {
    "x": (lambda x: x, ()),
    "2 x": (lambda x: 2.0 * x, ("over-confident",)),
    "x / 2": (lambda x: 0.5 * x, ("under-confident",)),
    "x + 1": (lambda x: x + 1.0, ("same-source",)),
}


def decided(scores: lk.Scores, seed: int, replicates: int) -> Verdict:
    """What lk.check_calibration decides; the null distribution is drawn only where it matters."""
    result = lk.evaluate(scores)
    span = judged_range(result.moments.extremes, result.summaries.blocks)
    grid = scores.reduce(DensityGrid.at(*span))
    cells = CalibratedCells.relabeled(grid)
    line = recalibrate(scores, identity_test(scores, cells))
    if line.p_value < LEVEL:
        return verdict(line)
    sizes = scores.n_target, scores.n_nontarget
    null = lk.calibration_null(cells, *sizes, replicates=replicates, seed=seed, cross_validate=False)
    return verdict(line, null.p_value("cllr_cal", result.cllr_cal))


def rates(runs: int, seed: int, *, replicates: int = 100, eer: float = 0.05) -> dict[str, Counter[str]]:
    """Verdicts by case, for 300 target and 3,000 non-target trials a run."""
    model = lk.theory.GaussianLLR.from_eer(eer)
    rng = np.random.default_rng(seed)
    found: dict[str, Counter[str]] = {name: Counter() for name in CASES}
    for run in range(runs):
        target, nontarget = model.rvs(300, 3000, rng)
        for name, (change, _) in CASES.items():
            scores = lk.Scores(change(target), change(nontarget))
            found[name]["+".join(decided(scores, run, replicates).parts)] += 1
    return found


def shared_rates(runs: int, seed: int, *, replicates: int = 100) -> dict[str, Counter[str]]:
    """Verdicts on exact PLDA LLRs of speakers compared all with all, by design and what is known."""
    from coverage import DESIGNS, SIDES, trials  # the script beside this one

    found: dict[str, Counter[str]] = {}
    for design, sizes in DESIGNS.items():
        rng = np.random.default_rng(seed)
        kinds = {f"{design}, speakers {word}": who for word, who in (("given", SIDES), ("not given", None))}
        found |= {name: Counter() for name in kinds}
        for run in range(runs):
            scores = trials(*sizes, rng)
            for name, who in kinds.items():
                check = lk.check_calibration(
                    scores, speakers=who, replicates=replicates, seed=run, curves=False
                )
                found[name]["+".join(check.verdict.parts)] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", action="store_true", help="calibrated LLRs of shared speakers")
    options = parser.parse_args()
    start = time.perf_counter()
    found = (shared_rates if options.shared else rates)(options.runs, options.seed)
    print(f"{options.runs} runs, seed {options.seed}, {time.perf_counter() - start:.0f} s\n")
    print("| LLRs | right verdict | all verdicts |\n|---|--:|---|")
    for name, counts in found.items():
        right = CASES[name][1] if name in CASES else ()
        shown = ", ".join(f"{kind or 'none'} {n}" for kind, n in counts.most_common())
        share = counts["+".join(right)] / options.runs
        error = math.sqrt(share * (1.0 - share) / options.runs)
        print(f"| {name} | {100 * share:.1f} +- {100 * error:.1f} % | {shown} |")


if __name__ == "__main__":
    main()
