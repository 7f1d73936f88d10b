"""Compare: the first launch that did something else in one of two runs of a program, given the same.

Only launches whose inputs were the same count: what differs before a launch was done by an earlier one or by the host.
Rounding is the exception, since it spreads: `num_stages=1` may well change the last bit everywhere and one result
altogether. So a difference within tolerance is kept and the search goes on, among launches whose inputs are that near.
"""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Tuple

from .disagreement import measure
from .recording import Recording

Record = Dict[str, Any]

NOTHING = "no Triton kernel was launched, so there are no outputs to compare"
"""For code without Triton the question is its own check: `exception:TYPE`, or `script:PATH`."""


def compare(torch: Any, theirs: Recording, mine: Recording, knobs: FrozenSet[str]) -> Tuple[List[Record], str]:
    """The differences, and why there may be none without that meaning anything. `theirs` is the plain run, `mine` the
    one in which `knobs` were turned; torch is None where neither has any."""
    trouble = theirs.trouble or mine.trouble
    if trouble:
        return [], trouble
    if not theirs.launches and not mine.launches:
        return [], NOTHING
    rounded: List[Record] = []
    dropped = 0
    for index, (one, other) in enumerate(zip(theirs.launches, mine.launches)):
        unlike = _unlike(index, one, other, knobs, same=theirs.situation == mine.situation)
        if unlike:
            return rounded, "" if rounded else unlike
        if one["dropped"] or other["dropped"]:
            dropped += 1
            continue
        if one["error"]:
            continue
        for argument, kind in _differing(torch, theirs, mine, one, other, "before"):
            if kind["kind"] != "tolerance" or not rounded:
                why = "%s of launch %d (%s) holds something else in the two runs, which no earlier launch explains: %s"
                where = (argument, index, one["kernel"], _causes(dropped))
                return rounded, "" if rounded else why % where
        found = [
            {"way": "", "launch": index, "kernel": one["kernel"], "argument": argument, **kind}
            for argument, kind in _differing(torch, theirs, mine, one, other, "after")
        ]
        if any(each["kind"] != "tolerance" for each in found):
            return [*rounded, *found], ""
        rounded = rounded or found
    if rounded:
        return rounded, ""
    if len(theirs.launches) != len(mine.launches):
        numbers = (len(theirs.launches), len(mine.launches))
        return [], "one run makes %d launches, the other %d; the outputs agree as far as both go" % numbers
    if dropped:
        return [], "the outputs of %d of %d launches found no room; the others agree" % (dropped, len(mine.launches))
    return [], ""


def _unlike(index: int, one: Record, other: Record, knobs: FrozenSet[str], *, same: bool) -> str:
    """Why two launches are no pair: other kernels, other arguments, one of them failed, one could not be recorded."""
    if one["kernel"] != other["kernel"]:
        return "launch %d is of %s in one run, of %s in the other" % (index, one["kernel"], other["kernel"])
    name = "launch %d (%s)" % (index, one["kernel"])
    trouble = one["trouble"] or other["trouble"]
    if trouble:
        return "%s cannot be compared: %s" % (name, trouble)
    if bool(one["error"]) != bool(other["error"]):
        return "%s fails in one run only: %s" % (name, one["error"] or other["error"])
    given = {argument["name"]: argument for argument in other["arguments"]}
    for argument in one["arguments"]:
        twin = given.get(argument["name"], argument)  # constexprs at their defaults may be left out
        free = argument["role"] in ("constexpr", "option") and (argument["name"] in knobs or not same)
        if argument["text"] != twin["text"] and not free:
            told = (argument["name"], name, argument["text"], twin["text"])
            return "%s of %s is %s in one run, %s in the other" % told
    return ""


def _differing(
    torch: Any, theirs: Recording, mine: Recording, one: Record, other: Record, when: str
) -> List[Tuple[str, Record]]:
    """Names of the tensors whose contents differ then, and how. Afterwards, of those that one of the two wrote to."""
    given = {argument["name"]: argument for argument in other["arguments"]}
    found: List[Tuple[str, Record]] = []
    for argument in one["arguments"]:
        twin = given.get(argument["name"], {})
        if not argument.get(when) or not twin.get(when) or argument[when] == twin[when]:
            continue
        if when == "after" and not any(each["after"] != each["before"] for each in (argument, twin)):
            continue
        pair = (theirs.tensor(torch, argument[when]), mine.tensor(torch, twin[when]))
        how = measure(torch, *pair, argument["dtype"])
        if how is not None:
            found.append((argument["name"], how))
    return found


def _causes(dropped: int) -> str:
    host = "chance, time or a torch operation that is not deterministic"
    return "%s, or one of the %d launches whose outputs found no room" % (host, dropped) if dropped else host
