"""Which Dask cluster a command was told to use, and how it is reached."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from llrkit.cli.typed_options import ReadingAsTyped
from llrkit.errors import InputError

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class ClusterChoice:
    """Which cluster a command was told to use, if any."""

    scheduler: str | None = None
    workers: int | None = None
    timeout: float | None = None
    tls_ca_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    dashboard: int | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.workers is not None:
            raise InputError("--scheduler and --workers cannot be combined")
        for name, value in asdict(self).items():
            flag = f"--{name.replace('_', '-')}"
            if value is None or name in ("scheduler", "workers"):
                continue
            if name.startswith("tls") and self.scheduler is None:
                raise InputError(f"{flag} is for a running cluster (--scheduler)")
            if name == "dashboard" and self.workers is None:
                raise InputError(f"{flag} is for workers on this machine (--workers)")
            if not self.any:
                raise InputError(f"{flag} is for a cluster (--scheduler, --workers)")

    @classmethod
    def of(cls, options: ReadingAsTyped) -> ClusterChoice:
        """From the options that ``cluster_options`` gave a command."""
        return cls(
            scheduler=options.get("scheduler"),
            workers=options.get("workers"),
            timeout=options.get("timeout"),
            tls_ca_file=options.get("tls_ca_file"),
            tls_cert=options.get("tls_cert"),
            tls_key=options.get("tls_key"),
            dashboard=options.get("dashboard"),
        )

    @property
    def any(self) -> bool:
        """Whether a cluster was asked for."""
        return self.scheduler is not None or self.workers is not None

    def opened(self) -> AbstractContextManager[Client]:
        """A client of the cluster, as a context; what is started ends with it."""
        from llrkit.engine.cluster import cluster, quieten
        from llrkit.engine.cluster_access import TLSFiles
        from llrkit.engine.cluster_results import TIMEOUT

        quieten()
        files = TLSFiles(self.tls_ca_file, self.tls_cert, self.tls_key)
        return cluster(
            self.scheduler,
            workers=self.workers,
            timeout=self.timeout or TIMEOUT,
            tls=files,
            dashboard=self.dashboard,
        )
