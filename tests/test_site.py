"""The documentation in a real browser, from disk: it is found, read and searched without a network."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATIENCE = 180_000
"""Milliseconds."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory, need):
    """A quick build: all pages, few names and commands, the gallery not run; ``make docs`` has everything."""
    for package in ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_design", "sphinx_copybutton",
                    "sphinx_gallery", "numpydoc"):  # fmt: skip
        need(package)
    make_site = need("make_site")
    sys_path = list(sys.path)
    folder = tmp_path_factory.mktemp("site")
    make_site.build(folder / "html", quick=True, jobs=1)
    sys.path[:] = sys_path
    return folder / "html"


@pytest.fixture(params=[1400, 420])
def page(request, chromium):
    """A page of this width, and everything it asked for."""
    context = chromium.new_context(viewport={"width": request.param, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.asked, opened.errors = [], []
    opened.on("request", lambda asked: opened.asked.append(asked.url))
    opened.on("pageerror", lambda error: opened.errors.append(str(error)))
    yield opened
    context.close()


def fits(page):
    """Whether nothing but its own boxes has to be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_a_search_for_mindcf_leads_to_the_function(site, page):
    page.goto((site / "index.html").as_uri())
    assert page.locator("main").get_by_text("Four doors").count()
    assert fits(page)
    page.locator(".search-button-field:visible, .search-button:visible").first.click()
    page.locator("dialog input[type=search], .search-button__search-container input").first.fill("minDCF")
    page.keyboard.press("Enter")
    found = page.locator("#search-results a[href*='llrkit.min_dcf.html']").first
    found.wait_for()
    found.click()
    page.wait_for_selector("dt#llrkit\\.min_dcf")
    assert "Smallest normalized detection cost" in page.locator("main").inner_text()
    assert fits(page)
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.errors == []


def test_formulas_are_drawn_without_a_script(site, page):
    page.goto((site / "explanation" / "idempotence.html").as_uri())
    formula = page.locator("math").first
    assert formula.bounding_box()["height"] > 5
    assert page.locator("div.math mfrac").first.is_visible()
    assert fits(page)
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []


def test_every_page_is_reached_and_every_door_is_open(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    for door in ("speaker-recognition", "forensic-science", "biometrics-and-spoofing", "machine-learning"):
        assert f'href="for/{door}.html"' in index
        assert (site / "for" / f"{door}.html").is_file()
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page
    for example in (ROOT / "examples").rglob("*.py"):
        assert (site / "gallery" / example.parent.name / f"{example.stem}.html").is_file(), example
