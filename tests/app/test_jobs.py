"""Processes of jobs: one that ended well is used again, one that was canceled or grew large is not."""

import subprocess
import sys
import threading
import time

import pytest

from llrkit.app import background_jobs as jobs

ANSWERS = """
import json, os, sys, time
for line in sys.stdin:
    task = json.loads(line)
    time.sleep(task["seconds"])
    print(json.dumps({"result": {"process": os.getpid()}, "again": task["again"]}), flush=True)
"""


@pytest.fixture
def workers(monkeypatch):
    def started():
        return subprocess.Popen(
            [sys.executable, "-c", ANSWERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    monkeypatch.setattr(jobs, "_started_worker", started)
    made = jobs.Workers()
    yield made
    made.close()


def done(workers, *, again=True, seconds=0.0, cancel=False):
    """The number of the process that did a job, and the job."""
    job, ended, results = (
        jobs.Job("id", "step", {"again": again, "seconds": seconds}),
        threading.Event(),
        [],
    )

    def finished(_, result):
        results.append(result)
        ended.set()

    workers.start(job, finished)
    if cancel:
        while job.process is None:
            time.sleep(0.01)
        job.cancel()
    assert ended.wait(30)
    return (results[0] or {}).get("process"), job


def test_a_process_is_used_again_until_it_has_grown(workers):
    first, job = done(workers)
    job.cancel()  # too late: it must not end what works for others by now
    second, _ = done(workers, again=False)
    third, _ = done(workers)
    assert first == second
    assert third != first


def test_a_canceled_job_ends_its_process_and_the_next_gets_another(workers):
    first, _ = done(workers)
    nothing, job = done(workers, seconds=60.0, cancel=True)
    assert (nothing, job.state) == (None, "canceled")
    after, _ = done(workers)
    assert after not in (None, first)
