"""How pictures of the gallery are saved."""

from typing import Any

import matplotlib.pyplot as plt


def show_whole_figures(gallery_conf: dict[str, Any], file: str) -> None:
    """Save a legend below the axes with them, and dots enough for sharp lines."""
    plt.rcParams.update({"savefig.bbox": "tight", "savefig.dpi": 130})
