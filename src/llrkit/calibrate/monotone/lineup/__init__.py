"""Line-ups: an LLR from the rank of a trial's score among those of foils."""

from llrkit.calibrate.monotone.lineup.lineup_fit import fit_lineup
from llrkit.calibrate.monotone.lineup.rank_map import LineupMap

__all__ = ["LineupMap", "fit_lineup"]
