"""One text of a CUDA program, compiled as far as the fault needs, and run where a run shows it.

Without a GPU the program is linked to the project's own runtime (`virtual_runtime.c`), which checks and records
launches and makes none. Each try has a folder of its own, and a guard that ends all that it started.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu.cu.access_survey import Survey
from shrinkray_gpu.cu.cu_file import CuFile, read_cu
from shrinkray_gpu.cu.device_sight import DeviceSight, first_sight, is_settled
from shrinkray_gpu.cu.nvcc_words import SaidMessage, messages
from shrinkray_gpu.cu.options import CuOptions
from shrinkray_gpu.device import gpus, sanitizer_records
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import launch_recorder
from shrinkray_gpu.runner.fence import OPENED
from shrinkray_gpu.runner.inside.cuda_cpp import host_code
from shrinkray_gpu.runner.inside.cuda_cpp.nvcc import was_killed
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.launch_recorder import Room
from shrinkray_gpu.runner.plain import fence, run_words
from shrinkray_gpu.runner.plain_file import left_text
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder

STAGES = ("ptx", "cubin", "object", "program")
"""How far a program is built, the cheapest first: kernels to PTX, kernels whole, host code too, linked and run."""
LIMIT = 600.0
"""Seconds for what nobody has timed yet."""
_OPTIMISES = re.compile(r"(-O\d|--optimize.*|-lineinfo|--generate-line-info|-G|--device-debug)\Z")
_KILLED = (-9, 137)
_LAUNCH = re.compile(r"(\d{1,9}) (.*)")
"""What the runtime of our own writes of one: its error, and the kernel."""
_SEVERAL = re.compile(r"not allowed when compiling for multiple GPU architectures")


@dataclass(frozen=True)
class HostedLaunch:
    """A launch that the host code asked for, on the runtime of our own."""

    kernel: str
    error: int
    """0: it would have been made."""


@dataclass(frozen=True)
class CuOutcome:
    """What a try came to."""

    said: str
    """What nvcc printed."""
    failed: bool
    """Whether nvcc did."""
    messages: tuple[SaidMessage, ...]
    run: Run | None = None
    """Of the program, where it was built and run."""
    launches: tuple[HostedLaunch, ...] = ()
    seconds: float = 0.0
    trouble: str = ""
    """Why the try tells nothing; empty where it does."""
    sight: DeviceSight | None = None
    """What compute-sanitizer saw first of a kernel, where it was asked."""
    blind: str = ""
    """Why it was not asked, or said nothing at all."""
    summary: str = ""
    """Its last line."""
    copied: bool = False
    """Whether it sees nothing where the host copies zeros to the device; asked on the CPU alone."""
    wider: int = 0
    """Times the memory with which the first access finds some, where no control tells more; asked on the CPU alone."""
    survey: Survey | None = None
    """The accesses that are wrong, the first and those behind it; asked on the CPU alone. None: not known."""
    lax: frozenset[str] = frozenset()
    """The signs of comparisons that mend it, stricter by one; asked on the CPU alone."""
    lacking: str = ""
    """Why it is another fault, whatever else it shows."""
    room: Room | None = None
    """The first of the controls that were asked for after which it sees nothing of a kernel."""


@dataclass(frozen=True)
class _Seen:
    """What compute-sanitizer said of one run."""

    sight: DeviceSight | None
    blind: str
    """Why it came to no end; empty where it did."""
    summary: str
    calls: frozenset[str]
    """Kinds of its records of calls that the host made and that failed."""

    def is_clean_beside(self, plain: _Seen) -> bool:
        """Whether no access is wrong, of kernels that were launched: with more memory a later allocation may fail."""
        return self.sight is None and not self.blind and self.calls <= plain.calls


Look = Callable[[CuOutcome], Callable[[DeviceSight], Sequence[Room]] | None]
"""Whether compute-sanitizer is to look at such an outcome (None: no), and with which controls, by what it saw."""
SLOWER = 4.0
"""How much longer than a plain run one under compute-sanitizer may take, beside what it takes to start."""
STARTING = 30.0


class NvccTrial:
    """nvcc with its flags, and where programs are built and run."""

    def __init__(
        self,
        nvcc: Path,
        flags: Sequence[str],
        name: str,
        folder: Path,
        *,
        environment: Mapping[str, str],
        hosted: bool,
        argv: Sequence[str] = (),
        cwd: Path = Path(),
    ) -> None:
        """`hosted`: programs run against the runtime that launches nothing. Raises UsageError where that cannot be
        made."""
        self.sanitizer = None if hosted else sanitizer_records.find(sys.executable, environment)
        self.recorder = _recorder() if self.sanitizer is not None else None
        self.nvcc, self.flags, self.name, self.folder = str(nvcc), tuple(flags), name, folder
        self.hosted = hosted
        self.environment, self.argv, self.cwd = dict(environment), tuple(argv), cwd
        self.objects: dict[str, CuOutcome] = {}
        """What texts came to that were built as far as that or farther: the first and the last are asked of again."""
        self.runtime = host_code.runtime(str(folder), self.nvcc) if hosted else None
        if hosted and self.runtime is None:
            raise UsageError("no runtime for a program without a GPU can be built here: install a C compiler (cc)")

    def build(self, text: str, stage: str, seconds: float, look: Look = lambda outcome: None) -> CuOutcome:
        """Build it up to a stage, and run it if that is the last; once more under compute-sanitizer, if `look` says
        so of what came of it."""
        if stage == "object" and text in self.objects:
            return self.objects[text]
        with scratch_folder(self.folder) as place:
            outcome = self._built(Path(place), text, stage, seconds, look)
        if stage == "object" and not outcome.trouble:
            self.objects[text] = outcome
        return outcome

    def _built(self, place: Path, text: str, stage: str, seconds: float, look: Look) -> CuOutcome:
        source = place / self.name
        source.write_text(text, encoding="utf-8")
        ptx = place / "kernel.ptx"
        if stage in ("ptx", "cubin"):
            done = self._nvcc(place, ["-ptx", "-o", str(ptx), str(source)], seconds)
            if stage == "cubin" and not done.failed and not done.trouble:
                more = self._nvcc(place, ["-cubin", "-o", str(place / "kernel.cubin"), str(ptx)], seconds, ptx)
                return CuOutcome(
                    done.said + more.said,
                    more.failed,
                    (*done.messages, *more.messages),
                    seconds=done.seconds + more.seconds,
                    trouble=more.trouble,
                )
            return done
        if stage == "object":
            return self._nvcc(place, ["-c", "-o", str(place / "program.o"), str(source)], seconds)
        program = place / "program"
        done = self._nvcc(place, ["-o", str(program), str(source)], seconds, linked=True)
        if done.failed or done.trouble:
            return done
        self.objects.setdefault(text, done)
        told = place / "launches"
        setup = Setup(
            python=sys.executable, environment={}, imports=(), own=(str(place),), scratch=str(place), confine=True
        )
        environment = {**self.environment, "TMPDIR": str(place), "SHRINK_LAUNCHES": str(told)}
        run = run_words(
            [*fence(sys.executable, setup), str(program), *self.argv],
            environment=environment,
            cwd=self.cwd,
            seconds=seconds,
        )
        outcome = CuOutcome(
            done.said,
            False,
            done.messages,
            run,
            _launches(told) if self.runtime else (),
            done.seconds + run.seconds,
            run.trouble,
        )
        rooms = look(outcome)
        return self._examined(outcome, program, setup, environment, rooms) if rooms is not None else outcome

    def _examined(
        self,
        outcome: CuOutcome,
        program: Path,
        setup: Setup,
        environment: Mapping[str, str],
        rooms: Callable[[DeviceSight], Sequence[Room]],
    ) -> CuOutcome:
        assert outcome.run is not None
        if self.sanitizer is None:
            return replace(outcome, blind="no compute-sanitizer on this machine")
        limit = SLOWER * outcome.run.seconds + STARTING
        words = [*sanitizer_records.prefix(self.sanitizer, "memcheck"), str(program), *self.argv]
        command = [*fence(sys.executable, replace(setup, left_open=OPENED), "/tmp"), *words]
        environment = {**environment, "TMPDIR": "/tmp"}  # where its pipes and sockets are, as without a fence

        def settled(said: str) -> bool:
            """Further records, of thousands of threads, take the sanitizer many times as long as the first."""
            return is_settled(sanitizer_records.whole_records(said, "memcheck"))

        def seen(environment: Mapping[str, str]) -> _Seen:
            run = run_words(command, environment=environment, cwd=self.cwd, seconds=limit, kept=None, enough=settled)
            records = sanitizer_records.records(run.stdout, "memcheck")
            summary = sanitizer_records.summary(run.stdout)
            calls = frozenset(each.kind for each in records if not each.kernel)
            sight, blind = first_sight(records), ""
            if sight is None and (run.timed_out or not summary):
                last = (run.stdout + run.stderr).strip()[-200:] or "it said nothing"
                blind = f"compute-sanitizer did not come to its end: {'no time left' if run.timed_out else last}"
            return _Seen(sight, blind, summary, calls)

        plain = seen(environment)
        room = None
        controls: Sequence[Room] = ()
        given: list[dict[str, str]] = []
        if plain.sight is not None and self.recorder is not None:
            controls = rooms(plain.sight)
            given = [each.environment(environment, self.recorder) for each in controls]
        with ThreadPoolExecutor(max(1, len(controls))) as threads:
            runs = list(threads.map(seen, given))
        for each, how, found in zip(controls, given, runs):
            if found.blind or found.sight is None:
                if not found.is_clean_beside(plain) and len(controls) > 1:  # the others may have left it no room
                    found = seen(how)
                room = each if found.is_clean_beside(plain) and each.factor > 1 else None
                break
        return replace(outcome, sight=plain.sight, blind=plain.blind, summary=plain.summary, room=room)

    def _nvcc(
        self, place: Path, words: Sequence[str], seconds: float, ptx: Path | None = None, *, linked: bool = False
    ) -> CuOutcome:
        flags: Sequence[str] = self.flags
        if linked and self.runtime:  # the device's code is not used: the sooner it is made the better
            flags = [flag for flag in flags if not _OPTIMISES.match(flag)]
            flags = [*flags, *host_code.FLAGS, self.runtime, "-Xlinker", f"-rpath={Path(self.runtime).parent}"]
        run = run_words(
            [self.nvcc, *flags, *words],
            environment={**self.environment, "TMPDIR": str(place)},
            cwd=place,
            seconds=seconds,
            kept=None,
        )
        said = (run.stdout + run.stderr).replace(f"{place}{os.sep}", "")
        failed = run.exit != 0
        trouble = run.trouble or (f"nvcc did not end within {seconds:g} s" if run.timed_out else "")
        if not trouble and failed and (was_killed(said) or run.signal in (9, 15) or run.exit in _KILLED):
            trouble = "nvcc was killed (out of memory?)"
        made = ptx or next((Path(word) for word in words if word.endswith(".ptx")), None)
        text = made.read_text(encoding="utf-8", errors="replace") if made is not None and made.exists() else ""
        return CuOutcome(said, failed, tuple(messages(said, self.name, text)), seconds=run.seconds, trouble=trouble)

    @staticmethod
    def is_for_several(outcome: CuOutcome) -> bool:
        """Whether this stage makes nothing of flags for more than one architecture."""
        return bool(_SEVERAL.search(outcome.said))


@contextmanager
def trial_of(path: Path, options: CuOptions) -> Iterator[tuple[CuFile, NvccTrial]]:
    """The file, and the trial of its texts, hosted where there is no GPU or an architecture is asked for. Raises
    UsageError as `read_cu` does."""
    gpu = gpus.present()
    file = read_cu(path, options.flags, options.arch, gpu=gpu)
    with tempfile.TemporaryDirectory(prefix="shrink-") as place:
        yield (
            file,
            NvccTrial(
                options.nvcc,
                (*file.flags, f"-I{path.parent.absolute()}"),
                path.name,
                Path(place),
                environment=options.environment,
                hosted=options.arch is not None or not gpu,
                argv=options.argv,
                cwd=options.cwd,
            ),
        )


def _recorder() -> Path | None:
    """The library that gives programs room; None where it cannot be made."""
    try:
        return launch_recorder.library()
    except UsageError:
        return None


def _launches(told: Path) -> tuple[HostedLaunch, ...]:
    """What the runtime wrote, where the program left it as it was."""
    pairs = [_LAUNCH.fullmatch(line) for line in left_text(told).splitlines()]
    return tuple(
        HostedLaunch(host_code.plain_name(host_code.demangle(pair[2].encode())), int(pair[1])) for pair in pairs if pair
    )
