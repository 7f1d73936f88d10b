"""The program itself in the place of a launch: where the mistake is made before that, lifted it would be gone.

What it hangs on is marked `# shrink: keep`, and stays.
"""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from shrinkray_gpu.calibration.missed import kernels_ran
from shrinkray_gpu.command.written_tests import failed_methods, written_tests
from shrinkray_gpu.evidence.instruments.instrument import WANTS
from shrinkray_gpu.judging.tally import COLD
from shrinkray_gpu.lift.other_sizes import with_other_sizes
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.oracle.cause_check import LaunchCauses, faulting_launch
from shrinkray_gpu.oracle.failed_check import is_of_values
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.oracle.words import weakness
from shrinkray_gpu.runner.inside.compare.comparison import BLAME
from shrinkray_gpu.runner.inside.knobs.arguments import OTHER_NUMBERS, OTHER_TYPE, USUAL_TYPE
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.controls import RESULTS
from shrinkray_gpu.same_fault.result_controls import inputs_zeroed
from shrinkray_gpu.start.argument_slice import MARK, function, with_helion_launches
from shrinkray_gpu.start.behind_fault import is_awaited
from shrinkray_gpu.start.capture_runs import Runs
from shrinkray_gpu.start.failing_case import FailingCase, launches_some
from shrinkray_gpu.start.given import Say, Start, UserProgram
from shrinkray_gpu.start.host_counts import with_counts_kept
from shrinkray_gpu.start.host_slice import made_by_host, with_slice_kept, with_waits
from shrinkray_gpu.start.one_file import in_one_file
from shrinkray_gpu.start.option_slice import with_options_kept
from shrinkray_gpu.start.refused_slice import (
    is_of_child,
    left_out,
    made_constants,
    not_stated,
    passed_types,
    with_refused_kept,
)
from shrinkray_gpu.start.results_slice import with_inputs_kept, with_results_kept

TOGETHER = "apart=0"
"""The setting with which the two sides of a check are equal."""


class WholeProgram:
    """Asks whether it is to be reduced itself. `runs`: those of the program. Each method returns what to begin with, or
    None where a launch will do, or nobody knows."""

    def __init__(self, runs: Runs, say: Say) -> None:
        self.runs, self.say = runs, say

    @property
    def given(self) -> UserProgram:
        return self.runs.given

    def cold(self) -> Pool:
        """Processes of their own. How one begins does not matter here, where the fault was seen to show."""
        return self.given.cold().forking()

    def as_failing_test(self, start: Start, oracle: Oracle, run: Run) -> tuple[Start, Oracle, Run]:
        """Of unittest's tests the first failed one that shows what was asked for, as a script that calls it, with an
        oracle and a run of its own; else the same again. `run`: one of the program."""
        given, asked = self.given, self.given.chosen
        if asked is None or given.command is not None:
            return start, oracle, run
        nodes = failed_methods(run.stderr)
        for text in filter(None, (written_tests(start.program.text, [node]) for node in nodes)):
            shows = partial(self.runs.shows, asked)
            seen = self.runs.until(shows, text, 1, capture="launch")[-1]
            if shows(seen) and launches_some(seen, run):
                program = start.program.with_text(text)
                self.runs.given = replace(given, program=program)
                bound, told = asked.calibrate(seen), "the test that fails, without unittest"
                reference = replace(seen, captured=None)
                whole = replace(start, program=program, oracle=bound, reference=reference, seen=(reference,))
                return replace(whole, lifted=True, told=told), bound, seen
        return start, oracle, run

    def with_failing_case(self, start: Start, oracle: Oracle, run: Run, pool: Pool | None = None) -> tuple[Start, Run]:
        """The program in one file, of its test loops the case that fails, and a run that shows its fault. `run`: one of
        the program as it was; `pool`: where that was, if not where the program is run."""
        whole = in_one_file(start, oracle, self.runs, self.say)
        pool, shows = pool or self.cold(), partial(self.runs.shows, oracle)
        wants = WANTS if self.given.look is not None and self.given.setup.arch is not None else ()

        def of_text(text: str) -> Run:
            self.runs.tries[COLD] += 1
            return pool.cold(text, capture="launch", wants=wants)

        typed = bool(self.given.script.argv or self.given.command)
        waits = is_awaited(ast.parse(whole.program.text), run)
        found = FailingCase(run, of_text, shows).of(whole.program, typed=typed) if not waits else None
        if found is None:
            return whole, run
        program, again = found
        told = f"{whole.told}; without the cases and options that it does not need" if whole.told else ""
        return replace(whole, program=program, lifted=True, told=told, seen=(replace(again, captured=None),)), again

    def keeping_what_host_makes(self, start: Start, oracle: Oracle, pool: Pool, seen: Run) -> Start | None:
        """Where it makes what goes wrong in the launch of a kernel of its own. `seen`: its run on
        the virtual GPU, which `pool` has."""
        if not isinstance(oracle, SameFaultOracle) or not oracle.judge(seen).faults:
            return None
        causes, launch = LaunchCauses.of(seen), faulting_launch(seen)
        made = made_by_host(causes, start.program.text)
        if causes is None or launch is None or not made or causes.of_size_alone and launch.generated:
            return None
        told = f"not lifted: what goes wrong is made before the launch: {made}"
        whole, seen = self.with_failing_case(replace(start, told=told), oracle, seen, pool if self.runs.gpu else None)
        every = whole.program.text
        tree = with_helion_launches(ast.parse(every), launch.kernel)
        if function(tree, launch.kernel) is None or not made_by_host(causes, every):
            return None
        marked = with_slice_kept(every, seen)
        text = with_waits(every, seen)
        waited = pool.cold(text)
        less = with_slice_kept(text, waited) if oracle.judge(waited).faults else ""
        # Of a print that waits for the device only the call stays: then what waits by itself is what shows the fault.
        texts = sorted(filter(None, (less, marked)), key=lambda each: each.count(MARK))
        runs = ((each, pool.cold(each)) for each in texts)
        marked, again = next(((each, run) for each, run in runs if oracle.judge(run).faults), (marked, seen))
        causes = LaunchCauses.of(again)
        if causes is None or again is seen:
            return None
        kept = replace(causes, kept=True)
        if kept.difference(seen):  # another run has other values
            first = replace(causes.causes[0], source="", operands=(), shape=(), reach=0)
            kept = replace(kept, causes=(first, *causes.causes[1:]))
        program = whole.program.with_text(marked)
        return replace(whole, program=program, lifted=True, oracle=oracle.keeping(kept))

    def keeping_what_kernels_make(self, start: Start, oracle: Oracle, run: Run) -> Start | None:
        """Where its kernels decide whether a statement of Python's fails: it does not, or not in these words and
        numbers, where what they write holds zeros."""
        fault = Fault.of(run)
        if fault is None or fault.phase != "python" or not isinstance(oracle, SameFaultOracle) or oracle.comparison:
            return None
        # The sides of a check of the program's own are held by themselves.
        checked = run.failure is None or bool(weakness(run.failure))
        if checked and self._is_compared(start.program.text, run):
            return None
        unseen = not with_results_kept(start.program.text, run)
        if unseen and (checked or not with_results_kept(start.program.text, run, whole=True)):
            return None
        told = "not lifted: what fails hangs on what its kernels compute"
        whole, shown = self.with_failing_case(replace(start, told=told), oracle, run)
        text, pool = whole.program.text, self.cold()
        if shown is run and text != start.program.text:
            shown = pool.cold(text)
        marked = with_results_kept(text, shown, whole=unseen) if oracle.judge(shown).faults else ""
        zeroed = pool.cold(text, way=parse_setting(RESULTS)) if marked else None
        if zeroed is None or zeroed.trouble or zeroed.timed_out or not zeroed.turned.get(RESULTS):
            return None
        if oracle.judge(zeroed).faults and not self._tells_results(shown, zeroed, text):
            return None
        if not self.runs.shows(oracle, pool.cold(marked)):
            return None
        return replace(whole, program=whole.program.with_text(marked), lifted=True)

    def _is_compared(self, text: str, run: Run) -> bool:
        """Whether what fails is a check that is seen, of what a launch wrote: it passes where its two sides are brought
        together, or says itself that it is of values, and has one side. Then each candidate is held against its sides,
        against what the launch is given, and what its kernel makes of other values."""
        together = self.cold().cold(text, way=parse_setting(TOGETHER), wants=(BLAME,))
        if ends_well(together):
            return any(together.turned.values())
        seen = together.comparison
        return seen is not None and seen.alone and bool(seen.kernels) and not seen.trouble and is_of_values(run)

    def keeping_what_it_counts(self, start: Start, oracle: Oracle) -> Start | None:
        """Where a check of values fails by how often a loop of the host goes round, or how large a grid is: with
        another number it passes."""
        pool = self.cold()
        with ThreadPoolExecutor(self.given.limits.jobs, thread_name_prefix="counts") as threads:
            marked = with_counts_kept(
                start.program.text, lambda texts: [*map(passes_its_check, threads.map(pool.cold, texts))]
            )
        if not marked or not self.runs.shows(oracle, pool.cold(marked)):
            return None
        told = "how often the host does something is or may be why its check fails, and what computes that stays"
        return replace(start, program=start.program.with_text(marked), lifted=True, told=told)

    def _tells_results(self, shown: Run, zeroed: Run, text: str) -> bool:
        """Whether an error's text is another with zeros, and is the same each time without them. One of a check says
        how far its sides are apart: that is held by what is compared."""
        first, other = shown.failure, zeroed.failure
        if first is None or other is None or first.text == other.text or weakness(first):
            return False
        again = self.cold().cold(text).failure
        return again is not None and again.text == first.text

    def keeping_what_other_kernels_make(self, start: Start, oracle: Oracle, run: Run, kernel: str) -> Start | None:
        """Where the launch of this kernel faults by what other kernels wrote: it does not where that holds zeros.
        `run`: one of the program."""
        if not with_inputs_kept(start.program.text, run, kernel):
            return None
        pool = self.cold()
        zeroed = pool.cold(start.program.text, way=inputs_zeroed(kernel))
        if not ends_well(zeroed):
            return None
        told = f"not lifted: what goes wrong in {kernel} hangs on what other kernels write"
        whole, run = self.with_failing_case(replace(start, told=told), oracle, run)
        marked = with_inputs_kept(whole.program.text, run, kernel)
        if not marked or not self.runs.shows(oracle, pool.cold(marked)):
            return None
        return replace(whole, program=whole.program.with_text(marked), lifted=True)

    def keeping_what_is_chosen(self, start: Start, oracle: Oracle, run: Run) -> Start | None:
        """Where a launch is out of resources by what that chooses for it."""
        if not with_options_kept(start.program.text, run):
            return None
        told = "not lifted: the host chooses what the launch has no resources for"
        whole, run = self.with_failing_case(replace(start, told=told), oracle, run)
        marked = with_options_kept(whole.program.text, run)
        if not marked or not self.runs.shows(oracle, self.cold().cold(marked)):
            return None
        return replace(whole, program=whole.program.with_text(marked), lifted=True)

    def keeping_what_is_refused(self, start: Start, oracle: Oracle, run: Run) -> Start | None:
        """Where Triton's front end refuses what that computes for a kernel of its own. It is asked with other numbers
        first: refused alike, it does not hang on these. Nobody turns these in a process of the program's own."""
        text = start.program.text
        if is_of_child(run):
            return None
        wanted = [*self._refused_for_number(text, oracle, run), *self._refused_for_type(text, oracle, run)]
        wanted = list(dict.fromkeys([*wanted, *left_out(text, run)]))
        if not with_refused_kept(text, run, wanted):
            return None
        told = "not lifted: what the compiler refuses hangs on what the host computes"
        whole, run = self.with_failing_case(replace(start, told=told), oracle, run)
        marked = with_refused_kept(whole.program.text, run, wanted)
        if not marked or not self.runs.shows(oracle, self.cold().cold(marked)):
            return None
        return replace(whole, program=whole.program.with_text(marked), lifted=True)

    def _refused_for_number(self, text: str, oracle: Oracle, run: Run) -> list[str]:
        """The kernel's constants that the refusal hangs on, where the host computes one of them: with another number
        the kernel is not refused, or in other words; so where two of them must agree. Nobody knows that of what is no
        number."""
        wanted = made_constants(text, run)
        if wanted and (other := with_other_sizes(run)) is not None:
            return [] if self.runs.shows(oracle, self.given.alone.cold().forking().cold(other)) else wanted
        if not wanted:
            return []
        way = KnobSetting(OTHER_NUMBERS, knobs={OTHER_NUMBERS: ",".join(wanted)})
        turned = self.cold().cold(text, way=way)
        is_known = not (turned.trouble or turned.timed_out) and oracle.judge(turned).faults
        return [] if is_known and not turned.turned.get(OTHER_NUMBERS) else wanted

    def _refused_for_type(self, text: str, oracle: Oracle, run: Run) -> list[str]:
        """The kernel's tensors whose type the host does not state, and of another type the kernel compiles."""
        types, pool, found = passed_types(run), self.cold(), []
        for name in not_stated(text, run):
            knob = OTHER_TYPE if types.get(name) in ("float32", "int32") else USUAL_TYPE
            if name not in types:
                continue
            other = pool.cold(text, way=parse_setting(f"{knob}={name}"))
            known = not (other.trouble or other.timed_out) and other.turned.get(knob)
            if known and not oracle.judge(other).faults:
                found.append(name)
        return found


def passes_its_check(run: Run) -> bool:
    """Whether the program passes its check. On the virtual GPU a launch that breaks a rule is not run, as one with a
    larger grid does that leaves its tensors: of what it would write nothing is known, and any check passes."""
    followed = not run.virtual or kernels_ran(run) and not any(launch.fault for launch in run.launches)
    return ends_well(run) and followed


def ends_well(run: Run) -> bool:
    return not (run.trouble or run.timed_out or run.children) and Fault.of(run) is None
