"""One table out of several seeds: every number is a mean, and its standard deviation over seeds is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._cached import cached_property
from llrkit._plain import Json
from llrkit.errors import InputError
from llrkit.experiments.list_results import NUMBERS, ONE_MAP, ListResult, ListTable


@dataclass(frozen=True)
class SeedMeans(ListTable):
    """The lists of several runs that differ in their seed only; ``lists`` holds the means.

    What describes all lists of a run (correlation, range of EERs, spread over the lists) is computed for each
    seed and then averaged. Standard deviations over seeds are those of a sample, divided by N - 1; a single
    seed has none (NaN).
    """

    tables: tuple[ListTable, ...] = ()
    seeds: tuple[int, ...] = ()

    @classmethod
    def of(cls, tables: Mapping[int, ListTable]) -> SeedMeans:
        """From the table of each seed."""
        runs = tuple(tables.values())
        if not runs or any(_labels_of_lists(run) != _labels_of_lists(runs[0]) for run in runs):
            raise InputError("the runs do not have the same trial lists")
        lists = tuple(_mean_list(rows) for rows in zip(*(run.lists for run in runs), strict=True))
        return cls(lists, runs, tuple(tables))

    @cached_property
    def std(self) -> dict[str, float]:
        """Standard deviation over the lists of a seed, mean of the seeds."""
        return {
            name: _mean_over_seeds([run.std[name] for run in self.tables]) for name in (*NUMBERS, *ONE_MAP)
        }

    @property
    def correlation(self) -> float:
        """Correlation of the Cllr of the two methods over the lists of a seed, mean of the seeds."""
        return _mean_over_seeds([run.correlation for run in self.tables])

    @property
    def rms_cllr_from_eer(self) -> float:
        """Root mean square of Cllr predicted from the EER minus minimum Cllr, mean of the seeds."""
        return _mean_over_seeds([run.rms_cllr_from_eer for run in self.tables])

    @property
    def eer_range(self) -> tuple[float, float]:
        """Smallest and largest EER of the lists of a seed, means of the seeds."""
        low, high = zip(*(run.eer_range for run in self.tables), strict=True)
        return _mean_over_seeds(low), _mean_over_seeds(high)

    @cached_property
    def sd(self) -> dict[str, float]:
        """Standard deviations over seeds, of the means over lists and of what describes all lists."""
        spreads = {
            name: _sd_over_seeds([run.mean[name] for run in self.tables]) for name in (*NUMBERS, *ONE_MAP)
        }
        low, high = zip(*(run.eer_range for run in self.tables), strict=True)
        return spreads | {
            "correlation": _sd_over_seeds([run.correlation for run in self.tables]),
            "rms_cllr_from_eer": _sd_over_seeds([run.rms_cllr_from_eer for run in self.tables]),
            "eer_min": _sd_over_seeds(low),
            "eer_max": _sd_over_seeds(high),
        }

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers: means over seeds, ``sd`` beside them."""
        of_seeds = zip(*(run.lists for run in self.tables), strict=True)
        spreads = [
            {name: _sd_over_seeds([getattr(run, name) for run in runs]) for name in NUMBERS}
            for runs in of_seeds
        ]
        one_map = {
            name: {"mean": self.mean[name], "sd": self.sd[name], "lists": self.column(name).tolist()}
            for name in ONE_MAP
        }
        low, high = self.eer_range
        return {
            **super().to_dict(),
            "lists": [{**row, "sd": sd} for row, sd in zip(self.rows(), spreads, strict=True)],
            "eer_min": low,
            "eer_max": high,
            "sd": {name: value for name, value in self.sd.items() if name not in ONE_MAP},
            "one_map": one_map,
            "seeds": list(self.seeds),
        }


def _labels_of_lists(table: ListTable) -> list[tuple[str, str, int, int]]:
    return [(row.enroll, row.test, row.n_target, row.n_nontarget) for row in table.lists]


def _mean_list(rows: Sequence[ListResult]) -> ListResult:
    means = {name: _mean_over_seeds([getattr(row, name) for row in rows]) for name in (*NUMBERS, *ONE_MAP)}
    first = rows[0]
    return ListResult(
        enroll=first.enroll, test=first.test, n_target=first.n_target, n_nontarget=first.n_nontarget, **means
    )


def _mean_over_seeds(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _sd_over_seeds(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
