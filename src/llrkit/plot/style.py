"""Where the style sheet is: ``plt.style.context(lk.plot.STYLE)`` for figures of several plots."""

from pathlib import Path

STYLE = Path(__file__).with_name("llrkit.mplstyle")
