"""Runs the five field notes end to end, and says which goals were met: `make seeds`.

    python -m tests.seeds.run                               all that this machine can run
    python -m tests.seeds.run --only tma_jsd                one seed, or one part: --only tma_jsd/gpu
    python3 -m tests.seeds.run --gpu --at-a-time 2 --jobs 6 --limit 560     ten minutes of an H100

Exit code 1 if a part failed. A part that passed here before is left as it is, unless --again is given.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import click

from tests.seeds.goals import ROOT, Part, seeds
from tests.seeds.machine import Machine, machine
from tests.seeds.outcome import Ended, Unmet, judge
from tests.seeds.table import FAILED, NOT_RUN, PASSED, Row, Table, printed, stamp


class Late(Exception):
    """A command that did not end in time."""


@dataclass(frozen=True)
class Course:
    """How the parts are run."""

    jobs: int
    until: float
    """By `time.monotonic()`: the end of all parts."""
    work: Path


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, help="A seed, or a part as SEED/PART; repeatable.")
@click.option("--gpu", is_flag=True, help="Only what needs a GPU.")
@click.option("--jobs", default=min(os.cpu_count() or 1, 12), show_default=True, help="Lanes of each reduction.")
@click.option("--at-a-time", default=1, show_default=True, help="Parts beside each other.")
@click.option("--limit", default=3600.0, show_default=True, help="Seconds for everything.")
@click.option("--releases", is_flag=True, help="Other releases of Triton may be fetched.")
@click.option("--again", is_flag=True, help="Run what has passed before, too.")
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "build", show_default="build", help="Results.")
def main(
    only: tuple[str, ...], gpu: bool, jobs: int, at_a_time: int, limit: float, releases: bool, again: bool, out: Path
) -> None:
    """Run the seeds that this machine can run, and write OUT/seeds.json and OUT/seeds.txt."""
    known = seeds()
    parts = {part.title: part for seed in known for part in seed.parts if _chosen(part, only, gpu)}
    if not parts:
        raise click.UsageError(f"no seed is called {', '.join(only)}; there are {', '.join(s.name for s in known)}")
    here = machine(releases=releases)
    on = ", ".join(filter(None, (here.gpu, here.versions)))
    click.echo(f"on {on}")
    table, lock = Table(out / "seeds.json"), Lock()
    course = Course(jobs, time.monotonic() + limit, out / "seeds")

    def settle(part: Part) -> None:
        if not again and table.settled(part, on):
            return
        row = _row(part, here, course, on)
        with lock:
            table.put(part, row)
            text = printed(known, table)
            (out / "seeds.txt").write_text(f"{on}\n{text}\n", encoding="utf-8")
            click.echo(f"{part.title}: {row.state} {row.why} ({row.seconds:.0f} s)", err=True)

    with ThreadPoolExecutor(at_a_time) as threads:
        list(threads.map(settle, (part for part in parts.values() if not part.alone)))
    for part in parts.values():
        if part.alone:
            settle(part)
    click.echo(printed(known, table))
    if failed := table.failed(parts):
        click.echo(f"failed: {', '.join(failed)}; what they said is in {course.work}/*/log.txt")
        sys.exit(1)


def _chosen(part: Part, only: Sequence[str], gpu: bool) -> bool:
    return (not only or part.seed in only or part.title in only) and (not gpu or "gpu" in part.needs)


def _row(part: Part, here: Machine, course: Course, on: str) -> Row:
    """Run one part, if that is possible here and now."""
    left = course.until - time.monotonic()
    why = here.reason_against(part)
    if not why and part.limit / 2 > left:
        why = f"no time: {max(left, 0):.0f} s were left, it may take {part.limit:.0f}"
    if why:
        return Row(NOT_RUN, why, command=stamp(part), on=on)
    started = time.monotonic()
    lines = 0
    try:
        lines = _run(part, course)
        state, why = PASSED, ""
    except Late:
        cut = time.monotonic() - started < part.limit
        state, why = (NOT_RUN, "no time: cut short") if cut else (FAILED, "it did not end within its limit")
    except Unmet as unmet:
        state, why = FAILED, str(unmet)
    return Row(state, why, round(time.monotonic() - started, 1), lines, stamp(part), on)


def _run(part: Part, course: Course) -> int:
    """Run the part's command and the checks of its repro, in a folder of their own; the repro's lines."""
    folder = (course.work / part.title.replace("/", "_")).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    until = min(time.monotonic() + part.limit, course.until)

    def shrink(words: Sequence[str]) -> Ended:
        return _ended([sys.executable, "-m", "shrinkray_gpu", *words], folder / "log.txt", until)

    return judge(part, shrink(part.words(folder, course.jobs)), folder, shrink)


def _ended(command: Sequence[str], log: Path, until: float) -> Ended:
    """Run a command, all that it says in the log, in a session of its own, so that it can be ended whole."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    nvcc = Path("/usr/local/cuda/bin/nvcc")
    if nvcc.exists():  # torch gives its headers to NVRTC
        environment.setdefault("CUDA_HOME", str(nvcc.parents[1]))
    with log.open("a+", encoding="utf-8") as file:
        print("$", json.dumps(list(command)), file=file, flush=True)
        begin = file.tell()
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _end(process)
            raise Late from None
        file.seek(begin)
        return Ended(code, file.read())


def _end(process: subprocess.Popen[bytes]) -> None:
    """The tool ends its lanes, which are in sessions of their own, when it is interrupted; then it is killed."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    main()
