"""The terminal of docs/site/recording.py shows what rich and click write, and its pictures are SVG."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.live import Live

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def recording() -> Any:
    spec = importlib.util.spec_from_file_location("recording", ROOT / "docs" / "site" / "recording.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recording"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def text(rows: Any) -> list[str]:
    return ["".join(run for run, _ in row) for row in rows]


def test_a_live_display_of_rich_leaves_what_was_printed_above_it(recording: Any) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=20, color_system="standard")
    terminal = recording.Terminal(20, 5)
    with Live("working", console=console, auto_refresh=False, transient=True) as live:
        console.print("[bold red]one[/] two")
        live.update("still\nworking", refresh=True)
        terminal.feed(stream.getvalue().replace("\n", "\r\n"))
        assert text(terminal.shown()) == ["one two", "still", "working"]
        stream.truncate(0)
        stream.seek(0)
    terminal.feed(stream.getvalue().replace("\n", "\r\n"))
    assert text(terminal.shown()) == ["one two"]
    [[(word, style), _]] = terminal.shown()
    assert (word, style.bold, style.color) == ("one", True, recording.PALETTE[1])


def test_long_lines_wrap_and_old_ones_scroll_away(recording: Any) -> None:
    terminal = recording.Terminal(4, 2)
    terminal.feed("abcdef\r\ng")
    assert text(terminal.shown()) == ["ef", "g"]
    with pytest.raises(ValueError, match="does not know"):
        terminal.feed("\x1b[3J")


def test_pictures_are_svg_and_the_last_frame_stands_where_nothing_moves(recording: Any) -> None:
    terminal = recording.Terminal(10, 3)
    every = []
    for seconds, words in enumerate(("a < b & c", "\r\x1b[2Ksecond", "\r\x1b[2Kthird")):
        terminal.feed(words)
        every.append(recording.Frame(float(seconds), terminal.shown()))
    still = ElementTree.fromstring(recording.still(every[0], 10, "still"))
    assert "".join(still.itertext()).endswith("a < b & c")
    moving = recording.moving(every, 10, 3, "moving")
    assert len(ElementTree.fromstring(moving).findall(".//{*}g/{*}svg")) == 3
    assert f"translateX(-{2 * 10 * recording.CHAR:.1f}px)" in moving and "prefers-reduced-motion" in moving


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.svg")), ids=lambda path: path.name)
def test_pictures_of_the_pages_are_well_formed(path: Path) -> None:
    ElementTree.parse(path)
