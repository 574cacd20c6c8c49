"""A seeded sample of hostile requests; benchmarks/attack_app.py sends 100,000."""

import pytest
from app_fuzz import CANARY, EVIL, Attack
from app_server import Visitor, served

from llrkit.app.project import file_name, is_file_name, project_name
from llrkit.errors import InputError


def attack(place, count, seed):
    """Start an application, attack it, and look at what is there afterwards."""
    (place / "home").mkdir()
    for name in ("secret.csv", "project.json"):
        (place / "home" / name).write_text(CANARY)
    with served(place, "--max-upload", "2000") as server:
        visitor = Visitor(server).log_in()
        project = visitor.new_project()
        for name in ("a.csv", "b.csv"):
            visitor.put(
                f"{project}/files", name, b"score,label\n1,target\n2,target\n0,nontarget\n1.5,nontarget\n"
            )
        visitor.wait(project)
        statuses = Attack(server, visitor.cookie, project, seed).run(count)
        assert visitor.ask("GET", "/").status == 200
    assert not server.said, server.said[:3000]
    # matplotlib keeps its fonts in the home of whoever draws
    kept = {path.name for path in (place / "home").iterdir()} - {".config", ".cache"}
    assert kept == {"secret.csv", "project.json"}
    assert list((place / "tmp").iterdir()) == []
    for folder in (place / "projects").iterdir():
        assert project_name(folder.name) == folder.name
        for part in folder.iterdir():
            assert part.name in ("project.json", "files", "documents"), part
            assert part.is_file() or all(is_file_name(one.name) for one in part.iterdir())
    assert {path.name for path in place.iterdir()} == {"home", "tmp", "projects"}
    return statuses


@pytest.mark.slow
def test_a_sample_of_hostile_requests_finds_nothing(tmp_path, need):
    need("uvicorn")
    statuses = attack(tmp_path, 1500, seed=1)
    # it does get through to the pages, and is refused in every way
    assert {"200", "303", "400", "403", "404", "405", "421"} <= set(statuses), statuses


def test_what_is_no_name_of_a_project():
    for given in ("", " ", "..", ".", "a/b", "a\\b", "\x00", "-x", ".x", "con", "a" * 81, "a\nb", "<b>"):
        with pytest.raises(InputError):
            project_name(given)


def test_whatever_a_file_is_called_its_name_here_is_safe_new_and_can_be_saved():
    for first in EVIL:
        for second in EVIL[::7]:
            taken = set()
            for _ in range(3):
                name = file_name(first + second, taken)
                assert is_file_name(name), name
                assert name not in taken
                assert len(name.encode()) <= 255
                taken.add(name)
