"""Projects on the disk: a save is whole or not there, and touches no file that it did not write."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import saved_projects
from app_server import Here, Visitor
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
old = saving.open_saved(place, "Case", "x", working / "opened")
projects = [project_of(working / name, name, old) for name in ("old", "new")]
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
    assert {one.name for one in (folder / FILES).iterdir()} == set(project.files)
    return text


@pytest.mark.slow
def test_a_save_that_is_killed_leaves_the_old_project_or_the_new_one(tmp_path):
    """Whenever the kill comes: how long the process saves is left to chance, and no assertion rests on it."""
    chance, place = random.Random(3), tmp_path / "projects"
    saving.save(project_of(tmp_path / "first", "old"), place, "Case")
    for attempt in range(5):
        arguments = [os.path.dirname(saved_projects.__file__), str(place), str(tmp_path / f"w{attempt}")]
        process = subprocess.Popen([sys.executable, "-c", LOOP, *arguments], stdout=subprocess.PIPE)
        with process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
        assert state_of(place, tmp_path / f"opened{attempt}") in ("old", "new")


def test_every_moment_of_a_save_can_be_the_last(tmp_path, monkeypatch):
    """The same with a fault at each step that touches the disk, one after the other."""
    seen = []
    for step in range(40):
        place, there = tmp_path / f"p{step}", tmp_path / f"f{step}"
        old = project_of(there / "old", "old")
        saving.save(old, place, "Case")
        new = project_of(there / "new", "new", old)
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
        saving.save(new, place, "Case")  # a save that was cut off does not keep the next from being made
        assert state_of(place, there / "again") == "new"
    assert finished
    assert seen == sorted(seen, reverse=True)  # first the old one, and from one moment on the new one
    assert set(seen) == {"old", "new"}
    assert len(seen) > 8


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize(
    ("path", "content", "refused"),
    [
        ("documents/notes.md", "mine", False),  # no save ever wants it
        ("files/old.csv", "edited", False),  # the new save has no such file any more
        ("documents/old.md", "edited", False),
        ("documents/new.md", "mine", True),  # the new save wants to write it
        ("files/new.csv", "mine", True),
        ("documents/case.md", "edited", True),
        ("project.json", "{}", True),
    ],
)
def test_a_save_leaves_what_others_put_there_or_edited(tmp_path, path, content, refused, reopened):
    place, folder = tmp_path / "p", tmp_path / "p" / "Case"
    old = project_of(tmp_path / "old", "old")
    saving.save(old, place, "Case")
    if reopened:
        old = saving.open_saved(place, "Case", "x", tmp_path / "opened")
    (folder / path).write_text(content)
    before = {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}
    new = project_of(tmp_path / "new", "new", old)
    if refused:
        with pytest.raises(InputError, match=path):
            saving.save(new, place, "Case")
        assert {one: one.read_bytes() for one in before} == before
        saving.save(new, place, "Case 2")  # another name can be chosen
        return
    saving.save(new, place, "Case")
    saving.save(project_of(tmp_path / "third", "third", new), place, "Case")
    assert (folder / path).read_text() == content
    assert saving.open_saved(place, "Case", "y", tmp_path / "last").results["case"]["made"] == "third"


def test_a_document_that_was_edited_in_the_folder_is_kept_until_a_step_replaces_it(tmp_path):
    place, edited = tmp_path / "p", tmp_path / "p" / "Case" / "documents" / "case.md"
    saving.save(project_of(tmp_path / "old", "old"), place, "Case")
    edited.write_text("signed")
    opened = saving.open_saved(place, "Case", "x", tmp_path / "opened")
    for _ in range(2):
        saving.save(opened, place, "Case")
        assert edited.read_text() == "signed"
    (opened.folder / DOCUMENTS / "case.md").write_text("made again")
    with pytest.raises(InputError, match=r"documents/case\.md"):
        saving.save(opened, place, "Case")
    assert edited.read_text() == "signed"


def test_nothing_is_saved_over_a_later_save_of_another_application(tmp_path):
    place = tmp_path / "p"
    saving.save(project_of(tmp_path / "old", "old"), place, "Case")
    one, other = (saving.open_saved(place, "Case", name, tmp_path / name) for name in ("one", "other"))
    saving.save(project_of(tmp_path / "new", "new", other), place, "Case")
    with pytest.raises(InputError, match=r"project\.json"):
        saving.save(project_of(tmp_path / "third", "third", one), place, "Case")
    assert state_of(place, tmp_path / "opened") == "new"


def test_a_folder_that_is_a_link_is_not_written_through(tmp_path):
    place, elsewhere = tmp_path / "p", tmp_path / "elsewhere"
    old = project_of(tmp_path / "old", "old")
    saving.save(old, place, "Case")
    (place / "Case" / DOCUMENTS).rename(elsewhere)
    (place / "Case" / DOCUMENTS).symlink_to(elsewhere)
    with pytest.raises(InputError):
        saving.save(project_of(tmp_path / "new", "new", old), place, "Case")
    assert sorted(one.name for one in elsewhere.iterdir()) == ["case.md", "old.md"]


def test_the_page_names_the_file_that_a_save_leaves_alone(tmp_path, need):
    need("starlette")
    visitor = Visitor(Here(tmp_path)).log_in()
    project = visitor.new_project()
    visitor.put(f"{project}/files", "a.csv", b"score,label\n1,target\n0,nontarget\n")
    assert visitor.post(f"{project}/save", name="Case").status == 303
    theirs = tmp_path / "projects" / "Case" / "files" / "b.csv"
    theirs.write_text("mine")
    visitor.put(f"{project}/files", "b.csv", b"score,label\n1,target\n0,nontarget\n")
    answer = visitor.post(f"{project}/save", name="Case")
    assert answer.status == 400
    assert "files/b.csv" in answer.text
    assert theirs.read_text() == "mine"


def test_a_name_that_is_taken_is_not_written_over(tmp_path):
    saving.save(project_of(tmp_path / "one", "one"), tmp_path / "p", "Case")
    with pytest.raises(InputError):
        saving.save(project_of(tmp_path / "two", "two"), tmp_path / "p", "Case")


@pytest.mark.parametrize("change", [
    lambda plain: plain.update(schema="x"),
    lambda plain: plain["files"][0].update(name="../../x"),
    lambda plain: plain["files"][0].update(odd=1),
    lambda plain: plain["results"]["case"].update(documents=["../../../etc/passwd"]),
    lambda plain: plain["results"].update(evil={"documents": [], "inputs": {}}),
    lambda plain: plain["written"].update({"files/../../x": "0"}),
    lambda plain: plain.update(files=7),
])  # fmt: skip
def test_a_project_that_was_tampered_with_is_refused(tmp_path, change):
    saving.save(project_of(tmp_path / "one", "one"), tmp_path / "p", "Case")
    state = tmp_path / "p" / "Case" / "project.json"
    plain = json.loads(state.read_text())
    change(plain)
    state.write_text(json.dumps(plain))
    with pytest.raises(FileFormatError):
        saving.open_saved(tmp_path / "p", "Case", "x", tmp_path / "w")


def test_links_in_a_saved_project_are_refused(tmp_path):
    saving.save(project_of(tmp_path / "one", "one"), tmp_path / "p", "Case")
    (tmp_path / "secret").write_text("canary")
    for part, name in ((DOCUMENTS, "one.md"), (FILES, "one.csv")):
        inside = tmp_path / "p" / "Case" / part / name
        inside.unlink()
        inside.symlink_to(tmp_path / "secret")
        with pytest.raises(FileFormatError, match=name):
            saving.open_saved(tmp_path / "p", "Case", "x", tmp_path / f"w{part}")
