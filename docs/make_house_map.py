"""Draws docs/pictures/house.svg, the rooms of llrkit and the imports between them, from the sources.

    python docs/make_house_map.py

Run it when modules or rooms change; a test compares the picture with the sources.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

from house import LEVELS, imports_between_rooms, modules_in_rooms, our_files, sub_rooms

PICTURE = Path(__file__).parent / "pictures" / "house.svg"
CELL, ROW = 34, 24
NAMES, TOP = 190, 150  # room for the names on the left and above
FLOORS = ("#f4f6f8", "#e6ebf0")  # bands of rooms that share a floor


def text(x: float, y: float, words: str, **style: str) -> str:
    """One line of text."""
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, **style: str) -> str:
    """One rectangle."""
    attributes = "".join(f' {name}="{value}"' for name, value in style.items())
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{attributes}/>'


def house_map(files: dict[str, tuple[str, bool]]) -> str:
    """The picture as SVG: one row a room, one column for each room it may import from."""
    modules, inside, imports = modules_in_rooms(files), sub_rooms(files), imports_between_rooms(files)
    rooms = [room for level in LEVELS for room in level]
    column = {room: NAMES + CELL * place for place, room in enumerate(rooms)}
    row = {room: TOP + ROW * place for place, room in enumerate(reversed(rooms))}
    matrix = CELL * len(rooms)
    width, height = NAMES + matrix + 330, TOP + ROW * len(rooms) + 20
    largest = max(imports.values(), default=1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">',
        box(0, 0, width, height, "white"),
        text(16, 28, "The house: which room imports from which", font_size="17", font_weight="bold"),
        text(16, 48, "A row imports from the columns; the number counts import statements.", fill="#555"),
        text(16, 64, "Rooms in one band share a floor. Everything lies left of the diagonal.", fill="#555"),
        text(NAMES - 12, TOP - 10, "modules", text_anchor="end", fill="#555"),
        text(NAMES + matrix + 14, TOP - 10, "sub-rooms", fill="#555"),
    ]
    for level, floor in enumerate(LEVELS):
        top = min(row[room] for room in floor)
        parts.append(box(8, top, width - 16, ROW * len(floor), FLOORS[level % 2]))
    for room in rooms:
        x, y = column[room], row[room]
        middle = y + ROW / 2 + 4
        parts.append(text(16, middle, room, font_weight="bold"))
        parts.append(text(NAMES - 12, middle, str(modules[room]), text_anchor="end"))
        parts.append(text(NAMES + matrix + 14, middle, ", ".join(inside.get(room, [])), fill="#555"))
        turn = f"rotate(-55 {x + CELL / 2:g} {TOP - 8})"
        parts.append(text(x + CELL / 2, TOP - 8, room, transform=turn))
        parts.append(box(x + 1, y + 1, CELL - 2, ROW - 2, "#9aa5b1"))
    for (room, other), count in sorted(imports.items()):
        x, y = column[other], row[room]
        strength = 0.15 + 0.75 * math.log1p(count) / math.log1p(largest)
        parts.append(box(x + 1, y + 1, CELL - 2, ROW - 2, "#1f6fb4", opacity=f"{strength:.2f}"))
        ink = "white" if strength > 0.62 else "#111"
        parts.append(text(x + CELL / 2, y + ROW / 2 + 4, str(count), text_anchor="middle", fill=ink))
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(house_map(our_files()), encoding="utf-8")
    print(f"The map of the house is in {PICTURE}")
