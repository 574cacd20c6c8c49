"""What runs: the projects that are open, their jobs, and the folders they live in."""

from __future__ import annotations

import secrets
import shutil
import threading
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from llrkit.app import saved_projects
from llrkit.app.project import FILES, Project, ScoreFile
from llrkit.app.steps import STEPS, Task, task_of
from llrkit.app.worker import Job, Outcome, Workers
from llrkit.errors import InputError

MOST_PROJECTS = 50
MOST_JOBS = 30


@dataclass(eq=False)
class Session:
    """The state of one running application."""

    working: Path
    """A temporary folder, removed at the end."""
    place: Path
    """Where projects are saved, each in a folder of its own."""
    max_upload: int
    workers: Workers = field(default_factory=Workers)
    projects: dict[str, Project] = field(default_factory=dict)
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    """By project and step; the last one of each."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def new_project(self) -> Project:
        """An empty project."""
        with self.lock:
            if len(self.projects) >= MOST_PROJECTS:
                raise InputError(f"{MOST_PROJECTS} projects are open; close one of them first")
            id = secrets.token_hex(6)  # noqa: A001
            self.projects[id] = Project.new(id, self.working / id)
            return self.projects[id]

    def open_project(self, name: str) -> Project:
        """A saved project; one that is open already is not opened twice."""
        with self.lock:
            for project in self.projects.values():
                if project.name and project.name == name:
                    return project
            if len(self.projects) >= MOST_PROJECTS:
                raise InputError(f"{MOST_PROJECTS} projects are open; close one of them first")
            id = secrets.token_hex(6)  # noqa: A001
            try:
                project = saved_projects.open_saved(self.place, name, id, self.working / id)
            except BaseException:
                shutil.rmtree(self.working / id, ignore_errors=True)
                raise
            self.projects[id] = project
            return project

    def close_project(self, project: Project) -> None:
        """Forget a project and remove its temporary folder; what was saved stays."""
        with self.lock:
            self.projects.pop(project.id, None)
            mine = [job for (owner, _), job in self.jobs.items() if owner == project.id]
            self.jobs = {key: job for key, job in self.jobs.items() if key[0] != project.id}
        for job in mine:
            job.cancel()
        shutil.rmtree(project.folder, ignore_errors=True)

    def jobs_of(self, project: Project) -> dict[str, Job]:
        """The last job of each step."""
        with self.lock:
            return {step: job for (owner, step), job in self.jobs.items() if owner == project.id}

    def start(self, project: Project, step: str, form: dict[str, str]) -> Job:
        """Begin the work of a step, as its form asks for."""
        out = f"work-{secrets.token_hex(6)}"
        task, uses = task_of(step, form, project, out)
        inputs = project.inputs(uses, calibrated=STEPS[step].calibrated)
        return self._start(project, step, task, form, inputs)

    def _start(
        self, project: Project, step: str, task: Task, form: dict[str, str], inputs: dict[str, str]
    ) -> Job:
        with self.lock, project.lock:
            running = self.jobs.get((project.id, step))
            if running is not None and running.is_open:
                raise InputError("this step is already running, perhaps in another tab; cancel it first")
            if sum(job.is_open for job in self.jobs.values()) >= MOST_JOBS:
                raise InputError("too many steps are running; wait until one is done")
            out = project.folder / task.out
            out.mkdir()
            job = self.jobs[project.id, step] = Job(task.out, step, asdict(task), form)

        def finished(done: Job, result: Outcome | None) -> None:
            if result is not None:
                self._take(project, done, result, inputs)
            if self.jobs.get((project.id, step)) is done:
                _suggest_uses(project)
            shutil.rmtree(out, ignore_errors=True)

        self.workers.start(job, finished)
        return job

    def _take(self, project: Project, job: Job, result: Outcome, inputs: dict[str, str]) -> None:
        """Give a project what its job has made."""
        with project.lock:
            if self.projects.get(project.id) is not project:
                return
            if "facts" in result:
                file = project.files.get(job.step.removeprefix("read "))
                if file is not None:
                    file.facts = {**result["facts"], "warnings": result.get("warnings", [])}
                    project.touch()
            else:
                made = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S.%f %z}"
                done = {**result, "form": job.form, "inputs": inputs, "made": made}
                project.add_result(job.step, done, project.folder / job.task["out"])
            with job.lock:
                job.state = "done"

    def read_again(self, project: Project, file: ScoreFile) -> None:
        """Find out what a file is."""
        with project.lock:
            file.facts = None
            project.awaiting_use.add(file.name)
        out = f"work-{secrets.token_hex(6)}"
        keep = [file.name, *file.columns]
        task = Task("read", str(project.folder), out, {"file": file.path}, file.reading,
                    words=project.settings.words, keep=keep)  # fmt: skip
        self._start(project, f"read {file.name}", task, {}, {})

    def remove_file(self, project: Project, file: ScoreFile) -> None:
        """Take a file out of a project."""
        with self.lock:
            job = self.jobs.pop((project.id, f"read {file.name}"), None)
        if job is not None:
            job.cancel()
        with project.lock:
            project.files.pop(file.name, None)
            (project.folder / FILES / file.name).unlink(missing_ok=True)
            project.touch()
        _suggest_uses(project)

    def save(self, project: Project, name: str) -> None:
        """Save a project under a name in the folder of projects."""
        with self.lock:
            taken = any(one.name == name for one in self.projects.values() if one is not project)
        if taken:
            raise InputError(f"a project {name!r} is open already; choose another name")
        saved_projects.save(project, self.place, name)

    def close(self) -> None:
        """End all work and remove everything that was not saved."""
        self.workers.close()
        shutil.rmtree(self.working, ignore_errors=True)


def _suggest_uses(project: Project) -> None:
    """Suggest uses in the order in which files came; behind one that could not be read as trials, none."""
    with project.lock:
        for name, file in project.files.items():
            if name in project.awaiting_use and not file.use:
                if not file.is_understood:
                    return
                _suggest_use(project, file)
            project.awaiting_use.discard(name)


def _suggest_use(project: Project, file: ScoreFile) -> None:
    """The first file of known origin trains, the second validates; one without labels is questioned."""
    if file.labeled:
        file.use = next((use for use in ("train", "validation") if project.with_use(use) is None), "")
    elif project.with_use("questioned") is None:
        file.use = "questioned"
