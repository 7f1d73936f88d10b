"""Figures of a kernel as the text of its amdgcn has them: LLVM writes them behind the code, as metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shrinkray_gpu.device.figures import Figures

STAGES = frozenset({"amdgcn"})
_REGISTER = 4
"""Bytes of a lane's share of a vector register. A scalar register that spills goes to such a lane, or to memory."""
_FIELD = re.compile(r"^\s*\.(\w+):\s*(\S+)\s*$", re.MULTILINE)
_NO_CODE = re.compile(r"\s*(?:[;.#]|//|[\w.$@]+:|$)")
"""Comments, directives and labels."""


def figures(kernel: str, code: Mapping[str, str], shared: int) -> Figures | None:
    """Of the kernel, where its amdgcn was delivered. `shared`: bytes that each launch asks for beside those that the
    text names. None where it has no such kernel, or says nothing of it."""
    text = code.get("amdgcn", "")
    body = re.search(rf"^{re.escape(kernel)}:(.*?)^\s*\.(?:section|amdhsa_kernel)\b", text, re.MULTILINE | re.DOTALL)
    fields = _fields(kernel, text)
    try:
        spilled = (int(fields["vgpr_spill_count"]) + int(fields["sgpr_spill_count"])) * _REGISTER
        registers = int(fields["vgpr_count"])
        static = int(fields["group_segment_fixed_size"])
    except (KeyError, ValueError):
        return None
    lines = body[1].splitlines() if body is not None else []
    # Triton names the same shared memory in the text and in the launch.
    return Figures(spilled, registers, sum(not _NO_CODE.match(line) for line in lines), max(static, shared))


def _fields(kernel: str, text: str) -> dict[str, str]:
    """What the metadata at the end says of one kernel: its entry of the list `amdhsa.kernels`."""
    _, _, metadata = text.partition(".amdgpu_metadata")
    _, _, kernels = metadata.partition("amdhsa.kernels:")
    for entry in re.split(r"^  - ", kernels, flags=re.MULTILINE):
        found = dict(_FIELD.findall(entry))
        if found.get("name") == kernel:
            return found
    return {}
