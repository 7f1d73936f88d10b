"""The geometry of the picture of how the size fell; `templates/size_plot.svg.j2` writes it as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shrinkray_gpu.attachment.course import CoursePoint, by_pass

LEFT, RIGHT, TOP, BOTTOM = 60, 780, 12, 250
"""Edges of the axes within a panel of the template, which is 800 wide and 300 high."""
_STYLES = (
    ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "#0072B2"),
    ("M-4-4h8v8h-8z", "#D55E00"),
    ("M0-5l5 9h-10z", "#009E73"),
    ("M0-5l5 5l-5 5l-5-5z", "#CC79A7"),
    ("M0 5l5-9h-10z", "#8C5A00"),
    ("M-1.5-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z", "#56B4E9"),
    ("M-5-3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z", "currentColor"),
)
"""Mark and colour of the passes that took most. The colours are Okabe and Ito's, which colour-blind readers tell
apart; the marks differ too."""
_REST = ("M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z", "#767676")

Tick = tuple[float, str]


@dataclass(frozen=True)
class MarkStyle:
    """How the steps of one pass are marked, or of all that have no mark of their own."""

    name: str
    shape: str
    colour: str


@dataclass(frozen=True)
class Panel:
    """The tokens left over tries or over seconds."""

    name: str
    line: str
    marks: tuple[tuple[float, float, int], ...]
    """Place and number of the style, for each step."""
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


@dataclass(frozen=True)
class SizePlot:
    """Panels below one another, and the styles that the first of them lists."""

    styles: tuple[MarkStyle, ...]
    panels: tuple[Panel, ...]


def size_plot(steps: Sequence[CoursePoint], start: int) -> SizePlot | None:
    """The tokens left over tries, and over time; None where the journal tells of no step."""
    if not steps or not start:
        return None
    kinds = list(by_pass(steps, start))[: len(_STYLES)]
    styles = [MarkStyle(kind, *style) for kind, style in zip(kinds, _STYLES)]
    if any(step.by not in kinds for step in steps):
        styles.append(MarkStyle("other passes", *_REST))
    numbers = [kinds.index(step.by) if step.by in kinds else len(kinds) for step in steps]
    tokens = [start, *(step.tokens for step in steps)]
    tries, seconds = [0, *(step.tries for step in steps)], [0, *(step.seconds for step in steps)]
    return SizePlot(
        tuple(styles), (_panel("tries", tries, tokens, numbers), _panel("seconds", seconds, tokens, numbers))
    )


def _panel(name: str, across: Sequence[float], tokens: Sequence[int], numbers: Sequence[int]) -> Panel:
    x_ticks, xs = _scaled(across, LEFT, RIGHT)
    y_ticks, ys = _scaled(tokens, BOTTOM, TOP)
    line = f"M{xs[0]} {ys[0]}" + "".join(f"H{x}V{y}" for x, y in zip(xs[1:], ys[1:]))
    return Panel(name, line, tuple(zip(xs[1:], ys[1:], numbers)), x_ticks, y_ticks)


def _scaled(values: Sequence[float], low: float, high: float) -> tuple[tuple[Tick, ...], list[float]]:
    """Round numbers from zero to beyond the largest value, and where each value stands between these edges."""
    most = max(*values, 1e-3)
    unit = 10 ** math.floor(math.log10(most / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if most / (unit * factor) <= 5)
    count = math.ceil(most / step)
    places = [round(low + (high - low) * value / (step * count), 1) for value in values]
    ticks = [(round(low + (high - low) * at / count, 1), f"{step * at:g}") for at in range(count + 1)]
    return tuple(ticks), places
