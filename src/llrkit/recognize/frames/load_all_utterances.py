"""Every utterance loaded once before anything is computed, so that what cannot be used is known at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, InputError, SpeechWarning
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.training_stages import Stages, input_key, stage_key
from llrkit.scores.source import in_order, thread_count

FRAMES = "frames"
SPEECH_SECONDS = "speech_seconds"
"""The column with the seconds of speech of each utterance."""


def load_all(
    frames: Frames,
    *,
    bad_files: str = "error",
    seconds: float | None = None,
    watch: Callable[[str, int, int], None] | None = None,
    stages: Stages | None = None,
    front_end: FrontEnd | None = None,
) -> Frames:
    """Load every utterance, and tell what is wrong with any of them.

    The frames stay in memory, up to a gigabyte. Those of audio get a column ``speech_seconds``.

    Parameters
    ----------
    bad_files
        'error', or 'skip': utterances that cannot be used are left out, with a warning that names them.
    seconds
        The seconds of speech that were asked for; utterances with less than half are named.
    watch
        Called with what is being done, how much of it is done and how much there is.
    stages, front_end
        Where an earlier run noted what it saw of the same recordings with the same front end; they are then
        loaded only if their frames are needed.
    """
    key = None if stages is None else input_key(frames, front_end)
    noted = (
        None if stages is None or key is None else _seen_before(stages, stage_key("frames", key, bad_files))
    )
    seen = noted or _look_at_utterance(frames.kept(), bad_files, watch)
    if noted is None and stages is not None and key is not None:
        _note_seen(stages, stage_key("frames", key, bad_files), seen)
    return _told_of_utterances(frames.kept() if noted else seen.frames or frames, seen, seconds)


@dataclass(frozen=True)
class SeenUtterances:
    """What loading all utterances showed: places and lengths of the good ones, problems, remarks by id."""

    good: list[int]
    lengths: list[int]
    problems: list[str]
    remarks: dict[str, str]
    frames: Frames | None = None


def _seen_before(stages: Stages, key: str) -> SeenUtterances | None:
    arrays = stages.load("frames", key)
    return None if arrays is None else SeenUtterances(**json.loads(str(arrays["seen"])))


def _note_seen(stages: Stages, key: str, seen: SeenUtterances) -> None:
    plain = {
        "good": seen.good, "lengths": seen.lengths, "problems": seen.problems, "remarks": dict(seen.remarks),
    }  # fmt: skip
    stages.save("frames", key, {"seen": np.array(json.dumps(plain))})


def _look_at_utterance(
    kept: Frames, bad_files: str, watch: Callable[[str, int, int], None] | None
) -> SeenUtterances:
    lengths: list[int] = []
    good: list[int] = []
    problems: list[str] = []

    def load(i: int) -> int | str:
        try:
            return len(kept[i])
        except InputError as error:
            if bad_files == "error":
                raise
            return str(error)

    with ThreadPoolExecutor(thread_count() if kept.ahead else 1) as pool:
        for i, found in enumerate(in_order(pool, load, range(len(kept)), 2 * thread_count())):
            if isinstance(found, str):
                problems.append(found)
            else:
                good.append(i)
                lengths.append(found)
            if watch is not None:
                watch("frames", i + 1, len(kept))
    return SeenUtterances(good, lengths, problems, dict(kept.remarks), kept)


def _told_of_utterances(kept: Frames, seen: SeenUtterances, seconds: float | None) -> Frames:
    """The good utterances, after everything that is to be said of them and of the others."""
    for problem in seen.problems:
        warn_caller(f"left out: {problem}", SpeechWarning)
    if not seen.good:
        raise FileFormatError(f"no file can be used; the first: {seen.problems[0]}")
    if seen.problems:
        kept = kept.subset(seen.good)
    for name in kept.ids:
        if name in seen.remarks:
            warn_caller(f"{name}: {seen.remarks[name]}", SpeechWarning)
    kept = kept.with_columns({FRAMES: tuple(seen.lengths)})
    if kept.per_second is None:
        return kept
    spoken = tuple(round(n / kept.per_second, 2) for n in seen.lengths)
    if seconds is not None:
        _tell_short_utterances(kept, spoken, seconds)
    return kept.with_columns({SPEECH_SECONDS: spoken})


def _tell_short_utterances(frames: Frames, spoken: tuple[float, ...], seconds: float) -> None:
    short = [(has, name) for has, name in zip(spoken, frames.ids, strict=True) if has < 0.5 * seconds]
    if short:
        has, name = min(short)
        warn_caller(
            f"{len(short)} of {len(spoken)} utterances have less than half of the {seconds:g} s of speech "
            f"asked for; the least: {name} with {has:.2f} s",
            SpeechWarning,
        )
