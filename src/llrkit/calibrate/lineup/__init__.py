"""Line-ups: an LLR from the rank of a trial's score among those of foils."""

from llrkit.calibrate.lineup.fit import fit_lineup
from llrkit.calibrate.lineup.map import LineupMap

__all__ = ["LineupMap", "fit_lineup"]
