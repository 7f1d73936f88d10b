"""One reduction of a program with a planted fault, by the command that users have, and its verdict."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.events import printed_result
from shrinkray_gpu.runner.pool import Pool

from . import packages, runs, truth
from .cases import Planted

REFUSALS = {2: "usage", 3: "it did not reproduce", 4: "the final check failed"}
LONGEST = 300
"""Characters of a reason that the results keep."""


@dataclass(frozen=True)
class Row:
    """What the results keep of one fault: figures, and the lines that the fault changed."""

    name: str
    operator: str
    package: str
    kernel: str
    verdict: str
    why: str
    lines: int
    before: int
    """Lines of the program as it was reduced: those of the lifted launch."""
    seconds: float
    gpu_seconds: float
    asked: str
    """The options that asked for the fault; empty: none."""
    fault: str
    same: str
    """What the tool said of the fault."""
    diff: str
    fix: str = ""
    """Of a slip: nothing. Else the mended line of the repro."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


Ask = Callable[[str], truth.Outcome]
"""What a run of a text shows."""


def reduce(
    planted: Planted, machine: runs.Machine, ask: Ask, folder: Path, *, timeout: float, options: list[str]
) -> Row:
    """Reduce in `folder`, which is emptied first; the repro stays there, and is judged by what `ask` tells of it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program, repro = folder / "program.py", folder / "repro.py"
    program.write_text(planted.program.text)
    packages.overlay(folder / "overlay", planted.program.package, {planted.file: planted.text})
    command = [sys.executable, "-m", "shrinkray_gpu", *machine.options, "--no-report", "--json", "-o", str(repro)]
    command += ["--max-time", str(timeout / 2), *planted.asked.options, *options, str(program)]
    environment = environment_of(folder)
    started = time.monotonic()
    code, said, error = run_command(command, environment, folder, timeout)
    seconds = time.monotonic() - started
    result = printed_result(said)
    if code == 0:
        judgement = judge(planted, ask, repro)
    elif code is None:
        last = next(reversed((error or said).split("\n")[:-1]), "it said nothing")
        judgement = truth.Judgement("not reduced", f"no result within the time limit: {last}")
    else:
        words = (error or said).strip().splitlines()
        judgement = truth.Judgement("refused", f"{REFUSALS.get(code, 'error')}: {words[-1] if words else code}")
    for left in ("overlay", "triton", "program.shrink"):
        shutil.rmtree(folder / left, ignore_errors=True)
    return row(planted, judgement, result, seconds)


def row(planted: Planted, judgement: truth.Judgement, result: Mapping[str, Any], seconds: float) -> Row:
    """What the results keep. `result`: what `shrink` printed last."""
    return Row(
        planted.name,
        planted.operator.name,
        planted.program.package,
        planted.edit.function if planted.operator.kernel else "",
        judgement.verdict,
        judgement.why[:LONGEST],
        result.get("after", [0])[0],
        _last_number(result.get("lifted", "")),
        round(seconds, 1),
        round(result.get("seconds", {}).get("gpu", 0.0), 1),
        " ".join(planted.asked.options),
        result.get("fault", "")[:LONGEST],
        result.get("same", "")[:LONGEST],
        planted.diff,
        judgement.fixed[:LONGEST],
    )


def _last_number(text: str) -> int:
    found = re.findall(r"to (\d+)", text)
    return int(found[-1]) if found else 0


def environment_of(folder: Path) -> dict[str, str]:
    """Of the command: the package with the fault, which lies in `folder`, comes first."""
    environment = {**os.environ, **packages.environment(), "PYTHONDONTWRITEBYTECODE": "1"}
    folders = [folder / "overlay", packages.SITE, packages.ROOT, os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, folders)).rstrip(os.pathsep)
    environment["TRITON_CACHE_DIR"] = str(folder / "triton")
    return environment


def run_command(
    command: list[str], environment: dict[str, str], folder: Path, timeout: float
) -> tuple[int | None, str, str]:
    """Exit code (None: stopped for time), and what it said till then. All that it started ends with it."""
    with subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, error = process.communicate(timeout=timeout)
            return process.returncode, said, error
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            said, error = (bytes(each or b"").decode(errors="replace") for each in (late.stdout, late.stderr))
            return None, said, error


def judge(planted: Planted, ask: Ask, repro: Path) -> truth.Judgement:
    """The verdict of a repro on disk."""
    text = repro.read_text()
    if re.search(rf"^\s*(?:from|import) {planted.program.package}\b", text, re.MULTILINE):
        return truth.Judgement("not reduced", "the repro still imports the package")
    return truth.judge(text, planted.edit, planted.operator, ask)


def outcome(pool: Pool, text: str, wants: tuple[str, ...] = ()) -> truth.Outcome:
    """What a run in a lane shows."""
    seen = pool.run(text, wants=wants)
    undecided = next((each.undecided for each in seen.launches if each.undecided), "")
    return truth.Outcome(runs.fault(seen), runs.kernels(seen), seen.trouble or undecided or runs.unknown(seen, wants))


def sanitized_outcome(pool: Pool, under_memcheck: Pool, text: str) -> truth.Outcome:
    """What a run under memcheck shows. One in a lane tells which kernels there are: a plain process does not."""
    seen = under_memcheck.run(text)
    return truth.Outcome(None if seen.trouble else runs.recorded(seen), runs.kernels(pool.run(text)), seen.trouble)
