"""A small project to be saved, without the server."""

import hashlib

from llrkit.app.project import DOCUMENTS, FILES, Project, ScoreFile


def project_of(folder, text, saved_as=None):
    """A project whose files and documents all say the same; ``saved_as`` is the project it goes on from."""
    project = Project.new("id", folder)
    content = text.encode() * 50_000
    for name in ("a.csv", f"{text}.csv"):
        (folder / FILES / name).write_bytes(content)
        project.files[name] = ScoreFile(name, len(content), hashlib.sha256(content).hexdigest(), "train")
    documents = ["case.md", f"{text}.md"]
    for name in documents:
        (folder / DOCUMENTS / name).write_bytes(content)
    project.results["case"] = {"documents": documents, "inputs": {}, "made": text, "commands": []}
    if saved_as is not None:
        project.name, project.own_states = saved_as.name, saved_as.own_states
    return project
