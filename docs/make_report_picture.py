"""Takes docs/pictures/report.png, the top of a report of simulated systems; needs Playwright and Chromium.

python docs/make_report_picture.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np

import llrkit as lk

PICTURE = Path(__file__).parent / "pictures" / "report.png"


def systems(rng: np.random.Generator) -> dict[str, lk.Evaluation]:
    """Three systems, one of them calibrated."""
    evaluations = {}
    for name, eer, scale, offset in (
        ("calibrated", 0.03, 1.0, 0.0),
        ("twice too large", 0.06, 2.0, 1.0),
        ("too small, shifted", 0.12, 0.4, -1.0),
    ):
        target, nontarget = lk.theory.GaussianLLR.from_eer(eer).rvs(1500, 40_000, rng)
        scores = lk.Scores(scale * target + offset, scale * nontarget + offset)
        evaluations[name] = lk.evaluate(scores, ece=True)
    return evaluations


def main() -> None:
    """Write a report, and show it to Chromium."""
    from playwright.sync_api import sync_playwright

    page_file = Path(tempfile.mkdtemp()) / "report.html"
    lk.write_report(systems(np.random.default_rng(2013)), page_file, title="Three systems")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 3000})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        bottom = page.evaluate(
            "document.getElementById('figure2').closest('figure').getBoundingClientRect().top"
        )
        page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": 1280, "height": bottom})
        browser.close()


if __name__ == "__main__":
    main()
