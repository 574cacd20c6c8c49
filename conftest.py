"""Examples in modules that need torch are run where torch is; it is too large to be asked of everybody."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torchmetrics") else ["src/llrkit/torch/*.py", "docs/training.md"]
