"""What a static rule is: a name, the error that a device ends in, and a look at one launch that never runs.

A rule condemns a launch only where its code, grid and arguments leave no doubt that the device would fault. What it
cannot follow is unknown, never a fault. `rules` lists the rules that there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence, Tuple

from .cause import Evaluation


@dataclass(frozen=True)
class RuleFinding:
    """`reason`: why the launch faults, else empty. `unknown`: why that could not be decided, else empty. `operation`:
    the one that faults, as the TTGIR has it without its locations."""

    reason: str = ""
    unknown: str = ""
    operation: str = ""


@dataclass(frozen=True)
class LaunchFacts:
    """All that a rule may look at. `args` are the values of the kernel's parameters in order (what is specialised away
    is not among them): integers, a Buffer, a Described, None for what is not known. What following the kernel's IR
    tells, each for some milliseconds: `evaluation` of the launch, `alignment` of its accesses, `unwritten` of loads of
    what nobody wrote, `races` of its program instances, `copies` of its TMA copies."""

    ttgir: str
    ttir: str
    grid: Tuple[int, int, int]
    args: Sequence[Any]
    evaluation: Callable[[], Evaluation] = lambda: Evaluation(unknown="nobody followed it")
    alignment: Callable[[], Evaluation] = lambda: Evaluation(unknown="nobody followed it")
    unwritten: Callable[[], Evaluation] = lambda: Evaluation(unknown="nobody followed it")
    races: Callable[[], Evaluation] = lambda: Evaluation(unknown="nobody followed it")
    copies: Callable[[], RuleFinding] = lambda: RuleFinding(unknown="nobody followed it")


def finding_of(evaluation: Evaluation) -> RuleFinding:
    """The first cause that an evaluation tells of, else why it may have missed one."""
    for cause in evaluation.causes:
        return RuleFinding(reason=cause.sentence)
    return RuleFinding(unknown=evaluation.unknown)


def if_sound(finding: RuleFinding, launch: LaunchFacts) -> RuleFinding:
    """The finding of a fault; unknown where something else is wrong in the launch: nobody knows what a device would see
    first."""
    own = launch.evaluation().own_fault if finding.reason else ""
    return RuleFinding(unknown=own) if own else finding


@dataclass(frozen=True)
class Rule:
    """`code`, `words`: the sticky error in which the fault ends on a device, by number and in the driver's words.
    `holds`: what the user reads of the rule in the table of oracles. `wanted`: what the hardware asks for.
    `instructions`: words of a reason, and the family of the machine instruction that such an operation becomes.
    `asked`: whether a launch is held against it only for an oracle that asks; `named`: that names it, since a program
    may break it and be none the worse. `sure`: whether a device faults each time
    that a launch breaks it; an access just past a tensor may end in memory that the allocator holds. `cuda`: whether
    only NVIDIA's hardware asks for it."""

    name: str
    code: int
    words: str
    holds: str
    wanted: str
    examine: Callable[[LaunchFacts], RuleFinding]
    instructions: Tuple[Tuple[str, str], ...] = ()
    asked: bool = False
    named: bool = False
    sure: bool = True
    cuda: bool = False
