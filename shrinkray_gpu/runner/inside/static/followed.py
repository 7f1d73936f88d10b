"""The static rules that following a launch's IR decides: `static:bounds`, `static:assert` and `static:div0`.

What the evaluator proves is inside breaks no rule; what it cannot follow is unknown.
"""

from __future__ import annotations

from typing import Callable

from .cause import ASSERT, BOUNDS, DIVISION
from .rule import LaunchFacts, Rule, RuleFinding


def _examine(name: str) -> Callable[[LaunchFacts], RuleFinding]:
    def examine(facts: LaunchFacts) -> RuleFinding:
        evaluation = facts.evaluation()
        for cause in evaluation.breaking(name):
            return RuleFinding(reason=cause.sentence)
        return RuleFinding(unknown=evaluation.unknown)

    return examine


BOUNDS_RULE = Rule(
    name=BOUNDS,
    code=700,  # CUDA_ERROR_ILLEGAL_ADDRESS
    words="an illegal memory access was encountered",
    holds="by Triton's IR an access leaves the storage of its tensor, and the host waits",
    wanted="each access must stay inside of its tensor's storage",
    examine=_examine(BOUNDS),
    asked=True,
    sure=False,
)

ASSERT_RULE = Rule(
    name=ASSERT,
    code=710,  # CUDA_ERROR_ASSERT
    words="device-side assert triggered",
    holds="by Triton's IR a device assertion does not hold, and the host waits",
    wanted="each assertion must hold",
    examine=_examine(ASSERT),
    asked=True,
)

DIVISION_RULE = Rule(
    name=DIVISION,
    code=0,
    words="an integer is divided by 0",
    holds="by Triton's IR an integer is divided by 0; a device goes on with any value",
    wanted="no divisor may be 0",
    examine=_examine(DIVISION),
    asked=True,
    sure=False,
)
