"""Where log-likelihoods of several classes come from: the readers of other rooms, as names of this one.

A module of its own because they import polars, which arrays alone do not need.
"""

from llrkit.engine.open import scan_classes as scan_classes
from llrkit.engine.open import scatter_classes as scatter_classes
from llrkit.io.class_files import read_classes as read_classes
