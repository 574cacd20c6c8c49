"""Files from a page: streamed to the disk, counted and hashed on the way, and never larger than allowed."""

from __future__ import annotations

import hashlib
import secrets
import shutil

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from llrkit.app.project import FILES, MOST_FILES, Project, ScoreFile
from llrkit.app.safe_names import file_name
from llrkit.base.process import in_words
from llrkit.errors import InputError

PIECE = 1 << 20
"""Bytes that are collected before they are written."""
KEPT_FREE = 256 << 20
"""Bytes that an upload leaves free on the disk."""


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
