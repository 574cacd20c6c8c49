"""Warnings that point at the line of the user's program, however deep in llrkit they are given."""

from __future__ import annotations

import sys
import warnings


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn the first caller that is not llrkit itself."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "llrkit":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
