"""What the steps do, in the process of a worker: each a function of files and choices that writes documents.

The functions call the library as the commands of the same names do. Whatever they read and write is named as
in the command lines they state, seen from the folder of the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module

from llrkit.app.choice_types import Choices, Outcome
from llrkit.app.tasks.advise import advise_task
from llrkit.app.tasks.calibrate import calibrate_task
from llrkit.app.tasks.case import case_task
from llrkit.app.tasks.evaluate import evaluate_task
from llrkit.app.tasks.read import read_task
from llrkit.app.tasks.task import Task
from llrkit.app.tasks.validate import validate_task
from llrkit.plot.plotly_renderer import plotly_javascript

# each is given a task with the choices of its own kind
TASKS: dict[str, Callable[..., Outcome]] = {
    "read": read_task,
    "evaluate": evaluate_task,
    "advise": advise_task,
    "calibrate": calibrate_task,
    "validate": validate_task,
    "case": case_task,
}


def prepare() -> None:
    """Load what is otherwise loaded at its first use, while nobody waits."""
    import_module("llrkit.plot.matplotlib_renderer")
    plotly_javascript()


def run(task: Task[Choices]) -> Outcome:
    """Do a task in the folder of its project."""
    os.chdir(task.folder)
    return TASKS[task.kind](task)
