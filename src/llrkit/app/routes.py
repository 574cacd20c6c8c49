"""What each address answers."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shlex
import shutil
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from llrkit.app import pages
from llrkit.app.forms import as_shown_again, read_form, reading_choices, settings_choices
from llrkit.app.project import DOCUMENTS, FILES, MOST_FILES, Project, ScoreFile, file_name
from llrkit.app.request_guard import SANDBOXED
from llrkit.app.session import Session
from llrkit.app.steps import STEPS
from llrkit.base.process import in_words
from llrkit.errors import InputError, LlrkitError

STATIC = {"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
          "icon.svg": "image/svg+xml"}  # fmt: skip
PIECE = 1 << 20
"""Bytes that are collected before they are written."""
KEPT_FREE = 256 << 20
"""Bytes that an upload leaves free on the disk."""
PAGE_OF = {"advise": "calibrate"}
"""The page of a step, where it has not one of its own."""


def application(session: Session) -> Starlette:
    """All addresses of a session."""
    app = Starlette(
        routes=[
            Route("/", start, methods=["GET"]),
            Route("/new", new, methods=["POST"]),
            Route("/open", open_saved, methods=["POST"]),
            Route("/static/{name}", static, methods=["GET"]),
            Route("/p/{id}/jobs", jobs, methods=["GET"]),
            Route("/p/{id}/cancel", cancel, methods=["POST"]),
            Route("/p/{id}/save", save, methods=["POST"]),
            Route("/p/{id}/close", close, methods=["POST"]),
            Route("/p/{id}/settings", settle, methods=["POST"]),
            Route("/p/{id}/files", upload, methods=["PUT"]),
            Route("/p/{id}/files/read", read_file, methods=["POST"]),
            Route("/p/{id}/files/remove", remove_file, methods=["POST"]),
            Route("/p/{id}/documents/{name}", document, methods=["GET"]),
            Route("/p/{id}/commands.sh", commands, methods=["GET"]),
            Route("/p/{id}/{step}", page, methods=["GET"]),
            Route("/p/{id}/{step}", work, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _http_error, LlrkitError: _library_error, ClientDisconnect: _gone},
    )
    app.router.redirect_slashes = False
    app.state.session = session
    return app


async def start(request: Request) -> Response:
    """All projects."""
    return pages.start_page(_session_of_request(request))


async def new(request: Request) -> Response:
    """An empty project."""
    await read_form(request)
    return _redirect_to(_session_of_request(request).new_project(), "files")


async def open_saved(request: Request) -> Response:
    """A saved project."""
    form = await read_form(request)
    session = _session_of_request(request)
    try:
        project = await run_in_threadpool(session.open_project, form.get("name", ""))
    except (LlrkitError, OSError) as error:
        return pages.start_page(session, error=_said_in_answer(error), status=400)
    return _redirect_to(project, "files")


async def static(request: Request) -> Response:
    """Style and program of the pages."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    return Response((pages.FOLDER / name).read_bytes(), media_type=STATIC[name])


async def jobs(request: Request) -> Response:
    """How far the work of a project is."""
    return JSONResponse(
        [job.to_dict() for job in _session_of_request(request).jobs_of(_project_of_request(request)).values()]
    )


async def cancel(request: Request) -> Response:
    """End a job."""
    project, form = _project_of_request(request), await read_form(request)
    for job in _session_of_request(request).jobs_of(project).values():
        if job.id == form.get("job"):
            job.cancel()
    step = form.get("page", "")
    return _redirect_to(project, step if step in pages.STEP_TITLES else "files")


async def save(request: Request) -> Response:
    """Save a project under the name that a form gives."""
    project, form = _project_of_request(request), await read_form(request)
    session = _session_of_request(request)
    try:
        await run_in_threadpool(session.save, project, form.get("name", ""))
    except (LlrkitError, OSError) as error:
        return pages.project_page(session, project, "documents", error=_said_in_answer(error), status=400)
    return _redirect_to(project, "documents")


async def close(request: Request) -> Response:
    """Forget a project; what was saved of it stays."""
    project = _project_of_request(request)
    await read_form(request)
    await run_in_threadpool(_session_of_request(request).close_project, project)
    return RedirectResponse("/", HTTPStatus.SEE_OTHER)


async def upload(request: Request) -> Response:
    """A file, as the body of the request."""
    project, session = _project_of_request(request), _session_of_request(request)
    try:
        name = request.query_params.get("name", "")
        file = await receive(request, project, name, most=session.max_upload)
    except TooLargeError as error:
        return JSONResponse({"error": str(error)}, 413)
    except LlrkitError as error:
        return JSONResponse({"error": str(error)}, 400)
    with contextlib.suppress(InputError):  # too much is being done; the page lets it be read later
        session.read_again(project, file)
    return JSONResponse({"name": file.name})


async def read_file(request: Request) -> Response:
    """Read a file in another way."""
    project, form = _project_of_request(request), await read_form(request)
    session = _session_of_request(request)
    file = project.file(form.get("file", ""))
    try:
        use, reading = reading_choices(form, file)
        if use and (other := project.with_use(use)) is not None and other is not file:
            other.use = ""
        with project.lock:
            file.use = use
            again = file.reading != reading
            file.reading = reading
            project.touch()
        if again or file.facts is None:
            session.read_again(project, file)
    except LlrkitError as error:
        return pages.project_page(session, project, "files", error=f"{file.name}: {error}", status=400)
    return _redirect_to(project, "files")


async def settle(request: Request) -> Response:
    """Choose the words, the unit of LLRs and the columns of the speakers."""
    project, form = _project_of_request(request), await read_form(request)
    try:
        chosen = settings_choices(form, project)
    except LlrkitError as error:
        return pages.project_page(
            _session_of_request(request), project, "files", error=_said_in_answer(error), status=400
        )
    with project.lock:
        if chosen != project.settings:
            project.settings = chosen
            project.touch()
    return _redirect_to(project, "files")


async def remove_file(request: Request) -> Response:
    """Take a file out of the project."""
    project, form = _project_of_request(request), await read_form(request)
    _session_of_request(request).remove_file(project, project.file(form.get("file", "")))
    return _redirect_to(project, "files")


async def page(request: Request) -> Response:
    """A step of a project."""
    step = request.path_params["step"]
    if step not in pages.STEP_TITLES:
        raise HTTPException(404)
    return pages.project_page(_session_of_request(request), _project_of_request(request), step)


async def work(request: Request) -> Response:
    """Begin the work of a step."""
    step: str = request.path_params["step"]
    project, session = _project_of_request(request), _session_of_request(request)
    if step not in STEPS:
        raise HTTPException(404)
    form = await read_form(request)
    shown = PAGE_OF.get(step, step)
    try:
        if form.get("seen", "") != project.made(step):
            raise InputError(
                "this step was finished in another tab; its result is below. Send the form again if "
                "you want another one"
            )
        session.start(project, step, as_shown_again(form))
    except LlrkitError as error:
        values = as_shown_again(form) if step == shown else None
        return pages.project_page(
            session, project, shown, error=_said_in_answer(error), values=values, status=400
        )
    return _redirect_to(project, shown)


async def document(request: Request) -> Response:
    """A document: to look at, in an origin of its own, or to keep."""
    project, name = _project_of_request(request), request.path_params["name"]
    if name not in project.documents():
        raise HTTPException(404)
    path = project.folder / DOCUMENTS / name
    if not path.is_file():
        raise HTTPException(404)
    kind = pages.KINDS[Path(name).suffix][1]
    if "view" in request.query_params and kind.startswith(("text/html", "image/svg")):
        return FileResponse(path, media_type=kind, headers={"content-security-policy": SANDBOXED})
    return FileResponse(path, media_type=kind, filename=name)


async def commands(request: Request) -> Response:
    """The command lines of all steps as a script."""
    project = _project_of_request(request)
    lines = ["#!/bin/sh", "# Run in the folder of the saved project.", "set -e"]
    for command in pages.all_commands(project):
        lines.append(shlex.join(command) + (f" > {DOCUMENTS}/evaluation.csv" if "--table" in command else ""))
    headers = {"content-disposition": 'attachment; filename="commands.sh"'}
    return PlainTextResponse("\n".join(lines) + "\n", headers=headers)


def _session_of_request(request: Request) -> Session:
    session: Session = request.app.state.session
    return session


def _project_of_request(request: Request) -> Project:
    project = _session_of_request(request).projects.get(request.path_params["id"])
    if project is None:
        raise HTTPException(404)
    return project


def _redirect_to(project: Project, step: str) -> Response:
    return RedirectResponse(f"/p/{project.id}/{step}", HTTPStatus.SEE_OTHER)


def _said_in_answer(error: Exception) -> str:
    text = str(error) if isinstance(error, LlrkitError) else getattr(error, "strerror", None) or str(error)
    return f"{text[:1].upper()}{text[1:]}"


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    texts = {404: "There is nothing at this address.", 405: "This method is not supported."}
    return pages.refused(status, texts.get(status, "This cannot be answered."))


async def _library_error(request: Request, error: Exception) -> Response:
    return pages.refused(400, _said_in_answer(error))


async def _gone(request: Request, error: Exception) -> Response:
    return PlainTextResponse("", 400)


# files from a page: streamed to the disk, counted and hashed on the way, never larger than allowed


class TooLargeError(InputError):
    """An upload is larger than allowed."""


async def receive(request: Request, project: Project, given: str, *, most: int) -> ScoreFile:
    """Take the body of a request as a new file of a project."""
    stated = request.headers.get("content-length", "0")
    if not (stated.isascii() and stated.isdigit()):
        raise InputError("the length of the upload is not a number")
    _require_room_for_upload(project, int(stated), most)
    part = project.folder / f"upload-{secrets.token_hex(6)}"
    digest, size, waiting = hashlib.sha256(), 0, bytearray()
    try:
        with part.open("wb") as out:
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise TooLargeError(_upload_too_large(most))
                waiting += chunk
                if len(waiting) >= PIECE:
                    digest.update(waiting)
                    await run_in_threadpool(out.write, bytes(waiting))
                    waiting.clear()
                    _require_room_for_upload(project, 0, most)
            digest.update(waiting)
            out.write(waiting)
        if size == 0:
            raise InputError("the file is empty")
        with project.lock:
            if len(project.files) >= MOST_FILES:
                raise InputError(f"a project holds at most {MOST_FILES} files; remove one first")
            name = file_name(given, project.files)
            part.rename(project.folder / FILES / name)
            file = ScoreFile(name, size, digest.hexdigest())
            project.files[name] = file
            project.touch()
        return file
    except ClientDisconnect:
        raise InputError("the upload was interrupted") from None
    finally:
        part.unlink(missing_ok=True)


def _require_room_for_upload(project: Project, size: int, most: int) -> None:
    if size > most:
        raise TooLargeError(_upload_too_large(most))
    if shutil.disk_usage(project.folder).free < size + KEPT_FREE:
        raise TooLargeError("the disk is too full for this file")


def _upload_too_large(most: int) -> str:
    return f"the file is larger than {in_words(most)}; llrkit app --max-upload allows more"
