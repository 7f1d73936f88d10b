"""The static rules, in the order in which a launch is held against them. A new rule is one file beside this one, and
one line in RULES.

Both interpreters read this list: the virtual GPU asks each rule in turn, and the tool's half knows the names and the
error codes from here. So it needs the standard library only.
"""

from __future__ import annotations

from typing import Iterable, List, Optional, Tuple

from . import alignment, followed, race, tma, uninitialised
from .rule import Rule

RULES: Tuple[Rule, ...] = (
    tma.RULE,
    followed.BOUNDS_RULE,
    followed.ASSERT_RULE,
    followed.DIVISION_RULE,
    alignment.RULE,
    uninitialised.RULE,
    race.RULE,
)

_BY_NAME = {rule.name: rule for rule in RULES}


def by_name(name: str) -> Optional[Rule]:
    return _BY_NAME.get(name)


ASKED = "static:"
"""In a request's `wants`, before the name of a rule: launches are held against it, too."""


def held_against(wants: Iterable[str], *, cuda: bool = True) -> List[Rule]:
    """The rules that a launch is held against: those that nobody needs to ask for, and those that are wanted; without
    `cuda` only those that hold for every GPU."""
    named = {each[len(ASKED) :] for each in wants if each.startswith(ASKED)}
    return [rule for rule in RULES if (not rule.asked or rule.name in named) and (cuda or not rule.cuda)]


def fault_text(rule: Rule, reason: str) -> str:
    """What a launch's record says of its fault: the rule by its name, then the reason."""
    return "%s: %s" % (rule.name, reason)


def of_fault(fault: str) -> Tuple[Rule, str]:
    """The rule that a launch's record names, and the reason. Raises ValueError where it names none: no rule stands in
    for another, since each ends in an error of its own."""
    name, _, reason = fault.partition(": ")
    rule = by_name(name)
    if rule is None:
        raise ValueError("the fault of a launch names no static rule: %r" % fault)
    return rule, reason
