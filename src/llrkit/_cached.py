"""A property that is computed once, without a lock that all objects of a class share.

Up to Python 3.11, ``functools.cached_property`` holds one lock for all objects: of two threads that prepare
two chunks, one waits for the other. Newer versions have no lock, and two threads that ask the same object at
the same time may both compute the value. Nothing here minds, since both compute the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:
    import functools

    class cached_property(functools.cached_property):  # noqa: N801  the name it has everywhere
        """As in Python 3.12 and later."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
