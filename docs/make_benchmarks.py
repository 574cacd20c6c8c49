"""Make the tables of the pages on speed from what the benchmarks wrote.

``python docs/make_benchmarks.py out`` takes the JSON files of ``make bench`` and of
``benchmarks/out_of_core.py`` from a folder, keeps them in ``benchmarks/figures`` and writes their tables into
the pages. Without a folder it makes the pages again from the figures that are kept. No figure of these pages
is typed by hand.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIGURES = HERE.parent / "benchmarks" / "figures"
PAGES = tuple(HERE / "notes" / name for name in ("benchmarks.md", "benchmarks-models.md"))
FILES = ("shapes", "bench", "large_files")
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)

Figures = dict[str, Any]


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table: words on the left, numbers on the right."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def milliseconds(row: Figures | None, clock: str) -> str:
    """A time in milliseconds with three digits; a dash where nothing was measured."""
    if row is None:
        return "-"
    value = 1e3 * row[clock]
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(ours: float, theirs: float) -> str:
    """How many times as long, with two digits."""
    times = ours / theirs
    return f"{times:,.0f}" if times >= 10 else f"{times:.2g}"


def shapes(clock: str) -> Callable[[Figures], str]:
    """Metrics of sets of all shapes; programs that were not installed have no column."""
    columns = {
        "np.sort": "np.sort", "everything, llrkit": "evaluate", "three, llrkit": "three metrics",
        "three, llreval": "llreval", "two, lir": "lir (Cllr, min Cllr)", "AUC, llrkit": "AUC",
        "AUC, scikit-learn": "scikit-learn", "AUC, torchmetrics": "torchmetrics",
    }  # fmt: skip

    def made(figures: Figures) -> str:
        measured = figures["shapes"]["shapes"]
        shown = {
            name: title for name, title in columns.items() if any(name in row["rows"] for row in measured)
        }
        rows = [
            [f"{row['n']:,}, {row['n_target']:,}"]
            + [milliseconds(row["rows"].get(name), clock) for name in shown]
            for row in measured
        ]
        return table(["trials, targets", *shown.values()], rows)

    return made


def large_shapes(figures: Figures) -> str:
    """Ratios and memory of large sets."""
    rows = []
    for row in figures["shapes"]["shapes"]:
        if row["n"] < 1_000_000:
            continue
        timed = row["rows"]
        sort, ours = timed["np.sort"], timed["everything, llrkit"]
        three, theirs = timed["three, llrkit"], timed["three, llreval"]
        rows.append([
            f"{row['n']:,}, {row['n_target']:,}",
            ratio(timed["two np.sort, two threads"]["wall"], sort["wall"]),
            ratio(ours["wall"], sort["wall"]), ratio(ours["cpu"], sort["cpu"]),
            ratio(theirs["wall"], three["wall"]), ratio(theirs["cpu"], three["cpu"]),
            f"{row['peak_extra_mib']:.0f} MiB",
        ])  # fmt: skip
    header = [
        "trials, targets", "two sorts / sort", "evaluate / sort", "CPU", "llreval / three metrics", "CPU",
        "extra memory",
    ]  # fmt: skip
    return table(header, rows)


def start_up(figures: Figures) -> str:
    """Commands on 2,000 trials beside the import of two libraries."""
    timed = figures["shapes"]["start"]
    bare = timed["import numpy, polars"]
    return table(
        ["command", "CPU seconds", "times the import"],
        [[f"`{name}`", f"{row['cpu']:.2f}", ratio(row["cpu"], bare["cpu"])] for name, row in timed.items()],
    )


def files(figures: Figures) -> str:
    """Reading beside polars."""
    rows = []
    for limit in figures["bench"]["sets"]["files"]["limits"]:
        ours, theirs = limit["ours"], limit["theirs"]
        rows.append([
            limit["what"], f"{ours['wall']:.2f} ({ours['cpu']:.2f})",
            f"{theirs['wall']:.2f} ({theirs['cpu']:.2f})", f"{limit['limit']:.2f}",
        ])  # fmt: skip
    return table(["10,000,000 trials", "seconds (CPU)", "polars or memory", "at most"], rows)


def large_files(figures: Figures) -> str:
    """Parquet files that are not held in memory."""
    rows = [
        [
            f"{row['n_target'] + row['n_nontarget']:,}, {row['n_target']:,}",
            f"{row['seconds']:.1f}", f"{row['cpu']:.1f}", f"{row['peak_mb']:.0f} MB",
        ]
        for row in figures["large_files"]["sets"]
    ]  # fmt: skip
    return table(["trials, targets", "seconds", "CPU", "peak memory"], rows)


def fits(figures: Figures) -> str:
    """Calibration beside the peers."""
    rows = []
    for name in ("fits, the paper's size", "fits, 10 million"):
        measured = figures["bench"]["sets"][name]
        for label, row in measured["rows"].items():
            rows.append([
                f"{label}, {measured['n']:,} trials", f"{row['wall']:.3f} s", ratio(row["wall_ratio"], 1.0),
            ])  # fmt: skip
    return table(["what", "wall", "/ np.sort"], rows)


def times_of(where: list[str], base: str) -> Callable[[Figures], str]:
    """Wall and CPU seconds of rows, and how many times those of one of them."""

    def made(figures: Figures) -> str:
        rows = figures["bench"]["sets"]
        for name in where:
            rows = rows[name]
        lines = [
            [
                name,
                f"{row['wall']:.3g} s",
                f"{row['cpu']:.3g} s",
                ratio(row["wall"], rows[base]["wall"]),
                ratio(row["cpu"], rows[base]["cpu"]),
            ]
            for name, row in rows.items()
        ]
        return table(["what", "wall", "CPU", f"/ {base}", "CPU"], lines)

    return made


TABLES: dict[str, Callable[[Figures], str]] = {
    "shapes-wall": shapes("wall"),
    "shapes-cpu": shapes("cpu"),
    "large-shapes": large_shapes,
    "start-up": start_up,
    "files": files,
    "large-files": large_files,
    "fits": fits,
    "intervals": times_of(["intervals", "rows"], "np.sort of the scores"),
    "classes": times_of(["several classes", "rows"], "scipy logsumexp"),
    "embeddings-64": times_of(["embeddings", "float64"], "matrix product"),
    "embeddings-32": times_of(["embeddings", "float32"], "matrix product"),
    "embeddings-more": times_of(["embeddings", "more"], "matrix product"),
    "frames": times_of(["frames to i-vectors", "rows"], "statistics"),
}


def kept_figures() -> Figures:
    """The figures of all benchmarks."""
    return {name: json.loads((FIGURES / f"{name}.json").read_text()) for name in FILES}


def with_figures(page: str, figures: Figures) -> str:
    """The page with its tables made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]](figures)}{found[3]}", page)


def main() -> None:
    """Keep figures that were measured, if a folder is named, and write the pages."""
    for folder in sys.argv[1:]:
        FIGURES.mkdir(exist_ok=True)
        for path in Path(folder).glob("*.json"):
            if path.stem in FILES:
                shutil.copyfile(path, FIGURES / path.name)
    figures = kept_figures()
    for page in PAGES:
        page.write_text(with_figures(page.read_text(), figures))
        print(f"The tables of {page} are made from {FIGURES}")


if __name__ == "__main__":
    main()
