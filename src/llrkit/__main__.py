"""``python -m llrkit`` does what the command ``llrkit`` does."""

from llrkit.cli import main

main()
