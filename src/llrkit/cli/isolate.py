"""A command in a process of its own with a limit on its memory, for files that are not trusted.

The library that reads tables ends the whole program where memory cannot be had, which nothing in the program
can catch. Here the program that ends is a child, and its end is one line.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from llrkit._memory import in_words, memory_limit
from llrkit.errors import InputError

LIMITED = "LLRKIT_ISOLATED"
"""Set in the child: the bytes it may allocate."""
_OVERHEAD = 512 << 20
"""What libraries and the stacks of threads take before anything is read."""


def limit_this_process() -> None:
    """In the child: allow no more memory than was said."""
    text = os.environ.get(LIMITED)
    if text is None or not text.isdecimal():
        return
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (int(text), int(text)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_isolated(arguments: list[str]) -> int:
    """Run a command in a child; what it writes is shown when it has ended by itself. Gives its exit code."""
    try:
        import resource  # noqa: F401
    except ImportError:
        raise InputError("--isolate needs limits on memory, which this system does not have") from None
    limit = memory_limit()
    allowed = limit + _OVERHEAD + (16 << 20) * (os.cpu_count() or 1)
    environment = {**os.environ, LIMITED: str(allowed), "LLRKIT_MAX_MEMORY": str(limit)}
    command = [sys.executable, "-m", "llrkit", *arguments]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, env=environment, stdout=output, stderr=errors) as child:
            code = _waited_for_child(child)
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            sys.stderr.write(
                f"llrkit: error: the process that read the files was ended by {name}: they need more than "
                f"{in_words(allowed)}, or are broken; nothing was written\n"
            )
            return 1
        for stream, to in ((output, sys.stdout), (errors, sys.stderr)):
            stream.seek(0)
            to.flush()
            shutil.copyfileobj(stream, to.buffer)
            to.flush()
    return code


def _waited_for_child(child: subprocess.Popen[bytes]) -> int:
    """The exit code of a child, which ends with us."""

    def forward(number: int, _: object) -> None:
        child.send_signal(number)

    before = signal.signal(signal.SIGTERM, forward)
    try:
        return child.wait()
    except BaseException:
        child.kill()
        child.wait()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
