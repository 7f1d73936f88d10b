"""The command `shrink mcp`: an MCP server on stdin and stdout, by which an agent reduces and explains.

Its tools are the commands of the command line, started as processes: what they say goes nowhere near the protocol.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.background import Background, complaint, start
from shrinkray_gpu.cli.words import CONTEXT, OneLineComplaints, fail
from shrinkray_gpu.evidence.versions import __version__

INSTRUCTIONS = """\
Reduces a failing GPU program (Triton, Helion, torch.compile, CUDA C++) to the smallest script with the same fault.
`program` is what follows `shrink`: a file and its arguments, or `-m pytest tests/test_x.py::test_y`.
`oracle` is what must persist, for example "misaligned address"; empty: the fault that is seen.
`arch`, for example sm_90, needs no GPU; empty: this machine's GPU.
check takes seconds, explain up to a minute, reduce minutes: it returns an id at once, for status, result and stop.
A fault that is "predicted by a static rule, not run" was seen by no device: say so when you report it.
"""
LONGEST = 900.0
"""Seconds that `check` and `explain` may take."""


@click.command("shrink mcp", cls=OneLineComplaints, context_settings=CONTEXT)
def mcp_command() -> None:
    """Serve reduce, status, result, stop, check and explain by the Model Context Protocol, on stdin and stdout. Started
    by an agent's host, not by hand. Needs pip install 'mcp>=2.0'.

    Exit codes: 0 the client went away, 2 usage.
    """
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        fail("shrink mcp needs the package mcp, 2.0 or later: pip install 'mcp>=2.0'", 2)
    if sys.stdin.isatty():
        fail("shrink mcp talks to an agent's host, not to a terminal: name it as a stdio server there", 2)
    background = Background()
    server = MCPServer("shrinkray_gpu", version=__version__, instructions=INSTRUCTIONS)
    for tool in Tools(background).all():
        server.tool()(tool)
    try:
        server.run("stdio")
    finally:
        background.close()


class Tools:
    """What an agent may call. Their docstrings are what it reads."""

    def __init__(self, background: Background) -> None:
        self.background = background

    def all(self) -> tuple[Any, ...]:
        return self.reduce, self.status, self.result, self.stop, self.check, self.explain

    async def reduce(
        self,
        program: str,
        oracle: str = "",
        arch: str = "",
        max_time: float = 300,
        folder: str = "",
        options: list[str] | None = None,
    ) -> dict[str, Any]:
        """Start to reduce `program` in `folder`. Returns an id at once; ask `status` and `result` for it. `max_time`:
        seconds of search. `options`: more options of the command, such as --output."""
        words = ["--json", "--max-time", f"{max_time:g}", *_given(oracle, arch), *(options or [])]
        if not (place := _folder(folder)).is_dir():
            return {"state": "failed", "error": f"there is no folder {place}"}
        return {"id": self.background.start([*words, *shlex.split(program)], place), "state": "running"}

    async def status(self, id: str) -> dict[str, Any]:
        """How a reduction goes: its state (running, done, failed), seconds, and the last lines that it said."""
        found = self.background.commands.get(id)
        return found.status() if found else self._unknown(id)

    async def result(self, id: str) -> dict[str, Any]:
        """What a reduction came to: the repro's text, its fault, the verdict whose it is, and where ISSUE.md is. While
        it runs, its status; where it failed, the error in a line."""
        found = self.background.commands.get(id)
        return found.result() if found else self._unknown(id)

    async def stop(self, id: str) -> dict[str, Any]:
        """End a reduction early: the best so far is checked and becomes the result, a little later."""
        found = self.background.commands.get(id)
        if found:
            found.stop()
        return found.status() if found else self._unknown(id)

    async def check(self, program: str, oracle: str = "", arch: str = "", folder: str = "") -> dict[str, Any]:
        """Whether `program` shows the fault. Writes nothing."""
        code, out, said = await _run(["check", *_given(oracle, arch), *shlex.split(program)], folder)
        told = out.strip() if code == 0 else complaint(said)
        return {"shows": code == 0, "exit_code": code, "told": told}

    async def explain(self, program: str, oracle: str = "", arch: str = "", folder: str = "") -> dict[str, Any]:
        """What the fault of `program` is, and whose: its own, or of Triton, ptxas, the driver. Writes nothing."""
        code, out, said = await _run(["explain", "--json", *_given(oracle, arch), *shlex.split(program)], folder)
        if code:
            return {"exit_code": code, "error": complaint(said)}
        found: dict[str, Any] = json.loads(out)
        return found

    def _unknown(self, id: str) -> dict[str, Any]:
        known = ", ".join(self.background.commands) or "none was started"
        return {"state": "failed", "error": f"there is no reduction {id}: {known}"}


def _given(oracle: str, arch: str) -> list[str]:
    return [*(["--oracle", oracle] if oracle else []), *(["--arch", arch] if arch else [])]


def _folder(name: str) -> Path:
    return Path(name or ".").absolute()


async def _run(words: Sequence[str], folder: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that its caller waits for. It ends with the call, however that ends."""
    try:
        process = start(words, _folder(folder), subprocess.PIPE, subprocess.PIPE)
    except OSError as error:
        return 2, "", f"shrink: {error}"
    try:
        out, said = await asyncio.to_thread(process.communicate, None, LONGEST)
    except subprocess.TimeoutExpired:
        return 2, "", f"shrink: it did not end within {LONGEST:g} s"
    finally:
        if process.poll() is None:
            process.terminate()
    return process.returncode, out.decode("utf-8", "replace"), said.decode("utf-8", "replace")
