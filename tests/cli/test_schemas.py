"""Every command that writes JSON, in this process: it fits its published schema, with the frozen numbers."""

import json
import tomllib
from contextlib import chdir
from pathlib import Path

import kills
import pytest
from commands import run
from golden_numbers import assert_golden
from json_outputs import OUTPUTS, assert_fits_schema, closed, more_inputs

from llrkit.cli import cli
from llrkit.cli.read_and_written_paths import leaves
from llrkit.cli.schemas.published import OUTPUTS as PUBLISHED
from llrkit.cli.schemas.published import SCHEMAS, as_text, json_schema
from llrkit.verbs.criteria import criteria_template

ROOT = Path(__file__).parents[2]
WITH_JSON = {
    " ".join(path): command
    for path, command in leaves(cli)
    if any(option.name == "json_path" for option in command.params)
}
ELSEWHERE = {"reproduce durations", "reproduce prior-scan", "reproduce real"}
"""They take long; their own tests call ``assert_fits_schema``."""


@pytest.fixture(scope="module")
def place(tmp_path_factory, need):
    need("jsonschema")
    folder = tmp_path_factory.mktemp("json")
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setattr(kills, "llrkit", lambda text: run(*text.split()))
        kills.make_inputs(folder)
        more_inputs(folder)
    (folder / "o").mkdir()
    return folder


@pytest.mark.parametrize("command", OUTPUTS)
def test_what_a_command_writes_fits_its_schema(command, place, monkeypatch):
    monkeypatch.chdir(place)
    code, _, said = run(*command.split(), "--json", "o/numbers.json")
    assert code in (0, 1), said
    document = json.loads(Path("o/numbers.json").read_text())
    words = command.split()
    wanted = "-".join(words[:2]) if words[0] == "recognize" else words[0]
    assert assert_fits_schema(document) == wanted
    assert_golden("commands", command, {"exit": code, **document})


def test_every_command_with_json_has_a_schema_and_is_run():
    called = {name for name in WITH_JSON for line in OUTPUTS if line.startswith(f"{name} ")} | ELSEWHERE
    assert called == set(WITH_JSON)
    names = {
        name.replace(" ", "-") if name.startswith("recognize") else name.split()[0] for name in WITH_JSON
    }
    assert set(PUBLISHED) == names | {"demo"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_valid_and_refuses_what_is_something_else(name, need):
    validator = need("jsonschema").Draft202012Validator
    schema = json_schema(name)
    validator.check_schema(schema)
    assert json.loads(as_text(name)) == schema
    for other in ({}, {"schema": schema["title"]}, []):
        assert not validator(schema).is_valid(other)


@pytest.mark.parametrize("change", ["drop", "text", "unknown", "version"])
def test_a_changed_document_does_not_fit(change, need):
    validator = need("jsonschema").Draft202012Validator
    code, said, _ = run("theory", "--eer", "5%", "--json", "-")
    assert code == 0
    document, schema = json.loads(said), json_schema("theory")
    assert validator(schema).is_valid(document)
    if change == "drop":
        del document["points"][0]["min_dcf"]
    elif change == "text":
        document["cllr"] = "0.18"
    elif change == "version":
        document["schema"] = "llrkit.theory/2"
    else:  # a later version may add it; our own tests do not let it pass
        document["points"][0]["new"] = 1
        assert validator(schema).is_valid(document)
        schema = closed(schema)
    assert not validator(schema).is_valid(document)


@pytest.mark.parametrize("folder", ["map", "class_map"])
def test_maps_of_all_kinds_and_ages_fit(folder, need):
    need("jsonschema")
    files = sorted((ROOT / "tests" / f"saved_{folder}s").glob("*.json"))
    assert len(files) > 3
    for file in files:
        assert assert_fits_schema(json.loads(file.read_text())["map"], folder) == folder


def test_criteria_fit_where_they_are_read_and_not_where_they_are_refused(need):
    need("jsonschema")
    template = tomllib.loads(criteria_template())
    assert assert_fits_schema(template, "criteria") == "criteria"
    for plain in ({"criterion": []}, {**template, "surprise": 1}, {"criterion": [{"metric": "cllr"}]}):
        with pytest.raises(AssertionError):
            assert_fits_schema(plain, "criteria")


def test_the_command_lists_the_schemas_and_prints_one():
    code, said, _ = run("schema")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == sorted(SCHEMAS)
    assert run("schema", "evaluate")[:2] == (0, as_text("evaluate"))
    assert run("schema", "evalute")[:2] == (2, "")
