"""What the notebooks share: where the repository is, the size of a run, colours."""

import os
import pathlib
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS, CAPTURES = ROOT / "scenarios", ROOT / "captures"

# Tests run the notebooks with LAXITY_NOTEBOOK_SIZE=small: the same cells, shorter runs, fewer seeds.
SMALL = os.environ.get("LAXITY_NOTEBOOK_SIZE") == "small"

# Colours that stay apart without one kind of cone, those of Laxity's pages (Okabe and Ito, and greys).
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#aa4499"
SKY, YELLOW, GREY, BLACK, RED = "#56b4e9", "#e69f00", "#8a8f98", "#1c232b", "#b3122f"

matplotlib.rcParams.update({
    "figure.dpi": 110, "figure.constrained_layout.use": True, "font.size": 9, "axes.titlesize": 10,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#e6e8e9",
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "svg.hashsalt": "laxity",
})


def figure(rows: int = 1, columns: int = 1, width: float = 8.0, height: float = 4.0, **options: Any) -> Any:
    """A figure with its axes."""
    return plt.subplots(rows, columns, figsize=(width, height), **options)
