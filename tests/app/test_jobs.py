"""Processes of jobs: one that ended well is used again, one that was canceled or grew large is not."""

import subprocess
import sys
import threading

import pytest
from app_server import Here

from llrkit.app import worker as jobs
from llrkit.app.project import ScoreFile

PATIENCE = 300
"""Seconds; only a job that never ends takes them."""
ANSWERS = """
import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    if task["never"]:
        print(json.dumps({"progress": ["waiting", 0, None, ""]}), flush=True)
        continue
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


class WatchedJob(jobs.Job):
    """A job that says when its process has begun to work."""

    begun = threading.Event()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "progress" and value[0] == "waiting":
            self.begun.set()


def done(workers, *, again=True, cancel=False):
    """The number of the process that did a job, and the job."""
    job, ended, results = WatchedJob("id", "step", {"again": again, "never": cancel}), threading.Event(), []

    def finished(_, result):
        results.append(result)
        ended.set()

    workers.start(job, finished)
    if cancel:
        assert job.begun.wait(PATIENCE)
        job.cancel()
    assert ended.wait(PATIENCE)
    return (results[0] or {}).get("process"), job


@pytest.mark.slow
def test_a_process_is_used_again_until_it_has_grown(workers):
    first, job = done(workers)
    job.cancel()  # too late: it must not end what works for others by now
    second, _ = done(workers, again=False)
    third, _ = done(workers)
    assert first == second
    assert third != first


@pytest.mark.slow
def test_a_canceled_job_ends_its_process_and_the_next_gets_another(workers):
    first, _ = done(workers)
    nothing, job = done(workers, cancel=True)
    assert (nothing, job.state) == (None, "canceled")
    after, _ = done(workers)
    assert after not in (None, first)


FACTS = {"n_target": 1, "n_nontarget": 1, "columns": ["score", "label"]}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_first_file_trains_whatever_is_read_first(tmp_path, need, order):
    need("starlette")
    session, started = Here(tmp_path).session, []
    session.workers.start = lambda job, finished: started.append((job, finished))
    project = session.new_project()
    for name in ("dev.csv", "eval.csv", "more.csv"):
        project.files[name] = ScoreFile(name, 1, "0")
        session.read_again(project, project.files[name])

    def uses():
        return [file.use for file in project.files.values()]

    def end(i, facts):
        job, finished = started[i]
        job.state = "running"
        finished(job, {"facts": facts})

    for i in order:  # the columns of the first file must be named before it can be read
        end(i, FACTS if i else {"columns": ["Wert", "Art"]})
    assert uses() == ["", "", ""]
    session.read_again(project, project.files["dev.csv"])
    end(3, FACTS)
    assert uses() == ["train", "validation", ""]


def test_a_file_that_is_taken_out_lets_those_behind_it_be_used(tmp_path, need):
    need("starlette")
    session, started = Here(tmp_path).session, []
    session.workers.start = lambda job, finished: started.append((job, finished))
    project = session.new_project()
    for name in ("broken.csv", "dev.csv"):
        project.files[name] = ScoreFile(name, 1, "0")
        session.read_again(project, project.files[name])
    job, finished = started[1]
    finished(job, {"facts": FACTS})
    assert project.files["dev.csv"].use == ""
    session.remove_file(project, project.files["broken.csv"])
    assert project.files["dev.csv"].use == "train"
