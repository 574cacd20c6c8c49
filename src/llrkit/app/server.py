"""``llrkit app``: listen on this machine, say where, and clean up at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from llrkit.app.project import FILES, ScoreFile, file_name
from llrkit.app.session import Session
from llrkit.base.files import file_sha256, locked_folder
from llrkit.base.process import parse_size
from llrkit.errors import InputError, MissingPackageError
from llrkit.jobs.options import AppOptions

try:
    import uvicorn

    from llrkit.app.pages import refused
    from llrkit.app.request_guard import Address, Guard
    from llrkit.app.routes import application
except ImportError:
    raise MissingPackageError.of_extra("the app needs starlette and uvicorn", "app") from None

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PREFIX = "llrkit-app-"


def run_app(asked: AppOptions, *, say: Callable[[str], None] = print) -> None:
    """Serve the application until it is interrupted.

    ``say`` is called with the one line that holds the address and its token.
    """
    max_upload = parse_size(asked.max_upload, "--max-upload")
    host = asked.host
    if host not in LOOPBACK and not asked.allow_remote:
        raise InputError(
            f"--host {host} lets other machines in, without encryption; say --allow-remote if you mean it"
        )
    _remove_abandoned()
    working = Path(tempfile.mkdtemp(prefix=_PREFIX))
    session = Session(working.resolve(), Path(asked.projects).resolve(), max_upload)
    try:
        with locked_folder(working), _listening_server(host, asked.port) as listening:
            guard = Guard(
                application(session),
                Address(host, listening.getsockname()[1], remote=host not in LOOPBACK),
                refused,
            )
            session.workers.prepare()
            if asked.files:
                _first_project(session, asked.files)
            address = f"{guard.address.shown}?token={guard.token}"
            say(address)
            sys.stdout.flush()
            if asked.browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            config = uvicorn.Config(
                guard, http="h11", ws="none", lifespan="off", log_config=None, log_level="critical",
                access_log=False, server_header=False, proxy_headers=False, limit_concurrency=200,
                timeout_graceful_shutdown=2,
            )  # fmt: skip
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listening])
    finally:
        session.close()


def _listening_server(host: str, port: int) -> socket.socket:
    try:
        kind = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # by its number: asyncio turns off the delay of small packets only where it is named
        listening = socket.socket(kind[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        raise InputError(f"{host}:{port}: cannot listen there ({error.strerror or error})") from None
    return listening


def _first_project(session: Session, files: Sequence[str]) -> None:
    """A project with copies of the files of the command line."""
    paths = [Path(path).resolve() for path in files]
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file")
    project = session.new_project()
    for path in paths:
        name = file_name(path.name, project.files)
        copy = project.folder / FILES / name
        shutil.copyfile(path, copy)
        project.files[name] = ScoreFile(name, copy.stat().st_size, file_sha256(copy))
        session.read_again(project, project.files[name])


def _remove_abandoned() -> None:
    """Remove what an application that was killed left in the temporary folder."""
    if sys.platform == "win32":  # without locks nobody knows whether it is used
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            # a folder that is being made is not locked yet
            is_old = time.time() - about.st_mtime > 60.0
            if not (stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and is_old):
                continue
            with locked_folder(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
