"""What concerns the whole process: memory, forks, threads, progress and warnings.

The order in which results of threads are used never depends on which thread was first, so answers do not
depend on the number of threads (``LLRKIT_THREADS``).
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial, reduce
from importlib import import_module
from itertools import chain, islice
from operator import add
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from llrkit.errors import ForkedProcessError, InputError, MemoryLimitError, MissingPackageError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    import functools

    class cached_property(functools.cached_property):  # noqa: N801  the name it has everywhere
        """As in Python 3.12 and later: without one lock for all objects, which threads would wait for.

        Two threads that ask the same object at the same time may both compute the value, which is the same.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            # in the instance itself, where Python finds it without asking here again
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


def needed_package(module: str, need: str, extra: str) -> ModuleType:
    """A module that an extra of llrkit brings; where it is missing, the error says how to install it.

    Examples
    --------
    >>> needed_package("no_such_package", "Word documents need python-docx", "docx")
    Traceback (most recent call last):
    llrkit.errors.MissingPackageError: Word documents need python-docx: pip install 'llrkit[docx]'
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError.of_extra(need, extra) from None


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
    # read each time: it may be changed while the process runs
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
    # a few hundred digits would be infinite
    size = int(float(given[1]) * _UNITS[given[2].upper()]) if given and len(given[1]) < 20 else 0
    if size <= 0:
        raise InputError(f"{variable}={text}: expected a size such as 500M or 8G")
    return size


def require_memory(size: float, where: str, hint: str = "") -> None:
    """Refuse what would allocate more than may be used; ``size`` is that of the decoded data, once.

    What a file unpacks to is not what reading it allocates: a Parquet file of 0.35 MB may hold 450 MB of
    values. So readers estimate what they are about to allocate, from rows and widths, and ask here first.

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
    limits = _cgroup_limits()
    with suppress(AttributeError, ValueError, OSError):  # not on every system
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ImportError):  # not on every system
        import resource

        soft = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        limits += [limit for limit in soft if limit not in (resource.RLIM_INFINITY, -1)]
    return int(SHARE * min(limits, default=1 << 62))  # a system that tells nothing sets no limit


def _cgroup_limits() -> list[int]:
    """The limits of the cgroups this process is in, of version 2 and of version 1."""
    limits = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)  # a path may hold colons
        root = Path("/sys/fs/cgroup") / ("memory" if "memory" in controllers.split(",") else "")
        name = "memory.limit_in_bytes" if root.name == "memory" else "memory.max"
        inside = Path(path.lstrip("/"))
        # inside of a container the path may be that of the host: the root is then what counts
        # a limit of any group above applies as well
        for folder in (root / inside, *(root / parent for parent in inside.parents)):
            try:
                limits.append(int((folder / name).read_text()))
            except (OSError, ValueError):  # no such file, or "max"
                continue
    return limits


_THREAD_NAMES = re.compile(r"polars-\d|async-execut|tokio-rt")
_forked_after_use = False


def refuse_after_fork(what: str = "tables") -> None:
    """Raise in a process that was forked after polars had been used, instead of waiting for ever.

    After ``fork`` only the thread that called it is alive. What polars gives to its threads then waits for
    ever, and they cannot be started again. NumPy does not mind, nor do metrics, fits and maps of arrays.

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
        # the kernel keeps 15 characters of a name
        names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:  # not Linux, or a thread that has just ended
        return True
    return any(_THREAD_NAMES.match(name) for name in names)


def _before_fork() -> None:
    global _about_to_fork_after_use
    # or: the fork of a forked process has lost the threads, too, though none runs now
    _about_to_fork_after_use = _forked_after_use or _threads_run()


def _after_fork_in_child() -> None:
    global _forked_after_use
    _forked_after_use = _about_to_fork_after_use


_about_to_fork_after_use = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products and decompositions in the calling thread only; a context, and a decorator.

    For many small matrices: threads of BLAS that wait for each other on a busy machine took four times as
    long as one of them, and their number changes the last bits of what they give.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: the argument, else ``LLRKIT_THREADS``, else the cores we may run on.

    Examples
    --------
    >>> thread_count(3)
    3
    """
    if threads is None:
        text = os.environ.get("LLRKIT_THREADS", "")
        if not text:
            # a container or taskset may allow fewer cores than there are
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not text.isdecimal():
            raise InputError(f"LLRKIT_THREADS must be a positive whole number, got {text!r}")
        threads = int(text)
    if threads < 1:
        raise InputError(f"the number of threads must be at least 1, got {threads}")
    return threads


def reduce_chunks(
    chunks: Iterable[Chunk],
    summarize: Callable[[Chunk], Result],
    *,
    n_chunks: int | None = None,
    threads: int | None = None,
) -> Result:
    """Summarize chunks in a pool of threads and merge the summaries in the order of the chunks.

    A chunk is whatever ``summarize`` takes: scores, or the number of a block that it makes itself. The
    merge order never depends on which thread was first, so the answer does not depend on the number of
    threads. Only a few summaries are alive at a time. If ``n_chunks`` says that there are no more chunks than
    threads, nothing has to wait for them.
    """
    workers = thread_count(threads)
    # every chunk gets its thread at once; a pool would only add its own
    if n_chunks is not None and n_chunks <= workers:
        return reduce(add, each_in_threads(summarize, chunks, threads=threads))
    rest = iter(chunks)
    ahead = list(islice(rest, 2))  # two are enough to know whether a pool is worth it
    if not ahead:
        raise InputError("a source without chunks cannot be summarized")
    if workers == 1 or len(ahead) == 1:  # a pool would cost more than it gives
        return reduce(add, map(summarize, chain(ahead, rest)))
    with ThreadPoolExecutor(workers) as pool:
        # bounded: chunks that are read faster than summarized would fill the memory
        return reduce(add, in_order(pool, summarize, chain(ahead, rest), 2 * workers))


def each_in_threads(
    work: Callable[[Chunk], Result], chunks: Iterable[Chunk], *, threads: int | None = None
) -> list[Result]:
    """What ``work`` makes of every chunk, in their order, by this thread and as many others as are allowed.

    Examples
    --------
    >>> each_in_threads(len, ["one", "three"])
    [3, 5]
    """
    waiting = list(chunks)
    workers = min(thread_count(threads), len(waiting))
    if workers <= 1:
        return list(map(work, waiting))
    # Not an executor: this thread would wait beside the others, and wake for every chunk.
    to_do = deque(range(len(waiting)))
    made: dict[int, Result] = {}
    failed: dict[int, BaseException] = {}

    def work_on() -> None:
        # popleft is atomic, so that threads need no lock to share the work
        while to_do:
            try:
                i = to_do.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                made[i] = work(waiting[i])
            except BaseException as error:  # an interrupt too: it is raised in the calling thread
                failed[i] = error
                to_do.clear()  # the other threads stop after their chunk

    others = [Thread(target=work_on) for _ in range(workers - 1)]
    try:
        for thread in others:
            thread.start()
        work_on()
    finally:
        to_do.clear()  # after an interrupt of this thread as well
        for thread in others:
            if thread.ident is not None:  # it was started
                thread.join()
    if failed:
        raise failed[min(failed)]  # of several, that of the first chunk
    return [made[i] for i in range(len(waiting))]


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[Chunk], Result], chunks: Iterable[Chunk], most: int
) -> Iterator[Result]:
    """Results in the order of the chunks, with at most ``most`` under way or waiting."""
    waiting: deque[Future[Result]] = deque()
    for chunk in chunks:
        waiting.append(pool.submit(work, chunk))
        if len(waiting) > most:
            # the oldest, not the first that is ready: merges keep their order
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


Done: TypeAlias = Callable[[float], None]


class Watcher(Protocol):
    """Who is told, for example a progress bar; also by threads."""

    def begin(self, what: str, total: float | None, unit: str) -> Any:
        """A piece of work begins; gives something to know it by."""
        ...

    def advance(self, work: Any, amount: float) -> None:
        """So much more of it is done."""

    def end(self, work: Any) -> None:
        """It is finished, or given up."""


_watcher: Watcher | None = None
"""Who is told of all work in this process, in whatever thread: a process does one job at a time."""


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Everything that is done while this block runs is told to a watcher."""
    global _watcher
    before, _watcher = _watcher, watcher  # blocks may be nested
    try:
        yield
    finally:
        _watcher = before


@contextmanager
def stage(what: str, total: float | None = None, unit: str = "trials") -> Iterator[Done]:
    """A piece of work: call what it gives with how much was done since the last call.

    Examples
    --------
    >>> with stage("counting", total=2) as done:
    ...     done(1)
    ...     done(1)
    """
    watcher = _watcher
    if watcher is None:
        yield lambda amount: None
        return
    work = watcher.begin(what, total, unit)
    try:
        yield partial(watcher.advance, work)
    finally:
        watcher.end(work)


def tracked(
    items: Iterable[Chunk], what: str, total: float | None = None, unit: str = "steps"
) -> Iterator[Chunk]:
    """The same items, each one a step of a piece of work.

    Examples
    --------
    >>> list(tracked("ab", "spelling", total=2))
    ['a', 'b']
    """
    with stage(what, total, unit) as done:
        for item in items:
            yield item
            done(1)


def warn_caller(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn the first caller that is not llrkit itself."""
    frame, level = sys._getframe(1), 2
    # a warning that names a line of llrkit helps nobody, and would be shown only once
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "llrkit":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_warnings(category: type[Warning]) -> Iterator[list[str]]:
    """The warnings of a category as texts when the block has ended; others are shown then.

    For work that a process elsewhere does: its warnings are shown to nobody, so they travel with the result.

    Examples
    --------
    >>> with kept_warnings(UserWarning) as said:
    ...     warn_caller(UserWarning("2 trials are left out"))
    >>> said
    ['2 trials are left out']
    """
    said: list[str] = []
    # always: a warning may have been shown before, and is wanted again
    with warnings.catch_warnings(record=True, action="always") as caught:
        yield said
    for one in caught:
        if issubclass(one.category, category):
            said.append(str(one.message))
        else:
            # with the place that it was raised for
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
