"""Work in threads, in the order of its pieces.

The order in which results are used never depends on which thread was first, so answers do not depend on the
number of threads (``LLRKIT_THREADS``).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from itertools import chain, islice
from operator import add
from threading import Thread
from typing import TypeVar

from llrkit.errors import InputError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


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
