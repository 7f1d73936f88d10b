"""Controls for a launch that asks for more shared memory than there is.

Without any pipelining nearly every launch fits, whatever made it too large: `num_stages=1` lets a tile that was made
larger pass as the mistake, and the stages that the program asks for go. The largest number of stages with which the
original fits tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.knob_settings import parse_setting
from shrinkray_gpu.same_fault.controls import Control

USUAL = 3
"""Stages where nobody asks for a number."""
TRIED = 3
"""Numbers below what the program asks for."""
_KNOB = "num_stages"
_ASKED = re.compile(rf"\b{_KNOB}\s*=\s*(\d+)")


def of_stages(fault: Fault, text: str) -> tuple[Control, ...]:
    """Fewer stages than this text asks for, the most first; none for another fault."""
    if fault.phase != "launch" or "shared memory" not in fault.text:
        return ()
    asked = max(map(int, _ASKED.findall(text)), default=USUAL)
    numbers = range(asked - 1, max(1, asked - 1 - TRIED), -1)
    return tuple(Control(way.name, way) for way in (parse_setting(f"{_KNOB}={number}") for number in numbers))


def nearest(passing: Sequence[Control], chosen: Sequence[Control] = ()) -> tuple[Control, ...]:
    """Of those that only turn the stages the one with the most, which is the hardest to pass; and all others."""
    stages = {each: int(each.way.knobs[_KNOB]) for each in passing if tuple(each.way.knobs) == (_KNOB,)}
    most = max(stages.values(), default=0)
    return tuple(each for each in passing if each in chosen or stages.get(each, most) == most)
