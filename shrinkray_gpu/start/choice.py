"""The choice: a launch alone, the list of all launches, the program in one file, or the program as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from shrinkray_gpu import calibration, lift
from shrinkray_gpu.calibration.missed import FURTHER
from shrinkray_gpu.device import error_table, sanitizer_records
from shrinkray_gpu.errors import if_it_helps
from shrinkray_gpu.judging.lane_tier import PLENTY
from shrinkray_gpu.lift.data_files import files
from shrinkray_gpu.lift.emit import LIBRARIES
from shrinkray_gpu.oracle import Fault, Oracle, speech
from shrinkray_gpu.oracle.carried import ChildFault
from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.of_lifted import OriginalFingerprint
from shrinkray_gpu.start.capture_runs import Runs, plain
from shrinkray_gpu.start.description import failure_description, lifted_description, memory_obstacle
from shrinkray_gpu.start.given import Say, Start, UserProgram
from shrinkray_gpu.start.lifted_scripts import LiftedScripts, ahead, lifted_prelude
from shrinkray_gpu.start.one_file import in_one_file
from shrinkray_gpu.start.refused_slice import is_of_child, made_constants
from shrinkray_gpu.start.virtual_run import virtual_pool, virtually
from shrinkray_gpu.start.whole_program import WholeProgram

Dumped = Callable[[], Fault | None]
MISSED = 0.01
"""Of a fault that did not show at once, so many runs that they all miss it no more often than this."""
OWN_WORDS = frozenset({"device", "compile", "launch"})
"""Phases of faults that a kernel has; any other is Python's, unless Triton was at work then."""


class StartSearch:
    """What it takes to find out what to begin with."""

    def __init__(self, given: UserProgram, say: Say) -> None:
        self.say = say
        self.runs = Runs(given, say)
        self.program = WholeProgram(self.runs, say)
        self.trying: LiftedScripts | None = None
        self.ahead: calibration.LaneSet | None = None
        """Workers for lifted scripts, until `trying` has them."""
        self.expecting = False
        """Whether those of other ways come up as well."""

    @property
    def given(self) -> UserProgram:
        """The program, and how it is run by now."""
        return self.runs.given

    def start(self) -> Start:
        try:
            start = self._start()
        except BaseException:
            self.runs.close()
            self._close_lanes()
            raise
        finally:
            if self.trying is not None and self.trying.identity is not None:
                self.trying.identity.close()
        lanes = self.runs.lanes_for(start.program.text)
        if self.trying is not None and start.alone:
            lanes = self.trying.lanes
        else:
            self._close_lanes()
        if self.trying is None:
            return replace(start, tries=self.runs.tries, lanes=lanes)
        if (identity := self.trying.identity) is not None:
            self.runs.tries["fingerprint"] += identity.looks
            start = replace(start, fault=identity.fault if start.alone else identity.fault_so_far)
        return replace(start, tries=self.runs.tries, lanes=lanes)

    def _close_lanes(self) -> None:
        """The workers for lifted scripts are not wanted, or not now."""
        lanes = self.ahead if self.trying is None else self.trying.lanes
        self.ahead = None
        if lanes is not None:
            lanes.close()

    def _first_runs(self) -> tuple[list[Run], Dumped | None, bool]:
        """The first runs of the program, the last of which shows its fault if any does; what reads the core dump of
        that one or of one before it, a second of a debugger; and whether they were as a user's."""
        text, worth_it, dumped = self.given.program.text, self.runs.worth_it, None
        if (dumping := self.given.on_the_way()) is not None:
            [run] = self.runs.until(worth_it, text, 1, capture="launch", way=dumping.way)
            self._expect(run)
            dumped = partial(dumping.fault, text, self.given.script, run)
            # While a dump is made of a short kernel, a wait for the GPU ends well, and the script may, too: such a run
            # does not tell how the fault shows to its user.
            if worth_it(run) and any(error_table.sticky_in(each.text) for each in speech.failure_words(run)):
                return [run], dumped, False
        runs = self.runs.until(worth_it, text, FURTHER + 1, capture="launch")
        self._expect(runs[-1])
        return runs, dumped, True

    def _expect(self, run: Run) -> None:
        """Have the workers of other ways come up beside what follows: they take as long as a cold process, and what
        waits for them would wait beside the first candidates. Not where the program needs the memory of their lanes."""
        fault, lanes = Fault.of(run), self.ahead
        if self.expecting or lanes is None or lanes.warm is None or run.peak > PLENTY:
            return
        if fault is None or fault.phase != "device":
            return
        self.expecting = True
        text = lifted_prelude(self.given.program)
        for way in self.given.ways:
            lanes.starter.submit(lanes.warm.start, text, lanes=1, way=way)  # the search waits for one of these

    def _start(self) -> Start:
        program = self.given.program
        self.ahead = ahead(self.given)
        runs, dumped, as_users_do = self._first_runs()
        if self.ahead is not None and speech.shortage(runs[-1]):
            self._close_lanes()  # theirs is half a GB each
            runs, dumped, as_users_do = self._first_runs()
        run = runs[-1]
        if run.gpus > 1:  # theirs see one
            self._close_lanes()
        oracle = self.runs.calibrated_oracle(run)
        if oracle is None:
            # One that tells nothing is made again without the capture, whose bug that may be.
            return Start(program, seen=tuple(plain(each) for each in runs if as_users_do and not each.trouble))
        if len(runs) > 1:
            self.runs.enough = max(self.runs.enough, clean_runs(1 / len(runs), MISSED))
        as_it_is = Start(program, oracle, plain(run), seen=tuple(map(plain, runs)) if as_users_do else ())
        self.say("lifting the launch that faults ...")

        def whole(find: Callable[[], Start | None]) -> Start | None:
            return if_it_helps(find, None, "looking for what the host makes", self.say)

        if not in_a_launch(run):
            found = whole(lambda: self.program.keeping_what_kernels_make(as_it_is, oracle, run))
            if found:
                return found
            why = "".join(f"not lifted: {obstacle}" for obstacle in lift.obstacles(run)[:1])
            as_it_is = replace(as_it_is, told=why)
            if isinstance(oracle, SameFaultOracle) and oracle.may_compare(run, program.text):
                test, asked, shown = self.program.as_failing_test(as_it_is, oracle, run)
                case = self.program.with_failing_case(test, asked, shown)[0]
                return whole(lambda: self.program.keeping_what_it_counts(case, asked)) or case
            return in_one_file(as_it_is, oracle, self.runs, self.say)

        found = whole(lambda: self.program.keeping_what_is_refused(as_it_is, oracle, run))
        found = found or whole(lambda: self.program.keeping_what_is_chosen(as_it_is, oracle, run))
        if found is None and not self.runs.gpu:
            found = whole(lambda: self.program.keeping_what_host_makes(as_it_is, oracle, self.program.cold(), run))
        if found is not None:
            return found
        pool = virtual_pool(self.given) if self.runs.gpu else None
        fault = Fault.of(run)
        if pool is None or not (run.records or fault is not None and fault.phase == "device"):
            return self._lifting(as_it_is, oracle, run, dumped)
        with ThreadPoolExecutor(1, thread_name_prefix="virtual") as beside:
            virtual = beside.submit(virtually, pool, oracle, program.text)
            lifted = self._lifting(as_it_is, oracle, run, dumped)
            pool, seen = virtual.result()
            found = whole(lambda: self.program.keeping_what_host_makes(as_it_is, oracle, pool, seen))
        identity = self.trying.identity if self.trying is not None else None
        causes = LaunchCauses.of(seen) if oracle.judge(seen).faults else None
        by_itself = causes is not None and not causes.may_be_made_by_host
        if found is None and lifted.alone and not by_itself and identity is not None and identity.fault is not None:
            kernel = identity.fault.kernel
            found = whole(lambda: self.program.keeping_what_other_kernels_make(as_it_is, oracle, run, kernel))
        return found or lifted

    def _lifting(self, as_it_is: Start, oracle: Oracle, run: Run, dumped: Dumped | None) -> Start:
        """A launch alone, the list of all launches, or the program in one file: the first that shows the fault."""
        children = bool(run.captured and run.captured.get("children"))
        identity = _identity(self.given, oracle, run, dumped)
        trying = self.trying = LiftedScripts(
            self.given, self.runs.tries, self.say, gpu=self.runs.gpu, identity=identity, lanes=self.ahead
        )
        # Where lanes are up, to try all suspects takes less than the instruments do.
        offers = _offers(run, None if self.ahead and self.ahead.up(oracle) else identity)
        # No evaluator holds what is made up against the program on a GPU, and the instruments see where it faults.
        fault = Fault.of(run)
        held = self.runs.gpu and fault is not None and fault.phase == "device"
        offers = tuple(each for each in offers if not (held and (each.decided or each.pointers)))
        if (asked := _carried(self.given, oracle)) is not None:
            if found := trying.first([each.text for each in offers], asked, run):
                text, seen = found
                shown = next(each for each in seen if asked.judge(each).faults)
                bound = (self.given.chosen or self.given.adopting(shown)).calibrate(shown)
                as_child = replace(as_it_is, oracle=bound, reference=plain(shown))
                told = f"{lifted_description(run, offers, trying.made[text])}, of which a process of the program died"
                return self._lifted(as_child, text, seen, told, run, children=True)
            trying.failed.clear()
        if found := trying.first([each.text for each in offers], oracle, run):
            text, seen = found
            told = lifted_description(run, offers, trying.made[text])
            return self._lifted(as_it_is, text, seen, told, run, children=children)
        again, obstacle = self.runs.with_values(oracle), ""
        if self.runs.shows(oracle, again):
            every = _offers(again, identity, exact=held)
            offers = tuple(each for each in every if not (held and (each.made_before or each.pointers)))
            obstacle = memory_obstacle(every) if held else ""
            lists: tuple[str, ...] = ()
            if not (held and lift.list_takes_pointers(again)):
                lists = if_it_helps(lambda: lift.histories(again), lists, "writing the list of launches", self.say)
            # What needs no file beside it is worth more than one launch that needs a file.
            for beside in (False, True):
                texts = [each.text for each in offers if bool(files(each.text)) == beside]
                if found := trying.first(texts, oracle, run):
                    text, seen = found
                    told = (
                        f"{lifted_description(again, offers, trying.made[text])}, with the values that its tensors had"
                    )
                    return self._lifted(as_it_is, text, seen, told, run, children=children)
                if found := trying.first([text for text in lists if bool(files(text)) == beside], oracle, run):
                    text, seen = found
                    told = f"no launch alone shows the fault, the list of all {len(again.launches)} does"
                    if obstacle:
                        told = f"the list of all {len(again.launches)} launches shows the fault; {obstacle}"
                    lifted = self._lifted(as_it_is, text, seen, told, run, children=children)
                    return replace(lifted, history=True)
        for why in lift.obstacles(again if self.runs.shows(oracle, again) else run):
            self.say(f"a launch could not be lifted out of the program: {why}")
        told = failure_description(again, shows=self.runs.shows(oracle, again), offers=bool(offers))
        told = f"not lifted: {obstacle}" if obstacle else told
        return in_one_file(replace(as_it_is, told=told), oracle, self.runs, self.say)

    def _lifted(self, start: Start, text: str, seen: tuple[Run, ...], told: str, run: Run, *, children: bool) -> Start:
        program, given = start.program.with_text(text), self.given
        more = stands_on_more(start.program, given, children=children) or from_elsewhere(program, start.program)
        if not (more or program.size < start.program.size):
            return replace(start, told=f"not lifted: {told}, but is no smaller than the program")
        # Of a command nobody counted all that it runs; its driver has a few lines.
        sizes = f"{lines(text)} lines" if given.command else f"{lines(start.program.text)} lines to {lines(text)}"
        if len(start.seen) > 1:
            sizes += "; the program itself shows it in some runs only"
        if is_of_child(run) and (made := made_constants(start.program.text, run)):
            sizes += f". The program computes {', '.join(made)}, and the mistake may be there; the script has the value"
        return replace(start, program=program, lifted=True, alone=True, seen=seen, told=f"lifted: {told}, {sizes}")


def _carried(given: UserProgram, oracle: Oracle) -> ChildFault | None:
    """The question to a launch of a child's, where the program died of what its child did."""
    bound = oracle.reference if isinstance(oracle, SameFaultOracle) else None
    if bound is None or not bound.fault.child:
        return None
    inner = given.chosen.inner if isinstance(given.chosen, SameFaultOracle) else given.chosen
    return ChildFault(spec=oracle.spec, inner=inner, child=bound.fault.child)


def _identity(given: UserProgram, oracle: Oracle, run: Run, seen: Dumped | None) -> OriginalFingerprint | None:
    """The instruments, at work on the program from now on, if its fault is one that they tell more of. `seen` tells
    what they saw in that run."""
    look, bound = given.look, oracle.reference if isinstance(oracle, SameFaultOracle) else None
    if look is None or bound is None or bound.fault.phase != "device":
        return None
    own, alone = given.script, given.alone.script
    return OriginalFingerprint(
        bound,
        given.program.text,
        plain(run),
        look=lambda text, run: look(text, own, run),
        look_at_lifted=lambda text, run: look(text, alone, run),
        seen=seen or (lambda: None),
    )


def _offers(run: Run, identity: OriginalFingerprint | None, *, exact: bool = False) -> tuple[lift.Offer, ...]:
    """The scripts to try, in order: first the launches of the kernels that the sanitizer names, if it was there. Where
    several kernels are suspects, the instruments are waited for: they name the one."""
    if recorded := sanitizer_records.kernels(run.records):
        return tuple(offer for kernel in recorded for offer in lift.offers(run, kernel, exact=exact))
    several = len(lift.suspect_kernels(run)) > 1
    fault = identity.fault if identity is not None and several else None
    return lift.offers(run, fault.kernel if fault is not None else _broken_kernel(run), exact=exact)


def _broken_kernel(run: Run) -> str:
    """The last one that failed in a run that ends well, else the first that breaks a rule of which no device tells;
    empty where there is none."""
    broken = [launch.kernel for launch in run.launches if launch.fault][:1]
    broken += [launch.kernel for launch in run.launches if launch.failure]
    broken += [compile.kernel for compile in run.compiles if compile.failure is not None]
    return broken[-1] if broken and Fault.of(run) is None else ""


def stands_on_more(program: Program, given: UserProgram, *, children: bool) -> bool:
    """Whether the program is more than its text: a command, other modules or processes, a compiler that writes its
    kernels. `children`: its processes launch kernels, too; these run files of their own."""
    text = program.text
    if given.command or "torch.compile" in text or children:
        return True
    return bool(modules_of_its_own(text))


def modules_of_its_own(text: str) -> tuple[str, ...]:
    """What it imports beside the libraries of a lifted script, as it is written there; `.` is a module beside it."""
    return tuple(sorted(name for name in _imported(text) if name.split(".")[0] not in LIBRARIES))


def from_elsewhere(lifted: Program, program: Program) -> bool:
    """Whether a function of the lifted script is none of the program's text: however that came by it
    (`importlib.import_module`, a file that it wrote), the program is nothing without it."""
    return not _defined(lifted.text) <= _defined(program.text)


def _defined(text: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


def in_a_launch(run: Run) -> bool:
    """Whether the fault may be one of a launch or of a kernel's compilation, and not the host program's own."""
    if not run.captured or not run.captured["launches"]:
        return False
    if run.records:
        return True
    fault = Fault.of(run)
    if fault is None or fault.phase in OWN_WORDS or run.signal is not None or fault.child:
        return True
    return run.failure is not None and "/triton/" in run.failure.traceback


def _imported(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else node.module or "")
    return found
