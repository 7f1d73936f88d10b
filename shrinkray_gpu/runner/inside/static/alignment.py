"""The static rule `static:alignment`: does an access to global memory begin where none of its width may?

The width is that of the instruction, which only machine code tells: an untrue `tl.multiple_of` does no harm where
nothing became wider for it. Where something else is wrong in the launch, nobody knows what a device would see first.
"""

from __future__ import annotations

from .cause import ALIGNMENT
from .rule import LaunchFacts, Rule, RuleFinding, finding_of, if_sound


def examine(launch: LaunchFacts) -> RuleFinding:
    return if_sound(finding_of(launch.alignment()), launch)


RULE = Rule(
    name=ALIGNMENT,
    code=716,  # CUDA_ERROR_MISALIGNED_ADDRESS
    words="misaligned address",
    holds="an access to global memory begins where no instruction of its width may, and the host waits",
    wanted="an address must be a multiple of the bytes that one instruction takes",
    examine=examine,
    asked=True,
    cuda=True,
)
