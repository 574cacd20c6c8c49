"""The tables of intervals and tests on the pages, from the rows that the benchmarks have added to a file.

    python benchmarks/coverage.py --speakers 30 --seed 71 --rows benchmarks/trust_rows.jsonl
    python benchmarks/sizes.py --only compare --seed 71 --rows benchmarks/trust_rows.jsonl
    python benchmarks/curve_coverage.py --speakers 30 --seed 61 --rows benchmarks/trust_rows.jsonl
    python benchmarks/trust_tables.py           # writes the tables between the marks on the pages

A row that was measured again with the same design takes the place of the older one. A design may be measured
in pieces with different seeds, whose rows are added up first:

    python benchmarks/coverage.py --speakers 100 --runs 100 --seed 2041 --rows pieces.jsonl   # 2042, ...
    python benchmarks/trust_tables.py --add pieces.jsonl

A table stands between the lines ``<!-- rows: NAME -->`` and ``<!-- end of rows -->``.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS = HERE / "trust_rows.jsonl"
_NAMES = ("coverage.md", "calibration-check-measured.md")
PAGES = tuple(HERE.parent / "docs" / "notes" / name for name in _NAMES)
DESIGN = ("effects", "speakers", "sessions", "genders", "seed", "runs")
_MARKED = re.compile(r"(<!-- rows: ([a-z ]+) -->\n).*?(<!-- end of rows -->)", re.DOTALL)


def read_rows(path: Path = ROWS) -> list[dict[str, Any]]:
    """The newest row of each design and table, in the order of the designs."""
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        newest[tuple(row[name] for name in ("table", *DESIGN[:4]))] = row
    return sorted(newest.values(), key=lambda row: [row[name] for name in ("effects", "speakers", "genders")])


def added_up(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the same design and table as one, with the first and the last of their seeds."""
    pieces: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        pieces.setdefault(tuple(row[name] for name in ("table", *DESIGN[:4])), []).append(row)
    whole = []
    for some in pieces.values():
        seeds = sorted({row["seed"] for row in some})
        if len(seeds) < len(some):
            raise ValueError(f"a seed occurs twice among {[row['seed'] for row in some]}")
        runs = sum(row["runs"] for row in some)
        cells = {name: _sum_of_cells([row["cells"][name] for row in some]) for name in some[0]["cells"]}
        seed = seeds[0] if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        whole.append(some[0] | {"seed": seed, "runs": runs, "cells": cells})
    return whole


def _sum_of_cells(cells: list[Any]) -> Any:
    if not isinstance(cells[0], dict):
        return [sum(values) for values in zip(*cells, strict=True)]
    total = {name: sum(cell[name] for cell in cells) for name in cells[0] if name != "width"}
    counts = [cell["covered"] + cell["too_low"] + cell["too_high"] for cell in cells]
    widths = sum(n * cell["width"] for n, cell in zip(counts, cells, strict=True))
    return total | {"width": widths / max(sum(counts), 1)}


def percent(part: float, whole: float) -> str:
    """Percentage with one digit; "-" of nothing."""
    return f"{100 * part / whole:.1f}" if whole else "-"


def covered(tally: dict[str, float], runs: int) -> str:
    """Intervals that cover; in parentheses the runs with an interval in percent, then bounds that hold."""
    n = int(tally["covered"] + tally["too_low"] + tally["too_high"])
    bounds = tally["bound_held"] + tally["bound_failed"]
    if n == runs:
        return percent(tally["covered"], n)
    held = f"; {100 * tally['bound_held'] / bounds:.0f}" if bounds else ""
    return f"{percent(tally['covered'], n)} ({100 * n / runs:.0f}{held})"


def counted(pair: list[int], runs: int) -> str:
    """The first of two counts in percent of the second; in brackets the second, if not all runs."""
    return percent(pair[0], pair[1]) + ("" if pair[1] == runs else f" [{pair[1]}]")


def table(name: str, rows: list[dict[str, Any]]) -> str:
    """One table as text."""
    mine = [row for row in rows if row["table"] == name]
    if not mine:
        return "(not measured)\n"
    columns = list(mine[0]["cells"])
    design = ("speakers", "seed", "runs") if name == "independent" else DESIGN
    titles = ["targets" if one == "speakers" and name == "independent" else one for one in design]
    lines = [
        f"| {' | '.join([*titles, *columns])} |",
        f"|{'|'.join(['--:'] * (len(design) + len(columns)))}|",
    ]
    for row in mine:
        cells = [
            covered(cell, row["runs"]) if isinstance(cell, dict) else counted(cell, row["runs"])
            for cell in (row["cells"].get(column, [0, 0]) for column in columns)
        ]
        lines.append(f"| {' | '.join([*(str(row[one]) for one in design), *cells])} |")
    return "\n".join(lines) + "\n"


def filled(page: str, rows: list[dict[str, Any]]) -> str:
    """A page with its tables made anew."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{table(found[2], rows)}\n{found[3]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--add", type=Path, help="a file of rows, to be added up and added to those there are"
    )
    options = parser.parse_args()
    if options.add is not None:
        pieces = [json.loads(line) for line in options.add.read_text().splitlines()]
        with ROWS.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in added_up(pieces))
    rows = read_rows()
    for path in PAGES:
        path.write_text(filled(path.read_text(), rows))


if __name__ == "__main__":
    main()
