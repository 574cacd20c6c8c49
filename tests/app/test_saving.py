"""Projects on the disk: a save is whole or not there, whenever its process is killed."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
import saved_projects
from app_server import Visitor, score_table, served
from saved_projects import project_of

from llrkit.app import saved_projects as saving
from llrkit.app.project import DOCUMENTS, FILES
from llrkit.errors import FileFormatError, InputError

LOOP = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from saved_projects import project_of
from llrkit.app import saved_projects as saving
place, working = Path(sys.argv[2]), Path(sys.argv[3])
projects = [project_of(working / name, name) for name in ("old", "new")]
for project in projects:
    project.name = "Case"
print("ready", flush=True)
while True:
    for project in reversed(projects):
        saving.save(project, place, "Case")
"""


def state_of(place, working):
    """What a saved project says, in one word; anything mixed is an AssertionError."""
    project = saving.open_saved(place, "Case", "x", working)
    text = project.results["case"]["made"]
    assert set(project.files) == {"a.csv", f"{text}.csv"}
    for name in project.documents():
        assert (working / DOCUMENTS / name).read_text() == text * 50_000
    folder = place / "Case"
    assert sorted(one.name for one in folder.iterdir()) == ["documents", "files", "project.json"]
    assert {one.name for one in (folder / DOCUMENTS).iterdir()} == set(project.documents())
    return text


@pytest.mark.slow
def test_a_save_that_is_killed_leaves_the_old_project_or_the_new_one(tmp_path):
    chance, seen = random.Random(3), set()
    place = tmp_path / "projects"
    saving.save(project_of(tmp_path / "first", "old"), place, "Case")
    for attempt in range(5):
        arguments = [os.path.dirname(saved_projects.__file__), str(place), str(tmp_path / f"w{attempt}")]
        process = subprocess.Popen([sys.executable, "-c", LOOP, *arguments], stdout=subprocess.PIPE)
        with process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
        seen.add(state_of(place, tmp_path / f"opened{attempt}"))
    assert seen <= {"old", "new"}


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle_of_a_save_leaves_the_project_as_it_was(tmp_path, need):
    """The application itself, killed while the save of a page copies large files."""
    need("uvicorn")
    folder = tmp_path / "projects" / "Case"
    with served(tmp_path) as server:
        visitor = Visitor(server).log_in()
        address = visitor.new_project()
        assert visitor.put(f"{address}/files", "dev.csv", score_table(1)).status == 200
        visitor.wait(address)
        assert visitor.post(f"{address}/save", name="Case").status == 303
        before = {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}
        for i in range(3):
            assert visitor.put(f"{address}/files", f"large{i}.csv", bytes([i]) * (32 << 20)).status == 200
        asking = threading.Thread(target=_save_and_be_cut_off, args=(visitor, address))
        asking.start()
        copied = folder / ".saving" / FILES
        while asking.is_alive() and not (copied.is_dir() and any(copied.iterdir())):
            pass
        server.kill()
        asking.join()
    left = [one.name for one in folder.iterdir()]
    assert ".saving" in left  # the kill came in the middle
    assert ".saved" not in left
    with served(tmp_path) as server:
        visitor = Visitor(server).log_in()
        opened = visitor.post("/open", name="Case")
        assert opened.status == 303, opened.text
        page = visitor.ask("GET", opened.headers["location"]).text
    assert "dev.csv" in page
    assert "large0.csv" not in page
    assert {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()} == before


def _save_and_be_cut_off(visitor, address):
    with suppress(ConnectionError, http.client.HTTPException):
        visitor.post(f"{address}/save", name="Case")


def test_every_moment_of_a_save_can_be_the_last(tmp_path, monkeypatch):
    """The same with a fault at each step that touches the disk, one after the other."""
    seen = []
    for step in range(40):
        place, there = tmp_path / f"p{step}", tmp_path / f"f{step}"
        saving.save(project_of(there / "old", "old"), place, "Case")
        new = project_of(there / "new", "new")
        new.name = "Case"
        left = [step]

        def failing(original, left=left):
            def touch(*arguments, **options):
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] -= 1
                return original(*arguments, **options)

            return touch

        with monkeypatch.context() as patched:
            steps = [(saving.Path, name) for name in ("replace", "rename", "unlink", "rmdir")]
            steps += [(saving.shutil, "copyfile"), (saving, "write_atomically"), (saving, "_project_to_disk")]
            for owner, name in steps:
                patched.setattr(owner, name, failing(getattr(owner, name)))
            try:
                saving.save(new, place, "Case")
                finished = True
            except KeyboardInterrupt:
                finished = False
        seen.append(state_of(place, there / "opened"))
        if finished:
            break
    assert finished
    assert seen == sorted(seen, reverse=True)  # first the old one, and from one moment on the new one
    assert set(seen) == {"old", "new"}
    assert len(seen) > 8


def test_a_name_that_is_taken_is_not_written_over(tmp_path):
    saving.save(project_of(tmp_path / "one", "one"), tmp_path / "p", "Case")
    with pytest.raises(InputError, match="already"):
        saving.save(project_of(tmp_path / "two", "two"), tmp_path / "p", "Case")


@pytest.mark.parametrize("change", [
    lambda plain: plain.update(schema="x"),
    lambda plain: plain["files"][0].update(name="../../x"),
    lambda plain: plain["files"][0].update(odd=1),
    lambda plain: plain["results"]["case"].update(documents=["../../../etc/passwd"]),
    lambda plain: plain["results"].update(evil={"documents": [], "inputs": {}}),
    lambda plain: plain.update(files=7),
])  # fmt: skip
def test_a_project_that_was_tampered_with_is_refused(tmp_path, change):
    saving.save(project_of(tmp_path / "one", "one"), tmp_path / "p", "Case")
    state = tmp_path / "p" / "Case" / "project.json"
    plain = json.loads(state.read_text())
    change(plain)
    state.write_text(json.dumps(plain))
    with pytest.raises(FileFormatError, match="not that of a llrkit project"):
        saving.open_saved(tmp_path / "p", "Case", "x", tmp_path / "w")


def test_links_in_a_saved_project_are_refused(tmp_path):
    saving.save(project_of(tmp_path / "one", "one"), tmp_path / "p", "Case")
    (tmp_path / "secret").write_text("canary")
    for part, name, said in (
        (DOCUMENTS, "one.md", "one.md is missing"),
        (FILES, "one.csv", "one.csv is missing"),
    ):
        inside = tmp_path / "p" / "Case" / part / name
        inside.unlink()
        inside.symlink_to(tmp_path / "secret")
        with pytest.raises(FileFormatError, match=said):
            saving.open_saved(tmp_path / "p", "Case", "x", tmp_path / f"w{part}")
