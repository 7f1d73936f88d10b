"""The static rule `static:uninitialised`: does a kernel load from a tensor of `torch.empty` that nobody wrote to?

A device goes on with whatever is there. What an earlier kernel wrote of a tensor is not known, so of its elements
nothing is said; and where something else is wrong in the launch, nobody knows how far a device would get.
"""

from __future__ import annotations

from .cause import UNINITIALISED
from .rule import LaunchFacts, Rule, RuleFinding, finding_of, if_sound


def examine(launch: LaunchFacts) -> RuleFinding:
    return if_sound(finding_of(launch.unwritten()), launch)


RULE = Rule(
    name=UNINITIALISED,
    code=0,
    words="uninitialised memory is loaded",
    holds="a kernel loads from a tensor of torch.empty that nothing wrote to before; a device goes on with any value",
    wanted="each element that is loaded must be written before",
    examine=examine,
    asked=True,
    named=True,
    sure=False,
)
