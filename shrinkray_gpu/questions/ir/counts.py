"""Counting in code alone. The text of a stage also has names and paths of the user's own choice: a kernel called
`async_tma_copy`, or one in a folder of that name, must not count as an instruction."""

from __future__ import annotations

import re

from shrinkray_gpu.questions.ir.patterns import Count
from shrinkray_gpu.runner.inside.launches.compilation import without_locations, without_names

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", re.MULTILINE)
_LLIR_NOISE = re.compile(r"^\s*(?:;|source_filename\b|target \w+ =|!).*$|(?:, )?!(?:dbg )?\w*", re.MULTILINE)
_PTX_NOISE = re.compile(
    r"^\s*(?://|\.loc\b|\.file\b|\.section\b|\.visible\b|\.b8\b|\.b64\b|\.target\b).*$|//.*$", re.MULTILINE
)
_AMDGCN_NOISE = re.compile(r"^\s*\..*$|;.*$|^\S+:.*$", re.MULTILINE)
"""Directives, of which some name files, labels and comments."""
_BLOCK = re.compile(r"^\s*\.section\b[^{]*\{.*?^\s*\}", re.MULTILINE | re.DOTALL)


def code(stage: str, text: str, kernel: str) -> str:
    """The code in the text of a stage: no locations, comments, debug sections, names of values or of the kernel."""
    if stage in ("ttir", "ttgir"):
        return _unnamed(without_names(without_locations(text)), kernel)
    if stage == "llir":
        return _unnamed(_LLIR_NOISE.sub("", text), kernel)
    if stage == "ptx":
        return re.sub(rf"\b{re.escape(kernel)}(?=_param_\d|\()", "", _PTX_NOISE.sub("", _BLOCK.sub("", text)))
    if stage == "amdgcn":
        return _AMDGCN_NOISE.sub("", text.partition("\n\t.section\t.rodata")[0])
    return "\n".join(_INSTRUCTION.findall(text))


def count(asked: Count, text: str, kernel: str) -> int:
    """How often the pattern is in the code."""
    return sum(1 for _ in asked.pattern.finditer(code(asked.stage, text, kernel)))


def _unnamed(text: str, kernel: str) -> str:
    return re.sub(rf'@"?{re.escape(kernel)}\b', "@", text)
