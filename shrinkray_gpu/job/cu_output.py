"""`--cu`: beside the result a .cu that shows the same without Python, built and run before it is told of.

The script is run once more on the virtual GPU, with its launches and their arguments written down; `lift.as_cu` makes
the text. Then plain nvcc must build it; a `build:` must be said in that build, and what shows on a GPU is looked for
there, where there is one. Both run in the fence of candidates: flags and text are what a candidate's process told.
"""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu import calibration
from shrinkray_gpu.device import sanitizer_records, toolkit
from shrinkray_gpu.lift.cuda import as_cu
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.reduction.native.native_tree import can_parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.fence import OPENED
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.plain import fence, run_words
from shrinkray_gpu.runner.run import Build, Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder
from shrinkray_gpu.start.kernel_alone import calls

SECONDS = 120
_ERROR = re.compile(r"^CUDA error (\d+): (.*)$", re.MULTILINE)
_FOR_TORCH = ("-Xptxas", "-v", "-lineinfo")


def make(text: str, output: Path, plan: calibration.Plan, options: Options) -> str:
    """Write it, and say in a line what came of it."""
    path = output.with_suffix(".cu")
    nvcc = toolkit.find("nvcc", options.python, plan.pool.setup.environment)
    if nvcc is None or not can_parse():
        return f"no .cu: {toolkit.missing('nvcc') if nvcc is None else 'its grammar is missing, see above'}"
    build = next(iter(calls(text, plan.pool.script, plan.pool.setup, options.timeout)), None)
    if build is None:
        return "no .cu: it builds no extension whose host code can be run without torch's headers"
    flags = [flag for flag in build.flags if flag not in _FOR_TORCH]
    if not all(map(str.isprintable, flags)):  # behind a line break the rest of the command would be code
        return "no .cu: a flag of its build is no line of text"
    shown = f"{shlex.join(['nvcc', *flags, path.name, '-o', path.stem])} && ./{path.stem}"
    try:
        literals = Program.from_text(text).literals
        source = as_cu.cu_source(literals, build.calls, shown, repeated=not plan.oracle.needs.builds)
    except as_cu.NotPlain as why:
        return f"no .cu: {why}"
    except (LookupError, TypeError, ValueError, struct.error):  # a candidate may say of its launches what it likes
        return "no .cu: what is told of its launches makes no sense"
    path.write_text(source, encoding="utf-8")
    with scratch_folder(plan.pool.setup.scratch) as place:
        binary, setup = Path(place, path.stem), replace(plan.pool.setup, scratch=place)
        done = _fenced([str(nvcc), *flags, str(path.absolute()), "-o", str(binary)], setup)
        printed = done.stdout + done.stderr
        if done.exit != 0:
            said = printed.strip().splitlines() or [done.trouble or "nvcc took too long"]
            return f"{path} does not build: {said[0]}"
        made = Build(path.name, printed, launched=build.launched)
        return f"{path} builds with plain nvcc, {_judged(made, binary, plan.oracle, setup, options)}"


def _judged(made: Build, binary: Path, oracle: Oracle, setup: Setup, options: Options) -> str:
    """What the .cu shows, after "builds, "."""
    ran = Run("plain", 0, builds=(made,))
    if options.arch is None:
        ran = _run(binary, ran, oracle, setup, options)
    elif not oracle.needs.builds:
        return "and what it shows takes a GPU"
    verdict = oracle.judge(ran)
    return "and shows the same" if verdict.faults else f"but does not show the same: {verdict.why}"


def _run(binary: Path, ran: Run, oracle: Oracle, setup: Setup, options: Options) -> Run:
    prefix: list[str] = []
    if oracle.needs.sanitizer:
        tool = sanitizer.require(oracle.needs.sanitizer, options.python, setup.environment)
        prefix = [str(tool), "--tool", oracle.needs.sanitizer]
        setup = replace(setup, left_open=OPENED, writable=(*setup.writable, "/tmp"))  # as `sanitizer.run` needs it
    done = _fenced([*prefix, str(binary)], setup)
    if done.timed_out or done.trouble:
        return replace(ran, exit=None, timed_out=done.timed_out, seconds=SECONDS, trouble=done.trouble)
    said = done.stdout + done.stderr
    found = _ERROR.search(said)
    texts = [one.text for one in sanitizer_records.records(said, oracle.needs.sanitizer)] if prefix else []
    return replace(
        ran,
        exit=done.exit,
        signal=done.signal,
        stdout=said,
        stderr=f"{found[0]}\n" if found else "",  # where a script's last words are
        driver_error=int(found[1]) if found else 0,
        records=(*texts, sanitizer_records.summary(said)) if prefix else (),
    )


def _fenced(command: Sequence[str], setup: Setup) -> Run:
    """How it ended, where it could write to the setup's scratch folder only, as a candidate."""
    return run_words(
        [*fence(setup.python, setup), *command],
        environment={**setup.environment, "TMPDIR": "/tmp" if "/tmp" in setup.writable else setup.scratch},
        cwd=Path(setup.scratch),
        seconds=SECONDS,
    )
