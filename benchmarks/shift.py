"""What a shift costs, what unlabeled scores tell of it, and what adaptation gives back.

    python benchmarks/shift.py real ../shared/data
    python benchmarks/shift.py halves ../shared/data --halvings 200
    python benchmarks/shift.py simulated
    python benchmarks/shift.py few ../shared/data
    python benchmarks/shift.py picture ../shared/data

Prints the tables of docs/notes/shift-measured.md. No label of an evaluation part is used but by the
oracle (logistic regression on the evaluation part itself) and for Cllr.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import llrkit as lk
from llrkit.shift.shift_check import ALPHA, NewScores, ShiftSetting, shift_test
from shift_sets import halved_sets, halvings, real, simulated

LEVELS = ((True, 0.05), (True, 0.01), (False, 0.01))


def adapted_cllr(train: Any, test: Any, **options: Any) -> tuple[float, str]:
    """Cllr after adaptation and the rung; that of the map as it was, and the reason, where it is refused."""
    try:
        adapted = lk.fit_adapted(train, test, **options)
    except lk.errors.AdaptationError as error:
        fitted = train if isinstance(train, lk.Map) else lk.fit_logistic(train)
        return lk.cllr(fitted.on(test)), f"refused: {error}"
    return lk.cllr(adapted.on(test)), adapted.details["adaptation"]["rung"]


def real_table(data: Path) -> None:
    """The six sets: before, after, oracle, what the check says, and bounds by groups."""
    print("| set | raw | old map | oracle | adapted | how | p, trials | p, speakers | harm |")
    print("|---|--:|--:|--:|--:|---|--:|--:|--:|")
    bounds = []
    for name, (train, test, speakers) in real(data).items():
        fitted = lk.calibrate(train, bound="none").map
        oracle = lk.cllr(lk.fit_logistic(test).on(test))
        after, how = adapted_cllr(fitted, test)
        check = lk.check_shift(fitted, test)
        known = "-" if speakers is None else f"{lk.check_shift(train, test, speakers=speakers).p_value:.2g}"
        harm = f"{check.harm:.4f} ({check.harm_interval[0]:.4f} to {check.harm_interval[1]:.4f})"
        print(
            f"| {name} | {lk.cllr(test):.4f} | {lk.cllr(fitted.on(test)):.4f} | {oracle:.4f} | {after:.4f} "
            f"| {how} | {check.p_value:.2g} | {known} | {'not told' if check.refusal else harm} |",
            flush=True,
        )
        if name.startswith("cm_"):
            best = lk.fit_best(train)
            by_groups = [lk.calibrate(train, method=one, groups="attack").map for one in ("logistic", "best")]
            bounds.append(
                (name, *(lk.cllr(one.on(test)) for one in (fitted, by_groups[0], best, by_groups[1])))
            )
    print("\n| set | logistic | logistic, groups | best | best, groups |\n|---|--:|--:|--:|--:|")
    for name, *values in bounds:
        print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in values) + " |")


def few_table(data: Path, draws: int) -> None:
    """A few labeled trials of the new domain, half of them targets: random draws of them."""
    print("| set | labeled | old map | the few alone | worst | refused | with `labeled` | worst | oracle |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, (train, test, _) in real(data).items():
        fitted, whole = (
            lk.calibrate(train, bound="none").map,
            test if isinstance(test, lk.Scores) else test.scores(),
        )
        old, oracle = lk.cllr(fitted.on(whole)), lk.cllr(lk.fit_logistic(whole).on(whole))
        for n in (10, 30, 100, 200):
            alone, adapted = [], []
            for seed in range(draws):
                rng = np.random.default_rng([seed, n])
                drawn = [rng.permutation(len(one)) for one in (whole.target, whole.nontarget)]
                parts = list(zip((whole.target, whole.nontarget), drawn, strict=True))
                few = lk.Scores(*(values[order[: n // 2]] for values, order in parts))
                rest = lk.Scores(*(values[order[n // 2 :]] for values, order in parts))
                try:
                    alone.append(lk.cllr(lk.fit_logistic(few).on(rest)))
                except lk.InputError:  # the classes of so few trials do not overlap
                    alone.append(np.nan)
                adapted.append(lk.cllr(lk.fit_adapted(fitted, rest, labeled=few).on(rest)))
            refused = int(np.isnan(alone).sum())
            said = (
                "none fits | -" if refused == draws else f"{np.nanmean(alone):.4f} | {np.nanmax(alone):.4f}"
            )
            print(
                f"| {name} | {n} | {old:.4f} | {said} | {refused} | {np.mean(adapted):.4f} "
                f"| {np.max(adapted):.4f} | {oracle:.4f} |",
                flush=True,
            )


def draw_picture(data: Path, output: Path) -> None:
    """Densities of both classes in training (lines) and evaluation (filled), for the six sets."""
    figure, panels = plt.subplots(2, 3, figsize=(9.0, 4.8))
    for panel, (name, (train, test, _)) in zip(panels.flat, real(data).items(), strict=True):
        before, after = (one if isinstance(one, lk.Scores) else one.scores() for one in (train, test))
        every = np.concatenate([before.target, before.nontarget, after.target, after.nontarget])
        cells = np.linspace(*np.quantile(every, [0.0005, 0.9995]), 60)
        for kind, color in (("nontarget", "C0"), ("target", "C1")):
            shown = kind.replace("non", "non-") + "s"
            old, new = getattr(before, kind), getattr(after, kind)
            panel.hist(new, cells, density=True, color=color, alpha=0.35, label=f"{shown}, after")
            panel.hist(old, cells, density=True, color=color, histtype="step", label=f"{shown}, training")
        panel.set_title(name, fontsize=9)
        panel.set_yticks([])
    panels[1, 1].set_xlabel("score")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), ncol=4, loc="lower center", fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(output, dpi=110)
    print(f"drawn in {output}")


def halves_table(data: Path, n: int) -> None:
    """Halves of one set: how often the check finds a shift where there is none, and what adaptation costs.

    Without a shift beyond chance the map is returned as it was, so that nothing needs to be fitted then.
    """
    columns = ("speaker1", "speaker2")
    print("| set | halves | p < 0.05 | p < 0.01 | trials only, p < 0.01 | old map | adapted | trials only |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, table in halved_sets(data).items():
        found: dict[bool, list[float]] = {True: [], False: []}
        after: dict[bool, list[float]] = {True: [], False: []}
        before = []
        for train, test in halvings(table, n):
            fitted = lk.calibrate(train, bound="none").map
            before.append(lk.cllr(fitted.on(test)))
            for known in (True, False):
                speakers = columns if known else None
                setting = ShiftSetting.of(train, speakers)
                new = NewScores.of(test, setting.densities.cuts, speakers)
                found[known].append(shift_test(setting.densities, new).p_value)
                is_found = found[known][-1] < ALPHA
                cllr = adapted_cllr(train, test, speakers=speakers)[0] if is_found else before[-1]
                after[known].append(cllr)
        rates = [100.0 * np.mean(np.array(found[known]) < level) for known, level in LEVELS]
        costs = [100.0 * (np.mean(after[known]) / np.mean(before) - 1.0) for known in (True, False)]
        print(
            f"| {name} | {n} | {rates[0]:.1f} % | {rates[1]:.1f} % | {rates[2]:.1f} % "
            f"| {np.mean(before):.4f} | {costs[0]:+.2f} % | {costs[1]:+.2f} % |",
            flush=True,
        )


def simulated_table(n_train: int, n_new: int, seed: int) -> int:
    """Twenty shifts: Cllr before, after, oracle."""
    print("| shift | share | found share | old map | adapted | oracle | how |\n|---|--:|--:|--:|--:|--:|---|")
    above = 0
    for number, (name, old, new, share) in enumerate(simulated()):
        rng = np.random.default_rng([seed, number])
        train = lk.Scores(old(rng, n_train // 10, True), old(rng, n_train, False))
        n_target = max(round(share * n_new), 1)
        test = lk.Scores(new(rng, n_target, True), new(rng, n_new - n_target, False))
        fitted = lk.calibrate(train, bound="none").map
        before, oracle = lk.cllr(fitted.on(test)), lk.cllr(lk.fit_logistic(test).on(test))
        after, how = adapted_cllr(fitted, test)
        found = lk.check_shift(fitted, test).share
        too_high = after > max(before + 0.02, 1.05 * before)
        above += too_high
        print(
            f"| {name} | {100 * share:g} % | {100 * found:.3g} % | {before:.4f} | {after:.4f} | {oracle:.4f} "
            f"| {how}{' ABOVE THE LIMIT' if too_high else ''} |",
            flush=True,
        )
    return above


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=["real", "halves", "simulated", "few", "picture"])
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--halvings", type=int, default=200)
    parser.add_argument("--draws", type=int, default=10, help="of a few labeled trials")
    parser.add_argument("--train", type=int, default=20_000, help="non-targets of training, ten per target")
    parser.add_argument("--new", type=int, default=50_000, help="unlabeled scores")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.table == "real":
        real_table(options.data)
    elif options.table == "few":
        few_table(options.data, options.draws)
    elif options.table == "picture":
        draw_picture(options.data, Path("docs/pictures/shift.png"))
    elif options.table == "halves":
        halves_table(options.data, options.halvings)
    else:
        above = simulated_table(options.train, options.new, options.seed)
        print(f"\n{above} of {len(simulated())} above the larger of old + 0.02 and 1.05 x old")


if __name__ == "__main__":
    main()
