"""The static rules that following a launch's IR decides: `static:bounds`, `static:assert` and `static:div0`.

What the evaluator proves is inside breaks no rule; what it cannot follow is unknown.
"""

from __future__ import annotations

from .cause import ASSERT, BOUNDS, DIVISION
from .rule import LaunchFacts, Rule, RuleFinding


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
