from .arrays import Scores as Scores
from .source import ScoreSource as ScoreSource
from .source import Summary as Summary
from .trials import Trials as Trials
