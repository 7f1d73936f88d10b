"""The matrix as a picture: the last axis across, all others down, a square for each configuration.

A square says in words, pattern and colour what it is, so that it reads in black and white and without sight of colour,
too. Plain SVG by a template: no script, no font of its own, dark text on light ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.questions.sweep.sweep import CellKind, Matrix
from shrinkray_gpu.questions.sweep.sweep_tables import between, rate_text

WIDTH, HEIGHT, LINE = 124, 58, 18
_LETTER, _BOLD = 7.5, 9.5
"""Width of a letter in pixels, about and rather too much; each text gets its room."""
KEY = "striped: in some runs only; thick edge: in every run; intervals: 95 % (Clopper and Pearson)"


@dataclass(frozen=True)
class _Square:
    x: float
    y: float
    kind: str
    shade: str
    lines: tuple[str, ...]
    title: str


def svg(matrix: Matrix) -> str:
    """The picture as the text of an SVG file."""
    across, down = matrix.axes[-1], matrix.axes[:-1]
    columns = across.values
    rows = list(dict.fromkeys(cell.settings[:-1] for cell in matrix.cells))
    labels = [" ".join(setting.value for setting in row) for row in rows]
    heading = " ".join(axis.name for axis in down)
    left = 24 + max(_BOLD * len(heading), _LETTER * max(map(len, labels)))
    top = 3.6 * LINE + 20
    squares = []
    for number, cell in enumerate(matrix.cells):
        row, column = divmod(number, len(columns))
        known = cell.kind is not CellKind.UNKNOWN
        lines = (cell.kind.value, rate_text(cell), between(cell)) if known else (cell.kind.value,)
        said = cell.faults[0][0] if cell.faults else cell.doubt
        title = ", ".join([*map(str, cell.settings), cell.kind.value, rate_text(cell), said])
        x, y = left + column * WIDTH, top + row * HEIGHT
        squares.append(_Square(x, y, cell.kind.name.lower(), _shade(cell.rate.estimate, cell.kind), lines, title))
    each = f"{matrix.runs} runs each" if matrix.runs > 1 else "one run each"
    title = f"Faults by {', '.join(axis.name for axis in matrix.axes)}: {each}"
    under = f"{matrix.oracle or 'any fault'}; {matrix.place}; triton {matrix.versions.get('triton', 'missing')}"
    texts = _BOLD * len(title), _LETTER * len(under), _LETTER * len(KEY)
    width = round(max(left + len(columns) * WIDTH + 16, 24 + max(texts)))
    made: str = _template().render(
        title=title, under=under, across=across.name, heading=heading, left=left, top=top, line=LINE,
        width=width, height=top + len(rows) * HEIGHT + 2.4 * LINE, square=(WIDTH - 6, HEIGHT - 6),
        columns=[(left + (WIDTH - 6) / 2 + number * WIDTH, value) for number, value in enumerate(columns)],
        rows=[(top + (HEIGHT - 6) / 2 + 5 + number * HEIGHT, label) for number, label in enumerate(labels)],
        squares=squares, key=(top + len(rows) * HEIGHT + 1.2 * LINE, KEY),
    )  # fmt: skip
    return made


def _shade(rate: float, kind: CellKind) -> str:
    """From white to a red that dark text still stands out on; unknown is grey."""
    if kind is CellKind.UNKNOWN:
        return "#d9d9d9"
    if kind is CellKind.PASSES:
        return "#d8f0dc"
    part = 0.25 + 0.75 * rate
    red, green, blue = (round(255 - part * (255 - full)) for full in (0xF4, 0x9A, 0x8C))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _template() -> Any:
    import jinja2  # each start of the tool would wait for it

    loader = jinja2.PackageLoader("shrinkray_gpu.questions.sweep")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("matrix.svg")
