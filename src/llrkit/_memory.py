"""How much memory may be used, and refusals before more would be taken.

What a file unpacks to is not what reading it allocates: a Parquet footer may announce 0.35 MB for 450 MB of
values. So readers estimate what they are about to allocate, from rows and widths, and ask here first.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from llrkit.errors import InputError, MemoryLimitError

VARIABLE = "LLRKIT_MAX_MEMORY"
PIECES = "LLRKIT_AT_ONCE"
SHARE = 0.75
"""Of the memory there is, what may be used unless the variable says otherwise."""
COPIES = 3
"""A table is copied while it is checked, joined and sorted; at the peak it takes three times as much."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


def memory_limit() -> int:
    """The bytes that may be used: ``LLRKIT_MAX_MEMORY``, else three quarters of what there is.

    What there is: the memory of the machine, or less where a cgroup (a container, a batch job) or ``ulimit``
    allows less.

    Examples
    --------
    >>> os.environ["LLRKIT_MAX_MEMORY"] = "1.5G"
    >>> memory_limit()
    1610612736
    >>> del os.environ["LLRKIT_MAX_MEMORY"]
    """
    return parse_size(text) if (text := os.environ.get(VARIABLE, "").strip()) else _default_limit()


def at_once(usual: int, unit: int = 1) -> int:
    """How much is read, kept or computed at a time: the usual amount, or less if ``LLRKIT_AT_ONCE`` says so.

    ``usual`` is in units of so many bytes. Smaller pieces take less memory and more time; results are the
    same but for the rounding of sums.

    Examples
    --------
    >>> os.environ["LLRKIT_AT_ONCE"] = "1M"
    >>> at_once(1 << 26), at_once(1 << 26, unit=8), at_once(1000)
    (1048576, 131072, 1000)
    >>> del os.environ["LLRKIT_AT_ONCE"]
    >>> at_once(1 << 26)
    67108864
    """
    text = os.environ.get(PIECES, "").strip()
    return max(1, min(usual, parse_size(text, PIECES) // unit)) if text else usual


def parse_size(text: str, variable: str = VARIABLE) -> int:
    """Bytes from a number with K, M, G or T, which a variable or an option holds; these are powers of 1,024.

    Examples
    --------
    >>> parse_size("500M"), parse_size("2 GiB"), parse_size("64")
    (524288000, 2147483648, 64)
    """
    given = _SIZE.fullmatch(text.strip())
    size = int(float(given[1]) * _UNITS[given[2].upper()]) if given and len(given[1]) < 20 else 0
    if size <= 0:
        raise InputError(f"{variable}={text}: expected a size such as 500M or 8G")
    return size


def require_memory(size: float, where: str, hint: str = "") -> None:
    """Refuse what would allocate more than may be used; ``size`` is that of the decoded data, once.

    Examples
    --------
    >>> require_memory(10.0, "scores.parquet")
    >>> require_memory(1e15, "scores.parquet")
    Traceback (most recent call last):
    llrkit.errors.MemoryLimitError: scores.parquet: about 3.0 PB of memory would be needed, more than ...
    """
    limit = memory_limit()
    if size * COPIES > limit:
        raise MemoryLimitError(
            f"{where}: about {in_words(size * COPIES)} of memory would be needed, more than the "
            f"{in_words(limit)} that may be used; allow more with {VARIABLE}"
            + (f", or {hint}" if hint else "")
        )


def fits(size: float) -> bool:
    """Whether decoded data of this size may be held at once."""
    return size * COPIES <= memory_limit()


def in_words(size: float) -> str:
    """A size as one reads it.

    Examples
    --------
    >>> in_words(500), in_words(2.34e9)
    ('500 bytes', '2.3 GB')
    """
    for unit, bytes_each in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_each:
            return f"{size / bytes_each:.1f} {unit}"
    return f"{size:.0f} bytes"


@cache
def _default_limit() -> int:
    """A share of the memory there is; asked for once."""
    return int(SHARE * min([_machine_memory(), *_cgroup_limits(), *_resource_limits()]))


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 1 << 62


def _cgroup_limits() -> list[int]:
    """The limits of the cgroups this process is in, of version 2 and of version 1."""
    limits = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup") / ("memory" if "memory" in controllers.split(",") else "")
        name = "memory.limit_in_bytes" if root.name == "memory" else "memory.max"
        inside = Path(path.lstrip("/"))
        # inside of a container the path may be that of the host: the root is then what counts
        for folder in (root / inside, *(root / parent for parent in inside.parents)):
            try:
                limits.append(int((folder / name).read_text()))
            except (OSError, ValueError):  # no such file, or "max"
                continue
    return limits


def _resource_limits() -> list[int]:
    try:
        import resource
    except ImportError:  # not on every system
        return []
    soft = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return [limit for limit in soft if limit not in (resource.RLIM_INFINITY, -1)]


def address_space() -> int:
    """The limit that ``ulimit -v`` has set, in bytes; 0 without one."""
    try:
        import resource
    except ImportError:  # not on every system
        return 0
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 0 if soft in (resource.RLIM_INFINITY, -1) else soft
