"""Draws docs/pictures/house.svg: the rooms of llrkit, one box each, floor by floor.

    python docs/make_house_map.py

Run it when rooms come, go or move; what a box says is the first sentence of the room's docstring.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path
from textwrap import wrap

from house import LEVELS, our_files

PICTURE = Path(__file__).parent / "pictures" / "house.svg"
WIDTH, GAP = 960, 6
LOW, HIGH = 46, 62
"""Floors with one line of words in a box, or two."""


def house_map(files: dict[str, tuple[str, bool]]) -> str:
    """The picture as SVG: what users touch above, what everything rests on below."""
    about = {
        module.split(".")[1]: (ast.get_docstring(ast.parse(text)) or "").partition(". ")[0].partition("\n")[0]
        for module, (text, is_package) in files.items()
        if is_package and module.count(".") == 1
    }
    floors = [[room for room in level if room in about] for level in reversed(LEVELS)]
    floors = [floor for floor in floors if floor]
    heights = [LOW if len(floor) == 1 else HIGH for floor in floors]
    height = 40 + sum(heights) + GAP * len(floors)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        '<text x="12" y="26" font-size="16" font-weight="bold">The house</text>',
        '<text x="110" y="26" fill="#555">A room imports only from rooms on floors below it.</text>',
    ]
    y = 40
    for floor, tall in zip(floors, heights, strict=True):
        wide = (WIDTH - GAP) / len(floor)
        for place, room in enumerate(floor):
            x = GAP + place * wide
            parts.append(
                f'<rect x="{x:g}" y="{y}" width="{wide - GAP:g}" height="{tall}" rx="5" fill="#eef2f6" '
                'stroke="#9fb0c0"/>'
            )
            parts.append(f'<text x="{x + 10:g}" y="{y + 20}" font-weight="bold">{room}</text>')
            lines = wrap(about[room].rstrip(".").replace("`", ""), max(12, int(wide / 6.6)))[:2]
            parts += [
                f'<text x="{x + 10:g}" y="{y + 37 + 15 * i}" fill="#333" font-size="11">{escape(line)}</text>'
                for i, line in enumerate(lines)
            ]
        y += tall + GAP
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Draw it."""
    PICTURE.write_text(house_map(our_files()), encoding="utf-8")


if __name__ == "__main__":
    main()
