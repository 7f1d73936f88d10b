"""Runs of texts on this machine, in lanes of the tool's library: a fork of a process that has torch and Triton."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.oracle.driver_error import static_rule
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

from . import packages


@dataclass(frozen=True)
class Machine:
    """What candidates run on."""

    arch: int | None
    """Of the virtual GPU; None: this machine's GPU."""
    python: str = sys.executable
    seconds: float = 60.0

    @property
    def options(self) -> tuple[str, ...]:
        """For the command line."""
        return ("--python", self.python, *(("--arch", f"sm_{self.arch}") if self.arch else ()))


@contextmanager
def lanes(
    machine: Machine,
    folders: Sequence[Path],
    jobs: int = 1,
    *,
    sanitizer: str = "",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Pool]:
    """A pool whose candidates find the packages in these folders, those of the first one first. Under a tool of
    compute-sanitizer each has a process of its own."""
    with tempfile.TemporaryDirectory(prefix="seeded-", ignore_cleanup_errors=True) as scratch:
        path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, **variables, **packages.environment(), "PYTHONPATH": path.rstrip(os.pathsep)}
        environment["TRITON_CACHE_DIR"] = f"{scratch}/triton"
        # Own: not imported in advance, since a text may put a copy of a package first.
        own = tuple(map(str, folders))
        given = (machine.python, environment, ("torch", "triton"), own, scratch, (scratch,))
        setup = Setup(*given, arch=machine.arch, warm=machine.arch is None, reuse=False)
        script = Script(Path(scratch, "program.py"), cwd=Path(scratch), sanitizer=sanitizer)
        mode = "virtual" if machine.arch is not None else "fork"
        pool = Pool(script, setup, mode=mode, jobs=jobs, seconds=machine.seconds)
        try:
            yield pool
        finally:
            pool.close()


def with_folder(text: str, folder: Path, package: str) -> str:
    """The text, with the package of this folder. For lanes: their process, which is there before the folder is, may
    have imported the other one to look for its modules."""
    forget = f"[sys.modules.pop(name) for name in [*sys.modules] if name.partition('.')[0] == {package!r}]"
    return f"import sys\nsys.path.insert(0, {str(folder)!r})\n{forget}\n{text}"


def kernels(run: Run) -> frozenset[str]:
    """The kernels that a run compiled or launched."""
    names = {one.kernel for one in run.compiles} | {one.kernel for one in run.launches}
    return frozenset(names - {""})


def unknown(run: Run, wants: Sequence[str]) -> str:
    """Why nobody knows what the kernels of a run compute, where that is asked; else empty."""
    if INTERPRETED not in wants or not run.virtual:
        return ""
    return next((f"{one.kernel} was not run" for one in run.launches if not one.interpreted), "")


def fault(run: Run) -> Fault | None:
    """The one that the run ends in; else that of a rule which a launch breaks though no device tells of it."""
    broken = next((launch for launch in run.launches if launch.synced and static_rule(launch)), None)
    if (found := Fault.of(run)) is not None or broken is None or (rule := static_rule(broken)) is None:
        return found
    return Fault("device", rule.words, broken.kernel)


def recorded(run: Run) -> Fault | None:
    """The first access that the sanitizer objects to."""
    *texts, _summary = run.records
    records = (sanitizer_records.record(text, "memcheck") for text in texts)
    return next((Fault("device", one.kind, one.kernel) for one in records if one.kernel), None)
