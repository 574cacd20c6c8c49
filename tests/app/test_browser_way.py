"""The whole way in a real browser: from two files to a case document, by mouse and by keyboard alone.

With ``LLRKIT_SCREENSHOTS=FOLDER`` every page is kept as a picture, to be looked at.
"""

import json
import os
import zipfile
from pathlib import Path

import pytest
from app_server import score_table, served

pytestmark = pytest.mark.slow
PATIENCE = 180_000
"""Milliseconds."""
FILES = {"dev.csv": 1, "eval.csv": 2}
H1, H2 = "the suspect is the speaker", "another man of the region is the speaker"
PAGES = ("Files", "Evaluate", "Calibrate", "Validate", "Case", "Documents")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, seed in FILES.items():
        (folder / name).write_bytes(score_table(seed, score="score"))
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory, need):
    need("uvicorn")
    need("docx")
    with served(tmp_path_factory.mktemp("app")) as running:
        yield running
    assert running.said == ""


class Browser:
    """A page, and everything it said meanwhile."""

    def __init__(self, chromium, width, scheme, state=None):
        self.context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True,
            storage_state=state,
        )  # fmt: skip
        self.page, self.heard, self.name = self.context.new_page(), [], f"{width}-{scheme}"
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.windows = []
        # listened to from the beginning: a browser that is told so at the key may be told too late
        self.page.on("filechooser", lambda window: self.windows.append(window))

    def count(self, selector):
        """How many there are; none between two pages, where old versions of playwright raise an error."""
        from playwright.sync_api import Error

        try:
            return self.page.locator(selector).count()
        except Error as error:
            if "Execution context was destroyed" not in str(error):
                raise
            return 0

    def sees(self, selector, count=1):
        """Wait until the work is done and something can be seen that was not there before."""
        for _ in range(PATIENCE // 100):
            assert not self.count("[role=alert]"), self.page.locator("[role=alert]").all_text_contents()
            if self.count(selector) >= count:
                self.page.wait_for_load_state()
                return
            self.page.wait_for_timeout(100)
        pytest.fail(f"{selector} never comes")

    def shot(self, name):
        if folder := os.environ.get("LLRKIT_SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}-{self.name}.png", full_page=True)

    def fits(self):
        """Nothing sticks out at the side."""
        wide = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], self.page.url


def choose_files(browser, tab_to, paths):
    """Give files to the button that Tab comes to, through the window that Enter or Space opens.

    That window is the browser's own, and a headless one sometimes does not open it; then the files go to the
    button that has the focus.
    """
    page = browser.page
    for key in ("Enter", "Space"):
        tab_to("pick")
        assert page.evaluate("document.activeElement.id") == "pick"
        page.keyboard.press(key)
        for _ in range(50):
            if browser.windows:
                browser.windows.pop().set_files(paths)
                return
            page.wait_for_timeout(100)
    page.set_input_files("#pick", paths)


@pytest.fixture(scope="module")
def by_keyboard(chromium, server, files):
    """The whole way at 1400 pixels, light, without a mouse."""
    browser = Browser(chromium, 1400, "light")
    page = browser.page
    page.goto(server.address)
    press, focus = page.keyboard.press, "document.activeElement"

    def tab_to(what):
        """Go on with Tab until the focus is on what a person looks for."""
        for _ in range(120):
            press("Tab")
            name = page.evaluate(
                "(at => [at.closest('label')?.textContent, at.textContent, at.name, at.id].join(' '))"
                f"({focus})"
            )
            if what in name:
                return
        pytest.fail(f"Tab never comes to {what}")

    def enter(what):
        tab_to(what)
        press("Enter")

    enter("New project")
    page.wait_for_url("**/files")
    page.wait_for_load_state("load")
    choose_files(browser, tab_to, [files / name for name in FILES])
    browser.sees("form[action$='/files/read']", 2)
    for step in ("Evaluate", "Calibrate", "Validate"):
        enter(step)
        page.wait_for_url(f"**/{step.lower()}")
        page.wait_for_selector("h1")
        main = page.locator("button.main")
        for _ in range(80):
            press("Tab")
            if main.evaluate("button => button === document.activeElement"):
                break
        press("Enter")
        browser.sees("#result")
        assert page.evaluate(f"{focus}.id") == "result"  # the reader is taken there
    enter("Case")
    page.wait_for_url("**/case")
    for name, text in (("Questioned scores", "0.52"), ("First proposition", H1), ("Second proposition", H2)):
        tab_to(name)
        page.keyboard.type(text)
    tab_to("strength of evidence")
    press("Space")
    enter("Write the report")
    browser.sees("#result")
    browser.shot("Case")
    assert browser.heard == []
    return browser


def test_the_keyboard_alone_leads_to_a_statement_in_words(by_keyboard):
    page = by_keyboard.page
    said = page.locator(".statement").inner_text()
    assert f"times more probable if {H1} rather than if {H2}" in said
    assert "Verbal equivalent (ENFSI 2015)" in said
    project = page.url.rpartition("/")[0]
    shown = json.loads(page.request.get(f"{project}/documents/case.json").text())
    assert shown["statement"] in said
    page.goto(f"{project}/documents")
    with page.expect_download() as download:
        page.locator("a[download][href$='case.docx']").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert shown["statement"] in archive.read("word/document.xml").decode()
    with page.context.expect_page() as opened:
        page.locator("a[target=_blank][href*='case.html']").click()
    report = opened.value
    report.wait_for_load_state()
    assert "Case report" in report.title()
    assert report.evaluate("origin") == "null"  # no way from a document to the application
    report.close()


def test_no_page_has_a_serious_fault_for_a_screen_reader_and_all_fit(by_keyboard, chromium, axe):
    state = by_keyboard.context.storage_state()
    project = by_keyboard.page.url.rpartition("/")[0]
    looks = [(1400, "light"), (420, "dark")]
    looks += [(1400, "dark"), (420, "light")] if os.environ.get("LLRKIT_SCREENSHOTS") else []
    for width, scheme in looks:
        browser = Browser(chromium, width, scheme, state)
        for name in (*PAGES, "Projects"):
            browser.page.goto(f"{project}/{name.lower()}" if name != "Projects" else project.split("/p/")[0])
            browser.fits()
            browser.shot(name)
            browser.page.evaluate(axe)
            found = browser.page.evaluate("axe.run().then(result => result.violations)")
            grave = [
                (one["id"], one["nodes"][0]["html"])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert grave == [], (width, scheme, name)
        assert browser.heard == []
        browser.context.close()


def test_the_mouse_at_420_pixels_in_the_dark_with_two_dropped_files(by_keyboard, chromium, files, server):
    browser = Browser(chromium, 420, "dark", by_keyboard.context.storage_state())
    page = browser.page
    page.goto(server.origin)
    page.click("text=New project")
    dropped = page.evaluate_handle(
        "files => { const all = new DataTransfer(); for (const [name, text] of files) "
        "all.items.add(new File([text], name)); return all; }",
        [[name, (files / name).read_text()] for name in FILES],
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
    browser.sees("form[action$='/files/read']", 2)
    assert page.locator("text=60 same-source").count() == 2
    page.click("header nav >> text=Calibrate")
    page.select_option("[name=method]", "cmlg")
    page.click("button.main")
    browser.sees("#result")
    # another tab of the same project sees it, and its old form is refused
    page.click("header nav >> text=Case")
    page.fill("[name=score]", "0,52")
    page.fill("[name=h1]", H1)
    page.fill("[name=h2]", H2)
    page.click("button.main")
    assert "'0,52' is not a number" in page.locator("[role=alert]").inner_text()
    assert page.input_value("[name=h1]") == H1  # nothing that was typed is lost
    page.fill("[name=score]", "0.52")
    page.click("button.main")
    page.wait_for_url("**/case")
    browser.sees("#result")
    assert "times more probable" in page.locator(".statement").inner_text()
    browser.fits()
    page.click("header nav >> text=Documents")
    page.fill("[name=name]", "At night")
    page.click("button:has-text('Save')")
    page.wait_for_selector("text=Saved as At night.")
    assert (server.place / "projects" / "At night" / "documents" / "case.docx").is_file()
    assert [text for text in browser.heard if "400" not in text] == []
