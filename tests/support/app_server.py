"""The application in this process or in one of its own, and a client that speaks to it as a browser does."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlencode, urlsplit

import numpy as np
import polars as pl

import llrkit as lk


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str


class HereAndNow:
    """Workers that do each job in this process before they return; if they are held, jobs wait forever."""

    def __init__(self) -> None:
        self.held = False

    def prepare(self) -> None: ...

    def close(self) -> None: ...

    def start(self, job, finished) -> None:
        if self.held:
            return
        job.state = "running"
        answer = answer_of_worker(job.task)
        if "error" in answer:
            job.state, job.error = "failed", answer["error"]
        finished(job, answer.get("result"))


def answer_of_worker(task):
    """What a worker says at the end of a task."""
    from llrkit.app.worker import Telling, _do_work

    out = io.StringIO()
    with chdir("."):  # a task changes into the folder of its project
        _do_work(json.dumps(task), Telling(out))
    return json.loads(out.getvalue().splitlines()[-1])


class Here:
    """The application in this process, without a network; everything it can write is below ``place``."""

    origin = "http://127.0.0.1:8000"

    def __init__(self, place: Path, *, max_upload: int = 1 << 30) -> None:
        from llrkit.app.pages import refused
        from llrkit.app.request_guard import Address, Guard
        from llrkit.app.routes import application
        from llrkit.app.session import Session

        self.place = place
        self.session = Session(place / "tmp", place / "projects", max_upload, HereAndNow())
        self.guard = Guard(application(self.session), Address("127.0.0.1", 8000), refused)
        self.token = self.guard.token

    def send(self, method, target, body, headers) -> Answer:
        """One request; a body that is a list comes in pieces, without a length."""
        pieces = body if isinstance(body, list) else [body]
        if not isinstance(body, list):
            headers = {"content-length": str(len(body)), **headers}
        path, _, query = target.partition("?")
        scope = {
            "type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "scheme": "http", "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in
                        ({"host": "127.0.0.1:8000"} | headers).items()],
        }  # fmt: skip
        waiting = [{"type": "http.request", "body": one, "more_body": True} for one in pieces]
        waiting += [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]
        said = []

        async def receive():
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

        async def send(message):
            said.append(message)

        asyncio.run(self.guard(scope, receive, send))
        given = {name.decode().lower(): value.decode() for name, value in said[0]["headers"]}
        text = b"".join(message.get("body", b"") for message in said[1:])
        return Answer(said[0]["status"], given, text.decode("utf-8", errors="replace"))


class Server:
    """The application in a process of its own; everything it can write is below ``place``."""

    def __init__(self, process: subprocess.Popen[str], address: str, place: Path) -> None:
        self.process, self.address, self.place = process, address, place
        parts = urlsplit(address)
        self.port = parts.port or 0
        self.token = parts.query.removeprefix("token=")
        self.origin = f"http://127.0.0.1:{self.port}"
        self.said = ""
        """Standard error, after the end."""

    def send(self, method, target, body, headers) -> Answer:
        """One request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, given, answer.read().decode("utf-8", errors="replace"))
        finally:
            connection.close()


@contextmanager
def served(place: Path, *options: str):
    """Start the application with its folders below a place; at the end it is interrupted."""
    for name in ("tmp", "home", "projects"):
        (place / name).mkdir(exist_ok=True)
    settings = {"TMPDIR": str(place / "tmp"), "HOME": str(place / "home"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "llrkit", "app", "--no-browser", "--projects", str(place / "projects"),
         *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | settings,
        cwd=place / "home",
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        running = Server(process, address, place)
        yield running
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    running.said = said


class Visitor:
    """A client with or without a session."""

    def __init__(self, server: Here | Server) -> None:
        self.server, self.cookie = server, ""

    def log_in(self) -> Visitor:
        answer = self.ask("GET", f"/?token={self.server.token}")
        assert answer.status == 303, answer.status
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def ask(self, method, target, body=b"", **headers) -> Answer:
        """One request; headers as keywords, with underscores for hyphens."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            given.setdefault("cookie", self.cookie)
        return self.server.send(method, target, body, given)

    def post(self, target, **fields) -> Answer:
        """A form, as a page of the application sends it."""
        return self.ask("POST", target, urlencode(fields).encode(), origin=self.server.origin,
                        content_type="application/x-www-form-urlencoded")  # fmt: skip

    def put(self, target, name, content) -> Answer:
        """A file, as a page of the application sends it."""
        return self.ask("PUT", f"{target}?name={quote(name)}", content, origin=self.server.origin)

    def new_project(self) -> str:
        """The address of an empty project."""
        return self.post("/new").headers["location"].rpartition("/")[0]

    def jobs(self, project: str) -> dict[str, dict]:
        """The jobs of a project by step."""
        return {job["step"]: job for job in json.loads(self.ask("GET", f"{project}/jobs").text)}

    def wait(self, project: str) -> dict[str, dict]:
        """The jobs of a project when none is open any more."""
        for _ in range(3000):  # a net only: nothing depends on how long it takes
            jobs = self.jobs(project)
            if not any(job["state"] in ("waiting", "running") for job in jobs.values()):
                return jobs
            time.sleep(0.1)
        raise AssertionError(f"the work does not end: {jobs}")


def score_table(seed, *, score="cosine", label="label", n=60):
    """A CSV of trials with a speaker each, whose labels are the words same and different."""
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.08).rvs(n, 6 * n, np.random.default_rng(seed))
    scores = 0.1 * np.concatenate([target, nontarget]) + 0.3
    words = ["same-source"] * n + ["different-source"] * (6 * n)
    speakers = [f"s{i % 20}" for i in range(7 * n)]
    return pl.DataFrame({"speaker": speakers, score: scores, label: words}).write_csv().encode()
