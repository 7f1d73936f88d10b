"""ROCm's debug agent in the place of a core dump: it writes which instruction the waves at fault stood at.

The agent is a library that ROCm loads into the process. At a fault it writes the state of the waves to a file, with the
machine code around them, and then the process is aborted. Written by AMD's documents and by two published outputs (of
ROCm 6.3 and 7.2), never run: no GPU of AMD's has been here. `rocgdb` is not needed for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device.amd import toolkit
from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.device.nvidia.coredump import NO_HOST_DUMP as NO_HOST_DUMP

TOOL = toolkit.AGENT
READER = "ROCm's debug agent (by AMD's documents, never run by us)"
VARIABLES = frozenset({"HSA_TOOLS_LIB", "HSA_ENABLE_DEBUG", "ROCM_DEBUG_AGENT_OPTIONS"})
LARGE = 0
"""The agent writes registers and code, and no device memory: what a program holds does not matter."""
LONGEST = 1 << 26
"""Bytes of its text that are read. A wave has some 20 KB, and a GPU holds thousands of waves."""

_WAVE = re.compile(
    r"^wave_\d+: pc=(0x[0-9a-f]+)(?: \(kernel_code_entry=0x[0-9a-f]+(?:\s+<(?P<kernel>.+?)>)?(?:, kernargs=\w+)?\))?"
    r" \(stopped, reason: (?P<reason>[\w|]+)\)",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"^Disassembly for function (?P<name>[^\n]+):\s*$", re.MULTILINE)
_FILE = re.compile(r"^(/[^\n]+):\s*$")
_LINE = re.compile(r"^(\d+)\s")
_AT = re.compile(r"^\s*=>\s*(0x[0-9a-f]+) <\+(\d+)>:\s*(.+?)\s*$")
_EXACT = frozenset({"ASSERT_TRAP", "TRAP", "DEBUG_TRAP", "ILLEGAL_INSTRUCTION", "BREAKPOINT"})
"""Of these the wave stands at the instruction itself. Behind a memory access it goes on for a while."""


def environment(path: Path, *, memory: bool = True, abort: bool = True) -> Mapping[str, str]:
    """For the process: load the agent, which writes to `path`. It is aborted in any case, and device memory is never
    written."""
    return {
        "HSA_TOOLS_LIB": str(toolkit.agent() or TOOL),
        "HSA_ENABLE_DEBUG": "1",
        "ROCM_DEBUG_AGENT_OPTIONS": f"--output={path}",
    }


def find(python: str, environment: Mapping[str, str]) -> Path | None:
    """The agent's library, or None."""
    return toolkit.find(TOOL, python, environment)


def read(tool: Path, core: Path) -> Dump | None:
    """What the agent has written; None if it says nothing of a wave that stopped."""
    try:
        with open(core, encoding="utf-8", errors="replace") as file:
            return parse(file.read(LONGEST))
    except OSError:
        return None


@dataclass(frozen=True)
class _WaveStop:
    """Where a program counter stands."""

    function: str
    offset: int
    instruction: str
    file: str
    line: int


def parse(text: str) -> Dump | None:
    """The place at which most of the waves at fault stopped, for the reason that most of them have."""
    waves = [found for found in _WAVE.finditer(text) if found["reason"] != "NONE"]
    if not waves:
        return None
    (counter, reason), _ = Counter((wave[1], wave["reason"]) for wave in waves).most_common(1)[0]
    wave = next(wave for wave in waves if wave[1] == counter)
    place = dict(_places(text)).get(int(counter, 16), _WaveStop("", -1, "", "", 0))
    kernel = wave["kernel"] or place.function
    return Dump(
        exception=reason.replace("|", ", ").replace("_", " ").lower(),
        kernel=kernel.partition("(")[0],
        # Of a function that the kernel calls, the offset is from that function's own start.
        offset=place.offset if place.function in ("", kernel) else -1,
        instruction=place.instruction,
        precise=reason in _EXACT,
        file=place.file,
        line=place.line,
        text=text,
    )


def _places(text: str) -> Iterator[tuple[int, _WaveStop]]:
    """Each marked instruction, by its address."""
    for head, body in zip(_FUNCTION.finditer(text), _FUNCTION.split(text)[2::2], strict=True):
        file, line = "", 0
        for row in body.partition("End of disassembly.")[0].splitlines():
            if named := _FILE.match(row):
                file = named[1]
            elif numbered := _LINE.match(row):
                line = int(numbered[1])
            elif at := _AT.match(row):
                yield int(at[1], 16), _WaveStop(head["name"], int(at[2]), at[3].partition("  # ")[0], file, line)
