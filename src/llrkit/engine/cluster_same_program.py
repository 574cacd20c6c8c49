"""Before the first pass: does every worker compute what this process would?"""

from __future__ import annotations

import asyncio
import hashlib
import platform
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from llrkit._version import __version__
from llrkit.engine.cluster_results import (
    MORE_TIME,
    Versions,
    address_of,
    finished,
    results_of,
    scheduler_of,
    synchronous,
    timeout_now,
)
from llrkit.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")


PACKAGES = ("numpy", "scipy", "polars", "pyarrow", "distributed")
"""What workers read and compute with, and the package that carries it; another version may give other
numbers, or none."""


@cache
def sources_digest() -> str:
    """A hash of llrkit's own source files: two installations with the same one run the same program."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0")
        digest.update(file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def program_here() -> dict[str, str]:
    """The versions that matter for numbers, and the source files of llrkit, of this process.

    Examples
    --------
    >>> sorted(program_here())
    ['distributed', 'llrkit', 'numpy', 'polars', 'pyarrow', 'scipy', 'source files']
    """
    versions = {name: str(import_module(name).__version__) for name in PACKAGES}
    return {"llrkit": __version__, **versions, "source files": sources_digest()[:12]}


def require_agreement(client: Client) -> None:
    """Compare versions with every worker; raise if one would compute with others.

    Python is compared by its first two numbers, everything else by all of them, and llrkit by its source
    files too: a worker with a patched llrkit of the same version is found. Workers that join later are
    checked by every task they get (:func:`require_same_program`).
    """
    _wait_for_worker(client)
    # Between versions of Python no function can travel: first comes a question that Dask answers by itself.
    python = _minor_version(platform.python_version())
    for worker, answer in _answers_of_workers(client, _versions_of).items():
        if isinstance(answer, BaseException):
            raise ClusterError(f"the worker {worker} does not tell its version of Python ({answer!r})")
        found = _minor_version(answer["host"]["python"])
        if found != python:
            raise _other_program(worker, [f"Python {found}, here {python}"])
    here = program_here()
    for worker, there in _answers_of_workers(client, _program_of).items():
        if isinstance(there, BaseException):
            raise ClusterError(
                f"the worker {worker} cannot run this llrkit ({there}): install llrkit[dask] "
                f"{__version__} there"
            )
        other = [
            f"{name} {there.get(name)}, here {mine}" for name, mine in here.items() if there.get(name) != mine
        ]
        if other:
            raise _other_program(worker, other)


def _other_program(worker: str, differences: Sequence[str]) -> ClusterError:
    return ClusterError(
        f"the worker {worker} has {'; '.join(differences)}: it may compute other numbers, so install the "
        "same versions"
    )


def require_same_program(digest: str) -> None:
    """Refuse to work, on a worker, for a client that has other source files of llrkit."""
    if digest != sources_digest():
        raise ClusterError(
            "a worker has other source files of llrkit than the process that sent the work: it may give "
            "other numbers, so install the same llrkit"
        )


@dataclass(frozen=True)
class SameProgram(Generic[T]):
    """Work that no worker with another llrkit does."""

    work: Callable[[T], T]
    digest: str

    def __call__(self, item: T) -> T:
        """Do it, on a worker."""
        require_same_program(self.digest)
        return self.work(item)


def done_on(client: Client, work: Callable[[T], T], items: Sequence[T]) -> Iterator[T]:
    """The results of ``work`` on each item, as they are done, by workers that agree."""
    require_agreement(client)
    waiting = set(client.map(SameProgram(work, sources_digest()), items, pure=False))
    while waiting:
        done = finished(client, waiting, "FIRST_COMPLETED")
        waiting -= done
        for future in done:
            yield results_of(client, [future])[0]


async def _versions_of(client: Client, worker: str) -> Versions:
    message = {"op": "versions", "packages": []}
    told = await scheduler_of(client).broadcast(msg=message, workers=[worker], on_error="ignore")
    return told[worker]


async def _program_of(client: Client, worker: str) -> dict[str, str] | Exception:
    told = await client._run(program_here, workers=[worker], on_error="return")
    assert told is not None  # as with wait=False
    answer: dict[str, str] | Exception = told[worker]
    return answer


def _answers_of_workers(
    client: Client, question: Callable[[Client, str], Awaitable[T]]
) -> dict[str, T | BaseException]:
    """What every worker answers, within the time-out."""
    seconds = timeout_now()

    async def ask(worker: str) -> T:
        return await asyncio.wait_for(question(client, worker), seconds)

    async def ask_all() -> dict[str, T | BaseException]:
        workers = await present()
        answers = await asyncio.gather(*map(ask, workers), return_exceptions=True)
        still_there = await present()  # a worker may leave while it is asked
        told = zip(workers, answers, strict=True)
        return {worker: answer for worker, answer in told if worker in still_there}

    async def present() -> list[str]:
        return list((await asyncio.wait_for(scheduler_of(client).identity(), seconds))["workers"])

    try:
        answers: dict[str, T | BaseException] = synchronous(client.sync(ask_all), dict)
    except OSError as error:  # also a time-out
        raise ClusterError(
            f"the scheduler at {address_of(client)} has not answered for {seconds:g} s ({error!r}); "
            f"{MORE_TIME}"
        ) from None
    for worker, answer in answers.items():
        if isinstance(answer, TimeoutError | KeyError):
            raise ClusterError(
                f"the worker {worker} has not answered for {seconds:g} s: stop it, or {MORE_TIME}"
            )
    return answers


def _wait_for_worker(client: Client) -> None:
    seconds = timeout_now()
    try:
        client.wait_for_workers(1, timeout=seconds)
    except OSError:  # a time-out, or a connection that is lost
        raise ClusterError(
            f"the scheduler at {address_of(client)} has had no worker for {seconds:g} s; start one, or "
            f"{MORE_TIME}"
        ) from None


def _minor_version(version: str) -> str:
    return ".".join(version.split(".")[:2])
