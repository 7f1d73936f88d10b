"""Of a test loop the case that fails stays, and the others go, in one step and before anything is marked.

Cases before it end well, and take most of the time of a run. One of them may leave something for the one that fails: a
table that it changed, memory as large as it needed. So the fault must show without it, and each launch that is left
must be one of the program's, with the same arguments and in the same order, up to the last one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import libcst as cst

from shrinkray_gpu.passes.python.loops import elements_of, once_with
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.source.kernels import in_kernel, is_kernel
from shrinkray_gpu.source.tree import every, source
from shrinkray_gpu.start.behind_fault import own_lines
from shrinkray_gpu.start.option_defaults import with_defaults

TRIES, SECONDS = 8, 90.0
"""Runs of the program that this may take, and after how long none is begun."""
_TRIPS = 64
"""So many trips of a loop are counted: one of more is no list of cases."""
_TRIP = re.compile(r"^__shrink_case__ (\d+) (-?\d+)$", re.MULTILINE)
_LAUNCH = re.compile(r"^__shrink_launch__ (.+)$", re.MULTILINE)
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_CONTENT = re.compile(r" #\S+$")
"""What a tensor holds, in the description of an argument."""
_TOLD = ("name", "kind", "text", "dtype", "shape", "strides", "offset")
"""What is compared of an argument that was written down."""


class FailingCase:
    """Finds it. `shown`: a run of the program that shows its fault. `run` runs a text; `shows` tells whether that shows
    the same fault."""

    def __init__(self, shown: Run, run: Callable[[str], Run], shows: Callable[[Run], bool]) -> None:
        self._shown, self._run, self._shows = shown, run, shows
        self._tries, self._end = TRIES, time.monotonic() + SECONDS
        self._found: tuple[Program, Run] | None = None
        self._said: list[str] | None = None
        """The launches of the program where nothing but Triton's interpreter sees them."""

    def of(self, program: Program, *, typed: bool) -> tuple[Program, Run] | None:
        """The program with that case alone, or with those that it needs as well, and a run of it; None where all of it
        stays. `typed`: whether somebody types options."""
        for each in dict.fromkeys((program if typed else with_defaults(program), program)):
            loops = [loop for loop in every(each, cst.For) if _is_of_host(each, loop)]
            watched = self._try(each, loops) if loops or each is not program else None
            if watched is not None:
                self._found = (each, watched) if each is not program else None
                self._find(each, loops, watched)
                return self._found
        return None

    def _find(self, program: Program, loops: Sequence[cst.For], watched: Run) -> None:
        trips = {loops[int(number)]: int(trip) for number, trip in _TRIP.findall(watched.stdout)}  # the last of each
        lines = [*own_lines(watched)]
        # Of what exits by itself there is no traceback.
        around = set(_around(program, loops, lines) if lines else loops)
        last = {loop: trips[loop] for loop in loops if loop in around and 0 <= trips.get(loop, -1) < _TRIPS}
        alone = {loop: [trip] for loop, trip in last.items() if once_with(program, loop, trip) is not None}
        if self._try_with(program, alone):
            return
        kept: dict[cst.For, list[int]] = {}
        for loop, trip in last.items():
            if len(alone) > 1 and loop in alone and self._try_with(program, {**kept, loop: [trip]}):
                kept[loop] = [trip]
            elif trip < len(elements_of(program, loop)):
                self._drop_cases(program, kept, loop, [*range(trip + 1)])

    def _drop_cases(
        self, program: Program, kept: dict[cst.For, list[int]], loop: cst.For, needed: list[int]
    ) -> None:
        """What follows the failing case goes, and each of the cases before it that the fault does not need."""
        for fewer in (needed, *([each for each in needed if each != one] for one in needed[:-1])):
            common = [each for each in fewer if each in kept.get(loop, needed)]
            if len(common) > 1 and self._try_with(program, {**kept, loop: common}):
                kept[loop] = common

    def _try_with(self, program: Program, kept: Mapping[cst.For, Collection[int]]) -> bool:
        """Whether the program shows its fault with these elements of each loop; then it is found."""
        less = _with_cases(program, kept)
        run = self._try(less) if less.text != program.text else None
        self._found = self._found if run is None else (less, run)
        return run is not None

    def _try(self, program: Program, loops: Sequence[cst.For] = ()) -> Run | None:
        """A run of the program, if it shows the fault by launches of the one to begin with. Trips of the loops are
        printed."""
        if not self._tries or time.monotonic() > self._end:
            return None
        self._tries -= 1
        interpreted = not (self._shown.launches or self._shown.captured and self._shown.captured["launches"])
        edits = [_watch(loop, number) for number, loop in enumerate(loops)]
        edits += _saying_launches(program) if interpreted else []
        run = self._run(render(program, edits).text)
        if not self._shows(run) or not are_among(run, self._shown):
            return None
        said = [_ADDRESS.sub("", each) for each in _LAUNCH.findall(run.stdout)]
        self._said = said if self._said is None else self._said
        unseen = interpreted and not said and any(is_kernel(program, each) for each in every(program, cst.FunctionDef))
        return run if is_part(said, self._said) and not unseen else None


def are_among(run: Run, shown: Run) -> bool:
    """Whether all launches of a run are among those of another one, in that order, and both end with the same."""
    ends = [_last(run)], [_last(shown)]  # one that is refused is none of those that were made
    launched, others = ([*map(_described, each.launches), *end] for each, end in zip((run, shown), ends))
    return is_part(launched, others)


def launches_some(run: Run, shown: Run) -> bool:
    """Whether all launches of a run are among those of another one, in that order, wherever it ends."""
    left = iter([*map(_described, shown.launches)])
    return all(each in left for each in map(_described, run.launches))


def launches_alike(run: Run, other: Run) -> bool:
    """Whether both made the same launches, whatever their tensors hold."""
    return [*map(_described, run.launches)] == [*map(_described, other.launches)]


def is_part(some: Sequence[object], others: Sequence[object]) -> bool:
    """Whether all of these are among the others, in that order, and both end with the same."""
    left = iter(others)
    return some[-1:] == others[-1:] and all(each in left for each in some)


def _described(launch: Launch) -> tuple[object, ...]:
    return launch.kernel, launch.grid, *(_CONTENT.sub("", each) for each in launch.args)


def _last(run: Run) -> object:
    """The last launch that the program asked for. One that the compiler refuses is none of those that were made, and
    is written down alone."""
    asked = run.captured["launches"][:1] if run.captured else []  # the likeliest one comes first
    if not asked:
        return [_described(each) for each in run.launches[-1:]]
    told = [{name: each.get(name) for name in _TOLD} for launch in asked for each in launch.get("arguments", [])]
    return [(each["kernel"], each.get("grid"), each.get("options")) for each in asked], told


def _is_of_host(program: Program, loop: cst.For) -> bool:
    return loop.asynchronous is None and loop.orelse is None and not in_kernel(program, loop)


def _watch(loop: cst.For, number: int) -> Edit:
    """It prints the number of each trip, and a negative one when nothing is left."""
    said = f"trip > {_TRIPS} or print(f'\\n__shrink_case__ {number} {{trip}}', flush=True)"
    by = ("(case for trip, case in __import__('itertools').chain(enumerate(", loop.iter, f"), ((-1, None),)) if {said}")
    return Edit("watch", (Replace(loop.iter, (*by, " or trip >= 0)")),))


def _saying_launches(program: Program) -> Iterator[Edit]:
    """The program, which prints what each launch is given that its text shows, with its lines as they are."""
    tensor = "(str(each.dtype), [*each.shape], each.stride()) if hasattr(each, 'stride') else str(each)[:80]"
    for call in every(program, cst.Call):
        if isinstance(call.func, cst.Subscript) and not in_kernel(program, call):
            name = repr(source(program, call.func.value))
            said = f"print('\\n__shrink_launch__', {name}, [{tensor} for each in (*given, *named.items())], flush=True)"
            by = (f"(lambda *given, **named: {said} or ", call.func, "(*given, **named))")
            yield Edit("watch", (Replace(call.func, by),))


def _around(program: Program, loops: Sequence[cst.For], lines: Collection[int]) -> Iterator[cst.For]:
    """The loops whose body one of these lines is in."""
    for loop in loops:
        begin, end = program.spans[loop.body]
        first, last = (program.text.count("\n", 0, offset) + 1 for offset in (begin, end))
        if any(first <= line <= last for line in lines):
            yield loop


def _with_cases(program: Program, kept: Mapping[cst.For, Collection[int]]) -> Program:
    """The program with these elements of each loop; with one of them there is no loop."""
    edits: list[Edit] = []
    for loop, numbers in kept.items():
        once = once_with(program, loop, next(iter(numbers))) if len(numbers) == 1 else None
        gone = [Remove(each) for at, each in enumerate(elements_of(program, loop)) if at not in numbers]
        edits.append(once or Edit("fewer cases", tuple(gone)))
    return render(program, edits)
