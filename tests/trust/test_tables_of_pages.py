"""The tables of intervals and tests on the pages are those of the rows that the benchmarks wrote."""

import pytest
from programs import benchmark

TABLES = benchmark("trust_tables")


def test_pages_show_the_rows_that_were_measured():
    rows = TABLES.read_rows()
    for path in TABLES.PAGES:
        page = path.read_text()
        assert "<!-- rows: " in page
        assert TABLES.filled(page, rows) == page


def test_a_row_measured_again_takes_the_place_of_the_older_one(tmp_path):
    file = tmp_path / "rows.jsonl"
    design = '"effects": "Gaussian", "speakers": 30, "sessions": "8", "genders": 1, "runs": 50'
    tally = '{"covered": 30, "too_low": 9, "too_high": 1, "bound_held": 8, "bound_failed": 2, "nothing": 0}'
    file.write_text(
        f'{{"table": "compare", {design}, "seed": 1, "cells": {{"EER": [1, 50]}}}}\n'
        f'{{"table": "compare", {design}, "seed": 2, "cells": {{"EER": [2, 40]}}}}\n'
        f'{{"table": "speaker", {design}, "seed": 2, "cells": {{"EER": {tally}}}}}\n'
    )
    rows = TABLES.read_rows(file)
    assert TABLES.table("compare", rows).splitlines()[2:] == ["| Gaussian | 30 | 8 | 1 | 2 | 50 | 5.0 [40] |"]
    # 30 of 40 intervals cover, 40 of 50 runs have one, 8 of 10 bounds hold
    assert TABLES.table("speaker", rows).splitlines()[2:] == [
        "| Gaussian | 30 | 8 | 1 | 2 | 50 | 75.0 (80; 80) |"
    ]
    page = "before\n<!-- rows: compare -->\nold\n<!-- end of rows -->\nafter\n"
    assert TABLES.filled(page, []) == (
        "before\n<!-- rows: compare -->\n\n(not measured)\n\n<!-- end of rows -->\nafter\n"
    )


def test_pieces_of_one_design_are_added_up():
    design = {"effects": "Gaussian", "speakers": 30, "sessions": "8", "genders": 1}
    tally = {"covered": 8, "too_low": 1, "too_high": 1, "bound_held": 0, "bound_failed": 0, "nothing": 0}
    second = {**tally, "covered": 18, "width": 0.6}
    pieces = [
        {"table": "compare", **design, "seed": 5, "runs": 50, "cells": {"EER": [2, 40]}},
        {"table": "speaker", **design, "seed": 5, "runs": 10, "cells": {"EER": {**tally, "width": 0.3}}},
        {"table": "compare", **design, "seed": 6, "runs": 30, "cells": {"EER": [1, 20]}},
        {"table": "speaker", **design, "seed": 6, "runs": 20, "cells": {"EER": second}},
    ]
    compare, speaker = TABLES.added_up(pieces)
    assert (compare["seed"], compare["runs"], compare["cells"]) == ("5 to 6", 80, {"EER": [3, 60]})
    assert speaker["runs"] == 30
    # 10 intervals of width 0.3 and 20 of width 0.6
    assert speaker["cells"]["EER"] == {**tally, "covered": 26, "too_low": 2, "too_high": 2, "width": 0.5}
    with pytest.raises(ValueError, match="occurs twice"):
        TABLES.added_up([pieces[0], pieces[0]])
