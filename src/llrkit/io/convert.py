"""From one format to another, with or without labels."""

from __future__ import annotations

from collections.abc import Iterator

from llrkit.io.checked_trials import target_mask_of, with_scores
from llrkit.io.files_to_trials import open_batches
from llrkit.io.reading_options import PLAIN, PathArg, Reading
from llrkit.io.separate_paths import require_separate
from llrkit.io.trial_table import TrialTable
from llrkit.io.write import write_batches


def convert(
    source: PathArg,
    target: PathArg,
    reading: Reading = PLAIN,
    *,
    to: str | None = None,
    key_output: PathArg | None = None,
) -> int:
    """Read ``source`` as ``read_trials`` does and write it, batch by batch; gives the number of trials.

    A file of scores without labels is converted as it is. What is read is not written over.
    """
    require_separate([source, *reading.files], [target] if key_output is None else [target, key_output])
    scan = open_batches(source, reading)

    def checked() -> Iterator[TrialTable]:
        for batch in scan.read(scan.columns):
            if batch.label is not None:
                target_mask_of(batch)
            yield with_scores(batch)

    return write_batches(checked(), with_scores(scan.like), target, format=to, key=key_output)
