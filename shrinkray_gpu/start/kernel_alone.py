"""A kernel of CUDA C++ alone, launched from Python, in place of the extension that launched it: once, at the start.

What the binding passes is not read in its text: the program runs once on the virtual GPU, where its host code is built
against a runtime that launches nothing and writes each launch down (`host_code` in runner/inside). The scripts that
`lift.as_kernel` makes of these are judged by the oracle. From then on a candidate costs NVRTC on one kernel, which is a
tenth of an extension even with headers that stand in for torch's, and an edit of the Python costs no build.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from shrinkray_gpu import calibration
from shrinkray_gpu.device import gpus
from shrinkray_gpu.judging.cold_tier import full_verdict
from shrinkray_gpu.judging.tally import COLD, LANE
from shrinkray_gpu.lift.cuda import as_kernel
from shrinkray_gpu.lift.cuda.as_cu import NotPlain
from shrinkray_gpu.oracle import Oracle, Verdict
from shrinkray_gpu.oracle.build_failure import CALLS
from shrinkray_gpu.oracle.needs import BUILD, UNASKED
from shrinkray_gpu.reduction.native.native_tree import can_parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Build, Run
from shrinkray_gpu.start.capture_runs import plain
from shrinkray_gpu.start.given import Say, Start, UserProgram

TIMES = 3
"""Runs of a script that shows the fault, the first with it, before it is taken."""
_BINDS = "cpp_extension"


def may_be(given: UserProgram) -> bool:
    """Whether it is worth a try: an extension in the text, and an oracle that NVRTC can answer. What nvcc says of a
    build NVRTC does not tell, a run that is compared with another needs the whole program, and scripts that hang hold
    their lanes until the limit."""
    chosen = given.chosen
    if _BINDS not in given.program.text or not given.program.literals or not can_parse():
        return False
    needs = chosen.needs if chosen is not None else UNASKED
    return needs.run and not (needs.twins or needs.builds or needs.timing)


def kernel_alone(start: Start, given: UserProgram, say: Say) -> Start:
    """The script of one launch, if one shows the fault; else what was there before, and why in a line."""
    if start.reference is not None and any(build.failed for build in start.reference.builds):
        return start
    began = time.monotonic()
    found = _chosen(start, given, say)
    return replace(found, seconds=start.seconds + time.monotonic() - began)


def calls(text: str, script: Script, setup: Setup, timeout: float | None) -> tuple[Build, ...]:
    """The builds of a run on the virtual GPU that launched something, with their launches and their arguments."""
    arch = setup.arch or gpus.capability()
    if not arch:
        return ()
    setup = replace(setup, arch=arch, warm=False, reuse=False)
    script = replace(script, wants=(BUILD, CALLS), sanitizer="", twins=())
    pool = calibration.cold_lanes(script, setup, oracle=None, limits=calibration.Limits(1, timeout))
    try:
        run = pool.cold(text)
    finally:
        pool.close()
    return tuple(build for build in run.builds if build.calls)


def _chosen(start: Start, given: UserProgram, say: Say) -> Start:
    text = start.program.text
    builds = calls(text, given.script, given.setup, given.limits.timeout)
    if not builds:
        return _told(start, "nothing that its host code launches could be written down")
    flags = builds[0].flags
    try:
        scripts = as_kernel.script_texts(
            Program.from_text(text).literals, [call for build in builds for call in build.calls], flags
        )
    except NotPlain as why:
        return _told(start, str(why))
    tries: Counter[str] = Counter(start.tries)
    reference, oracle = start.reference, start.oracle
    if reference is None or oracle is None:
        tries[COLD] += 1
        asked = given.cold().cold(text)
        if given.chosen is None or not full_verdict(given.chosen, text, given.script.path.name, lambda _: asked).faults:
            return start  # said of the program itself, in calibration
        reference, oracle = plain(asked), given.chosen.calibrate(asked)
    say(f"trying its kernels alone, without the extension: {len(scripts)} scripts ...")
    lanes = given.alone.lanes(scripts[0])
    try:
        best, instead = _first(scripts, oracle, given, lanes, tries)
    except BaseException:
        lanes.close()
        raise
    if best is None:
        lanes.close()
        return _told(start, f"no launch of a kernel alone shows the fault ({instead})", tries)
    script, seen = best
    program = given.program.with_text(script)
    if not program.size < start.program.size:
        lanes.close()
        return _told(start, "its script is no smaller than the program", tries)
    if start.lanes is not None:
        start.lanes.close()
    sizes = f"{lines(start.program.text)} lines to {lines(script)}"
    told = f"lifted: a kernel alone, compiled by NVRTC and launched from Python, shows the fault, {sizes}"
    return replace(
        start, program=program, oracle=oracle, reference=reference, lifted=True, alone=True, bare=True, told=told,
        seen=seen, lanes=lanes, tries=dict(tries), fault=None, history=False,
    )  # fmt: skip


def _told(start: Start, why: str, tries: Counter[str] | None = None) -> Start:
    told = f"{start.told}; " if start.told else ""
    told += f"the extension stays, its kernel was not taken alone: {why}"
    return replace(start, told=told, tries=start.tries if tries is None else dict(tries))


def _first(
    scripts: Sequence[str], oracle: Oracle, given: UserProgram, lanes: calibration.LaneSet, tries: Counter[str]
) -> tuple[tuple[str, tuple[Run, ...]] | None, str]:
    """The first in order that shows the fault each time, or else one that shows it most often, with its runs; and what
    the first of all showed instead."""
    pool = lanes.cheapest(given.chosen)
    name = given.script.path.name
    kind = COLD if pool.mode == "cold" else LANE

    def verdict(text: str, run: Run) -> Verdict:
        return full_verdict(oracle, text, name, lambda _: run)

    best: tuple[int, str, tuple[Run, ...]] | None = None
    with ThreadPoolExecutor(given.limits.jobs, thread_name_prefix="kernel") as threads:
        ran = list(threads.map(partial(pool.run, fresh=True), scripts))
        tries[kind] += len(scripts)
        for text, run in zip(scripts, ran):
            if not verdict(text, run).faults:
                continue
            # One is a cold process, as the result is run in the end.
            more = list(threads.map(lambda one, text=text: one.run(text, fresh=True), [lanes.cold, pool]))
            tries[COLD] += 1
            tries[kind] += 1
            runs = sorted([run, *more], key=partial(_lacks, verdict, text))
            count = sum(verdict(text, each).faults for each in runs)
            if best is None or count > best[0]:
                best = count, text, tuple(map(plain, runs))
            if count == TIMES:
                break
    return (None, verdict(scripts[0], ran[0]).why) if best is None else (best[1:], "")


def _lacks(verdict: Callable[[str, Run], Verdict], text: str, run: Run) -> bool:
    return not verdict(text, run).faults
