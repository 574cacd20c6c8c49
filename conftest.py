"""Examples in modules that need torch are run where torch is; it is too large to be asked of everybody."""

from importlib.util import find_spec

collect_ignore_glob = ["docs/conf.py", "docs/_ext/*.py"]  # Sphinx runs them
if not find_spec("torchmetrics"):
    collect_ignore_glob += [
        "src/llrkit/torch/*.py",
        "docs/tutorials/training.md",
        "docs/coming-from/torchmetrics.md",
    ]
