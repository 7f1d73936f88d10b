"""Pictures of the terminal, made of real runs: docs/recording.svg moves, docs/screens has one of each phase.

    python docs/site/recording.py              runs shrink at 80 and at 120 columns, and draws all anew
    python docs/site/recording.py build/*.cast draws what such runs left in build/, without running anything

The commands run in a pseudo-terminal, in a folder of their own, with shrink on PATH as an installation puts it there.
"""

from __future__ import annotations

import codecs
import fcntl
import html
import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASE = Path("corpus/tma_misaligned/failing.py")
COMMANDS = (
    ["shrink", str(CASE), "--arch", "sm_90", "--oracle", "misaligned address"],
    ["cat", str(CASE.with_name(f"repro_{CASE.name}"))],
)
"""They run one after the other. The second is for the moving picture alone, whose end it is."""
WIDTHS = (80, 120)
HEIGHT = 30
TALL = 1000
"""Lines of a terminal in which nothing scrolls away."""
SECONDS = 24.0
"""That the moving picture takes, whatever the run took."""
REST = 6.0
"""Seconds for which its last frame stands."""
RATE = 6
"""Frames a second at most."""
PHASES = {
    "run": r"\d running",
    "lift": r"\d lifting",
    "calibrate": r"\d calibrating",
    "search": r"; pass \w+, round",
    "minimal": r"minimal so far; check",
    "verify": r"\d verifying",
    "twin": r"\d looking for a healthy twin",
    "verdict": r"\d looking whose fault",
    "report": r"\d (?:control experiments|making the attachment)",
}
"""What the bottom line says in each phase that has a picture."""
SUMMARY = "reduced: "
"""Begins the last picture."""


@dataclass(frozen=True)
class Style:
    """How a character looks."""

    color: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False

    def after(self, codes: str) -> Style:
        """With these codes of SGR."""
        style, numbers = self, [int(code or 0) for code in codes.split(";")]
        while numbers:
            code = numbers.pop(0)
            if code == 0:
                style = Style()
            elif code in _SWITCHES:
                style = replace(style, **_SWITCHES[code])
            elif 30 <= code <= 37 or 90 <= code <= 97:
                style = replace(style, color=PALETTE[code % 10 + 8 * (code >= 90)])
            elif code in (38, 48):
                mode = numbers.pop(0)
                color = _indexed(numbers.pop(0)) if mode == 5 else "#{:02x}{:02x}{:02x}".format(*numbers[:3])
                numbers = numbers if mode == 5 else numbers[3:]
                style = replace(style, color=color) if code == 38 else style
        return style


_SWITCHES: dict[int, dict[str, bool | str]] = {
    1: {"bold": True}, 2: {"dim": True}, 3: {"italic": True}, 22: {"bold": False, "dim": False}, 23: {"italic": False},
    39: {"color": ""},
}  # fmt: skip
PALETTE = (
    "#545d6b", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#c9d1d9",
    "#8b949e", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
)  # fmt: skip
Row = tuple[tuple[str, Style], ...]
"""Runs of characters that look the same."""


def _indexed(number: int) -> str:
    """A color of the 256."""
    if number < 16:
        return PALETTE[number]
    if number >= 232:
        return "#{0:02x}{0:02x}{0:02x}".format(8 + 10 * (number - 232))
    steps = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{steps[(number - 16) // unit % 6]:02x}" for unit in (36, 6, 1))


@dataclass
class Terminal:
    """As much of one as rich and click ask for: lines, colours, the cursor upwards, and erasing."""

    width: int
    height: int
    rows: list[list[tuple[str, Style]]] = field(default_factory=lambda: [[]])
    at: int = 0
    column: int = 0
    style: Style = Style()

    _PART = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|([\r\n\b])|([^\x1b\r\n\b]+)|(.)", re.S)

    def feed(self, text: str) -> None:
        for found in self._PART.finditer(text):
            codes, kind, moved, written, unknown = found.groups()
            if written:
                for char in written:
                    self._put(char)
            elif moved == "\n":
                self._down()
            elif moved:
                self.column = 0 if moved == "\r" else max(0, self.column - 1)
            elif kind == "m":
                self.style = self.style.after(codes)
            elif kind == "A":
                self.at = max(0, self.at - int(codes or 1))
            elif kind == "K":
                kept = {"2": [], "": self.rows[self.at][: self.column]}
                self.rows[self.at] = kept[codes]
            elif unknown or kind not in (None, "h", "l"):
                raise ValueError(f"this terminal does not know {found[0]!r}")

    def _down(self) -> None:
        self.at += 1
        if self.at == len(self.rows):
            self.rows.append([])
        if len(self.rows) > self.height:
            self.rows.pop(0)
            self.at -= 1

    def _put(self, char: str) -> None:
        if self.column == self.width:
            self._down()
            self.column = 0
        row = self.rows[self.at]
        row += [(" ", Style())] * (self.column + 1 - len(row))
        row[self.column] = (char, self.style)
        self.column += 1

    def shown(self) -> tuple[Row, ...]:
        """What is to be seen, without empty rows at the bottom."""
        rows = [_runs(row) for row in self.rows]
        while rows and not rows[-1]:
            rows.pop()
        return tuple(rows)


def _runs(row: Sequence[tuple[str, Style]]) -> Row:
    runs = [("".join(char for char, _ in some), style) for style, some in itertools.groupby(row, lambda cell: cell[1])]
    while runs and not runs[-1][0].strip():
        runs.pop()
    return tuple(runs)


@dataclass(frozen=True)
class Frame:
    """What a terminal shows from a moment on."""

    seconds: float
    rows: tuple[Row, ...]

    @property
    def last(self) -> str:
        return "".join(text for text, _ in self.rows[-1]) if self.rows else ""


def record(width: int, cast: Path) -> None:
    """Run the command in a terminal of this width, and keep what it wrote, as asciinema does."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / CASE).parent.mkdir(parents=True)
        shutil.copy(ROOT / CASE, folder / CASE)
        (folder / "bin").mkdir()
        installed = folder / "bin" / "shrink"
        installed.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shrinkray_gpu "$@"\n')
        installed.chmod(0o755)
        hidden = ("COLUMNS", "LINES", "NO_COLOR", "COLORTERM", "PYTHONPATH")
        variables = {name: value for name, value in os.environ.items() if name not in hidden}
        path = os.pathsep.join([str(folder / "bin"), variables["PATH"]])
        variables |= {"TERM": "xterm-256color", "PATH": path}
        cast.parent.mkdir(exist_ok=True)
        with cast.open("w") as kept:
            begun, head = time.monotonic(), {"version": 2, "width": width, "height": HEIGHT}
            kept.write(json.dumps(head) + "\n")
            for command in COMMANDS:
                words = " ".join(f'"{word}"' if " " in word else word for word in command)
                typed = f"\x1b[1m$ {words}\x1b[0m\r\n"
                for text in itertools.chain([typed], _output(command, folder, variables, width)):
                    kept.write(json.dumps([round(time.monotonic() - begun, 3), "o", text]) + "\n")


def _output(command: Sequence[str], folder: Path, variables: dict[str, str], width: int) -> Iterator[str]:
    """What a command writes to a terminal, as it comes."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.chdir(folder)
        os.execvpe(command[0], command, variables)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, width, 0, 0))
    while data := _read(terminal):
        yield decoder.decode(data)
    if code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
        raise SystemExit(f"{' '.join(command)} ended with exit code {code}")


def _read(terminal: int) -> bytes:
    select.select([terminal], [], [])
    try:
        return os.read(terminal, 65536)
    except OSError:  # it is over
        return b""


def frames(cast: Path, height: int) -> tuple[int, list[Frame]]:
    """The width, and what was to be seen on a terminal of this height."""
    head, *lines = [json.loads(line) for line in cast.read_text().splitlines()]
    terminal = Terminal(head["width"], height)
    seen = [Frame(0.0, ())]
    for seconds, _, text in lines:
        terminal.feed(text)
        if (shown := terminal.shown()) != seen[-1].rows:
            seen.append(Frame(seconds, shown))
    return head["width"], seen[1:]


CHAR, LINE, MARGIN, SIZE = 8.4, 18, 14, 14
"""Of a character, a line, the rim, the font."""
CSS = f"""text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;\
white-space:pre}}.b{{font-weight:700}}.d{{opacity:.65}}.i{{font-style:italic}}"""


def _text(row: Row) -> str:
    """A row at the left rim, on its line."""
    parts, column = [], 0
    for text, style in row:
        names = " ".join(name[0] for name in ("bold", "dim", "italic") if getattr(style, name))
        look = f' class="{names}"' * bool(names) + f' style="fill:{style.color}"' * bool(style.color)
        if text.strip():
            place = f'x="{column * CHAR:.1f}" textLength="{len(text) * CHAR:.1f}"'
            parts.append(f"<tspan {place}{look}>{html.escape(text, quote=False)}</tspan>")
        column += len(text)
    return "".join(parts)


def _picture(width: int, height: int, css: str, body: str, title: str) -> str:
    wide, high = width * CHAR + 2 * MARGIN, height * LINE + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" role="img">'
        f"<title>{html.escape(title)}</title><style>{css}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>'
        f'<svg x="{MARGIN}" y="{MARGIN}" width="{width * CHAR:.1f}" height="{height * LINE}" xml:space="preserve">'
        f"{body}</svg></svg>\n"
    )


def still(frame: Frame, width: int, title: str) -> str:
    """One picture, as high as it must be."""
    lines = (f'<text y="{at * LINE + SIZE}">{_text(row)}</text>' for at, row in enumerate(frame.rows))
    return _picture(width, len(frame.rows), CSS, "\n".join(lines), title)


def moving(every: Sequence[Frame], width: int, height: int, title: str) -> str:
    """All frames side by side, on a strip that jumps from one to the next; the last where nothing may move."""
    speed = max(1.0, every[-1].seconds / SECONDS)
    chosen = list(_thinned(every, speed / RATE))
    whole, strip = every[-1].seconds / speed + REST, width * CHAR
    rows = {row: f"r{at}" for at, row in enumerate(dict.fromkeys(row for frame in chosen for row in frame.rows))}
    defined = "\n".join(f'<text id="{name}" y="{SIZE}">{_text(row)}</text>' for row, name in rows.items() if row)
    shown = "\n".join(
        f'<svg x="{at * strip:.1f}" width="{strip:.1f}">'
        + "".join(f'<use href="#{rows[row]}" y="{line * LINE}"/>' for line, row in enumerate(frame.rows) if row)
        + "</svg>"
        for at, frame in enumerate(chosen)
    )
    jumps = "".join(
        f"{100 * frame.seconds / speed / whole:.2f}%{{transform:translateX({-at * strip:.1f}px)}}"
        for at, frame in enumerate(chosen)
    )
    end = f"transform:translateX({-(len(chosen) - 1) * strip:.1f}px)"
    css = (
        f"{CSS}@keyframes roll{{{jumps}to{{{end}}}}}.roll{{{end};animation:roll {whole:.1f}s steps(1,end) infinite}}"
        "@media(prefers-reduced-motion:reduce){.roll{animation:none}}"
    )
    body = f'<defs>{defined}</defs><g class="roll">{shown}</g>'
    return _picture(width, height, css, body, f"{title}, {speed:.0f} times faster")


def _thinned(every: Sequence[Frame], apart: float) -> Iterator[Frame]:
    """At most one for each so many seconds, the last of those."""
    yield every[0]
    taken = every[0]
    for frame, after in zip(every[1:], [*every[2:], None]):
        if after is None or after.seconds - taken.seconds >= apart:
            taken = frame
            yield frame


def phases(every: Sequence[Frame]) -> dict[str, Frame]:
    """The last frame of each phase; of a search, that in its middle."""
    found = {}
    for name, mark in PHASES.items():
        of_it = [frame for frame in every if re.search(mark, frame.last)]
        found[name] = of_it[len(of_it) // 2 if name == "search" else -1]
    rows = every[-1].rows
    lines = ["".join(text for text, _ in row) for row in rows]
    first = next(at for at, line in enumerate(lines) if line.startswith(SUMMARY))
    last = next(at for at, line in enumerate(lines) if line.startswith(f"$ {COMMANDS[1][0]}"))
    return {**found, "summary": Frame(every[-1].seconds, rows[first:last])}


def main(casts: Sequence[str]) -> None:
    paths = [Path(cast) for cast in casts]
    if not paths:
        paths = [ROOT / "build" / f"{width}.cast" for width in WIDTHS]
        for width, cast in zip(WIDTHS, paths):
            record(width, cast)
    screens = ROOT / "docs" / "screens"
    screens.mkdir(exist_ok=True)
    for cast in paths:
        width, every = frames(cast, TALL)
        for name, frame in phases(every).items():
            (screens / f"{name}_{width}.svg").write_text(still(frame, width, f"{name}, at {width} columns"))
        if width == min(WIDTHS):
            picture = moving(frames(cast, HEIGHT)[1], width, HEIGHT, "A reduction in a terminal")
            (ROOT / "docs" / "recording.svg").write_text(picture)


if __name__ == "__main__":
    main(sys.argv[1:])
