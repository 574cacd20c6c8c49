"""Builds the documentation from docs/, examples/ and the docstrings, into a folder that needs no network.

    python docs/make_site.py site [--quick]

What is generated stands beside a copy of docs/, so that the sources stay as they are. A warning is an error,
unless the build is quick: it leaves out most names and does not run the gallery.
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


def write_sources(folder: Path, *, quick: bool) -> None:
    """Copy the pages, and write those that are made from code."""
    sys.path.insert(0, str(DOCS / "_ext"))
    from api_pages import write_api_pages
    from command_pages import write_command_pages

    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    write_api_pages(folder / "reference" / "api", only=("top-numbers",) if quick else None)
    write_command_pages(folder / "reference" / "commands", only=("llrkit evaluate",) if quick else None)


def build(output: Path, *, quick: bool = False, jobs: int = 2) -> None:
    """Build the site; a quick one has the pages of few names and commands, and no pictures in its gallery."""
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "docs"
        write_sources(source, quick=quick)
        environment = os.environ | {
            "LLRKIT_EXAMPLES": str(EXAMPLES.resolve()),
            "LLRKIT_RUN_GALLERY": str(int(not quick)),
            "MPLBACKEND": "agg",
            "PYTHONWARNINGS": "ignore",
        }
        strict = ["-Q"] if quick else ["--quiet", "--nitpicky", "--fail-on-warning"]
        command = [sys.executable, "-m", "sphinx", "--builder", "html", "--jobs", str(jobs), *strict]
        command += ["--doctree-dir", str(Path(temporary) / "doctrees"), str(source), str(output)]
        shutil.rmtree(output, ignore_errors=True)
        if subprocess.run(command, env=environment, check=False).returncode:
            raise SystemExit("the documentation was not built; see above")


def main() -> None:
    """Build into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--quick", action="store_true", help="few names and commands, no pictures")
    options = parser.parse_args()
    build(options.output.resolve(), quick=options.quick)


if __name__ == "__main__":
    main()
