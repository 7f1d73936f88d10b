"""The second result of a fault in a pass of the compiler, the same fault as Triton's IR, a test for lit; and of one in
ptxas, the same as PTX.

People who write passes want IR, and need no frontend to see the fault. This step only helps: whatever keeps it from a
result is told in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.attachment.pass_reproducer import NAME, pass_reproducers
from shrinkray_gpu.attachment.ptx_beside import ptx_place
from shrinkray_gpu.calibration import Plan
from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.intermediate.ir_fault import IrFault, fault_told, kind_without_words
from shrinkray_gpu.intermediate.lit_test import beside, read_beside
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.intermediate.reduce_ir import check_ir, reduce_ir
from shrinkray_gpu.job.conclusion import ReproFindings
from shrinkray_gpu.job.ptx_result import is_of_ptxas, is_our_ptx, write_ptx
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

SECONDS = 60.0
"""Of search, and of PTX also of the table of releases."""


def write_second_result(
    end: ReproFindings, plan: Plan, output: Path, options: Options, *, say: Say, stop: Callable[[], bool]
) -> None:
    """Write the same fault beside `output`, as IR where it lies in a pass, or as PTX where it lies in ptxas, and remove
    what an earlier run wrote there. Raises nothing."""
    place, as_ptx = beside(output), ptx_place(output)
    try:
        if read_beside(output):
            place.unlink()
        if as_ptx.is_file() and is_our_ptx(as_ptx.read_text(encoding="utf-8", errors="replace"), as_ptx):
            as_ptx.unlink()
        fault = Fault.of(plan.reference)
        if fault is not None and is_of_ptxas(fault) and end.final.stands and not stop():
            return _write_ptx(end.final.text, plan, as_ptx, options, say, stop)
        if fault is not None and fault.phase == "compile" and end.final.stands and not stop():
            _write(end.final.text, plan, place, options, say, stop)
    except NotReproduced:
        say(f"no {place.name}, the same fault as IR: no pass of the compiler fails by itself")
    except Exception as error:  # whatever it is: the repro is there
        say(f"no {place.name}, the same fault as IR: {error or type(error).__name__}")


def _write_ptx(text: str, plan: Plan, place: Path, options: Options, say: Say, stop: Callable[[], bool]) -> None:
    if place.exists():
        return say(f"no {place.name}, the same fault as PTX: there is a file of that name which is not ours")
    try:
        write_ptx(text, plan, place, options, seconds=SECONDS, say=say, stop=stop)
    except Exception as error:  # whatever it is: the repro is there
        say(f"no {place.name}, the same fault as PTX: {error or type(error).__name__}")


def _write(text: str, plan: Plan, place: Path, options: Options, say: Say, stop: Callable[[], bool]) -> None:
    found, run = pass_reproducers(text, plan.pool)
    if not found:
        return  # the frontend, or what comes behind the passes
    if place.exists():
        say(f"no {place.name}, the same fault as IR: there is a file of that name which is not ours")
        return
    setup = plan.pool.setup
    asked = IrOptions(
        python=setup.python,
        environment=setup.environment,
        arch=architectures.name(options.arch) if options.arch else "",
        max_time=min(SECONDS, options.max_time or SECONDS),
    )
    with scratch_folder(setup.scratch) as folder:
        whole = Path(folder, NAME)
        whole.write_text(found[NAME], encoding="utf-8")
        fault = check_ir(whole, asked)
        if not same_failure(run, fault):
            say(f"no {place.name}, the same fault as IR: its passes fail otherwise ({fault})")
            return
        result = reduce_ir(whole, asked, stop=stop)
        if result.refuted or result.fault != fault:
            say(f"no {place.name}, the same fault as IR: {result.refuted or result.fault}")
            return
    place.write_text(result.text, encoding="utf-8")
    say(f"the same fault as IR, {result.before} operations to {result.after}: {place.name} ({fault.name})")


def same_failure(run: Run, fault: IrFault) -> bool:
    """Whether the program fails in the same way: by the compiler's words, or without any by the same signal."""
    told = fault_told(run.stderr, "")
    if told is not None:
        return replace(fault, name="") == told
    in_pass = bool(run.signal) or "PassManager" in run.stderr
    return in_pass and not fault.words and fault.kind == kind_without_words(run.stderr, run.signal)
