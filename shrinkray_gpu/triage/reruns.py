"""Each failure once more, by itself: the test in a fresh process, the launch of a capsule as a script.

The runs are those of a reduction: on the virtual GPU in forks of a process that has torch, elsewhere cold. A GPU tells
that a kernel faulted and not where that begins, so that a fault of one is looked for without the GPU, too.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Event, RLock
from types import TracebackType
from typing import Any, TypeVar

from shrinkray_gpu.cells.cell import CellLanes
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.command.module_search import locate
from shrinkray_gpu.command.pytest_settings import PytestSettings, seen_from
from shrinkray_gpu.corpus.known import known
from shrinkray_gpu.device import gpus
from shrinkray_gpu.device.own_commands import INSIDE
from shrinkray_gpu.errors import ShrinkError, UsageError, bug_words
from shrinkray_gpu.evidence.examine import fingerprint
from shrinkray_gpu.evidence.instruments import static_rules
from shrinkray_gpu.evidence.instruments.instrument import WANTS, Subject
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.lift.from_capsule import capsule as capsules
from shrinkray_gpu.oracle import Answer, adopt, obstacle, parse, speech
from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import Fault, kernels
from shrinkray_gpu.oracle.needs import UNASKED, Needs
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.triage.fault_origin import BY_IR, BY_RULE, FaultOrigin, by_kernel, origin_of
from shrinkray_gpu.triage.reported import ReportedFailure

T = TypeVar("T")
_NODE = re.compile(r"^\S+\.py::\S")
FOLLOWED = 3
"""Runs without the GPU at most, of a test that fails by chance."""
AGAIN = 3
"""Runs more of a test that may be reduced for others."""
INTERPRETED = replace(UNASKED, interpreted=True)
"""With kernels that write what they compute, for failures that hang on that."""


@dataclass(frozen=True)
class Rerun:
    """What became of one failure when it was run again by itself."""

    fault: Fault | None = None
    """None where it was not seen again."""
    origin: FaultOrigin | None = None
    message: str = ""
    """What the program itself ends in."""
    spec: str = ""
    """The SPEC that a reduction would adopt."""
    kernels: tuple[str, ...] = ()
    """Those that were launched or compiled."""
    causes: LaunchCauses | None = None
    runs: int = 1
    """How many there were; all but the last ended without a fault."""
    interpreted: bool = False
    """Whether kernels wrote what they compute in the last run only: another one then, and no repetition."""
    seconds: float = 0.0
    """Of the run that shows it, or else of the last."""
    known: tuple[str, ...] = ()
    """Cases of a corpus with this fingerprint."""
    trouble: str = ""
    """Why it could not be run here; else empty."""
    unsettled: bool = False
    """Whether the trouble is the machine's or ours, so that another call may see more."""
    steady: bool | None = None
    """Whether it showed at once in AGAIN more runs; None where nobody asked."""

    @property
    def is_seen(self) -> bool:
        return self.origin is not None and not self.trouble

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rerun:
        """What `to_json` made, as JSON brings it back."""
        fault, origin, causes = data["fault"], data["origin"], data["causes"]
        return cls(
            **{
                **data,
                "fault": Fault(**fault) if fault else None,
                "origin": FaultOrigin(**{**origin, "host": tuple(origin["host"])}) if origin else None,
                "causes": LaunchCauses.from_json(causes) if causes else None,
                "kernels": tuple(data["kernels"]),
                "known": tuple(data["known"]),
            }
        )


@dataclass(frozen=True)
class TriagePlace:
    """Where and how the failures are run."""

    python: str
    """Empty: the interpreter of the process that opens its lanes."""
    arch: int | None
    environment: Mapping[str, str]
    """On top of ours."""
    cwd: Path
    timeout: float
    """Seconds for a run."""
    settings: PytestSettings = PytestSettings()
    """Of the pytest command whose tests these are."""
    accelerator: str = ""
    """The kind of GPU, by Ray's names: `H100`. Empty: any."""

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, **self.environment, INSIDE: "1"}

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """Of what runs the failures: interpreter, torch, Triton; the driver and the GPU, where these run them."""
        return versions(self.python, self.variables, gpu=self.arch is None)


class Reruns(CellLanes):
    """The lanes, for `jobs` runs at a time, until `close`."""

    def __init__(self, place: TriagePlace, jobs: int = 1) -> None:
        self.place = place = replace(place, python=place.python or sys.executable)
        self.jobs = jobs
        self.closing = Event()
        """Set once nobody waits for what is under way."""
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True)
        cwd = str(place.cwd)
        self._setup = private_setup(
            Path(self._folder.name),
            place.variables,
            python=place.python,
            imports=("torch",),
            own=(cwd, cwd),
            arch=place.arch,
            left_open=NOT_ASKED,
            confine=False,  # they are the user's tests as they are, and no candidates
        )
        self._pool: Pool | None = None
        self._command: Command | None = None
        self._without_gpu: Reruns | None = None
        self._opening = RLock()

    def __enter__(self) -> Reruns:
        return self

    def __exit__(self, t: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """For what is temporary."""
        return Path(self._folder.name)

    def own_folder(self) -> Path:
        """For what one run leaves."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def close(self) -> None:
        self.closing.set()
        with self._opening:
            for each in (self._pool, self._without_gpu):
                if each is not None:
                    each.close()
        self._folder.cleanup()

    def rerun(self, report: ReportedFailure) -> Rerun:
        """The failure once more; a second time where it did not show, on the virtual GPU with kernels that write. A
        failure of ours is told in `trouble`."""
        return self._told(lambda: self._capsule(report) if report.capsule else self._test(report.node))

    def _told(self, work: Callable[[], Rerun]) -> Rerun:
        try:
            return work()
        except ShrinkError as error:
            return Rerun(trouble=str(error), runs=0, unsettled=True)
        except Exception as error:  # whatever it is: the others can still be told apart
            return Rerun(trouble=f"a bug of shrink's own: {bug_words(error)}", runs=0, unsettled=True)

    def first_run(self, node: str) -> Rerun:
        """One run of a test of which nobody knows whether it fails."""
        return self._told(lambda: self._once(node))

    def again(self, node: str, seen: Rerun) -> Rerun:
        """What was seen of a test, and whether AGAIN more runs show it, too. One that tells nothing does not count."""
        assert seen.fault is not None
        needs = INTERPRETED if seen.interpreted else UNASKED
        command = self._located((*self.place.settings.words, node))
        for _ in range(AGAIN):
            run = self._run(command.text, self._script(command, needs))
            fault = Fault.of(run)
            if not run.trouble and (fault is None or seen.fault.difference(fault)):
                return replace(seen, steady=False)
        return replace(seen, steady=True)

    def tests(self, args: tuple[str, ...]) -> list[str]:
        """The node ids that pytest collects. Raises UsageError where it collects none."""
        # Absolute: a `-q` of the project's settings would add to ours, and then pytest prints counts in place of ids.
        command = self._located(("--collect-only", "--verbosity=-1", "--no-header", "--maxfail=0", *args))
        run = self._run(command.text, self._script(command))
        root = self.place.settings.root(self.place.cwd)
        nodes = [seen_from(self.place.cwd, line, root) for line in run.stdout.splitlines() if _NODE.match(line)]
        if not nodes:
            why = obstacle(run) or run.trouble or speech.ending(run)
            raise UsageError(f"pytest {' '.join(args)} collects no test: {why}")
        return nodes

    def explains(self, repro: str, member: Rerun) -> str:
        """Why the text of a repro does not have the fault of a member; empty where nothing that is known speaks against
        it."""
        assert member.fault is not None
        file = self.own_folder() / "repro.py"
        file.write_text(repro, encoding="utf-8")
        script = Script(file, cwd=self.place.cwd, name="")
        needs = INTERPRETED if member.interpreted else UNASKED
        run = self._run(repro, needs.on(script, virtual=self.place.arch is not None))
        if run.trouble:
            return f"its run tells nothing: {run.trouble}"
        fault = Fault.of(run)
        if member.causes is not None:
            followed = run if run.virtual else self._followed(lambda lanes: lanes._run(repro, lanes._on(script)))
            if followed is not None and (why := member.causes.difference(followed)):
                return why
        return member.fault.difference(fault) if fault is not None else "it shows no fault here"

    def _once(self, node: str) -> Rerun:
        command = self._located((*self.place.settings.words, node))
        return self._seen(command.text, self._script(command), node)

    def _test(self, node: str) -> Rerun:
        command = self._located((*self.place.settings.words, node))
        script = self._script(command)
        first = self._seen(command.text, script, node)
        if first.is_seen or first.trouble:
            return first
        interpreted = self.place.arch is not None
        needs = INTERPRETED if interpreted else UNASKED
        return replace(self._seen(command.text, self._script(command, needs), node), runs=2, interpreted=interpreted)

    def _capsule(self, report: ReportedFailure) -> Rerun:
        """The first script of the capsule's that shows the error of which it tells; else the first with a fault."""
        path = Path(report.capsule)
        folder = self.own_folder()
        held = folder / f"{path.stem}_contents"
        found = capsules.read(path, held)
        capsules.unpack(found, held)
        wanted = parse(capsules.spec(found), folder=held)
        other = last = Rerun()
        file = folder / "launch.py"
        for _, text in found.tries():
            file.write_text(text, encoding="utf-8")
            script = self._on(Script(file, cwd=self.place.cwd))
            run = self._run(text, script)
            last = self._of_run(run, text, script, path.name)
            if last.is_seen and last.origin is not None:
                last = replace(last, origin=by_kernel(last.origin, text, file.name))
                if wanted.judge(run).answer is Answer.FAULTS:
                    return last
                other = other if other.is_seen else last
        return other if other.is_seen else last

    def _seen(self, text: str, script: Script, node: str) -> Rerun:
        return self._of_run(self._run(text, script), text, script, node)

    def _of_run(self, run: Run, text: str, script: Script, node: str) -> Rerun:
        if run.trouble:
            return Rerun(trouble=f"its run tells nothing: {run.trouble}", seconds=run.seconds, unsettled=True)
        if why := obstacle(run):
            return Rerun(trouble=why, seconds=run.seconds)
        subject = Subject(text, script, self._setup, self.place.timeout, self.own_folder(), COLD)
        observed = [static_rules.look(subject, run)] if run.virtual else []
        seen = assemble(subject, run, observed, code=False)
        fault, origin = seen.fault, origin_of(run, seen, node, script)
        causes = LaunchCauses.of(run) if fault is not None and fault.phase == "device" else None
        if not run.virtual and fault is not None and fault.phase == "device":
            for _ in range(FOLLOWED):
                other = self._followed(lambda lanes: lanes._seen(text, lanes._on(script), node))
                if other is not None and is_followed(fault, other):
                    origin, causes = other.origin, other.causes
                if other is None or other.is_seen:
                    break
        if origin is not None and origin.by == BY_RULE:  # what a corpus knows of such is the instruction
            fault = fingerprint(text, script, self._setup, seconds=self.place.timeout) or fault
        return Rerun(
            fault=fault,
            origin=origin,
            message=speech.last_line(failed) if (failed := speech.uncaught(run)) is not None else "",
            spec=adopt(run) or "",
            kernels=tuple(sorted(kernels(run))),
            causes=causes,
            seconds=run.seconds,
            known=known(fault, self.place.versions.get("triton", "")) if fault is not None else (),
        )

    def _run(self, text: str, script: Script) -> Run:
        virtual = self.place.arch is not None
        with self._opening:
            if self._pool is None:
                mode = "virtual" if virtual else "cold"
                self._pool = Pool(script, self._setup, mode=mode, jobs=self.jobs, seconds=self.place.timeout)
        pool = self._pool.serving(script, seconds=self.place.timeout)
        return pool.run(text, wants=WANTS, machine_code=False) if virtual else pool.cold(text, wants=WANTS)

    def _followed(self, ask: Callable[[Reruns], T]) -> T | None:
        """What lanes without the GPU say, whose launches are followed by Triton's IR; None where there are none."""
        with self._opening:
            if self._without_gpu is None and (arch := gpus.capability()) is not None and not self.closing.is_set():
                self._without_gpu = Reruns(replace(self.place, arch=arch), self.jobs)
        return ask(self._without_gpu) if self._without_gpu is not None else None

    def _located(self, args: tuple[str, ...]) -> Command:
        """The command, whose plugins are looked for once: that starts an interpreter."""
        with self._opening:
            if self._command is None:
                place = self.place
                self._command = locate("pytest", args, python=place.python, cwd=place.cwd, environment=place.variables)
        return replace(self._command, args=args)

    def _script(self, command: Command, needs: Needs = UNASKED) -> Script:
        script = Script(command.path, cwd=command.cwd, name=command.command_line)
        return self._on(script, needs)

    def _on(self, script: Script, needs: Needs = UNASKED) -> Script:
        return replace(needs, timing=True).on(script, virtual=self.place.arch is not None)


def is_followed(fault: Fault, other: Rerun) -> bool:
    """Whether a run without the GPU tells where a fault begins that was seen on one: a cause in the kernel in which the
    driver saw it, or else in the one that was launched last."""
    kernel = fault.kernel or fault.near
    told = other.origin
    return told is not None and told.by in (BY_IR, BY_RULE) and told.kernel == kernel != ""
