"""The tables of intervals and tests on the pages, from the rows that the benchmarks have added to a file.

    python benchmarks/coverage.py --speakers 30 --seed 71 --rows benchmarks/trust_rows.jsonl
    python benchmarks/sizes.py --only compare --seed 71 --rows benchmarks/trust_rows.jsonl
    python benchmarks/curve_coverage.py --speakers 30 --seed 61 --rows benchmarks/trust_rows.jsonl
    python benchmarks/trust_tables.py           # writes the tables between the marks on the pages

A row that was measured again with the same design takes the place of the older one. A table stands between
the lines ``<!-- rows: NAME -->`` and ``<!-- end of rows -->``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS = HERE / "trust_rows.jsonl"
_NAMES = ("coverage.md", "calibration-check-measured.md")
PAGES = tuple(HERE.parent / "docs" / "explanation" / name for name in _NAMES)
DESIGN = ("effects", "speakers", "sessions", "genders", "seed", "runs")
_MARKED = re.compile(r"(<!-- rows: ([a-z ]+) -->\n).*?(<!-- end of rows -->)", re.DOTALL)


def read_rows(path: Path = ROWS) -> list[dict[str, Any]]:
    """The newest row of each design and table, in the order of the designs."""
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        newest[tuple(row[name] for name in ("table", *DESIGN[:4]))] = row
    return sorted(newest.values(), key=lambda row: [row[name] for name in ("effects", "speakers", "genders")])


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
    rows = read_rows()
    for path in PAGES:
        path.write_text(filled(path.read_text(), rows))


if __name__ == "__main__":
    main()
