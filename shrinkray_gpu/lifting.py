"""Lift first: before anything is calibrated, the program runs once, and its faulty launch alone becomes the program.

A program may take a minute to come to its fault, and all that is done with it later (calibration, controls,
fingerprints, the search) would take that minute again and again. So it runs once, cold, with its launches written down
(and again, where that run ends well: the fault may be a flaky one).
The scripts made of them are judged, each in a process of its own, by the oracle bound to the Fault of that run, and on
a device fault by the instruments (`identifying`): the first that shows the same fault is what everything else works on.
If none does, the program runs a second time, with what its tensors hold written down too, and at last the whole list of
its launches is tried. What that takes away tells which property the fault hangs on: the user is told.
"""

from __future__ import annotations

import ast
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from shrinkray_gpu import lift, planning
from shrinkray_gpu.commands import Command
from shrinkray_gpu.entering import plain_script
from shrinkray_gpu.identifying import Identity
from shrinkray_gpu.judge import COLD, LANE, whole
from shrinkray_gpu.lift import losses
from shrinkray_gpu.lift.beside import files, kept
from shrinkray_gpu.lift.bundle import bundle
from shrinkray_gpu.oracle import Fault, Oracle, adopt, speech
from shrinkray_gpu.oracle.builds import WANTED
from shrinkray_gpu.oracle.same import Same
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.planning.absent import ended_well
from shrinkray_gpu.planning.missed import FURTHER, FURTHER_SECONDS
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.keep import kept_nodes
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.runner import gpus, preamble
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import PLAIN, Way

SERIAL = Way("each launch waits", environment={"CUDA_LAUNCH_BLOCKING": "1"})
"""Each launch waits for its end: then the one that faults is the one that raises."""
PATIENT = 10.0
"""Seconds that a lifted script may take at least, after its imports, whatever the program took."""
MORE = 5
"""Runs more of a program whose fault showed at once, and that now ends well, in one file or with values written down:
of a fault in 70 % of all runs all six miss it once in 1,400."""
MISSED = 0.01
"""Of a fault that did not show at once, so many runs that they all miss it no more often than this."""
OWN_WORDS = frozenset({"device", "compile", "launch"})
"""Phases of faults that a kernel has; any other is Python's, unless Triton was at work then."""
LIBRARIES = frozenset({"torch", "triton", "numpy", *sys.stdlib_module_names})
"""A program that imports no more than these, and is shorter than the script of its launch, is better than that."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Start:
    """What a reduction begins with."""

    program: Program
    oracle: Oracle | None = None
    """Bound to the fault of the user's own program; None where no run of that has shown it yet."""
    reference: Run | None = None
    """The run of the user's own program that showed it."""
    lifted: bool = False
    """Whether `program` is another one than the user's: a lifted one, or what was many modules."""
    alone: bool = False
    """Whether it takes no arguments, and none of the user's modules."""
    history: bool = False
    """Whether the fault needs more than one launch, as far as is known: candidates must not run one after another in
    one process, and the same launches do not mean the same fault."""
    fault: Fault | None = None
    """What the instruments say of the user's own program; None where nobody asked them, or they saw nothing."""
    told: str = ""
    """How it went, in a line."""
    seen: tuple[Run, ...] = ()
    """Cold runs of `program` that were made on the way."""
    lanes: planning.Lanes | None = None
    """Workers that came up for it meanwhile."""
    tries: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Given:
    """The program, and how it is run."""

    program: Program
    script: Script
    setup: Setup
    chosen: Oracle | None
    """None: the fault seen is adopted."""
    adopting: Callable[[Run], Oracle]
    jobs: int
    timeout: float | None
    devices: tuple[str, ...]
    mode: str | None
    keep: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    controls: bool = False
    """Whether the user named controls that only fit the program as it is."""
    look: Callable[[str, Script, Run], Fault | None] | None = None
    """The fault of a text, run as this script, by the instruments, with a run that showed it; None: they are not
    asked."""
    command: Command | None = None
    """Where it is `-m MODULE`, that: its text is a driver of ours, and says nothing of its size."""

    @property
    def alone(self) -> Given:
        """The same for a lifted script, which takes no arguments and imports nothing of the program's."""
        return replace(self, script=replace(self.script, argv=()), setup=replace(self.setup, imports=()))

    def lanes(self, text: str) -> planning.Lanes:
        return planning.open_lanes(
            text,
            self.script,
            self.setup,
            oracle=self.chosen,
            jobs=self.jobs,
            timeout=self.timeout,
            devices=self.devices,
            mode=self.mode,
        )

    def cold(self) -> Pool:
        return planning.cold_lanes(
            self.script, self.setup, oracle=self.chosen, jobs=self.jobs, timeout=self.timeout, devices=self.devices
        )

    def plan(self, start: Start) -> planning.Plan:
        """How candidates are run, as the program to begin with allows."""
        here = self.alone if start.alone else self
        return planning.make(
            start.program.text,
            here.script,
            here.setup,
            oracle=start.oracle or self.chosen or self.adopting,
            jobs=self.jobs,
            timeout=self.timeout,
            devices=self.devices,
            mode=self.mode or ("fork" if start.history else None),
            seen=start.seen,
            bound=start.oracle is not None,
            lanes=start.lanes,
        )


def begin(given: Given, journal: Journal, say: Say) -> Start:
    """The program to reduce: a lifted one, if that shows the same fault. When resumed, the one that the journal has."""
    if not _may_be_lifted(given):
        return Start(given.program)
    if (known := journal.recall_lifting()) is not None:
        return _recalled(given, known)
    started = time.monotonic()
    start = replace(_Lifting(given, say).start(), seconds=time.monotonic() - started)
    _keep(journal, start)
    return start


def without(start: Start, given: Given, why: str, journal: Journal, say: Say) -> Start:
    """The program as the user gave it, after all: a lifted one that does not do. Where that was a launch, it may still
    be one file."""
    assert start.reference is not None and start.oracle is not None
    told = f"not lifted, after all: {why}"
    seen = (_plain(start.reference),)
    whole = replace(
        start, program=given.program, lifted=False, alone=False, history=False, told=told, seen=seen, lanes=None
    )
    if start.alone:
        whole = _Lifting(given, say).in_one_file(whole, start.oracle)
    _keep(journal, whole)
    return whole


def _may_be_lifted(given: Given) -> bool:
    """Whether a run with launches written down can answer the oracle, and a lifted script be what the user wants."""
    chosen = given.chosen
    if "lift" in given.skip or given.controls or kept_nodes(given.program, given.keep):
        return False
    # Outputs that are compared, sanitizers' records and hangs need runs of their own kind, `script:` none of ours.
    return chosen is None or not (
        chosen.twins
        or any(want.startswith(WANTED) for want in chosen.wants)
        or chosen.sanitizer
        or chosen.alone
        or chosen.limit is not None
        or not chosen.needs_run
    )


def _keep(journal: Journal, start: Start) -> None:
    if start.reference is not None:
        text = start.program.text if start.lifted else None
        journal.lifting(
            {
                "told": start.told,
                "text": text,
                "alone": start.alone,
                "history": start.history,
                "run": _plain(start.reference).to_json(),
                "fault": asdict(start.fault) if start.fault is not None else None,
            }
        )


def _recalled(given: Given, known: Mapping[str, Any]) -> Start:
    """What a killed reduction chose, without a run."""
    run = Run.from_json(known["run"])
    oracle = (given.chosen or given.adopting(run)).calibrated(run)
    fault = Fault(**known["fault"]) if known.get("fault") else None
    start = Start(given.program, oracle, run, fault=fault, told=known["told"], seen=(run,))
    if known["text"] is None:
        return start
    program = given.program.with_text(known["text"])
    return replace(start, program=program, lifted=True, alone=known["alone"], history=known["history"], seen=())


class _Lifting:
    """The runs it takes to find out what to begin with."""

    def __init__(self, given: Given, say: Say) -> None:
        self.given, self.say = given, say
        self.gpu = given.setup.arch is None and gpus.present()
        self.tries: Counter[str] = Counter()
        self.failed: set[str] = set()
        """Texts that did not show the fault."""
        self.made: dict[str, str] = {}
        """All texts so far, each with what it was before it got settings and paths of its own."""
        self.lanes: planning.Lanes | None = None
        """For lifted scripts."""
        self.own: planning.Lanes | None = None
        """For the program itself, where it is run again."""
        self.enough = MORE + 1
        """Runs that all miss the fault of the program hardly ever."""
        self.identity: Identity | None = None
        self.children = False
        """Whether processes of the program launch kernels, too: these run files of their own."""

    def start(self) -> Start:
        try:
            start = self._start()
        except BaseException:
            self._close(self.lanes, self.own)
            raise
        finally:
            if self.identity is not None:
                self.identity.close()
        mine, other = (self.lanes, self.own) if start.alone else (self.own, self.lanes)
        self._close(other)
        if start.lifted and not start.alone:  # in one file it has other imports, it may be
            self._close(mine)
            mine = None
        if self.identity is not None:
            self.tries["fingerprint"] += self.identity.looks
            start = replace(start, fault=self.identity.fault if start.alone else self.identity.known)
        return replace(start, tries=self.tries, lanes=mine)

    def in_one_file(self, start: Start, oracle: Oracle) -> Start:
        """The user's program, of which a launch was lifted that would not do, with its modules."""
        self.enough = FURTHER + 1
        try:
            return self._bundled(start, oracle)
        finally:
            self._close(self.own)

    @staticmethod
    def _close(*lanes: planning.Lanes | None) -> None:
        for each in lanes:
            if each is not None:
                each.close()

    def _start(self) -> Start:
        program = self.given.program
        runs = self._until(self._worth_it, program.text, FURTHER + 1, capture="launch")
        run = runs[-1]
        oracle = self._bound(run)
        if oracle is None:
            return Start(program)
        if len(runs) > 1:
            self.enough = max(self.enough, clean_runs(1 / len(runs), MISSED))
        as_it_is = Start(program, oracle, _plain(run), seen=tuple(map(_plain, runs)))
        if not _in_a_launch(run):
            why = "".join(f"not lifted: {obstacle}" for obstacle in lift.obstacles(run)[:1])
            return self._bundled(replace(as_it_is, told=why), oracle)
        self.children = bool((run.captured or {}).get("children"))
        self.identity = self._identity(oracle, run)
        offers = self._offers(run)
        if found := self._first([each.text for each in offers], oracle, run):
            text, seen = found
            return self._lifted(as_it_is, text, seen, _named(run, offers, self.made[text]))
        again = self._with_values(oracle)
        if self._shows(oracle, again):
            offers = self._offers(again)
            lists = lift.histories(again)
            # What needs no file beside it is worth more than one launch that needs a file.
            for beside in (False, True):
                texts = [each.text for each in offers if bool(files(each.text)) == beside]
                if found := self._first(texts, oracle, run):
                    text, seen = found
                    told = f"{_named(again, offers, self.made[text])}, with the values that its tensors had"
                    return self._lifted(as_it_is, text, seen, told)
                if found := self._first([text for text in lists if bool(files(text)) == beside], oracle, run):
                    text, seen = found
                    told = f"no launch alone shows the fault, the list of all {len(again.launches)} does"
                    return replace(self._lifted(as_it_is, text, seen, told), history=True)
        for obstacle in lift.obstacles(again if self._shows(oracle, again) else run):
            self.say(f"a launch could not be lifted out of the program: {obstacle}")
        return self._bundled(
            replace(as_it_is, told=_lost(again, shows=self._shows(oracle, again), offers=bool(offers))), oracle
        )

    def _identity(self, oracle: Oracle, run: Run) -> Identity | None:
        """The instruments, at work on the program from now on, if its fault is one that they tell more of."""
        look, bound = self.given.look, oracle.reference if isinstance(oracle, Same) else None
        if look is None or bound is None or bound.fault.phase != "device":
            return None
        own, alone = self.given.script, self.given.alone.script
        return Identity(
            bound,
            self.given.program.text,
            _plain(run),
            look=lambda text, run: look(text, own, run),
            look_at_lifted=lambda text, run: look(text, alone, run),
        )

    def _offers(self, run: Run) -> tuple[lift.Offer, ...]:
        """The scripts to try, in order. Where several kernels are suspects, the instruments are waited for: they name
        the one."""
        several = self.identity is not None and len(lift.suspected(run)) > 1
        fault = self.identity.fault if self.identity is not None and several else None
        return lift.offers(run, fault.kernel if fault is not None else "")

    def _with_values(self, oracle: Oracle) -> Run:
        """A run of the program with what its tensors hold written down, one that shows the fault if any does."""
        text, shows = self.given.program.text, partial(self._shows, oracle)
        if self.gpu:
            [run] = self._until(shows, text, 1, capture="values", way=SERIAL)
            if run.timed_out or shows(run):
                return run  # otherwise waiting may hide it
        return self._until(shows, text, self.enough, capture="values")[-1]

    def _until(
        self, shows: Callable[[Run], bool], text: str, most: int, *, capture: str = "", way: Way = PLAIN
    ) -> list[Run]:
        """Runs of a text until one shows the fault, which is the last then. A flaky one may keep away by chance: what
        ends well is run again, up to `most` times in all, where that is cheapest. The first is a cold one."""
        self.tries[COLD] += 1
        runs, until = [self.given.cold().cold(text, capture=capture, way=way)], time.monotonic() + FURTHER_SECONDS
        while not shows(runs[-1]) and ended_well(runs[-1]) and len(runs) < most and time.monotonic() < until:
            if self.own is None:
                self.own = self.given.lanes(text)
            pool = self.own.cheapest(self.given.chosen)
            wave = min(pool.jobs, most - len(runs))
            with ThreadPoolExecutor(wave, thread_name_prefix="again") as threads:
                one = partial(pool.run, fresh=True, capture=capture, way=way)
                more = list(threads.map(one, [text] * wave))
            self.tries[COLD if pool.mode == "cold" else LANE] += wave
            runs += sorted(more, key=lambda run: (shows(run), not ended_well(run)))
        return runs

    def _worth_it(self, run: Run) -> bool:
        """Whether a run of the program shows what the user asked for, or something that may be adopted."""
        chosen = self.given.chosen
        return adopt(run) is not None if chosen is None else self._shows(chosen, run)

    def _bound(self, run: Run) -> Oracle | None:
        """The oracle bound to the fault that this run shows; None if it shows none."""
        if not self._worth_it(run):
            return None
        asked = self.given.chosen or self.given.adopting(run)
        return asked.calibrated(run) if self._shows(asked, run) else None

    def _shows(self, oracle: Oracle, run: Run) -> bool:
        return whole(oracle, self.given.program.text, self.given.script.path.name, lambda _: run).faults

    def _lifted(self, start: Start, text: str, seen: tuple[Run, ...], told: str) -> Start:
        program = start.program.with_text(text)
        if not (program.size < start.program.size or self._stands_on_more(start.program)):
            return replace(start, told=f"not lifted: {told}, but is no smaller than the program")
        # Of a command nobody counted all that it runs; its driver has a few lines.
        sizes = f"{lines(text)} lines" if self.given.command else f"{lines(start.program.text)} lines to {lines(text)}"
        if len(start.seen) > 1:
            sizes += "; the program itself shows it in some runs only"
        return replace(start, program=program, lifted=True, alone=True, seen=seen, told=f"lifted: {told}, {sizes}")

    def _bundled(self, start: Start, oracle: Oracle) -> Start:
        """The program as it is, but in one file with the modules of its own: only what is in there is reduced."""
        path, text, roots = self.given.script.path, self.given.program.text, self._roots()
        if self.given.command is not None:  # its driver imports nothing by a statement
            plain = plain_script(self.given.command)
            if plain is None:
                return start
            text, roots = plain.text, list(plain.roots)
        try:
            one = bundle(path, text, roots=roots, cwd=self.given.script.cwd)
        except Exception as error:  # the program can be reduced all the same
            self.say(f"its modules could not be merged into one file: {type(error).__name__}: {error}")
            return start
        for obstacle in one.obstacles:
            self.say(f"it needs a module beside it: {obstacle}")
        if not one.modules and self.given.command is None:
            return start

        def shows(run: Run) -> bool:
            return whole(oracle, one.text, path.name, lambda _: run).faults

        runs = self._until(shows, one.text, self.enough)
        if not shows(runs[-1]):
            self.say(f"in one file with its modules ({_listed(one.modules)}) the program does not show the fault")
            return start
        data = f"; it reads {', '.join(map(str, one.data))}" if one.data else ""
        told = f"{start.told}; " if start.told else ""
        many = "1 module" if len(one.modules) == 1 else f"{len(one.modules)} modules"
        told += f"in one file with {many} of its own ({_listed(one.modules)}){data}"
        return replace(start, program=start.program.with_text(one.text), lifted=True, seen=tuple(runs), told=told)

    def _roots(self) -> list[Path]:
        """Where the modules of its own are: beside it, and what the user put on the path below the working folder."""
        named = self.given.setup.environment.get("PYTHONPATH", "").split(os.pathsep)
        own = [Path(name) for name in named if name and Path(name).absolute().is_relative_to(self.given.script.cwd)]
        return [self.given.script.path.parent, *own]

    def _stands_on_more(self, program: Program) -> bool:
        """Whether the program is more than its text: a command, other modules or processes, a compiler that writes its
        kernels."""
        text = program.text
        if self.given.command or "torch.compile" in text or self.children:
            return True
        return any(name.split(".")[0] not in LIBRARIES for name in _imported(text))

    def _first(self, texts: Iterable[str], oracle: Oracle, run: Run) -> tuple[str, tuple[Run, ...]] | None:
        """The first text in order that shows the fault, and its runs. As many at a time as there are jobs; the very
        first is the likeliest, and is run as often at once as calibration would."""
        environment = preamble.read(self.given.program.text).environment
        values = Path(self.given.setup.scratch).parent / "values"
        self.made.update({kept(_setting(environment, text), values): text for text in texts})
        waiting = [text for text in self.made if text not in self.failed]
        if not waiting:
            return None
        if self.lanes is None:
            self.lanes = self.given.alone.lanes(waiting[0])
        pool = self.given.alone.cold()
        if self.given.timeout is None:
            pool.seconds = max(PATIENT, run.seconds)
        name = self.given.script.path.name

        def judged(text: str) -> tuple[bool, Run | None]:
            seen: list[Run] = []

            def once(source: str) -> Run:
                beside = self.identity is not None and self.identity.pending
                run = pool.run(source, fresh=True)
                if beside and self.identity is not None and speech.shortage(run):
                    self.identity.fault  # noqa: B018  it is the program that holds the memory: wait for its end
                    run = pool.run(source, fresh=True)
                seen.append(run)
                return run

            return whole(oracle, text, name, once).faults, seen[0] if seen else None

        first = [waiting[0]] * (3 if self.gpu and self.given.jobs >= 3 else 1)
        waves = [first + waiting[1 : max(1, self.given.jobs - len(first) + 1)]]
        rest = waiting[len(waves[0]) - len(first) + 1 :]
        waves += [rest[at : at + self.given.jobs] for at in range(0, len(rest), self.given.jobs)]
        with ThreadPoolExecutor(self.given.jobs, thread_name_prefix="lifting") as threads:
            for wave in waves:
                self.tries[COLD] += len(wave)
                answers = list(threads.map(judged, wave))
                for text in dict.fromkeys(wave):
                    mine = [answer for each, answer in zip(wave, answers) if each == text]
                    shown = [run for faults, run in mine if faults]
                    if shown and not self._slips(text, shown[0]):
                        return text, tuple(run for _, run in mine if run)
                    self.failed.add(text)
        return None

    def _slips(self, text: str, run: Run | None) -> bool:
        """Whether the instruments see another fault in a lifted script that shows, in words, the program's."""
        if self.identity is None or run is None:
            return False
        slip = self.identity.slip(text, run)
        if slip:
            self.say(f"a lifted launch was not taken, since its fault is another one: {slip}")
        return bool(slip)


def _plain(run: Run) -> Run:
    return replace(run, captured=None)


def _in_a_launch(run: Run) -> bool:
    """Whether the fault may be one of a launch or of a kernel's compilation, and not the host program's own."""
    if not run.captured or not (run.captured["launches"] or run.captured.get("obstacles")):
        return False
    fault = Fault.of(run)
    if fault is None or fault.phase in OWN_WORDS or run.signal is not None:
        return True
    return run.failure is not None and "/triton/" in run.failure.traceback


def _setting(environment: Sequence[tuple[str, str]], text: str) -> str:
    """The text, with what the program sets in its environment before its imports: Triton and torch may read it."""
    settings = "".join(f"os.environ[{name!r}] = {value!r}\n" for name, value in environment)
    return f"import os\n\n{settings}\n{text}" if settings else text


def _listed(modules: Sequence[str]) -> str:
    return ", ".join(modules) or "none"


def _imported(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else node.module or "")
    return found


def _named(run: Run, offers: Sequence[lift.Offer], text: str) -> str:
    offer = next(each for each in offers if each.text == text)
    launches, kernel = len(run.launches), f"{offer.kernel}, of a CUDA graph" if offer.graph else offer.kernel
    if offer.launch is None:
        return f"the launch of {kernel} alone shows the fault"
    return f"launch {offer.launch + 1} of {max(launches, offer.launch + 1)} ({kernel}) alone shows the fault"


def _lost(again: Run, *, shows: bool, offers: bool) -> str:
    """Why nothing that was lifted shows the fault, as far as can be told. `again`: the run with values written down."""
    if not offers:
        return "not lifted: no launch of it can be written down as a script"
    if not shows:
        return (
            "not lifted: the faulty launch alone does not show the fault, and with what its tensors hold written down "
            "the program does not show it either: the timing is believed to matter"
        )
    tried = "not lifted: neither a launch alone, with the values it had, nor the list of all launches shows the fault"
    if properties := losses.lost(again):
        return f"{tried}; believed lost is {'; '.join(properties)}"
    return f"{tried}: timing, or what the host does between the launches, is believed to matter"
