"""The application in a process of its own, and a client that speaks to it as a browser does, or worse."""

from __future__ import annotations

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
import polars as pl

import llrkit as lk


class Server:
    """A running application; everything it can write is below ``place``."""

    def __init__(self, process: subprocess.Popen[str], address: str, place: Path) -> None:
        self.process, self.address, self.place = process, address, place
        parts = urlsplit(address)
        self.port = parts.port or 0
        self.token = parts.query.removeprefix("token=")
        self.origin = f"http://127.0.0.1:{self.port}"
        self.said = ""
        """Standard error, after the end."""

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def served(place: Path, *options: str, files: tuple[str, ...] = ()):
    """Start the application with its folders below a place; at the end it is interrupted."""
    for name in ("tmp", "home", "projects"):
        (place / name).mkdir(exist_ok=True)
    settings = {
        **os.environ,
        "TMPDIR": str(place / "tmp"),
        "HOME": str(place / "home"),
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "llrkit", "app", *files, "--no-browser", "--projects", str(place / "projects"),
         *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings, cwd=place / "home",
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        running = Server(process, address, place)
        yield running
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        running.said = process.stderr.read()
        process.stdout.close()
        process.stderr.close()


class Visitor:
    """A client with or without a session."""

    def __init__(self, server: Server) -> None:
        self.server, self.cookie = server, ""

    def log_in(self) -> Visitor:
        answer = self.ask("GET", f"/?token={self.server.token}")
        assert answer.status == 303, answer.status
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def ask(self, method, target, body=None, **headers):
        """One request; headers as keywords, with underscores for hyphens."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            given.setdefault("cookie", self.cookie)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(method, target, body, given)
            answer = connection.getresponse()
            answer.text = answer.read().decode("utf-8", errors="replace")
            return answer
        finally:
            connection.close()

    def post(self, target, **fields):
        """A form, as a page of the application sends it."""
        return self.ask("POST", target, urlencode(fields), origin=self.server.origin,
                        content_type="application/x-www-form-urlencoded")  # fmt: skip

    def put(self, target, name, content):
        """A file, as a page of the application sends it."""
        return self.ask("PUT", f"{target}?name={quote(name)}", content, origin=self.server.origin)

    def new_project(self) -> str:
        """The address of an empty project."""
        return self.post("/new").headers["location"].rpartition("/")[0]

    def wait(self, project: str) -> list[dict]:
        """The jobs of a project when none is open any more."""
        for _ in range(1200):
            jobs = json.loads(self.ask("GET", f"{project}/jobs").text)
            if not any(job["state"] in ("waiting", "running") for job in jobs):
                return jobs
            time.sleep(0.1)
        raise AssertionError(f"the work does not end: {jobs}")


def raw(server: Server, data: bytes, patience: float = 10.0) -> bytes:
    """What the server answers to these very bytes, until it is silent or hangs up."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        except (TimeoutError, ConnectionError):
            pass
        return answer


def score_table(seed, *, score="cosine", label="label", n=60):
    """A CSV of trials with a speaker each, whose labels are the words same and different."""
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.08).rvs(n, 6 * n, np.random.default_rng(seed))
    scores = 0.1 * np.concatenate([target, nontarget]) + 0.3
    words = ["same-source"] * n + ["different-source"] * (6 * n)
    out = io.BytesIO()
    speakers = [f"s{i % 20}" for i in range(7 * n)]
    pl.DataFrame({"speaker": speakers, score: scores, label: words}).write_csv(out)
    return out.getvalue()
