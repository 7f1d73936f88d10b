"""`--cu`: beside the result a .cu that shows the same without Python, built and run before it is told of.

The script is run once more on the virtual GPU, with its launches and their arguments written down; `lift.as_cu` makes
the text. Then plain nvcc must build it; a `build:` must be said in that build, and what shows on a GPU is looked for
there, where there is one.
"""

from __future__ import annotations

import re
import shlex
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu import calibration
from shrinkray_gpu.device import sanitizer_records, toolkit
from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.lift.cuda import as_cu
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.reduction.native.native_tree import can_parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.run import Build, Run
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
    shown = f"{shlex.join(['nvcc', *flags, path.name, '-o', path.stem])} && ./{path.stem}"
    try:
        literals = Program.from_text(text).literals
        source = as_cu.cu_source(literals, build.calls, shown, repeated=not plan.oracle.needs.builds)
    except as_cu.NotPlain as why:
        return f"no .cu: {why}"
    except (LookupError, TypeError, ValueError, struct.error):  # a candidate may say of its launches what it likes
        return "no .cu: what is told of its launches makes no sense"
    path.write_text(source, encoding="utf-8")
    binary = Path(plan.pool.setup.scratch) / path.stem
    done = _done([str(nvcc), *flags, str(path), "-o", str(binary)])
    if done is None or done.returncode:
        said = (done.stdout if done else "").strip().splitlines()
        return f"{path} does not build: {said[0] if said else 'nvcc took too long'}"
    made = Build(path.name, done.stdout, launched=build.launched)
    return f"{path} builds with plain nvcc, {_judged(made, binary, plan, options)}"


def _judged(made: Build, binary: Path, plan: calibration.Plan, options: Options) -> str:
    """What the .cu shows, after "builds, "."""
    ran = Run("plain", 0, builds=(made,))
    if options.arch is None:
        ran = _run(binary, ran, plan.oracle, plan.pool.setup.environment, options)
    elif not plan.oracle.needs.builds:
        return "and what it shows takes a GPU"
    verdict = plan.oracle.judge(ran)
    return "and shows the same" if verdict.faults else f"but does not show the same: {verdict.why}"


def _run(binary: Path, ran: Run, oracle: Oracle, environment: Mapping[str, str], options: Options) -> Run:
    prefix: list[str] = []
    if oracle.needs.sanitizer:
        tool = sanitizer.require(oracle.needs.sanitizer, options.python, environment)
        prefix = [str(tool), "--tool", oracle.needs.sanitizer]
    done = _done([*prefix, str(binary)])
    if done is None:
        return replace(ran, exit=None, timed_out=True, seconds=SECONDS)
    found = _ERROR.search(done.stdout)
    texts = [one.text for one in sanitizer_records.records(done.stdout, oracle.needs.sanitizer)] if prefix else []
    return replace(
        ran,
        exit=done.returncode,
        stdout=done.stdout,
        stderr=f"{found[0]}\n" if found else "",  # where a script's last words are
        driver_error=int(found[1]) if found else 0,
        records=(*texts, sanitizer_records.summary(done.stdout)) if prefix else (),
    )


def _done(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        done: subprocess.CompletedProcess[str] = run_command(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done
