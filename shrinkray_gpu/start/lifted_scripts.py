"""Lifted scripts, tried in order, each in a process of its own: the first that shows the fault, and no other one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration.original import COLD_RUNS
from shrinkray_gpu.calibration.worker_lanes import builds
from shrinkray_gpu.evidence.dump_runs import DumpRun
from shrinkray_gpu.evidence.instruments.instrument import WANTS
from shrinkray_gpu.judging.cold_tier import full_verdict
from shrinkray_gpu.judging.tally import COLD, LANE
from shrinkray_gpu.lift.data_files import copy_files
from shrinkray_gpu.oracle import Fault, Oracle, speech
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import preamble
from shrinkray_gpu.runner.knob_settings import PLAIN
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.of_lifted import OriginalFingerprint
from shrinkray_gpu.start.given import Say, UserProgram
from shrinkray_gpu.start.several_gpus import on_single_gpus

LIFTED = ("torch", "triton", "triton.language")
"""What a lifted script imports, and whatever else of these packages the program does."""
JOBS_AHEAD = COLD_RUNS + 2
"""With fewer jobs, workers that come up while the program runs would only make that slower."""
WAVES = 2
"""Cold processes one after another that take longer than workers do to come up: 8 s each, and 13 s, on an H100."""
PATIENT = 10.0
"""Seconds that a lifted script may take at least, after its imports, whatever the program took."""


class LiftedScripts:
    """The scripts made of one program's launches. `identity`: the instruments, at work on the program, if they are."""

    def __init__(
        self,
        given: UserProgram,
        tries: Counter[str],
        say: Say,
        *,
        gpu: bool,
        identity: OriginalFingerprint | None,
        lanes: calibration.LaneSet | None = None,
    ) -> None:
        self.given, self.tries, self.say, self.gpu, self.identity = given, tries, say, gpu, identity
        self.failed: set[str] = set()
        """Texts that did not show the fault."""
        self.made: dict[str, str] = {}
        """All texts so far, each with what it was before it got settings and paths of its own."""
        self.dumped: dict[str, Fault] = {}
        """What a core dump told of a text."""
        self.lanes = lanes
        """Workers on their way, for what follows."""

    def first(self, texts: Iterable[str], oracle: Oracle, run: Run) -> tuple[str, tuple[Run, ...]] | None:
        """The first text in order that shows the fault, and its runs. As many at a time as there are jobs; the very
        first is the likeliest, and is run as often at once as calibration would, as is the first that lanes show; where
        jobs are too few for both at once, what lanes show comes first. Where there is no GPU the likeliest is tried
        alone: others would take its cores, and lanes are up to sift them when it is done."""
        texts = list(texts)
        if len(texts) > 1 and not (self.gpu or self._sifting(oracle, len(texts))):
            if found := self.first(texts[:1], oracle, run):
                return found
        environment = preamble.read(self.given.program.text).environment
        values = Path(self.given.setup.scratch).parent / "values"
        self.made.update({copy_files(setting(environment, text), values): text for text in texts})
        waiting = [text for text in self.made if text not in self.failed]
        if not waiting:
            return None
        if self.lanes is not None and not self.lanes.import_for(waiting[0]):
            self.lanes.close()
            self.lanes = None
        if self.lanes is None:
            self.lanes = self.given.alone.lanes(waiting[0])
        pool = self.given.alone.cold().forking()
        if self.given.limits.timeout is None:
            pool = pool.on(replace(pool.terms, seconds=max(PATIENT, run.seconds)))
        name = self.given.script.path.name
        # On the virtual GPU all that the instruments read, so that they need no run of their own.
        wants = WANTS if self.identity is not None and self.given.setup.arch is not None else ()

        def judged(text: str, dumping: DumpRun | None) -> tuple[bool, Run | None]:
            seen: list[Run] = []

            def once(source: str) -> Run:
                beside = self.identity is not None and self.identity.pending
                run = pool.cold(source, way=dumping.way if dumping and not seen else PLAIN, wants=wants)
                if beside and self.identity is not None and speech.shortage(run):
                    self.identity.fault  # noqa: B018  it is the program that holds the memory: wait for its end
                    run = pool.cold(source)
                seen.append(run)
                return run

            faults, run = full_verdict(oracle, text, name, once).faults, seen[0] if seen else None
            if dumping and run and (found := dumping.fault(text, self.given.alone.script, run)):
                self.dumped[text] = found
            return faults, run

        likeliest = waiting[0]
        lanes = self._sifting(oracle, len(waiting))
        if lanes is not None:
            waiting = self._sifted(waiting, lanes.serving(lanes.script, seconds=pool.seconds), oracle, name)
        often = dict.fromkeys((waiting[0], likeliest))
        times = COLD_RUNS if self.gpu and self.given.limits.jobs >= COLD_RUNS else 1
        others = [text for text in waiting if text not in often]
        with ThreadPoolExecutor(self.given.limits.jobs, thread_name_prefix="lifting") as threads:
            jobs = self.given.limits.jobs
            for at, wave in enumerate(in_waves(list(often), others, times=times, jobs=jobs, sifted=lanes is not None)):
                self.tries[COLD] += len(wave)
                # A script that is tried three times need not be run once more for the instruments. That run alone is
                # no proof: the others are as a user's.
                repeated = at == 0 and wave[0] in wave[1:]
                dumping = self.given.on_the_way(run.peak) if self.identity is not None and repeated else None
                answers = list(threads.map(judged, wave, [dumping, *[None] * (len(wave) - 1)]))
                for text in dict.fromkeys(wave):
                    mine = [answer for each, answer in zip(wave, answers) if each == text]
                    proof = mine[1:] if dumping is not None and text == wave[0] else mine
                    shown = [run for faults, run in proof if faults]
                    if shown and not self._slips(text, shown[0]):
                        seen = mine if mine[0][0] else proof  # the dump may be what kept the fault away
                        return text, tuple(run for _, run in seen if run)
                    self.failed.add(text)
        return None

    def _sifted(self, waiting: list[str], pool: Pool, oracle: Oracle, name: str) -> list[str]:
        """Without those that do not show the fault in a lane, where there is a choice and the lanes are up, or so many
        wait that they will be sooner: a cold process takes ten times as long, and a dozen of them beside each other
        longer still. What does show it there is tried in cold processes all the same; so is the very first, but last
        where a lane does not show it."""

        def hopeless(text: str) -> bool:
            verdict = full_verdict(oracle, text, name, lambda source: pool.run(source, fresh=True))
            return verdict.is_known and not verdict.faults

        self.tries[LANE] += len(waiting)
        with ThreadPoolExecutor(pool.jobs, thread_name_prefix="sifting") as threads:
            gone = {text for text, out in zip(waiting, threads.map(hopeless, waiting)) if out}
        self.failed |= gone - {waiting[0]}
        return [text for text in waiting if text not in gone] + [waiting[0]] * (waiting[0] in gone)

    def _sifting(self, oracle: Oracle, count: int) -> Pool | None:
        """The lanes that sift so many scripts; None where they are not up, or none are wanted."""
        if count < 2 or self.lanes is None or oracle.needs.timing:
            return None
        return self.lanes.up(oracle, wait=count > WAVES * self.given.limits.jobs)

    def _slips(self, text: str, run: Run | None) -> bool:
        """Whether the instruments see another fault in a lifted script that shows, in words, the program's."""
        if self.identity is None or run is None:
            return False
        slip = self.identity.slip(text, run, self.dumped.get(text))
        if slip:
            self.say(f"a lifted launch was not taken, since its fault is another one: {slip}")
        return bool(slip)


def in_waves(
    often: Sequence[str], others: Sequence[str], *, times: int, jobs: int, sifted: bool = False
) -> list[list[str]]:
    """What is run beside each other: the texts of `often` so many times each, in one wave where all of these fit, else
    each in one of its own; and the others once, where there is room and after them. Of those that lanes have `sifted`
    the first has a wave for itself, since it will be the one: a GPU makes one context after another, and each process
    beside the three would keep them waiting for a second."""
    repeated = [[text] * times for text in often]
    found, rest = [repeated.pop(0)] if sifted else [], list(others)
    if len(repeated) * times <= jobs:
        repeated = [[text for wave in repeated for text in wave]]
    for wave in repeated:
        room = max(0, jobs - len(wave))
        found.append(wave + rest[:room])
        rest = rest[room:]
    return [wave for wave in found if wave] + [rest[at : at + jobs] for at in range(0, len(rest), jobs)]


def ahead(given: UserProgram) -> calibration.LaneSet | None:
    """Workers for lifted scripts, to come up while the program runs: beside the lifted scripts' own first runs they
    would take twelve seconds, on an H100, and those runs half as long again. None where jobs are few, nor for a program
    that builds CUDA C++: most such programs launch nothing that Triton compiled."""
    if given.limits.jobs < JOBS_AHEAD or builds(given.program.text):
        return None
    return on_single_gpus(given).alone.lanes(lifted_prelude(given.program))


def lifted_prelude(program: Program) -> str:
    """How scripts begin that are lifted out of the program: what is set before its imports, and these."""
    head = preamble.read(program.text)
    more = [name for name in head.imports if name.partition(".")[0] in LIFTED]
    return setting(head.environment, "".join(f"import {name}\n" for name in dict.fromkeys((*LIFTED, *more))))


def setting(environment: Sequence[tuple[str, str]], text: str) -> str:
    """The text, with what the program sets in its environment before its imports: Triton and torch may read it."""
    settings = "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in environment)
    return f"import os\n\n{settings}\n{text}" if settings else text
