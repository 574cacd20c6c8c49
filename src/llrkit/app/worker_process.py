"""The process that does one piece of work at a time: a line of JSON in, lines of progress and a result out.

It is a process of its own, so that it can be ended at any moment, the pages answer meanwhile, and a file that
exhausts the memory ends nothing else. After work that ended well it takes the next, unless it has grown
large. Nothing is unpickled on either side.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from llrkit.app.choice_types import Choices

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
    from llrkit.app.tasks import prepare

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
    from llrkit.app.tasks import run
    from llrkit.app.tasks.task import Task
    from llrkit.base.process import watched_by
    from llrkit.errors import LlrkitError, LlrkitWarning

    task: Task[Choices] | None = None
    try:
        with warnings.catch_warnings(record=True) as caught, watched_by(telling):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", LlrkitWarning)
            task = Task.from_dict(json.loads(line))
            result = run(task)
        texts = (str(w.message) for w in caught if issubclass(w.category, LlrkitWarning))
        said = dict.fromkeys(map(task.say, texts))
        result["warnings"] = [*said, *result.get("warnings", ())]
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
