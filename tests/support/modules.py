"""Modules of llrkit that a test needs imported, whoever imported what before."""

from importlib import import_module
from pkgutil import walk_packages


def import_all(room):
    """Import every module of a room, so that all its classes are there to be found."""
    for module in walk_packages(import_module(room).__path__, f"{room}."):
        import_module(module.name)
