"""One text of a CUDA program, compiled by g++ with a machine of one core, and run there."""

from __future__ import annotations

import copy
import itertools
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from shrinkray_gpu.cu.access_survey import Survey, read_survey
from shrinkray_gpu.cu.cu_fault import CuFault
from shrinkray_gpu.cu.device_sight import DeviceSight
from shrinkray_gpu.cu.nvcc_trial import CuOutcome, Look, NvccTrial
from shrinkray_gpu.cu.on_cpu import bounds
from shrinkray_gpu.cu.on_cpu.cpu_text import cpu_text
from shrinkray_gpu.cu.on_cpu.headers import CompiledHeaders
from shrinkray_gpu.oracle.verdict import lacks
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.plain import fence, run_words
from shrinkray_gpu.runner.plain_file import left_text
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

HERE = Path(__file__).parent
PRELUDE = "prelude.hpp"
FLAGS = (
    "-D_GLIBCXX_ASSERTIONS -O1 -fno-tree-sra -fno-tree-ch -fno-thread-jumps -fno-strict-aliasing "
    "-Wuninitialized -Wmaybe-uninitialized -Werror=return-type -fsanitize=kernel-address "
    "--param asan-instrumentation-with-call-threshold=0 --param asan-stack=0 --param asan-globals=0"
).split()
"""A dead load is none, as in what ptxas makes; a vector is loaded as one; each access calls `__asan_*`.
One of a source's stays one: no loop's condition is written twice. An index that leaves a vector of the host's ends the
program."""
UNSET = "-ftrivial-auto-var-init=pattern"
"""A variable that was never set is no number that a program would hold. Older ones than g++ 12 do not know it."""
_INCLUDE = re.compile(r"-(?:I|isystem\"? ?)\"?(/[^\"\s]+)")
"""Where nvcc finds CUDA's headers, in what it says of a dry run."""
_ARRAY = re.compile(r"(?<!extern )__shared__")
SECONDS = 60.0
LONGEST = 1 << 16
"""Characters of what the machine writes of an access."""
WIDER = (16, 64, 256, 1024, 4096)
"""Times the memory, where a few times are too few."""
LONG = 10.0
"""Seconds that it may take to move all comparisons of the original, in both ways: the search waits for that."""
RIGHTS = "SHRINK_RIGHTS"
"""Names the file that a run writes the number of right accesses to."""
LEAST, SLOWER = 2.0, 4.0
"""Seconds that a candidate may run, beside so many times what the original took."""
UNABLE = 97
"""What the machine exits with where it cannot tell, as `give_up` in machine.cpp."""


class _MadeRun(NamedTuple):
    run: Run
    sight: DeviceSight | None
    """What the machine saw."""
    record: Path
    """What it wrote of that."""

    @property
    def right(self) -> int | None:
        """How many accesses were right, where that was asked for."""
        told = left_text(_rights(self.record)).strip()
        return int(told) if told.isdecimal() else None


def _rights(record: Path) -> Path:
    return record.with_suffix(".rights")


_Made: TypeAlias = Callable[..., _MadeRun]
"""A run with this in its environment, for so many seconds at most."""


class CpuTrial:
    """g++, the machine, and where programs are built and run."""

    def __init__(self, trial: NvccTrial, compiler: str, folder: Path) -> None:
        self.trial, self.compiler, self.folder, self.limit = trial, compiler, folder, SECONDS
        self.checks = [*FLAGS, UNSET]
        self.linker = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []  # in half the time
        self.headers = CompiledHeaders(folder, PRELUDE, lambda path: self._header(path).exit == 0)
        self.copied: bool | None = None
        """Whether the original's fault hangs on what the host copies to the device; None: not asked yet."""
        self.wider = 0
        """With so many times the memory the original's first access finds some; 0: with none, or another control tells
        that of the whole run."""
        self.survey: Survey | None = None
        """Of the original's accesses that are wrong; None: not asked yet, or not known."""
        self.lax: frozenset[str] | None = None
        """What mends the original at a comparison; None: not asked yet."""
        self.flags = [flag for flag in trial.flags if flag.startswith(("-std=", "-I", "-D"))]
        if not any(flag.startswith("-std=") for flag in self.flags):
            self.flags.append("-std=c++17")

    def prepare(self) -> str:
        """Compiles the machine and its header; says why it cannot be, else nothing."""
        shutil.copy(HERE / PRELUDE, self.folder)
        (self.folder / "empty.cu").touch()
        told = self._run([self.trial.nvcc, "--dryrun", "-c", "empty.cu"], self.folder)
        self.flags += [f"-I{self.folder}", *(f"-isystem{each}" for each in _INCLUDE.findall(told.stderr))]
        # Threads jump from one stack to another, which the checks that distributions switch on take for an error.
        flags = [*self.flags, "-std=c++17"]  # the last one counts: the machine is of that, whatever the program is of
        words = ["-O2", "-U_FORTIFY_SOURCE", "-w", *flags, "-c", str(HERE / "machine.cpp"), "-o", "machine.o"]
        with ThreadPoolExecutor(1, thread_name_prefix="machine") as threads:
            machine = threads.submit(self._run, [self.compiler, *words], self.folder)
            header = self._header(self.folder / PRELUDE)
            if header.exit != 0 and UNSET in header.stderr:
                self.checks.remove(UNSET)
                header = self._header(self.folder / PRELUDE)
        failed = next((run for run in (header, machine.result()) if run.exit != 0), None)
        return "" if failed is None else f"g++ does not compile the machine: {failed.stderr.strip()[-200:]}"

    def _header(self, path: Path) -> Run:
        return self._run([self.compiler, *self.checks, *self.flags, "-xc++-header", path.name], self.folder)

    def of_original(self, outcome: CuOutcome) -> CpuTrial:
        """The same, for candidates of what came to this."""
        runs = [each.seconds for each in (outcome.run, outcome.survey) if each is not None]
        made = self.limited(LEAST + SLOWER * max(runs, default=0.0))
        made.copied, made.survey, made.wider = outcome.copied, outcome.survey, outcome.wider
        made.lax = outcome.lax
        return made

    def limited(self, seconds: float) -> CpuTrial:
        """The same, for programs that run so long at most."""
        other = copy.copy(self)
        other.limit = min(self.limit, seconds)
        return other

    def build(self, text: str, stage: str, seconds: float, look: Look = lambda outcome: None) -> CuOutcome:
        """As `NvccTrial.build` of the last stage; what compute-sanitizer would see is what the machine saw."""
        with scratch_folder(self.folder) as place:
            return self._built(Path(place), text, min(seconds, self.limit), look)

    def _built(self, place: Path, text: str, seconds: float, look: Look) -> CuOutcome:
        moved, signs = bounds.movable(text) if self.lax is None or self.lax else (text, ())
        words = ["-include", self.headers.of(text), "program.cpp", str(self.folder / "machine.o"), "-o", "program"]
        for source in (moved, text) if signs and self.lax is None else (moved,):
            (place / "program.cpp").write_text(cpu_text(source), encoding="utf-8")
            done = self._run([self.compiler, *self.checks, *self.flags, *self.linker, *words], place)
            if done.exit == 0:
                break
            signs = ()  # one of them compares no numbers
        if done.exit != 0 or "uninitialized" in done.stderr:
            return CuOutcome(done.stderr, True, (), seconds=done.seconds)
        setup = Setup(
            python=sys.executable, environment={}, imports=(), own=(str(place),), scratch=str(place), confine=True
        )
        command = [*fence(sys.executable, setup), str(place / "program"), *self.trial.argv]
        arrays, runs = {"SHRINK_SHARED_ARRAYS": "1"} if _ARRAY.search(text) else {}, itertools.count()

        def made(more: Mapping[str, str], most: float = seconds) -> _MadeRun:
            record = place / f"record{next(runs)}"
            environment = {**self.trial.environment, **arrays, **more}
            environment |= {"TMPDIR": str(place), "SHRINK_CPU_RECORD": str(record)}
            environment |= {RIGHTS: str(_rights(record))} if RIGHTS in more else {}
            run = run_words(command, environment=environment, cwd=self.trial.cwd, seconds=min(seconds, most))
            return _MadeRun(run, _sight(record), record)

        run, sight, record = made({})
        trouble = "the machine of one core cannot run it" if run.exit == UNABLE else run.trouble
        outcome = CuOutcome("", False, (), run, seconds=done.seconds + run.seconds, trouble=trouble, sight=sight)
        rooms = look(outcome)
        if rooms is None or sight is None:
            return outcome

        until = _up_to_here(record)

        def hidden(more: Mapping[str, str]) -> bool:
            again, seen, _ = made(more)
            return seen is None and again.exit != UNABLE and not again.timed_out

        # One run is like another here: as much memory as before says nothing.
        larger = [each for each in rooms(sight) if each.factor > 1]
        copied: Callable[[], bool] = partial(hidden, {"SHRINK_ZERO_COPIES": "1", **until})
        surveyed: Callable[[], Survey | None] = partial(self._surveyed, made)
        lax: Callable[[], frozenset[str]] = partial(self._lax, made, signs, self.lax)
        roomy: list[Callable[[], bool]]
        roomy = [partial(hidden, {f"SHRINK_ROOM_{each.kind.upper()}": str(each.factor)}) for each in larger]
        if self.lax is None:  # the original is asked all of it, and nothing waits for an answer
            with ThreadPoolExecutor(min(bounds.AT_ONCE, cores.usable()), thread_name_prefix="looks") as threads:
                lax, surveyed = threads.submit(lax).result, threads.submit(surveyed).result
                copied, roomy = threads.submit(copied).result, [threads.submit(each).result for each in roomy]
        if self.copied is not False:
            outcome = replace(outcome, copied=copied())
            if self.copied and not outcome.copied:
                return replace(outcome, lacking="it no longer hangs on what the host copies")
        outcome = replace(outcome, survey=surveyed())
        if self.survey is not None:
            verdict = (
                outcome.survey.verdict(self.survey) if outcome.survey else lacks("its other accesses are not known")
            )
            if not verdict.is_known:
                return replace(outcome, trouble=verdict.why)
            if not verdict.faults:
                return replace(outcome, lacking=verdict.why)
        outcome = replace(outcome, lax=lax())
        if self.lax and (missing := self.lax - outcome.lax):
            return replace(outcome, lacking=f"no {next(iter(missing))} mends it that is stricter by one")
        room = next((each for each, has_room in zip(larger, roomy) if has_room()), None)
        if room is not None or sight.place != "near":
            return replace(outcome, room=room)
        tried = (self.wider,) if self.wider else WIDER if self.survey is None else ()
        wide = (each for each in tried if hidden({"SHRINK_ROOM_MEMORY": str(each), **until}))
        outcome = replace(outcome, wider=next(wide, 0))
        if self.wider and not outcome.wider:
            return replace(outcome, lacking=f"with {self.wider} times the memory it finds none where it is accessed")
        return outcome

    @staticmethod
    def _surveyed(made: _Made) -> Survey | None:
        run, _, record = made({"SHRINK_SURVEY": "1"})
        if run.timed_out or run.exit == UNABLE or not record.exists():
            return None
        found = read_survey(record.read_text(encoding="utf-8", errors="replace")[:LONGEST].splitlines())
        return replace(found, seconds=run.seconds) if found is not None else None

    @staticmethod
    def _lax(made: _Made, signs: Sequence[str], wanted: frozenset[str] | None) -> frozenset[str]:
        """What mends it at a comparison; of that which is wanted, None: all."""
        first = made({RIGHTS: ""}) if signs else None
        if first is None or first.right is None:
            return frozenset()
        if wanted is None and 2 * first.run.seconds * len(signs) > LONG * min(bounds.AT_ONCE, cores.usable()):
            return frozenset()
        limit = LEAST + 2 * first.run.seconds

        def stepped(more: Mapping[str, str]) -> int | None:
            again = made({RIGHTS: "", **more}, limit)
            clean = again.sight is None and again.run.exit != UNABLE and not again.run.timed_out
            return again.right if clean else None

        if wanted is None:
            return bounds.too_lax(signs, stepped, bounds.SHARE * first.right)
        return frozenset(each for each in wanted if bounds.is_mended(each, signs, stepped))

    def _run(self, command: Sequence[str], place: Path) -> Run:
        environment = {**self.trial.environment, "TMPDIR": str(place)}
        return run_words(command, environment=environment, cwd=place, seconds=SECONDS, kept=None)


def _sight(record: Path) -> DeviceSight | None:
    """What the machine wrote of the first access that was wrong. None where it wrote nothing, or the program, which may
    write there too, something else."""
    try:
        kernel, kind, size, misaligned, place, leading, _, _ = _fields(record)
        return DeviceSight(kernel, kind, int(size), misaligned == "1", place, leading == "1")
    except (OSError, ValueError):
        return None


def _up_to_here(record: Path) -> dict[str, str]:
    """For a run that is asked no more than whether anything is wrong up to the block that the record is of."""
    *_, launch, block = _fields(record)
    return {"SHRINK_LAST_LAUNCH": launch, "SHRINK_LAST_BLOCK": block.strip()}


def _fields(record: Path) -> list[str]:
    with record.open(encoding="utf-8") as stream:
        return stream.read(LONGEST).split("\t")


@contextmanager
def agreeing(text: str, trial: NvccTrial, fault: CuFault) -> Iterator[tuple[CpuTrial | None, str]]:
    """The trial on the CPU, where the original's run there ends and faults as it did on the GPU, and where the control
    hides the fault there too; else None, and why."""
    compiler = shutil.which("g++")
    if fault.sight is None or compiler is None:
        yield None, "no g++ on this machine" if fault.sight is not None else ""
        return
    with scratch_folder(trial.folder) as place:
        made = CpuTrial(trial, compiler, Path(place))
        why = made.prepare()
        if not why:
            outcome = made.build(text, "program", SECONDS, fault.look)
            verdict = fault.verdict(text, outcome)
            why = "" if verdict.faults else verdict.why
            made = made.of_original(outcome)
        yield (None, why) if why else (made, "")
