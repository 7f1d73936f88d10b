"""From what the user types to an Oracle. `FORMS` is the one table of what can be typed; help and docs come from it."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import signal
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device import code_figures, error_table, sanitizer_records
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import regressed, speech
from shrinkray_gpu.oracle.build_failure import BuildOracle
from shrinkray_gpu.oracle.compiled import CodeOracle, CompileOracle, StaticOracle
from shrinkray_gpu.oracle.differs import KINDS, DifferenceOracle, Nondeterministic
from shrinkray_gpu.oracle.endings import ExceptionOracle, ExitOracle, MismatchOracle, SignalOracle, TimeoutOracle
from shrinkray_gpu.oracle.guarded_pattern import GuardedPattern, Pattern
from shrinkray_gpu.oracle.hang import HangOracle
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.regressed import FIGURES, RegressedOracle
from shrinkray_gpu.oracle.sanitizer_report import NONE, PREDICTED, SanitizerOracle
from shrinkray_gpu.oracle.script import ScriptOracle
from shrinkray_gpu.oracle.sticky import StickyOracle, codes_like
from shrinkray_gpu.oracle.words import WEAK_ASSERTION, WordsOracle, plain_pattern
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.twins import echo, repetitions

RAISED_ONLY = ("out of resource",)
"""Words of Triton's that tell of a refused launch, as the driver's non-sticky errors do: seen only by exception."""
REPETITIONS = 3
"""Runs of `nondeterministic`, in all."""
CODE_STAGES = ("ttir", "ttgir", "llir", "ptx", "sass", "amdgcn")


@dataclass(frozen=True)
class OracleForm:
    """One way to say what must persist."""

    shape: str
    """In capitals what is put in, in brackets what may be left out: `exception:TYPE[:REGEX]`."""
    holds: str
    example: str
    build: Callable[[str, str, Path], Oracle]
    """From the whole spec, what follows the prefix, and the folder that paths start at."""

    @property
    def prefix(self) -> str:
        """What it starts with, colon included; empty for plain words."""
        name, colon, _ = self.shape.replace("[:", ":", 1).partition(":")
        return "" if name.isupper() else name + colon

    @property
    def is_optional(self) -> bool:
        """Whether the prefix alone will do, without its colon and what follows it."""
        return self.shape.startswith(self.prefix.rstrip(":") + "[")


def parse(spec: str, *, folder: Path) -> Oracle:
    """The oracle that the user means. An unknown prefix is no mistake but plain text, as in a pasted error line."""
    spec = spec.strip()
    if not spec:
        raise UsageError(
            'The oracle is empty, so every program would do: say what must persist, for example "misaligned address".'
        )
    for form in FORMS:
        if form.prefix.endswith(":") and spec.startswith(form.prefix):
            return form.build(spec, spec[len(form.prefix) :].strip(), folder)
        if spec == form.prefix or (form.is_optional and spec == form.prefix.rstrip(":")):
            return form.build(spec, "", folder)
    return _words(spec, spec, folder)


def typed(spec: str) -> str:
    """The spec in quotes, as a shell takes it: copied from a message, it is the same oracle again."""
    return shlex.quote(spec) if "'" in spec else f"'{spec}'"


def table(width: int = 110) -> str:
    """The table for `shrink --help`: shapes and meanings, two columns."""
    indent = max(len(form.shape) for form in FORMS) + 4
    return "\n".join(
        textwrap.fill(form.holds, width, initial_indent=f"  {form.shape}".ljust(indent), subsequent_indent=" " * indent)
        for form in FORMS
    )


def markdown_table() -> str:
    """The table for docs/oracles.md."""
    rows = [f"| `{_cell(form.shape)}` | {_cell(form.holds)} | `{_cell(form.example)}` |" for form in FORMS]
    return "\n".join(["| SPEC | holds when | example |", "| --- | --- | --- |", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# One builder a form.


def _words(spec: str, _: str, __: Path) -> Oracle:
    error = error_table.parse_error(spec)
    if error is not None and error.sticky:
        broken = frozenset(rule.name for rule in rules.RULES if rule.code in codes_like(error))
        return StickyOracle(spec=error.text, error=error, needs=Needs(rules=broken))
    hint = _near_miss(spec)
    refused = error.text if error else next((words for words in RAISED_ONLY if words == spec.casefold()), "")
    if refused:
        places = ("exception", "child", "launch")
        return WordsOracle(spec=refused, pattern=plain_pattern(refused), places=places, needs=Needs(), hint=hint)
    return WordsOracle(spec=spec, pattern=plain_pattern(spec), hint=hint)


def _exception(spec: str, argument: str, _: Path) -> Oracle:
    kind, colon, regex = argument.partition(":")
    kind = kind.strip()
    if not re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", kind):
        raise UsageError(
            f"{spec!r} names no exception type: write exception:Type or exception:Type:regex, "
            "for example exception:ValueError:shape."
        )
    pattern = _pattern(spec, regex.strip()) if colon else None
    warning = WEAK_ASSERTION if kind == "AssertionError" and pattern is None else ""
    return ExceptionOracle(spec=spec, type=kind, pattern=pattern, warning=warning)


def _exit(spec: str, argument: str, _: Path) -> Oracle:
    if not re.fullmatch(r"\d{1,3}", argument) or int(argument) > 255:
        raise UsageError(
            f"{spec!r} names no exit status: write exit:N with N from 0 to 255; "
            "to look for these words in an error, write regex: before them."
        )
    weak = "any error that ends with this status will do: exception:Type:regex is a sharper question"
    return ExitOracle(spec=f"exit:{int(argument)}", status=int(argument), warning=weak if argument == "1" else "")


def _signal(spec: str, argument: str, _: Path) -> Oracle:
    names = {one.name: one for one in signal.Signals}
    name = argument.upper()
    found = names.get(name) or names.get("SIG" + name)
    if found is None and argument.isdigit():
        found = next((one for one in signal.Signals if one.value == int(argument)), None)
    if found is None:
        near = _nearest(name if name.startswith("SIG") else "SIG" + name, names)
        hint = f"did you mean signal:{near}?" if near else "a crash is signal:SIGSEGV or signal:SIGABRT."
        raise UsageError(f"{spec!r} names no signal of this system: {hint}")
    return SignalOracle(spec=f"signal:{found.name}", number=int(found))


def _hang(spec: str, argument: str, _: Path) -> Oracle:
    if not argument:
        return HangOracle(spec="hang")
    if not re.fullmatch(r"\d{1,6}(?:\.\d{1,3})?", argument) or float(argument) == 0:
        raise UsageError(
            f"{spec!r} names no time: write hang or hang:SECONDS, for example hang:10; "
            "to look for these words in an error, write regex: before them."
        )
    return HangOracle(spec=f"hang:{float(argument):g}", needs=Needs(timing=True, seconds=float(argument)))


def _differs(spec: str, argument: str, _: Path) -> Oracle:
    typed, _colon, kind = argument.rpartition(":")
    if kind not in KINDS:
        typed, kind = argument, ""
    if not typed:
        raise UsageError(
            f"{spec!r} names nothing to turn: write differs:KNOB or differs:KNOB:KIND, for example "
            f"differs:num_stages=1:wrong. A KIND is {', '.join(reversed(KINDS))}."
        )
    way = knob_settings.parse_setting(typed)
    if way == knob_settings.PLAIN:
        raise UsageError(f"{spec!r} compares a run with itself: write nondeterministic for that.")
    name = f"differs:{way.name}" + (f":{kind}" if kind else "")
    return DifferenceOracle(spec=name, needs=Needs(twins=(way, echo(way))), kinds=frozenset({kind} if kind else KINDS))


def _nondeterministic(spec: str, argument: str, _: Path) -> Oracle:
    if argument and not (re.fullmatch(r"\d{1,3}", argument) and 2 <= int(argument) <= 100):
        raise UsageError(
            f"{spec!r} names no number of runs: write nondeterministic or nondeterministic:N with N from 2 to 100."
        )
    runs = int(argument or REPETITIONS)
    name = "nondeterministic" + (f":{runs}" if runs != REPETITIONS else "")
    return Nondeterministic(spec=name, needs=Needs(twins=repetitions(runs)))


def _regressed(spec: str, argument: str, _: Path) -> Oracle:
    name, _colon, release = (part.strip() for part in argument.partition(":"))
    figure = FIGURES.get(name)
    if figure is None:
        near = _nearest(name, FIGURES)
        hint = f"did you mean regressed:{near}:{release or '3.6.0'}?" if near else f"known: {', '.join(FIGURES)}."
        raise UsageError(f"{spec!r} names no figure of a kernel: {hint}")
    if not re.fullmatch(r"\d+\.\d+(?:\.\w+)*", release):
        raise UsageError(f"{spec!r} names no release of Triton to compare with: write regressed:{name}:3.6.0.")
    needs = Needs(stages=code_figures.STAGES | regressed.STAGES, elsewhere=KnobSetting(f"triton={release}"))
    return RegressedOracle(spec=f"regressed:{name}:{release}", needs=needs, figure=figure, release=release)


def _build(spec: str, argument: str, _: Path) -> Oracle:
    pattern = _pattern(spec, argument)
    return BuildOracle(spec=spec, pattern=pattern, needs=Needs(builds=frozenset({pattern.pattern})))


def _code(spec: str, argument: str, _: Path) -> Oracle:
    stage = spec.partition(":")[0]
    absent = argument.startswith("!")
    pattern = _pattern(spec, argument[1:] if absent else argument)
    return CodeOracle(spec=spec, stage=stage, pattern=pattern, absent=absent, needs=Needs(stages=frozenset({stage})))


def _static(spec: str, argument: str, _: Path) -> Oracle:
    if rules.by_name(argument) is None:
        names = [rule.name for rule in rules.RULES]
        near = _nearest(argument, names)
        known = ", ".join(f"static:{name}" for name in names)
        hint = f"did you mean static:{near}?" if near else f"known: {known}."
        raise UsageError(f"{spec!r} names no static rule: {hint}")
    return StaticOracle(spec=f"static:{argument}", rule=argument, needs=Needs(rules=frozenset({argument})))


def _sanitizer(spec: str, argument: str, _: Path) -> Oracle:
    tool, colon, regex = (part.strip() for part in argument.partition(":"))
    if tool not in sanitizer_records.TOOLS:
        raise UsageError(
            f"{spec!r} names no tool of compute-sanitizer: write sanitizer:TOOL:REGEX with one of "
            f"{', '.join(sanitizer_records.TOOLS)}, for example sanitizer:memcheck:Invalid __global__ write"
        )
    pattern = _pattern(spec, regex) if colon else None
    return SanitizerOracle(spec=spec, needs=Needs(sanitizer=tool, rules=PREDICTED.get(tool, NONE)), pattern=pattern)


def _script(spec: str, argument: str, folder: Path) -> Oracle:
    if not argument:
        raise UsageError(
            "'script:' names no file: write script:./test.sh (its argument is the candidate; exit 0 keeps it)."
        )
    path = (folder / Path(argument).expanduser()).resolve()
    if not path.is_file():
        near = _nearest(path.name, [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else [])
        hint = f"did you mean {near}?" if near else "check the path; it starts at the folder where shrink runs."
        raise UsageError(f"{spec!r}: there is no file {path}: {hint}")
    if not os.access(path, os.X_OK):
        raise UsageError(f"{spec!r}: {path} is not executable: run `chmod +x {path}` first.")
    return ScriptOracle(spec=spec, path=path)


FORMS: tuple[OracleForm, ...] = (
    OracleForm(
        "WORDS",
        "sticky CUDA error: the driver reports it, whatever the script catches or prints; "
        "other words: the uncaught exception or stderr of a failing process says them, or the compiler or a launch, "
        "whoever catches that",
        "misaligned address",
        _words,
    ),
    OracleForm(
        "regex:REGEX",
        "the uncaught exception or stderr of a failing process matches, or what the compiler or a launch raised",
        r"regex:Unsupported conversion from f\d+",
        lambda spec, regex, _: WordsOracle(spec=spec, pattern=_pattern(spec, regex)),
    ),
    OracleForm(
        "exception:TYPE[:REGEX]",
        "an uncaught exception of this type, or derived from it, whose text matches",
        "exception:IndexError:out of bounds",
        _exception,
    ),
    OracleForm("exit:N", "the process exits with this status", "exit:3", _exit),
    OracleForm("signal:NAME", "this signal ends the process", "signal:SIGABRT", _signal),
    OracleForm(
        "timeout", "the process does not end within --timeout", "timeout", lambda spec, *_: TimeoutOracle(spec=spec)
    ),
    OracleForm(
        "hang[:SECONDS]",
        "it does not end within this time (10 s), and where the original hangs: in a kernel on the GPU, or on the host",
        "hang:5",
        _hang,
    ),
    OracleForm(
        "differs:KNOB[:KIND]",
        "a kernel's outputs differ, on the same inputs, when this knob is turned (num_stages=1, interpreter, K=V ...); "
        "KIND is nan, wrong or tolerance, by default as in the original",
        "differs:num_stages=1",
        _differs,
    ),
    OracleForm(
        "mismatch",
        "the script fails a check of what a kernel wrote: that values and what they are held against stay as they are",
        "mismatch",
        lambda spec, _, __: MismatchOracle(spec=spec),
    ),
    OracleForm(
        "nondeterministic[:N]",
        "a kernel's outputs differ, on the same inputs, among N runs with the same seeds (3)",
        "nondeterministic:5",
        _nondeterministic,
    ),
    OracleForm(
        "compile:REGEX",
        "raised or printed while Triton compiles a kernel",
        "compile:Unknown modifier",
        lambda spec, regex, _: CompileOracle(spec=spec, pattern=_pattern(spec, regex)),
    ),
    OracleForm(
        "build:REGEX",
        "said (warnings, too) by nvcc when the program builds CUDA C++; without a GPU (--arch) no kernel runs",
        "build:cannot perform wmma load or store on local memory",
        _build,
    ),
    OracleForm(
        "regressed:FIGURE:RELEASE",
        "a kernel has more spills, registers, instructions or shared memory than that release of Triton gives it; at "
        "least 80 % of the original's ratio is kept",
        "regressed:spills:3.6.0",
        _regressed,
    ),
    *(
        OracleForm(
            f"{stage}:[!]REGEX",
            f"the {stage.upper()} of a compiled kernel matches; with !, kernels are compiled and none matches",
            example,
            _code,
        )
        for stage, example in zip(
            CODE_STAGES,
            (
                "ttir:tt.descriptor_load",
                "ttgir:async_tma_copy",
                "llir:!fmuladd",
                "ptx:wgmma",
                "sass:UTMALDG",
                "amdgcn:scratch_store",
            ),
            strict=True,
        )
    ),
    *(
        OracleForm(f"static:{rule.name}", f"virtual GPU: {rule.holds}", f"static:{rule.name}", _static)
        for rule in rules.RULES
    ),
    OracleForm(
        "sanitizer:TOOL[:REGEX]",
        "compute-sanitizer (memcheck, racecheck, initcheck, synccheck) has a record that matches, "
        "of the kind that the original has",
        "sanitizer:memcheck:Invalid __global__ write",
        _sanitizer,
    ),
    OracleForm(
        "script:PATH",
        "this test exits 0, given the candidate file as its argument (the C-Reduce contract)",
        "script:./test.sh",
        _script,
    ),
)


def _pattern(spec: str, regex: str) -> Pattern:
    if not regex:
        raise UsageError(f"{spec!r} has an empty regex, which everything matches: say what must be found.")
    try:
        re.compile(regex, re.MULTILINE)
    except (OverflowError, RecursionError, MemoryError) as error:
        raise UsageError(f"{speech.clip(spec)!r} is a regex that Python cannot compile: {error}.") from None
    except re.error as error:
        where = "" if error.pos is None else f" at position {error.pos}"
        raise UsageError(
            f"{spec!r} has a bad regex: {error.msg}{where}; "
            f"to look for that very text write {re.escape(regex)!r} instead."
        ) from None
    return GuardedPattern(regex, re.MULTILINE)


def _near_miss(spec: str) -> str:
    """`timeot` and `expection:ValueError` are plain words, but hardly meant so."""
    word, colon, rest = spec.partition(":")
    if not word.isalpha() or not word.islower() or rest.startswith((" ", "/")):
        return ""
    fitting = [form for form in FORMS if form.prefix.endswith(":") == bool(colon) or (form.is_optional and not colon)]
    known = [form.prefix.rstrip(":") for form in fitting if form.prefix]
    near = _nearest(word, known)
    if not near or near == word:
        return ""
    return f"{spec!r} is taken as plain words; did you mean {near + colon + rest!r}?"


def _nearest(word: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.75)
    return found[0] if found else ""
