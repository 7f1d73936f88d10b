"""What is counted: a regex in one stage of the code, or a family that knows how a thing is spelled in each stage.

The spellings were read from what Triton 3.0.0 to 3.9.0 make of the programs under studies/, for sm_90, and AMD's from
what 3.7.1 makes for gfx942. Names that look right and are not are the trap: `ttng.async_tma` finds nothing up to 3.2,
where the dialect is called `triton_nvidia_gpu`; `tt.descriptor_load` finds nothing up to 3.3, where it is
`tt.experimental_descriptor_load`; `warp_group_dot` finds nothing up to 3.1, where it is `dot_async`; `async_tma`,
`cp.async.bulk` and `UTMA` find waits, commits and cache flushes besides copies.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shrinkray_gpu.errors import UsageError

STAGES = ("ttir", "ttgir", "llir", "ptx", "sass", "amdgcn")


@dataclass(frozen=True)
class Count:
    """One column of the table."""

    stage: str
    pattern: re.Pattern[str]
    family: str = ""

    @property
    def name(self) -> str:
        return f"{self.stage}:{self.family or self.pattern.pattern}"

    def __str__(self) -> str:
        return f"{self.stage}:{self.pattern.pattern}"


FAMILIES = {
    "tma": {
        "ttir": r"\btt\.(?:experimental_)?descriptor_(?:load|store|gather|scatter|reduce)\b",
        "ttgir": r"\basync_tma_(?:copy_global_to_local|copy_local_to_global|gather|scatter|reduce)\b",
        "llir": r"cp(?:\.reduce)?\.async\.bulk\.tensor\.",
        "ptx": r"\bcp(?:\.reduce)?\.async\.bulk\.tensor\.",
        "sass": r"\bUTMA(?:LDG|STG|REDG)\b",
    },
    "wgmma": {
        # Up to 3.1 an instruction that is waited for at once is a dot of operands in shared memory.
        "ttgir": r"\b(?:ttng|triton_nvidia_gpu)\.(?:warp_group_dot|dot_async)\b|\btt\.dot\b(?=.*!tt\.memdesc)",
        "ptx": r"\bwgmma\.mma_async\b",
        "sass": r"\b[HIQBD]GMMA\b",
    },
    "cp.async": {
        "ttgir": r"\b(?:ttg|triton_gpu)\.async_copy_global_to_local\b",
        "ptx": r"\bcp\.async\.c[ag]\.shared\b",
        "sass": r"\bLDGSTS\b",
    },
    "mfma": {
        "llir": r"\bcall [^\n]*@llvm\.amdgcn\.(?:mfma|wmma|smfmac)\b",
        "amdgcn": r"\bv_(?:mfma|wmma|smfmac)_",
    },
    "buffer": {
        "ttgir": r"\bamd(?:g|gpu)\.buffer_(?:load|store|atomic)",
        "llir": r"\bcall [^\n]*@llvm\.amdgcn\.raw\.ptr\.buffer\.(?:load|store|atomic)",
        "amdgcn": r"\bbuffer_(?:load|store|atomic)_",
    },
}
"""By name, then by stage. A stage that is missing has no word of its own for it."""


def parse(specs: Sequence[str]) -> tuple[Count, ...]:
    """The columns that `--count` asks for: `STAGE:REGEX`, or the name of a family for all stages that it has a word
    for, or `STAGE:NAME` for one of them. Raises UsageError for anything else."""
    found: list[Count] = []
    for spec in specs:
        found += _parse(spec.strip())
    return tuple(dict.fromkeys(found))


def _parse(spec: str) -> list[Count]:
    if spec in FAMILIES:
        return [Count(stage, re.compile(regex), spec) for stage, regex in FAMILIES[spec].items()]
    stage, colon, regex = spec.partition(":")
    regex = regex.strip()
    if not colon or stage not in STAGES:
        near = difflib.get_close_matches(stage if colon else spec, STAGES if colon else [*FAMILIES], 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(
            f"--count {spec}: write STAGE:REGEX with a stage of {', '.join(STAGES)}, "
            f"or one of {', '.join(FAMILIES)}{hint}"
        )
    if not regex:
        raise UsageError(f"--count {spec}: what is to be counted? Write {stage}:REGEX")
    if stage in FAMILIES.get(regex, {}):
        return [Count(stage, re.compile(FAMILIES[regex][stage]), regex)]
    try:
        pattern = re.compile(regex, re.MULTILINE)
    except re.error as error:
        raise UsageError(f"--count {spec}: that is no regular expression: {error}") from error
    if pattern.search(""):
        raise UsageError(f"--count {spec}: that matches the empty text, so it would be everywhere")
    return [Count(stage, pattern)]
