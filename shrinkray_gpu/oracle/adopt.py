"""What to say when the user gave no oracle, or one that the original does not meet: the SPEC for the fault seen."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from shrinkray_gpu.device import error_table, gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import fault, spec, speech
from shrinkray_gpu.oracle.driver_error import static_rule, sticky_code
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.words import WordsOracle
from shrinkray_gpu.runner.inside.launches.launch_log import NOT_FOLLOWED
from shrinkray_gpu.runner.run import Run

LAST_LINES = 5
SEARCHED = 200
"""Lines of what a run says, of the last, that are compared with what was asked for."""
MOST_CHARACTERS = 160
ALIKE = 0.7
"""From this ratio on one SPEC is taken for another, with a slip in it."""
FEW = 4
"""Differences that are told one by one."""
NEARLY = 0.85
"""From this ratio on a line is taken for the one that was asked for, though not word for word."""
SKIPPED_HERE = "it is skipped here: "
_NO_TEST, _SKIPPED = ("UsageError", "no test was run"), "each test is skipped: "
"""Raised by the driver of a pytest command (`command/driver.py`): a type of pytest's, called so in any module."""
_PYTEST_SAID = re.compile(
    r"^(?:\x1b\[[\d;]*m)*(?:ERROR: +(?!usage:)|E +|\S+: error: |Error while loading plugin .*\n)(.+?)"
    r"(?:\x1b\[[\d;]*m)*$",
    re.MULTILINE,
)
_ARGUMENTS = re.compile(r"^usage: [\s\S]*?^\S.*?: error: (.*)$", re.MULTILINE)
"""What argparse says, and click."""
_MISSING = re.compile(r"No module named '([\w.]+)'")
NO_CUDA = re.compile(
    r"not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs are available|0 active drivers|no CUDA-capable device"
    r"|CUDA driver version is insufficient|libcuda\.so cannot found|no NVIDIA GPU",
    re.IGNORECASE,
)
_MORE_GPUS = re.compile(r"invalid device ordinal|Duplicate GPU detected", re.IGNORECASE)
"""What CUDA says of a GPU that is not there, and NCCL of two processes that must share one."""
EXPECTED = re.compile(r"\b(?:OutOfResources|PTXASError|CompileTimeAssertionFailure)$")
"""What Triton's autotuner catches of a config that does not fit."""
_VARYING = re.compile(
    r"""(?P<path>(?<![\w.])(?:~|\.{1,2})?(?:/[\w.+@=-]+){2,}/?)
      | (?P<address>0x[0-9a-fA-F]+)
      | (?P<list>\[\s*-?\d[\d\s,.-]*\])
      | (?P<tuple>\(\s*-?\d[\d\s,.-]*\))
      | (?P<shape>(?<![A-Za-z_\d.])\d+(?:x\d+)+)
      | (?P<real>(?<![A-Za-z_\d.])-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))
      | (?P<whole>(?<![A-Za-z_\d.])-?\d+)
    """,
    re.VERBOSE,
)
_GENERAL = {
    "path": "[^ ]+",
    "address": "0x[0-9a-fA-F]+",
    "list": ".[^]]*.",
    "tuple": ".[^)]*.",
    "shape": "[0-9x]+",
    "real": "[0-9.e+-]+",
    "whole": "-?[0-9]+",
}
"""No backslash: what shows Markdown eats some, and what prints a string doubles them."""
_FRAGILE = re.compile(r"[\\^$*+?{}\[\]|()\"'`]")
"""What a regex reads as more than itself, or a copy loses. A dot is neither: it stands for any character, a dot too."""


def adopt(run: Run) -> str | None:
    """The SPEC that asks for the fault seen; None if there is none, or none worth reducing (see `obstacle`). Of a
    program that ends well: a failure that it caught, unless an autotuner lives with failures of that kind."""
    caught = next(_swallowed(run, expected=False), None)
    return None if obstacle(run) or beside_kernels(run) else next(_fitting(run), caught)


def swallowed(run: Run) -> list[str]:
    """The SPECs of all that failed in a program that ends well, which caught it."""
    return list(dict.fromkeys(_swallowed(run)))


def nearest(run: Run, asked: str = "") -> list[str]:
    """The SPECs that this run would have matched, sharpest first, but for those that are like what was asked for."""

    def likeness(one: str) -> float:
        ratio = difflib.SequenceMatcher(None, asked.casefold(), one.casefold()).ratio()
        return ratio if ratio >= ALIKE else 0.0

    return sorted([*_fitting(run), *swallowed(run)][:4], key=likeness, reverse=True)


def describe(run: Run, asked: str = "") -> str:
    """What happened instead, for the message when the original does not reproduce."""
    seen = Fault.of(run)
    if run.trouble:
        parts = [f"The run tells nothing: {run.trouble}."]
    elif seen is None:
        parts = [f"The program ended well (exit {run.exit}) after {run.seconds:.1f} s."]
        if mute := next((each for each in run.launches if each.unfollowed not in ("", NOT_FOLLOWED)), None):
            parts.append(f"Whether {mute.kernel} leaves its tensors only a GPU can tell ({mute.unfollowed}).")
    else:
        parts = [f"The program showed another fault after {run.seconds:.1f} s: {seen}."]
    if asked and not speech.has_failed(run) and (where := _printed(run, asked)):
        parts.append(f"It did print these words ({where}), but what a successful program prints is no fault.")
    if asked and speech.has_failed(run):
        parts.append(_almost(run, asked))
    if said := obstacle(run):
        parts.append(said)
    last = [line.rstrip() for line in (run.stdout + "\n" + run.stderr).splitlines() if line.strip()][-LAST_LINES:]
    text = " ".join(filter(None, parts))
    return text + (
        "\nIts last lines:\n" + "\n".join("    " + line for line in last) if last else "\nIt printed nothing."
    )


def obstacle(run: Run) -> str:
    """Why this failure is one of the set-up and not worth reducing, and what to do; empty if it is a fault."""
    failure = speech.uncaught(run)
    if failure is None:
        return ""
    if (failure.type.rpartition(".")[2], failure.text) == _NO_TEST:
        said = " ".join(dict.fromkeys(_PYTEST_SAID.findall(run.stderr))) or "it collected none"
        return f"pytest ran no test: {said}"
    untouched = not (run.launches or run.compiles)
    if untouched and failure.type.rpartition(".")[2] == _NO_TEST[0] and failure.text.startswith(_SKIPPED):
        return f"{SKIPPED_HERE}{failure.text.removeprefix(_SKIPPED)}"
    missing = _MISSING.search(failure.text)
    if missing and failure.type.endswith(("ModuleNotFoundError", "ImportError")):
        module = missing.group(1)
        return (
            f"The script needs the module {module}, which is missing: install it, or name an interpreter by --python."
        )
    if NO_CUDA.search(failure.text):
        if gpus.present() and "not compiled with CUDA" not in failure.text:
            if gpus.NOTE:
                return "The script asks for CUDA, and the GPU here is AMD's: name an interpreter whose torch is ROCm's."
            return (
                "This machine has a GPU that no program can use: `nvidia-smi` says why, it may need a reset. "
                "That is no fault of the script."
            )
        return (
            "The script asks for CUDA and finds no GPU: run shrink where there is one, "
            "or compile for one by --arch sm_90 (nothing is launched then)."
        )
    if _MORE_GPUS.search(failure.text):
        if run.virtual:
            return "The script asks for a second GPU, and the virtual one is alone: run shrink on a host with as many."
        count = max(1, len(gpus.visible(os.environ)))
        return (
            f"The script asks for more GPUs than it sees ({count} in sight): run shrink where there are more, or let "
            "it see more (CUDA_VISIBLE_DEVICES, --gpus)."
        )
    if failure.type in ("SyntaxError", "IndentationError", "TabError") and failure.line is None:
        return "The script is not Python that this interpreter can read: name another one by --python."
    return ""


def beside_kernels(run: Run) -> str:
    """Why this failure is hardly one that somebody wants reduced who names none, and what to do; empty if it may be."""
    failure = speech.uncaught(run)
    if run.exit == 2 and failure is None and (said := _ARGUMENTS.search(run.stderr)):
        return (
            f"The program refuses its own arguments ({said[1]}): give those that it takes after --. To reduce that "
            "refusal, ask for --oracle exit:2."
        )
    untouched = not (run.launches or run.compiles)
    if (
        failure is not None
        and failure.type == "NameError"
        and untouched
        and [frame.function for frame in speech.frames(failure.traceback)] == ["<module>"]
    ):
        return (
            f"The program ends at its top level, before any kernel, in NameError: {failure.text}. Is that the right "
            "file? To reduce the error all the same, ask for --oracle exception:NameError."
        )
    return ""


def _fitting(run: Run) -> Iterator[str]:
    """Candidates for a SPEC, sharpest first, those that really match the run."""
    for text in dict.fromkeys(_candidates(run)):
        try:
            oracle = spec.parse(text, folder=Path())
        except UsageError:
            continue
        if oracle.needs.run and oracle.judge(run).faults:
            yield text


def _candidates(run: Run) -> Iterator[str]:
    code, _ = sticky_code(run)
    if code:
        yield error_table.by_code(code).text
    if run.timed_out:
        yield "timeout"
    for launch in run.launches:
        if launch.synced and (rule := static_rule(launch)):
            yield f"static:{rule.name}"
    fault_seen = Fault.of(run)
    failure = speech.uncaught(run)
    if fault_seen is not None and fault_seen.phase == "compile":
        yield from _compile_specs(run)
    if fault_seen is not None and fault_seen.phase == "launch":
        yield fault_seen.klass
    for child in run.children:  # the script's own exception only says that one failed
        yield _spec("regex:", child, run)
    if failure is not None:
        kind = failure.type.rpartition(".")[2]
        said = speech.without_quotations(failure.text)
        if said:
            yield _spec(f"exception:{kind}:", said, run)
        yield f"exception:{kind}"
    assertion = fault.ASSERTION.search(run.stderr)
    if run.signal is not None and assertion:
        yield _spec("regex:", fault.complaint(assertion.group(0)), run)
    if run.signal is not None:
        yield f"signal:{speech.signal_name(run.signal)}"
    if run.exit:
        yield f"exit:{run.exit}"


def _swallowed(run: Run, *, expected: bool = True) -> Iterator[str]:
    """Without `expected`: not what an autotuner catches of a config that does not fit."""
    if run.trouble or Fault.of(run) is not None:
        return
    for compile in run.compiles:
        if compile.failure is not None and (expected or not EXPECTED.search(compile.failure.type)):
            said = speech.reason(compile) or speech.without_quotations(compile.failure.text)
            complained = fault.complaint(speech.diagnostics(compile))
            yield _spec("compile:", complained or said or compile.failure.type, run)
    for launch in run.launches:
        kind, _, said = launch.failure.partition(": ")
        if launch.failure and (expected or not EXPECTED.search(kind)):
            yield _spec("regex:", said or kind, run)


def _compile_specs(run: Run) -> Iterator[str]:
    compile, failure = fault.broken_compile(run), speech.uncaught(run)
    raised = speech.without_quotations(failure.text) if failure is not None else ""
    if failure is not None and not raised and fault.COMPILER_TYPES.search(failure.type) and compile is not None:
        raised = speech.reason(compile)
    if failure is not None and fault.COMPILER_TYPES.search(failure.type) and "PTXAS" not in failure.type and raised:
        yield _spec("compile:", raised, run)
    printed = speech.diagnostics(compile) if compile is not None else ""
    for text in (printed, raised, speech.without_quotations(speech.LISTING.sub("", run.stderr))):
        if complained := fault.complaint(text):
            yield _spec("compile:", complained, run)
    if raised:
        yield _spec("compile:", raised, run)


def _spec(prefix: str, text: str, run: Run) -> str:
    """The SPEC that asks for a message's first line: its own words, where nothing in it varies and a regex would have
    to spell some of it otherwise; else `prefix` and a regex."""
    line = _first_line(text)
    if _FRAGILE.search(line) and not _VARYING.search(line) and len(line) <= MOST_CHARACTERS:
        words = re.sub(r"[\"'`]+", "", line)
        oracle = spec.parse(words, folder=Path()) if " " in words else None
        if isinstance(oracle, WordsOracle) and not oracle.hint and oracle.judge(run).faults:
            return words
    return prefix + general(text)


def general(text: str) -> str:
    """A regex for the message's first line in which paths, addresses, numbers and shapes may differ.

    Reduction changes all of these, and a SPEC that holds them would refuse every smaller program.
    """
    line = _first_line(text)
    pieces, at = [], 0
    for found in _VARYING.finditer(line):
        if found.start() >= MOST_CHARACTERS:
            break
        pieces += [_FRAGILE.sub(".", line[at : found.start()]), _GENERAL[found.lastgroup or "whole"]]
        at = found.end()
    rest = line[at:]
    if at + len(rest) > MOST_CHARACTERS:
        rest = rest[: max(0, MOST_CHARACTERS - at)].rpartition(" ")[0]
    return "".join([*pieces, _FRAGILE.sub(".", rest)]).strip()


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _almost(run: Run, asked: str) -> str:
    """Why words do not count that a reader finds in what a failing run says; or the line that they nearly are."""
    lines = [line.strip() for said in speech.failure_words(run) for line in said.text.splitlines()[-SEARCHED:]]
    bare = {tail: line for line in lines for tail in (line, line.partition(": ")[2])}
    if near := difflib.get_close_matches(asked, bare, n=1, cutoff=NEARLY):
        return f"It nearly says these words{_difference(asked, near[0])}: {bare[near[0]]!r}."
    if _printed(run, asked) == "stderr" and not _holds(speech.without_quotations(run.stderr), asked):
        return "These words are only in source code that the message quotes, which is no evidence."
    return ""


def _difference(asked: str, said: str) -> str:
    """` (with 491520 for 983040)`: in which words one differs from the other, if these are few."""
    mine, its = ([word.strip(",.;:") for word in text.split()] for text in (asked, said))
    changes = difflib.SequenceMatcher(None, mine, its, autojunk=False).get_opcodes()
    pairs = [(" ".join(mine[a:b]), " ".join(its[c:d])) for kind, a, b, c, d in changes if kind != "equal"]
    told = [f"{new or 'nothing'} for {old}" if old else f"{new} more" for old, new in pairs]
    return f" (with {', '.join(told)})" if 0 < len(told) <= FEW else ""


def _holds(text: str, words: str) -> bool:
    return " ".join(words.split()).casefold() in " ".join(text.split()).casefold()


def _printed(run: Run, asked: str) -> str:
    return next((name for name in ("stdout", "stderr") if _holds(getattr(run, name), asked)), "")
