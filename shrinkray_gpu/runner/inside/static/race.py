"""The static rule `static:race`: do two program instances touch one place of a tensor, one of them by a plain store, in
no order?

A device goes on with whatever comes first. Where something else is wrong in the launch, nobody knows how far it gets.
"""

from __future__ import annotations

from .cause import RACE
from .rule import LaunchFacts, Rule, RuleFinding, finding_of, if_sound


def examine(launch: LaunchFacts) -> RuleFinding:
    return if_sound(finding_of(launch.races()), launch)


RULE = Rule(
    name=RACE,
    code=0,
    words="two program instances race",
    holds="two program instances of a launch touch one element, one by a plain store, in no order; two stores of the "
    "same do no harm",
    wanted="an element that a program instance stores to must be its own, or be touched by atomic operations alone",
    examine=examine,
    asked=True,
    named=True,
    sure=False,
)
