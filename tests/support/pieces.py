"""A source that cuts trials its own way, counts the passes, and can give nothing but summaries."""

import json

import numpy as np
from own_source import OwnSource

from llrkit.maps.files import map_from_dict, map_to_dict
from llrkit.scores import Scores, Trials


class Pieces(OwnSource):
    """Uneven chunks, some without one of the classes; a chunk is gone once it was summarized."""

    def __init__(self, scores, pieces=7, seed=0, names=(), passes=None):
        if "position" in names:
            scores = scores.with_columns(*names)
        self._scores, self._pieces, self._seed, self._names = scores, pieces, seed, names
        self.passes = [] if passes is None else passes

    def _cuts(self, n, rng):
        inner = np.sort(rng.integers(0, n + 1, self._pieces - 1))
        return np.concatenate([[0], inner, [n]])

    def reduce(self, summarize):
        self.passes.append(1)
        rng = np.random.default_rng(self._seed)
        s, total = self._scores, None
        t, n = self._cuts(s.n_target, rng), self._cuts(s.n_nontarget, rng)
        for i in range(self._pieces):
            a, b = slice(t[i], t[i + 1]), slice(n[i], n[i + 1])
            columns = {name: (s.columns[name][0][a], s.columns[name][1][b]) for name in self._names}
            part = summarize(Scores.part(s.target[a], s.nontarget[b], columns, s.categories))
            total = part if total is None else total + part
        return total

    @property
    def roles(self):
        return self._scores.roles.carrying(*self._names)

    def with_columns(self, *names):
        self._scores.with_columns(*names)
        return Pieces(self._scores, self._pieces, self._seed, names, self.passes)


def reloaded(fitted):
    """The map after a calibration file."""
    return map_from_dict(json.loads(json.dumps(map_to_dict(fitted), allow_nan=False)))


def moved(scores, c, f):
    return Scores(c * scores.target + f, c * scores.nontarget + f, scores.columns)


def swapped(scores):
    """Classes exchanged and signs turned."""
    return Scores(-scores.nontarget, -scores.target)


class Kept:
    """The chunks of a source, for looking at."""

    def __init__(self, chunks):
        self.chunks = chunks

    @classmethod
    def of(cls, chunk):
        return cls([chunk])

    def __add__(self, other):
        return Kept(self.chunks + other.chunks)


def collected(source):
    """All scores of a source: those of the targets and those of the non-targets."""
    chunks = source.reduce(Kept.of).chunks
    return tuple(
        np.concatenate([getattr(chunk, side) for chunk in chunks]) for side in ("target", "nontarget")
    )


def speaker_trials(speakers=12, seed=0):
    """All pairs of two recordings of each speaker."""
    rng = np.random.default_rng(seed)
    names = np.repeat([f"spk{i:02}" for i in range(speakers)], 2)
    i, j = np.triu_indices(len(names), 1)
    same = names[i] == names[j]
    return Trials(
        {"score": rng.normal(np.where(same, 3.0, -1.0), 2.0), "label": same, "one": names[i], "two": names[j]}
    )
