"""Whether tables can still be used: the threads of polars are gone in a process that was forked.

After ``fork`` only the thread that called it is alive. What polars gives to its threads then waits for ever,
and they cannot be started again. NumPy, and with it metrics, fits and maps of arrays, does not mind.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from llrkit.errors import ForkedProcessError

_THREAD_NAMES = re.compile(r"polars-\d|async-execut|tokio-rt")
_forked_after_use = False


def refuse_after_fork(what: str = "tables") -> None:
    """Raise in a process that was forked after polars had been used, instead of waiting for ever.

    Examples
    --------
    >>> refuse_after_fork()
    """
    if _forked_after_use:
        raise ForkedProcessError(
            f"{what} cannot be used in a process that was forked after polars had been used: its threads are "
            "gone. Start processes by 'spawn' or 'forkserver' (multiprocessing.get_context, PyTorch's "
            "multiprocessing_context; gunicorn without --preload), or fork before anything is read. Arrays "
            "(lk.Scores) can be used here"
        )


def _threads_run() -> bool:
    """Whether polars has started its threads; where that cannot be seen, whether it was imported."""
    if "polars" not in sys.modules:
        return False
    try:
        names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:  # not Linux, or a thread that has just ended
        return True
    return any(_THREAD_NAMES.match(name) for name in names)


def _before_fork() -> None:
    global _about_to_fork_after_use
    _about_to_fork_after_use = _forked_after_use or _threads_run()


def _after_fork_in_child() -> None:
    global _forked_after_use
    _forked_after_use = _about_to_fork_after_use


_about_to_fork_after_use = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
