"""Work in the background: one process for each piece of work, which can be watched and ended at any moment.

The application writes a line of JSON to the process and reads lines of progress and a result; nothing is
unpickled on either side. The pages answer meanwhile, and a file that exhausts the memory ends nothing else.
After work that ended well a process takes the next, unless it has grown large.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from llrkit.base.text import Json

Outcome = dict[str, Any]
"""What came of a piece of work: see :func:`llrkit.app.steps.do`."""
AT_ONCE = 2
"""Jobs that run at the same time; others wait."""


@dataclass(eq=False)
class Job:
    """A piece of work for one step of one project."""

    id: str
    step: str
    task: dict[str, Any]
    form: dict[str, str] = field(default_factory=dict)
    """What was typed for it, as the page shows it again."""
    state: str = "waiting"
    """waiting, running, done, failed or canceled."""
    progress: tuple[str, float, float | None, str] = ("starting", 0.0, None, "")
    error: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "running")

    def cancel(self) -> None:
        """End it now; what it made so far is thrown away."""
        with self.lock:
            if self.is_open:
                self.state = "canceled"
            if self.process is not None:
                self.process.kill()

    def to_dict(self) -> dict[str, Json]:
        """What a page is told."""
        what, done, total, unit = self.progress
        share = None if not total else min(done / total, 1.0)
        return {"id": self.id, "step": self.step, "state": self.state, "what": what, "share": share,
                "unit": unit, "error": self.error}  # fmt: skip


class Workers:
    """Processes for jobs; one is always ready, so that a job need not wait for the libraries."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._spare: subprocess.Popen[str] | None = None
        self._running: set[Job] = set()
        self._closed = False

    def prepare(self) -> None:
        """Start the process that waits for the next job."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = _started_worker()

    def start(self, job: Job, finished: Callable[[Job, Outcome | None], None]) -> None:
        """Run a job in the background; ``finished`` is called with its result, or None."""
        threading.Thread(target=self._run, args=(job, finished), daemon=True).start()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            self._closed = True
            spare, running = self._spare, list(self._running)
        for job in running:
            job.cancel()
        if spare is not None:
            _end_worker(spare)

    def _run(self, job: Job, finished: Callable[[Job, Outcome | None], None]) -> None:
        with self._free:
            result = self._answer(job) if job.state == "waiting" else None
        with job.lock:
            if job.state == "running" and result is None:
                job.state = "failed"
                job.error = job.error or "the work ended before it was done; there may be too little memory"
        finished(job, result if job.state == "running" else None)
        self.prepare()

    def _answer(self, job: Job) -> Outcome | None:
        with self._lock:
            process, self._spare = self._spare, None
        process = process if process is not None and process.poll() is None else _started_worker()
        with job.lock:
            if job.state != "waiting":
                _end_worker(process)
                return None
            job.state, job.process = "running", process
        with self._lock:
            self._running.add(job)
        again = False
        try:
            result, again = _talk_to_worker(process, job)
            return result
        finally:
            with job.lock:
                job.process = None  # a cancel must not end what works for another job by then
                again = again and job.state == "running"
            with self._lock:
                self._running.discard(job)
                kept = again and self._spare is None and not self._closed
                self._spare = process if kept else self._spare
            if not kept:
                _end_worker(process)


def _started_worker() -> subprocess.Popen[str]:
    """A process that waits for a task on its standard input."""
    return subprocess.Popen(
        [sys.executable, "-m", "llrkit.app.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
        start_new_session=True,
    )  # fmt: skip


def _end_worker(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was still to be written is lost with it
                pipe.close()


def _talk_to_worker(process: subprocess.Popen[str], job: Job) -> tuple[Outcome | None, bool]:
    """What came of a job, and whether its process may do another."""
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018
    try:
        process.stdin.write(json.dumps(job.task) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            message = json.loads(line)
            if "result" in message:
                return message["result"], message["again"]
            if "error" in message:
                job.error = message["error"]
                return None, False
            what, done, total, unit = message["progress"]
            job.progress = (what, done, total, unit)
    except (OSError, ValueError):  # it was ended in the middle of a line
        return None, False
    return None, False


# in the process that works

PERIOD = 0.1
"""Seconds between two messages on progress."""
LARGEST = 1 << 30
"""Bytes; a process that needed more does not take another piece of work."""


@dataclass(eq=False)
class Work:
    """A piece of work that is under way."""

    what: str
    done: float
    total: float | None
    unit: str


class Telling:
    """A watcher that writes how far the work is."""

    def __init__(self, out: IO[str]) -> None:
        self.out, self.last = out, 0.0
        self.open: list[Work] = []
        self.lock = threading.Lock()

    def begin(self, what: str, total: float | None, unit: str) -> Work:
        """A piece of work begins."""
        work = Work(what, 0.0, total, unit)
        with self.lock:
            self.open.append(work)
        self._tell()
        return work

    def advance(self, work: Work, amount: float) -> None:
        """So much more of it is done."""
        work.done += amount
        self._tell()

    def end(self, work: Work) -> None:
        """It is finished, or given up."""
        with self.lock:
            self.open = [one for one in self.open if one is not work]

    def _tell(self) -> None:
        now = time.monotonic()
        with self.lock:
            if now - self.last < PERIOD or not self.open:
                return
            self.last = now
            first = self.open[0]
            self.say({"progress": [first.what, first.done, first.total, first.unit]})

    def say(self, message: Mapping[str, object]) -> None:
        """Write one line."""
        self.out.write(json.dumps(message) + "\n")
        self.out.flush()


def main() -> None:
    """Wait for tasks and do them, until one fails or has made the process large."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever else is printed must not be taken for an answer
    os.environ["MPLBACKEND"] = "agg"
    telling = Telling(out)
    from llrkit.app.steps import prepare

    prepare()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen_to_application, args=(lines,), daemon=True).start()
    while _do_work(lines.get(), telling):
        pass


def _listen_to_application(lines: queue.SimpleQueue[str]) -> None:
    """Hand on what the application asks for, and end with it."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(1)


def _worker_has_grown() -> bool:
    """Whether this process needed much memory, which it may still hold; unknown on Windows."""
    if sys.platform == "win32":
        return True
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) > LARGEST


def _do_work(line: str, telling: Telling) -> bool:
    """One piece of work; whether this process may do another."""
    from llrkit.app.steps import Task, do
    from llrkit.base.process import watched_by
    from llrkit.errors import LlrkitError, LlrkitWarning

    task: Task | None = None
    try:
        with warnings.catch_warnings(record=True) as caught, watched_by(telling):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", LlrkitWarning)
            task = Task(**json.loads(line))
            result = do(task)
        texts = (str(w.message) for w in caught if issubclass(w.category, LlrkitWarning))
        result["warnings"] = [*dict.fromkeys(map(task.say, texts)), *result.get("warnings", ())]
        again = not _worker_has_grown()
        telling.say({"result": result, "again": again})
        return again
    except LlrkitError as error:
        telling.say({"error": str(error) if task is None else task.say(str(error))})
    except MemoryError:
        telling.say({"error": "there is not enough memory for this"})
    except OSError as error:
        telling.say({"error": error.strerror or str(error)})
    except BaseException as error:  # a panic of polars is no Exception
        first = (str(error).strip() or "no message").splitlines()[0][:300]
        telling.say({"error": f"this should not happen, please report it: {type(error).__name__}: {first}"})
    return False


if __name__ == "__main__":
    main()
