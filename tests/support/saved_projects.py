"""A small project to be saved, without the server."""

import hashlib

from llrkit.app.project import DOCUMENTS, FILES, Project, ScoreFile


def project_of(folder, text):
    """A project whose files and documents all say the same."""
    project = Project.new("id", folder)
    names = {"a.csv", f"{text}.csv"}
    for name in sorted(names):
        content = text.encode() * 200_000
        (folder / FILES / name).write_bytes(content)
        project.files[name] = ScoreFile(name, len(content), hashlib.sha256(content).hexdigest(), "train")
    documents = ["case.md", f"{text}.md"]
    for name in documents:
        (folder / DOCUMENTS / name).write_text(text * 50_000)
    project.results["case"] = {"documents": documents, "inputs": {}, "made": text, "commands": []}
    return project
