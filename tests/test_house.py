"""The table of rooms, the picture and the sentence in CONTRIBUTING.md agree with the sources."""

from pathlib import Path

import pytest

from house import LEVELS, imports_between_rooms, modules_in_rooms, order_in_words, our_files, sub_rooms
from make_house_map import PICTURE, house_map

ROOT = Path(__file__).parents[1]


def test_the_picture_is_current():
    assert PICTURE.read_text(encoding="utf-8") == house_map(our_files()), "run `make house-map`"


def test_contributing_states_the_order():
    words = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert f"`{order_in_words()}`" in words


def test_every_room_has_one_place_in_the_order():
    rooms = [room for level in LEVELS for room in level]
    assert sorted(rooms) == sorted(modules_in_rooms(our_files()))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from llrkit.core.threshold_grid import Grid, other", 1),
        ("from llrkit.core.threshold_grid import Grid\nimport llrkit.core.elementary_functions", 2),
        ("from llrkit.metrics.curves import x", 0),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import llrkit.core", 0),
        ("import numpy.core", 0),
    ],
)
def test_import_statements_between_rooms_are_counted(text, count):
    files = {"llrkit": ("import llrkit.core", True), "llrkit.metrics.llrs": (text, False)}
    assert imports_between_rooms(files) == ({("metrics", "core"): count} if count else {})


def test_modules_and_sub_rooms_are_counted():
    files = {
        "llrkit": ("", True),
        "llrkit.io": ("", True),
        "llrkit.io.text": ("", True),
        "llrkit.io.text.layouts": ("", False),
        "llrkit.errors": ("", False),
    }
    assert modules_in_rooms(files) == {"io": 3, "errors": 1}
    assert sub_rooms(files) == {"io": ["text"]}
