"""Work in the background: each job has a process for itself, can be watched, and can be canceled."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from llrkit.app.choice_types import Outcome, PlainJob, PlainTask

AT_ONCE = 2
"""Jobs that run at the same time; others wait."""


@dataclass(eq=False)
class Job:
    """A piece of work for one step of one project."""

    id: str
    step: str
    task: PlainTask
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

    def to_dict(self) -> PlainJob:
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
        [sys.executable, "-m", "llrkit.app.worker_process"],
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
