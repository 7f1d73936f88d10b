"""The plots of benchmarks/results: what is drawn of the same figures is the same file. Needs matplotlib (the extra
`bench`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "shrinkray_gpu"  # else its names are random
    return plt


def save(figure: Any, results: Path) -> None:
    """Beside the JSON file that it shows."""
    figure.savefig(results.with_suffix(".svg"), metadata={"Date": None})
