"""Controls: changes that must make the fault vanish. They guard accepted steps, and tell a maintainer the cause.

A control that makes the original pass makes a reduced program with the same fault pass too. If the fault is still there
under it, its cause is another: the reduction slipped. The three outcomes are kept apart with care, since a control that
was never in force must not be told as one that was passed:

faults            the run under the control shows the fault, whether or not the knob found something to turn
passes            the run ended as a healthy one does, and the control was in force
not applicable    the rest: nothing to turn, another death, a time limit, a patch that does not fit any more
"""

from __future__ import annotations

import enum
import filecmp
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from shrinkray_gpu.device import error_table, toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.comparison_check import ComparisonCheck
from shrinkray_gpu.oracle.driver_error import ASSERTED, OUTSIDE, sticky_code
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.runner.inside.compare.comparison import KNOB
from shrinkray_gpu.runner.inside.gpu_target import gpu_target
from shrinkray_gpu.runner.inside.knobs.arguments import ARGUMENTS, OTHER_CONSTANT
from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.control_endings import ends_like, fails_by_design, says_again
from shrinkray_gpu.same_fault.cures import Cure, Cured, of_patch, refused_line
from shrinkray_gpu.same_fault.patch import patches as patching
from shrinkray_gpu.same_fault.patch.patches import Patch

_FLAG = re.compile(r"""(?P<quote>['"])(?P<flag>-D\w+(?:=\w+)?|--?use_fast_math|-{1,2}maxrregcount=\d+)(?P=quote)""")


_PTXAS = {"ptxas-blackwell": "TRITON_PTXAS_BLACKWELL_PATH", "ptxas": "TRITON_PTXAS_PATH"}
"""The variables that name Triton's tools, the one for sm_100 and above first."""
NOTHING_TO_TURN = "nothing there to turn"
OUTSIDE_TENSORS = "outside"
"""What a run under int64 counts beside that: 1 if an access left its tensor."""
RESULTS, INPUTS = "zeroed-outputs", "zeroed-outputs-but"
TELLING = ("int64", RESULTS, INPUTS)
"""Controls that turn what the fault itself is made of: a program where they find nothing to turn has another one."""


class ControlOutcome(enum.Enum):
    PASSES = "passes"
    FAULTS = "faults"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Control:
    """One change: a way to run the program, a patch of its text, or an edit at whichever place it fits."""

    name: str
    way: KnobSetting = PLAIN
    patch: Patch | None = None
    cure: Cure | None = None
    inside: bool = False
    """Whether the original kept inside its tensors under it: then a program whose accesses leave them has another
    fault, even where the memory beyond is mapped."""
    silent: bool = False
    """Whether without what kernels compute the original did not say again what it said, not even with other numbers:
    then a program that does so has lost the condition that led to it."""


@dataclass(frozen=True)
class ControlResult:
    """How one control fared on one program."""

    control: Control
    outcome: ControlOutcome
    why: str
    """One line, for the user and the report."""
    known: bool = True
    """False where the run itself answered nothing (a lane died, memory was short): asked again it may answer."""
    cured: Cured | None = None
    """The text that passes, where the control is an edit of it."""

    def __str__(self) -> str:
        return f"{self.control.name}: {self.outcome.value} ({self.why})"


def standard(gpu: bool, *, triton: bool = True, amd: bool = False, fault: Fault | None = None) -> tuple[Control, ...]:
    """The controls that are tried on every original. Without a GPU, those that change what is compiled. All but
    exact-allocation turn something in Triton: to be left out where there is none, see `of_cuda`.

    num_stages=1        no pipelining: no copies under way, one buffer a load
    num_warps=1         nothing to synchronise between the warps of a block. More warps would change no less of the
                        layout, and rule out no cause
    ptxas=-O0           ptxas does as it is told; not for AMD, where there is none
    no-buffer-ops       for AMD: pointers stay as the program has them
    serial              no launch beside another one: vanishing faults are races between kernels, or with the host
    exact-allocation    each tensor alone in its memory: vanishing faults read what torch's cache kept
    interpreter         no compiler at all. Last, since it is the slowest. Not for a failed assertion of a kernel: the
                        interpreter checks none (Triton 3.6 and 3.7), so that every program would pass
    """
    names = ["num_stages=1", "num_warps=1", "no-buffer-ops" if amd else "ptxas=-O0"]
    if gpu:
        names += ["serial", "exact-allocation"]
        names += [] if fault is not None and fault.code == ASSERTED else ["interpreter"]
    return tuple(
        _by_setting(knob_settings.parse_setting(name)) for name in names if triton or name == "exact-allocation"
    )


def dear_settings(gpu: bool) -> tuple[KnobSetting, ...]:
    """The ways of the standard controls that take a worker of their own."""
    return tuple(one.way for one in standard(gpu) if not one.way.cheap)


def of_access(fault: Fault) -> tuple[Control, ...]:
    """Those for an access to where nothing is mapped.

    int64               products of Triton's integers have 64 bits: vanishing faults are offsets that overflowed, and
                        not those that left their tensor. Where none overflows it has nothing to turn; where the
                        original then keeps inside its tensors, so must each step
    """
    return (_by_setting(knob_settings.parse_setting("int64")),) if fault.code in OUTSIDE else ()


def of_check(check: ComparisonCheck | None) -> tuple[Control, ...]:
    """That for a failing check of what a kernel computes.

    apart=FRACTION      the two sides are nearer to each other, by as much as lets the original pass: a program that
                        still fails holds them against less than the original does, and would fail without the bug
    """
    if check is None or not check.apart:
        return ()
    return (_by_setting(knob_settings.parse_setting(f"apart={check.apart}")),)


def of_compilers(
    needs: Needs, python: str, environment: Mapping[str, str], arch: int | None = None
) -> tuple[Control, ...]:
    """Those where two compilers are compared, for this architecture.

    num_stages=1        no pipelining, by either
    TRITON_PTXAS_PATH   the other release's ptxas for both, where that is another one: vanishing regressions are
                        ptxas's. One that stays proves little, since Triton 3.9.0 does not heed the variable for sm_90.
                        From sm_100 on it is ptxas-blackwell, where a release has that, by the variable of its own. Not
                        for AMD
    """
    if needs.elsewhere is None:
        return ()
    found = [_by_setting(knob_settings.parse_setting("num_stages=1"))]
    if arch is not None and gpu_target(arch).is_amd:
        return tuple(found)
    tools = [tool for tool in _PTXAS if tool == "ptxas" or (arch or 0) >= 100]
    ours, theirs = (
        next(filter(None, (toolkit.find(tool, each, environment) for tool in tools)), None)
        for each in (python, needs.elsewhere.python)
    )
    if ours and theirs and not filecmp.cmp(ours, theirs, shallow=False):
        settings = {_PTXAS[tool.name]: str(theirs) for tool in (theirs, ours)}
        found.append(_by_setting(KnobSetting(f"{_PTXAS[theirs.name]}={theirs}", environment=settings)))
    return tuple(found)


def of_cuda(original: Program, gpu: bool) -> tuple[Control, ...]:
    """Those for kernels of CUDA C++.

    without=FLAG        each flag of nvcc that changes the kernels: macros (`-DUSE_WMMA`), arithmetic, registers
    zeroed-shared       where kernels run: vanishing faults read shared memory that nobody had written yet
    """
    if not original.literals:
        return ()
    named = [found["flag"] for found in _FLAG.finditer(original.text)]
    names = [f"without={flag}" for flag in dict.fromkeys(named)]
    if gpu and "__shared__" in original.text:
        names.append("zeroed-shared")
    return tuple(_by_setting(knob_settings.parse_setting(name)) for name in names)


def _asked_for(flag: str, source: str) -> bool:
    """Whether leaving a flag out may change anything: it is given, and a macro is asked for by what is built."""
    macro = re.match(r"-D(\w+)", flag)
    return flag in source and (macro is None or len(re.findall(rf"\b{macro[1]}\b", source)) > 0)


def named_controls(
    names: Sequence[str], environments: Sequence[str], patches: Sequence[Path], original: Program
) -> tuple[Control, ...]:
    """The controls that the user named: `--control`, `--control-env` and `--control-patch`. Raises UsageError."""
    found = [_by_setting(knob_settings.parse_setting(name)) for name in names]
    found += [_by_setting(_environment(setting)) for setting in environments]
    path, text = original.regions[0].path, original.text
    for file in patches:
        found.append(Control(file.name, patch=patching.read(file, text, Path(path).name)))
    return tuple(dict.fromkeys(found))


def _by_setting(way: KnobSetting) -> Control:
    if way == PLAIN:
        raise UsageError(f"--control {PLAIN.name!r} changes nothing: name what makes the fault vanish, as num_stages=1")
    return Control(way.name, way)


def _environment(setting: str) -> KnobSetting:
    name, equals, value = setting.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(
            f"--control-env {setting} is no environment setting: type NAME=VALUE, as in "
            "--control-env PYTORCH_NO_CUDA_MEMORY_CACHING=1"
        )
    if name.upper() == name:
        return knob_settings.parse_setting(setting)
    return KnobSetting(setting, environment={name: value})


def refuse(tried: ControlResult) -> NoReturn:
    """Tell the user why a control that he named is none: it does not make the original pass."""
    name = tried.control.name
    if tried.outcome is ControlOutcome.FAULTS:
        said = f"under the control {name} the original still shows the fault: {tried.why}"
        then = "name a change that makes the fault vanish"
    elif not tried.known:
        said, then = f"the original under the control {name} answers nothing: {tried.why}", "try again"
    elif tried.outcome is ControlOutcome.NOT_APPLICABLE:
        said = f"the control {name} is not applicable to the original: {tried.why}"
        then = "name one that lets it run to a healthy end"
    else:
        raise ValueError(f"{name} is a control: the original passes")
    raise UsageError(f"{said}. A control must make the original pass; {then}, or leave it out")


def outcome(run: Run, verdict: Verdict, control: Control, reference: Run | None = None) -> tuple[ControlOutcome, str]:
    """What a run under a control shows, and why. `reference` is the original's plain run.

    A program may end in an error by design, or swallow errors. So to end as the reference did is as good as exit 0,
    unless that ending tells the fault; and a kernel that does not compile any more, or is not launched, is no pass,
    however well the host code ends.
    """
    if verdict.faults:
        return ControlOutcome.FAULTS, verdict.why
    if control.inside and run.turned.get(OUTSIDE_TENSORS):
        return ControlOutcome.FAULTS, "an access leaves its tensor"
    if doubt := _lame(run, verdict, control, reference):
        return ControlOutcome.NOT_APPLICABLE, doubt
    turned = sum(run.turned.get(knob, 0) for knob in control.way.knobs)
    places = f", {turned} turned" if turned else ""
    return ControlOutcome.PASSES, f"no fault, {speech.ending(run)}{places}"


def _lame(run: Run, verdict: Verdict, control: Control, reference: Run | None) -> str:
    """Why a run without the fault is no pass either; empty if it is one."""
    # Of a load from a tensor that something wrote to now, a rule may not know whether that reached it.
    known = verdict.is_known or run.timed_out or OTHER_CONSTANT in control.way.knobs
    if run.trouble or not known:
        return f"its run answers nothing: {run.trouble or verdict.why}"
    if run.timed_out:
        return f"{speech.ending(run)}: slower than the fault, or stuck"
    fault = Fault.of(run)
    # Without what kernels compute a program may well fail in other words of Python's, as the original did.
    otherwise = RESULTS in control.way.knobs and fault is not None and fault.phase == "python"
    if control.silent and says_again(run, reference):
        return f"it says so without what kernels compute: {speech.ending(run)}"
    if (fault is not None or run.children) and not otherwise and not ends_like(run, reference):
        other = "; ".join(run.children)
        code, _ = sticky_code(run)
        if code:
            other = f"the driver reports another error, {error_table.by_code(code)}"
        return f"it dies of something else: {speech.clip(other) or speech.ending(run)}"
    broken = next((compile.kernel for compile in run.compiles if compile.failure is not None), "")
    if broken and not fails_by_design(broken, reference):
        return f"kernel {broken} does not compile under it"
    unlaunched = not {"interpreter", RESULTS, INPUTS}.isdisjoint(control.way.knobs)
    if reference is not None and reference.launches and not run.launches and not unlaunched:
        return "no kernel is launched under it"
    counts = [run.turned[knob] for knob in control.way.knobs if knob in run.turned]
    # A way with an environment is in force even if nobody counts. One that is knobs alone is not.
    if control.way.knobs and not any(counts) and (counts or not control.way.environment):
        return NOTHING_TO_TURN
    return ""


class Controls:
    """Tries controls on programs. `run` runs a text in a way; `reference` is the original's plain run.

    A flaky fault stays away from some runs by chance. So `repeats` clean runs make a pass, and one sighting makes
    "faults".
    """

    def __init__(
        self, run: Callable[[str, KnobSetting], Run], oracle: Oracle, *, reference: Run | None = None, repeats: int = 1
    ) -> None:
        self.run, self.oracle, self.reference, self.repeats = run, oracle, reference, repeats
        self._refused = ("", "")  # a text, and the line of it that the front end refuses
        self._mended: dict[str, str] = {}  # by the name of a control that is an edit: the one that passed last

    def attempt(self, control: Control, source: str) -> ControlResult:
        """Run the program under the control."""

        def lame(why: str) -> ControlResult:
            return ControlResult(control, ControlOutcome.NOT_APPLICABLE, why)

        if control.cure is not None:
            return self._cured(control, control.cure, source)
        part, patched = "", None
        if control.patch is not None:
            carried = control.patch.carry(source)
            if carried.text is None:
                return lame(carried.why)
            patched = of_patch(control.name, source, carried.text)
            source, part = carried.text, "" if carried.whole else carried.why
        flag = control.way.environment.get(knob_settings.WITHOUT, "")
        if flag and not _asked_for(flag, source):
            return lame(f"nothing asks for {flag} any more")
        if not self.oracle.needs.run:
            return lame(f"{self.oracle.spec} runs the program itself")
        for _ in range(max(1, self.repeats)):
            run = self.run(source, control.way)
            verdict = self.oracle.judge(run)
            result, why = outcome(run, verdict, control, self.reference)
            if result is ControlOutcome.FAULTS and part:  # what is missing may be what mends it
                return lame(f"{part}, and with these the fault is still there")
            if result is ControlOutcome.FAULTS and self.oracle.needs.text:
                return lame("the oracle's script cannot be asked under a control")
            if result is not ControlOutcome.PASSES:
                known = result is ControlOutcome.FAULTS or not run.trouble and (verdict.is_known or run.timed_out)
                return ControlResult(control, result, why, known)
        kept = replace(control, inside=True) if run.turned.get(OUTSIDE_TENSORS) == 0 else control
        kept = replace(kept, silent=RESULTS in control.way.knobs and not says_again(run, self.reference))
        return ControlResult(kept, ControlOutcome.PASSES, f"{why} ({part})" if part else why, cured=patched)

    def _cured(self, control: Control, cure: Cure, source: str) -> ControlResult:
        """Try the edit at one place after another, until the program runs to a healthy end.

        Or to no end: the front end refuses a program within what the limit is made of, and the rest of a compiler may
        take far longer for a whole kernel.
        """
        why, known = f"nothing in it can be {control.name}", True
        for cured in self._edits(control, cure, source):
            run = self.run(cured.text, control.way)
            verdict = self.oracle.judge(run)
            result, said = outcome(run, verdict, control, self.reference)
            if run.timed_out and not run.trouble:
                result, said = ControlOutcome.PASSES, "past the front end when its time was over"
            if result is ControlOutcome.PASSES:
                self._mended[control.name] = cured.edit
                return ControlResult(control, result, f"{cured.edit}: {said}", cured=cured)
            why, known = f"it does not end well with any part of it {control.name}", known and not run.trouble
        return ControlResult(control, ControlOutcome.NOT_APPLICABLE, why, known)

    def _edits(self, control: Control, cure: Cure, source: str) -> Iterator[Cured]:
        """What mended the last program comes first: most steps leave it as it is, and each place costs a run."""
        before = self._mended.get(control.name, "")
        if before:
            yield from cure.alike(source, before)
        refused = self._refused
        if refused[0] != source:
            refused = self._refused = source, refused_line(self.run(source, control.way))
        yield from (each for each in cure.apply(source, refused[1]) if each.edit != before)

    def guard(self, source: str, controls: Sequence[Control]) -> Verdict:
        """FAULTS if the controls hold for this program, PASSES if it still faults under one: that is slippage.

        Unknown only if nothing else decides. A control that does not apply any more decides nothing, since the
        reduction may take away what it turned; unless that is the fault's own cause, see TELLING. Behind a check that
        would pass, a candidate must end well: a fix lets it go on there.
        """
        tried = []
        for control in controls:
            one = self.attempt(control, source)
            if one.outcome is ControlOutcome.FAULTS:
                return lacks(f"control {control.name} still faults: another cause ({one.why})")
            edit = control.cure is not None or not control.way.knobs.keys().isdisjoint(ARGUMENTS)
            if edit and one.known and one.outcome is not ControlOutcome.PASSES:
                return lacks(f"another cause: {one.why}, which mends the original")
            ends = KNOB in control.way.knobs or control.silent
            if ends and one.known and one.outcome is not ControlOutcome.PASSES:
                return lacks(f"control {control.name}: {one.why}, where the original passes its check")
            if one.why == NOTHING_TO_TURN and not control.way.knobs.keys().isdisjoint(TELLING):
                return lacks(f"control {control.name} finds nothing to turn: another cause")
            tried.append(one)
        doubts = [f"control {one.control.name}: {one.why}" for one in tried if not one.known]
        if doubts:
            return unclear("; ".join(doubts))
        held = ", ".join(f"{one.control.name} {one.outcome.value}" for one in tried)
        return shows(f"the controls hold: {held}" if held else "no control to check")
