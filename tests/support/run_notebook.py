"""Run a notebook in a kernel of this very Python, and print what its cells showed, as JSON."""

import json
import os
import sys


def main() -> None:
    import nbformat
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec
    from nbclient import NotebookClient

    os.environ.pop("MPLBACKEND", None)  # a notebook chooses its own
    notebook = nbformat.read(sys.argv[1], as_version=4)
    manager = AsyncKernelManager(kernel_name="python3")
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=start, display_name="", language="python")
    NotebookClient(notebook, km=manager, timeout=120).execute()
    shown = [
        [list(output.get("data", {output.output_type: ""})) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    if len(sys.argv) > 2:
        nbformat.write(notebook, sys.argv[2])
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
