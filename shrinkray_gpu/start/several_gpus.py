"""On which GPUs a program runs: it sees all until it is known how many it needs. Then each lane has so many."""

from __future__ import annotations

import re
from dataclasses import replace

from shrinkray_gpu.runner.gpu_groups import grouped
from shrinkray_gpu.start.capture_runs import Runs, plain
from shrinkray_gpu.start.given import Say, Start, UserProgram

_MAY_NEED_MORE = re.compile(
    r"cuda:[1-9]|device_count|set_device|nccl|distributed|torchrun|local_rank|world_size|nproc|multiprocessing|Parallel",
    re.IGNORECASE,
)
"""Words of programs that ask for several GPUs otherwise than by memory in their own process."""


def on_single_gpus(given: UserProgram) -> UserProgram:
    """The program with lanes on each GPU, before it has told how many it needs; as it is, where that may be several."""
    if not given.gpus or _may_need_more(given, given.program.text):
        return given
    return _on(given, grouped(given.gpus, 1)[: given.limits.jobs])


def on_groups(given: UserProgram, start: Start, say: Say) -> tuple[UserProgram, Start]:
    """The program with lanes on all of its GPUs, in groups of as many as what is reduced needs."""
    if not given.gpus:
        return given, start
    if not (start.seen or start.reference):
        start = replace(start, seen=(plain(given.cold().cold(start.program.text)),))
    size = _needed(given, start, say)
    groups = grouped(given.gpus, size)[: given.limits.jobs]
    number = f"{len(groups)} group{'s' * (len(groups) > 1)} of {size}" if size > 1 else f"{len(groups)}"
    say(f"lanes on {number} of {len(given.gpus)} GPUs{_why(size)} (--gpus N takes fewer)")
    if size == 1 and start.lanes is not None and start.lanes.cold.groups.names == groups:
        return replace(given, limits=replace(given.limits, groups=start.lanes.cold.groups)), start
    if start.lanes is not None:
        start.lanes.close()
    given, start = _on(given, groups), replace(start, lanes=None)
    # An earlier program may have let one GPU reach another's memory, so no context is used again.
    mode = given.limits.mode or ("fork" if size > 1 else None)
    return replace(given, limits=replace(given.limits, mode=mode)), start


def _on(given: UserProgram, groups: tuple[str, ...]) -> UserProgram:
    return replace(given, limits=replace(given.limits, groups=given.limits.groups.on(groups)))


def _why(size: int) -> str:
    return f": what is reduced needs {size}" if size > 1 else ""


def _needed(given: UserProgram, start: Start, say: Say) -> int:
    """How many GPUs what is reduced needs: as many as hold its tensors. Where that is one, and it may need more, as few
    as its fault shows with."""
    runs = start.seen or filter(None, [start.reference])
    used = max(run.gpus for run in runs)
    if used > 1 or not _may_need_more(given, start.program.text):
        return max(1, used)
    oracle, size = start.oracle or given.chosen, 1
    while oracle is not None and size < len(given.gpus):
        here = _on(given.alone if start.alone else given, grouped(given.gpus, size)[:1])
        if Runs(here, say).shows(oracle, here.cold().cold(start.program.text)):
            return size
        size *= 2
    return len(given.gpus)


def _may_need_more(given: UserProgram, text: str) -> bool:
    command = given.command.command_line if given.command else ""
    return bool(_MAY_NEED_MORE.search("\n".join([text, command, *given.script.argv])))
