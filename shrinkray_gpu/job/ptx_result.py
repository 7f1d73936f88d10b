"""The second result of a fault in ptxas: the same fault as PTX, with what the releases of ptxas at hand make of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from shrinkray_gpu.calibration import Plan
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.device import architectures, toolkit
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.evidence.ptxas import own_ptxas
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.ptx.options import PtxOptions
from shrinkray_gpu.ptx.ptx_file import ptx_in, read_ptx
from shrinkray_gpu.ptx.ptx_replay import fault_told
from shrinkray_gpu.ptx.ptxas_fault import PtxasFault, fault_in
from shrinkray_gpu.ptx.reduce_ptx import check_ptx, reduce_ptx
from shrinkray_gpu.ptx.release_table import head_lines
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.plain_file import left_text
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

_COMMAND = re.compile(r"^Repro command: *(\S*ptxas\S*) .*$", re.M)
_NAMED = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


def is_of_ptxas(fault: Fault) -> bool:
    """Whether ptxas failed, and not what runs before it."""
    return fault.phase == "compile" and "ptxas" in fault.klass.lower()


_OF_SEARCH = 0.75
"""Of the time, for the search; what is left is for the table of releases."""
_SHORTEST = 2.0
"""Seconds that must be left for a release to be asked."""


def write_ptx(
    text: str, plan: Plan, place: Path, options: Options, *, seconds: float, say: Say, stop: Callable[[], bool]
) -> None:
    """Write the reduced PTX, where ptxas fails on that of `text` in the words in which the program fails. `seconds`: of
    search and table of releases together. Raises NotReproduced, and UsageError where it cannot be asked."""
    setup = plan.pool.setup
    ptx, run = _unfinished(text, plan.pool)
    if not ptx:
        raise NotReproduced("the compiler leaves no PTX")
    said = _said(run)
    command = _COMMAND.search(said)
    tool = _known_tool(command[1] if command else "", setup)
    if tool is None:
        raise NotReproduced("no ptxas is at hand")
    asked = PtxOptions(
        ptxas=tool,
        arch=architectures.name(options.arch) if options.arch else "",
        jobs=cores.usable(),
        seconds=seconds,
        max_time=min(seconds * _OF_SEARCH, options.max_time or seconds),
    )
    with scratch_folder(setup.scratch) as folder:
        whole = Path(folder, "kernel.ptx")
        whole.write_text(f"{command[0] if command else ''}\n{ptx}", encoding="utf-8")
        if named := [flag for flag in read_ptx(whole).flags if os.sep in flag]:
            raise NotReproduced(f"ptxas was called with {named[0]}, which may name a file to write")
        fault = check_ptx(whole, asked)
        told = fault_in(255, said, {}, like=fault.anywhere)
        if told is None or told.message != fault.anywhere.message:
            raise NotReproduced(f"ptxas fails otherwise ({fault})")
        tools = [tool, *environments.ptxas_at_hand().values()]
        until = time.monotonic() + seconds
        result = reduce_ptx(
            whole,
            asked,
            stop=stop,
            releases=lambda small, trial, of: lines_in_time(tools, small, trial.all_flags, of, until=until, stop=stop),
        )
        if result.refuted:
            raise NotReproduced(result.refuted)
    place.write_text(result.text, encoding="utf-8")
    say(f"the same fault as PTX, {result.before} instructions to {result.after}: {place.name} (ptxas {result.release})")


def _known_tool(named: str, setup: Setup) -> Path | None:
    """The ptxas that the compiler called, where it is one that this tool finds itself; else the one that it would call.
    What a candidate printed is no reason to run a program of its choice."""
    found = (toolkit.find(name, setup.python, setup.environment) for name in ("ptxas", "ptxas-blackwell"))
    given = (Path(setup.environment[name]) for name in _NAMED if setup.environment.get(name))
    known = [*filter(None, found), *given, *environments.ptxas_at_hand().values()]
    return next((tool for tool in known if str(tool) == named), own_ptxas(setup.python, setup.environment, setup.arch))


def lines_in_time(
    tools: Iterable[Path],
    text: str,
    flags: Sequence[str],
    wanted: PtxasFault,
    *,
    until: float,
    stop: Callable[[], bool],
) -> list[str]:
    """A line for each ptxas that answers before `until`, of the monotonic clock. One that was cut short tells
    nothing."""
    lines: dict[str, None] = {}
    for tool in tools:
        left = until - time.monotonic()
        if stop() or left < _SHORTEST:
            break
        told = head_lines([tool], text, flags, seconds=left, wanted=wanted)
        if wanted.kind == "no end" or time.monotonic() < until:
            lines |= dict.fromkeys(told)
    return list(lines)


def is_our_ptx(text: str, place: Path) -> bool:
    """Whether a reduction wrote it."""
    try:
        return fault_told(ptx_in(text, place)) is not None
    except UsageError:  # there is no PTX in it
        return False


def _unfinished(text: str, pool: Pool) -> tuple[str, Run]:
    """The PTX of the kernel of which no machine code came; and the run."""
    with scratch_folder(pool.setup.scratch) as folder:
        environment = {"TRITON_KERNEL_DUMP": "1", "TRITON_DUMP_DIR": folder}
        run = pool.cold(text, way=KnobSetting("kernels dumped", environment=environment))
        made = sorted(Path(folder).glob("*/*.ptx"), key=lambda path: path.lstat().st_mtime_ns)
        left = [path for path in made if not path.with_suffix(".cubin").exists()]
        return (left_text(left[-1]) if left else ""), run


def _said(run: Run) -> str:
    failures = [compile.failure.text for compile in run.compiles if compile.failure is not None]
    return "\n".join([*failures, run.stderr])
