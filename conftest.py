"""What is collected where optional packages are missing, and which tests may be skipped."""

import os
from importlib.util import find_spec

import pytest

collect_ignore_glob = ["docs/conf.py", "docs/_ext/*.py"]  # Sphinx runs them
if not find_spec("torchmetrics"):  # too large to be asked of everybody
    collect_ignore_glob += [
        "src/llrkit/torch.py",
        "docs/tutorials/training.md",
        "docs/coming-from/torchmetrics.md",
    ]
if not find_spec("distributed"):  # nor Dask
    collect_ignore_glob += ["src/llrkit/engine/cluster*.py", "src/llrkit/engine/dask_source.py"]


def _may_be_skipped(reason):
    """Where everything is required no test may be skipped, elsewhere only for want of what is listed."""
    if os.environ.get("LLRKIT_REQUIRE_ALL") == "1":
        return False
    listed = os.environ.get("LLRKIT_MAY_LACK")
    return listed is None or any(reason.endswith(f"[{what}]") for what in listed.split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Count a test as failed if it was skipped where it may not be."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2]
        if not _may_be_skipped(reason):
            report.outcome, report.longrepr = "failed", f"must not be skipped here: {reason}"
    return report
