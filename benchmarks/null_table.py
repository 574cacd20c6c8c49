"""What perfectly calibrated Gaussian LLRs show: calibration losses, devPAV and ROCCH-EER of small sets."""

from __future__ import annotations

import argparse
import time

import llrkit as lk

ROWS = [
    (eer, *size)
    for eer in (0.02, 0.05, 0.15)
    for size in ((50, 50), (100, 1000), (300, 3000), (1000, 10000))
    if (eer, *size) not in ((0.02, 300, 3000), (0.15, 300, 3000))
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    print(
        "| EER | targets, non-targets | mean Cllr - min | sd | 95 % | cross-validated | sd | devPAV | EER |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for eer, n_target, n_nontarget in ROWS:
        model = lk.theory.GaussianLLR.from_eer(eer)
        found = lk.trust.calibration_null(
            model, n_target, n_nontarget, replicates=options.replicates, rng=options.seed
        ).to_dict()
        loss, crossed = found["cllr_cal"], found["cv_loss"]
        print(
            f"| {100 * eer:g} % | {n_target:,}, {n_nontarget:,} | {loss['mean']:.4f} | {loss['sd']:.4f} | "
            f"{loss['p95']:.4f} | {crossed['mean']:+.4f} | {crossed['sd']:.4f} | "
            f"{found['dev_pav']['mean']:.3f} | {100 * found['eer']['mean']:.2f} % |",
            flush=True,
        )
    print(f"\n{options.replicates:,} sets each, seed {options.seed}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
