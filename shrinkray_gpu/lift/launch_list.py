"""From a captured run to one script with all its launches: definitions, buffers, the launches in order.

For faults that no launch shows by itself: a workspace kept from an earlier launch, memory handed out again, a kernel
that was compiled for other arguments first. The script waits for the device where the program did, and at its end:
whatever ran beside something else then still does. What was repeated stands in a loop, so that the list stays readable
and the reducer can take whole rounds away.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

from shrinkray_gpu.lift import emit
from shrinkray_gpu.lift.decisive import with_history_blank
from shrinkray_gpu.lift.inputs import Inputs, tensors
from shrinkray_gpu.lift.values import Choice, choices
from shrinkray_gpu.runner.inside.capture.schema import HistoryLaunch, HistoryRecord, LaunchRecord
from shrinkray_gpu.runner.run import Run

LONGEST = 40
"""Steps of the longest round that is looked for."""
WAIT = "torch.cuda.synchronize()\n"
RELEASE = "torch.cuda.empty_cache()\n"

Argument = Mapping[str, Any]


def histories(run: Run) -> tuple[str, ...]:
    """Scripts of the whole history of a captured run, one for each way to fill the buffers, the simplest first."""
    history = run.captured.get("history") if run.captured else None
    if not history or not history["launches"]:
        return ()
    texts: dict[str | None, None] = {}
    for one in (with_history_blank(history), history):
        every = [t for launch in one["launches"] for argument in launch["arguments"] for t in tensors(argument)]
        texts |= dict.fromkeys(script(one, choice) for choice in choices(every))
    return tuple(text for text in texts if text is not None)


def script(history: HistoryRecord, choice: Choice) -> str | None:
    """All of it, or None where something cannot be written down."""
    definitions = history["definitions"]
    buffers = Buffers(choice, emit.reserved_names(definitions))
    launches = history["launches"]
    buffers.plan([argument for launch in launches for argument in launch["arguments"]])
    handles = Handles(launches, buffers)
    steps: list[str] = []
    for event in history["events"]:
        if event["kind"] == "launch":
            launch = cast(LaunchRecord, {**launches[event["launch"]], "trouble": "", "definitions": definitions})
            values = {argument["name"]: buffers.text(argument) for argument in launch["arguments"]}
            options = emit.telling_options(launch)
            if None in values.values() or None in options.values():
                return None
            steps += [*buffers.new_lines(), handles.call(launch, values, options)]
        elif event["kind"] == "wait":
            steps.append(WAIT)
        elif event["kind"] == "release":
            steps.append(RELEASE)
        elif event["kind"] == "free":
            steps += buffers.freed(event["storage"])
        elif event["kind"] == "write":
            steps += buffers.host_write(event["tensor"])
    if not steps or steps[-1] != WAIT:
        steps.append(WAIT)
    allocator = emit.ALLOCATOR if any(launch["allocator"] for launch in launches) else ""
    return emit.script(definitions, buffers.imports, allocator + buffers.seed + "".join(fold_loops(steps)))


class Handles:
    """Compiled kernels that the program kept and launched by themselves, past Triton's look at the arguments: one that
    was compiled for others shows its fault in no other way."""

    def __init__(self, launches: Sequence[HistoryLaunch], buffers: Buffers) -> None:
        kept = {launch["compiled"] for launch in launches if launch["how"] == "compiled"}
        made = [launch["compiled"] for launch in launches if launch["how"] == "jit"]
        self.names = {number: buffers.free("compiled") for number in dict.fromkeys(made) if number in kept}

    def call(self, launch: LaunchRecord, values: Mapping[str, str | None], options: Mapping[str, str | None]) -> str:
        handle = self.names.get(launch["compiled"])
        if handle is None:
            return emit.call(launch, values, options)
        if launch["how"] == "jit":
            return f"{handle} = {emit.call(launch, values, options)}"
        grid = (*(launch["grid"] or ()), 1, 1)[:3]
        return f"{handle}[{grid}]({', '.join(map(str, values.values()))})\n"


class Buffers(Inputs):
    """The tensors of many launches: made when first used, gone when the program let them go, and their names free
    again then, so that the rounds of a loop look alike."""

    def __init__(self, choice: Choice, taken: set[str]) -> None:
        super().__init__(choice, taken)
        self._told = 0

    def new_lines(self) -> list[str]:
        """The lines that came up since this was last asked."""
        new = self.lines[self._told :]
        self._told = len(self.lines)
        return new

    def names(self, storage: int) -> list[str]:
        names = [name for key, name in self._made.items() if key[0] == storage]
        return [*names, *([self._buffers[storage][0]] if storage in self._buffers else [])]

    def freed(self, storage: int) -> list[str]:
        names = self.names(storage)
        if not names:
            return []
        self._made = {key: name for key, name in self._made.items() if key[0] != storage}
        self._buffers.pop(storage, None)
        self.taken -= set(names)
        return [f"del {', '.join(names)}\n"]

    def host_write(self, tensor: Argument) -> list[str]:
        """The host wrote into a tensor that is there already."""
        if not any(key[0] == tensor["storage"] for key in self._made):
            return []
        name = self.text({"kind": "tensor", "name": "x", **tensor})
        made = self.new_lines()
        value = Inputs(self.choice, self.taken)
        value.plan([{"kind": "tensor", **tensor}])
        new = value.text({"kind": "tensor", "name": "x", **tensor})
        if new is None or len(value.lines) != 1:
            return made
        [line] = value.lines
        expression = _assigned(line)
        remark = line.partition(expression)[2]  # and the end of the line
        zero = expression.startswith("torch.zeros(") and expression.endswith(")")
        return [*made, f"{name}.zero_()\n" if zero else f"{name}.copy_({expression}){remark}"]


def _assigned(line: str) -> str:
    """The expression of an assignment, without a comment that follows it."""
    statement = ast.parse(line).body[0]
    assert isinstance(statement, ast.Assign)
    return ast.get_source_segment(line, statement.value) or ""


def fold_loops(steps: Sequence[str]) -> list[str]:
    """Steps in which what is repeated stands in a loop once. From the left, what saves most."""
    out: list[str] = []
    at = 0
    while at < len(steps):
        best, period, times = 0, 1, 1
        for length in range(1, min(LONGEST, (len(steps) - at) // 2) + 1):
            count = 1
            while steps[at + count * length : at + (count + 1) * length] == steps[at : at + length]:
                count += 1
            if length * (count - 1) > best:
                best, period, times = length * (count - 1), length, count
        round_ = steps[at : at + period]
        if times > 2 or best > 3:
            out.append(f"for _ in range({times}):\n{textwrap.indent(''.join(fold_loops(round_)), '    ')}")
            at += period * times
        else:
            out.append(steps[at])
            at += 1
    return out
