"""The static rules that following a launch's IR decides.

What the evaluator proves is inside breaks no rule; what it cannot follow is unknown. Of `static:alignment`,
`static:uninitialised` and `static:race` nobody knows what a device would see first where something else is wrong in the
launch.
"""

from __future__ import annotations

from .cause import ALIGNMENT, ASSERT, BOUNDS, DIVISION, RACE, UNINITIALISED
from .rule import LaunchFacts, Rule, RuleFinding, finding_of, if_sound


def followed(name: str, code: int, words: str, *, holds: str, wanted: str, sure: bool) -> Rule:
    """A rule that the launch breaks where the evaluator finds a cause that breaks it. The rest as in `Rule`."""

    def examine(facts: LaunchFacts) -> RuleFinding:
        evaluation = facts.evaluation()
        for cause in evaluation.breaking(name):
            return RuleFinding(reason=cause.sentence)
        return RuleFinding(unknown=evaluation.unknown)

    return Rule(name, code, words, holds, wanted, examine, asked=True, sure=sure)


BOUNDS_RULE = followed(
    BOUNDS,
    700,  # CUDA_ERROR_ILLEGAL_ADDRESS
    "an illegal memory access was encountered",
    holds="by Triton's IR an access leaves the storage of its tensor, and the host waits",
    wanted="each access must stay inside of its tensor's storage",
    sure=False,
)
ASSERT_RULE = followed(
    ASSERT,
    710,  # CUDA_ERROR_ASSERT
    "device-side assert triggered",
    holds="by Triton's IR a device assertion does not hold, and the host waits",
    wanted="each assertion must hold",
    sure=True,
)
DIVISION_RULE = followed(
    DIVISION,
    0,
    "an integer is divided by 0",
    holds="by Triton's IR an integer is divided by 0; a device goes on with any value",
    wanted="no divisor may be 0",
    sure=False,
)
ALIGNMENT_RULE = Rule(
    name=ALIGNMENT,
    code=716,  # CUDA_ERROR_MISALIGNED_ADDRESS
    words="misaligned address",
    holds="an access to global memory begins where no instruction of its width may, and the host waits",
    wanted="an address must be a multiple of the bytes that one instruction takes",
    examine=lambda launch: if_sound(finding_of(launch.alignment()), launch),
    asked=True,
    cuda=True,
)
"""Does an access to global memory begin where none of its width may? The width is that of the instruction, which only
machine code tells: an untrue `tl.multiple_of` does no harm where nothing became wider for it."""
UNINITIALISED_RULE = Rule(
    name=UNINITIALISED,
    code=0,
    words="uninitialised memory is loaded",
    holds="a kernel loads from a tensor of torch.empty that nothing wrote to before; a device goes on with any value",
    wanted="each element that is loaded must be written before",
    examine=lambda launch: if_sound(finding_of(launch.unwritten()), launch),
    asked=True,
    named=True,
    sure=False,
)
"""What an earlier kernel wrote of a tensor is not known, so of its elements nothing is said."""
RACE_RULE = Rule(
    name=RACE,
    code=0,
    words="two program instances race",
    holds="two program instances of a launch touch one element, one by a plain store, in no order; two stores of the "
    "same do no harm",
    wanted="an element that a program instance stores to must be its own, or be touched by atomic operations alone",
    examine=lambda launch: if_sound(finding_of(launch.races()), launch),
    asked=True,
    named=True,
    sure=False,
)
