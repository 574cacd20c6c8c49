"""The tables of intervals and tests on the pages are those of the rows that the benchmarks wrote."""

from programs import benchmark

TABLES = benchmark("trust_tables")


def test_pages_show_the_rows_that_were_measured():
    rows = TABLES.read_rows()
    for path in TABLES.PAGES:
        page = path.read_text()
        assert "<!-- rows: " in page
        assert TABLES.filled(page, rows) == page
