"""Builds the documentation from docs/, examples/ and the docstrings, into a folder that needs no network.

    python docs/make_site.py site [--without-gallery]

What is generated stands beside a copy of docs/, so that the sources stay as they are. A warning is an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"


def write_sources(folder: Path) -> None:
    """Copy the pages, and write those that are made from code."""
    sys.path.insert(0, str(DOCS / "_ext"))
    from api_pages import write_api_pages
    from command_pages import write_command_pages

    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    write_api_pages(folder / "reference" / "api")
    write_command_pages(folder / "reference" / "commands")


def build(output: Path, *, run_gallery: bool = True, jobs: int = 2) -> None:
    """Build the site; without running the gallery its pages show the code alone."""
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "docs"
        write_sources(source)
        environment = os.environ | {
            "LLRKIT_EXAMPLES": str(EXAMPLES.resolve()),
            "LLRKIT_RUN_GALLERY": str(int(run_gallery)),
            "MPLBACKEND": "agg",
            "PYTHONWARNINGS": "ignore",
        }
        command = [sys.executable, "-m", "sphinx", "--builder", "html", "--jobs", str(jobs), "--quiet"]
        command += [
            "--nitpicky",
            "--doctree-dir",
            str(Path(temporary) / "doctrees"),
            str(source),
            str(output),
        ]
        shutil.rmtree(output, ignore_errors=True)
        if subprocess.run(command, env=environment, check=False).returncode:
            raise SystemExit("the documentation was not built; see above")


def main() -> None:
    """Build into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--without-gallery", action="store_true", help="do not run the examples")
    options = parser.parse_args()
    build(options.output.resolve(), run_gallery=not options.without_gallery)


if __name__ == "__main__":
    main()
