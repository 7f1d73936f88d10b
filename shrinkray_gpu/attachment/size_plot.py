"""How the size fell, as SVG text that stands inside a page: by matplotlib, without its state and without fonts."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from shrinkray_gpu.attachment.course import CoursePoint, by_pass

SHOWN = 7
"""Passes that get a colour of their own: those that took most."""
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C5A00", "#56B4E9", "#000000")
"""Okabe and Ito's, which colour-blind readers tell apart; the markers differ too."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_REST = "#767676"


def falling(steps: Sequence[CoursePoint], start: int) -> str:
    """The tokens left over tries, and over time where the journal tells it; one mark for each step, by its pass."""
    timed = bool(steps) and all(step.seconds >= 0 for step in steps)
    settings = {"svg.fonttype": "none", "svg.hashsalt": "shrinkray_gpu", "font.family": "sans-serif", "font.size": 10}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(8, 6.4 if timed else 3.6), layout="constrained")
        FigureCanvasSVG(figure)
        axes: Any = figure.subplots(2 if timed else 1, 1, squeeze=False)[:, 0]
        kinds = list(by_pass(steps, start))[:SHOWN]
        ways = [("tries", [0.0, *(float(step.tries) for step in steps)])]
        ways += [("seconds", [0.0, *(step.seconds for step in steps)])] if timed else []
        tokens = [start, *(step.tokens for step in steps)]
        for axis, (name, across) in zip(axes, ways):
            axis.step(across, tokens, where="post", color="#444444", linewidth=1)
            for at, kind in enumerate([*kinds, ""]):
                points = [
                    (x, step.tokens)
                    for x, step in zip(across[1:], steps)
                    if (step.by == kind if kind else step.by not in kinds)
                ]
                if points:
                    axis.plot(
                        *zip(*points),
                        linestyle="none",
                        marker=_MARKERS[at] if kind else ".",
                        color=_COLOURS[at] if kind else _REST,
                        markersize=5,
                        label=kind or "other passes",
                    )
            axis.set_xlabel(name)
            axis.set_ylabel("tokens")
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
        if steps:
            axes[0].legend(fontsize=8, loc="upper right")
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<svg([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
