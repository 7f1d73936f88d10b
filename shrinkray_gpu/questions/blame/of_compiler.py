"""Whose fault it is that a kernel does not compile: from who said so, and from how far the compilation came."""

from __future__ import annotations

import re
from pathlib import Path

from shrinkray_gpu.evidence import source_text
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.source_places import is_of_triton
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import FAILING_PASS, LAST_WORDS, Fault, broken_compile
from shrinkray_gpu.oracle.fault import FRONT_END as REFUSALS
from shrinkray_gpu.questions.blame.blame import BELOW, HOST, KERNEL, LLVM, PASS, PTXAS, UNKNOWN, Blame, unknown
from shrinkray_gpu.questions.blame.trials import BlameTrials

OTHER_TRITON = "another Triton: `shrink explain FILE --triton 3.6.0,3.9.0`"
OTHER_PTXAS = "the same PTX, given to another ptxas: `shrink explain FILE --ptxas 12.4,12.9,13.0`"
REDUCE = "`shrink FILE` reduces it, and says under which knobs the repro passes"
BY_FRONT_END, BY_PTXAS, OWN_EXCEPTION = "Triton's front end", "ptxas", "an exception of the front end's own"
BY_LIBRARY = "Triton's front end, of its own library"
_SIZES = re.compile(r"power of|Input shapes should|numel|exceeds", re.IGNORECASE)
"""What depends on numbers that the host may have given."""
_OWN_ERRORS = (
    "AttributeError", "KeyError", "IndexError", "TypeError", "UnboundLocalError", "RecursionError", "AssertionError",
)  # fmt: skip
_LAST_LINE = re.compile(r'^  File "[^\n]*\n +(\S[^\n]*)\n(?: +[\^~]+ *\n)?(?=\S)', re.MULTILINE)
"""Of a traceback: the line of code that raised."""
_IN_COMPILER = re.compile(r"/lib/(?:Analysis|Conversion|Dialect|Target|Tools|Transforms)/|\bmlir::")
_OF_LLVM = re.compile(r"/llvm/lib/|LLVM ERROR: Cannot select")
_RAISED = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception))\b:? ?(.*)$", re.MULTILINE)
_RANGE = re.compile(r"arange\(\s*([^,()]+),\s*([^()]+?)\s*\)")
_QUOTED = re.compile(r"'\.?(\w+)'")
_EXCERPT = re.compile(r"\bat \d+:\d+:\n((?:.*\n)+?) *\^\n")
_HOME = re.compile(r'"([^"\n]*/triton)/compiler/')
_OF_TRITON = re.compile(r"Unsupported \.version|is not defined for option 'gpu-name'")
"""What ptxas says of the two things in PTX that no kernel writes."""


def of_compiler(seen: Evidence, fault: Fault, trials: BlameTrials) -> Blame:
    """The verdict on a fault of the phase `compile`, or a death of the process by a signal."""
    run = trials.seen
    said = "\n".join([seen.diagnostics, run.stderr, *(compile.printed for compile in run.compiles)])
    if found := FAILING_PASS.search(said):
        return _pass(found.group(1), f"this pass fails: {fault.words or speech.ending(run)}", _place(seen))
    if REFUSALS.search(fault.klass):
        return _front_end(seen, fault, trials)
    if "ptxas" in fault.klass.lower() or "ptxas" in said:
        return _ptxas(seen, fault, trials, said)
    if run.signal is not None:
        return _died(seen, fault, trials)
    if any(line.startswith("pm.run(") for line in _raising_lines(trials)) and trials.last_pass:
        return _pass(trials.last_pass, f"a pass fails with {fault.words}, and this one was begun last", _place(seen))
    return unknown(f"the compiler ends in {fault.klass}: {fault.words}", OTHER_TRITON)


def _place(seen: Evidence) -> str:
    return str(seen.place) if seen.place is not None else ""


def _pass(name: str, why: str, place: str) -> Blame:
    why = f"{why.rstrip('.')}. What it was given may already have been wrong, by an earlier pass"
    return Blame(PASS, why, "the compiler's own words", place, named=name, next=(OTHER_TRITON, REDUCE))


def _front_end(seen: Evidence, fault: Fault, trials: BlameTrials) -> Blame:
    """It refuses what the kernel's text asks of it, unless sizes decide that come from the host, or it broke itself."""
    place, enough = _place(seen), trials.enough(trials.in_kernel)
    why = f"{_message(fault, trials)}{f' ({fault.construct})' if fault.construct else ''}"
    own, library = _own_error(trials), _library_function(trials)
    if enough and not own:
        return Blame(KERNEL, why, BY_LIBRARY if library else BY_FRONT_END, place, enough=enough)
    if "CompileTimeAssertionFailure" in seen.diagnostics or "static_assert" in fault.construct:
        return unknown(f"the kernel's own static assertion refuses what it is given{f', at {place}' if place else ''}")
    if own:
        why += f". The front end fails with an exception of its own ({own}), not with a refusal"
        return Blame(UNKNOWN, why, OWN_EXCEPTION, enough=enough, next=(OTHER_TRITON,))
    if library:
        why += f". What is refused stands in Triton's own library, in {library}"
        return Blame(UNKNOWN, why, BY_LIBRARY, place, next=(OTHER_TRITON,))
    if _SIZES.search(fault.text):
        return _by_size(seen, trials, why, place)
    return Blame(KERNEL, why, BY_FRONT_END, place)


def _message(fault: Fault, trials: BlameTrials) -> str:
    """What the front end says, with its numbers."""
    compile = broken_compile(trials.seen)
    if compile is None or compile.failure is None:
        return fault.words
    return speech.without_quotations(compile.failure.text) or speech.reason(compile) or fault.words


def _by_size(seen: Evidence, trials: BlameTrials, why: str, place: str) -> Blame:
    line = seen.place.text if seen.place is not None else ""
    ends = [end.strip() for _, end in _RANGE.findall(line)]
    given = [end for end in ends if end.isidentifier()]
    if ends and not given:
        return Blame(KERNEL, f"{why}: the kernel computes {' and '.join(ends)}", BY_FRONT_END, place)
    parameters = source_text.parameters(trials.text, seen.kernel)
    if ends and given == ends and set(given) <= set(parameters):
        return Blame(HOST, f"{why}: {' and '.join(given)} is what the launch passes", BY_FRONT_END, place)
    return unknown(f"{why}. Whether the size is the kernel's or what the host passes is not told ({place})")


def _own_error(trials: BlameTrials) -> str:
    """The exception that broke Triton's front end, where that is none with which it refuses a program: its type, and
    the place in Triton."""
    for first in _first_tracebacks(trials):
        places, raised = speech.frames(first), _RAISED.findall(first)
        if not places or not raised or raised[-1][0] not in _OWN_ERRORS:
            continue
        file, line, _ = places[-1]
        refuses = raised[-1][0] == "AssertionError" and raised[-1][1].strip()
        asked = "code_generator" in file  # an attribute that the kernel's text names
        refuses = refuses or raised[-1][0] == "TypeError" and not _is_silent(first)
        if is_of_triton(file) and not refuses and not asked:
            return f"{raised[-1][0]} at {file.rpartition('/')[2]}:{line}"
    return ""


def _library_function(trials: BlameTrials) -> str:
    """The function of Triton's own language in whose text the front end stopped: `softmax`; empty where it did not."""
    for failure in (compile.failure for compile in trials.seen.compiles if compile.failure is not None):
        quoted, home = _EXCERPT.search(failure.traceback), _HOME.search(failure.traceback)
        if quoted and home and quoted[1].startswith("def "):
            library = (Path(home[1]) / "language").rglob("*.py")
            if any(quoted[1] in file.read_text(encoding="utf-8") for file in library):
                return quoted[1][len("def ") :].partition("(")[0]
    return ""


def _first_tracebacks(trials: BlameTrials) -> list[str]:
    """Of each failure of the compiler, and of the program's end, what was raised first."""
    failures = [compile.failure for compile in trials.seen.compiles if compile.failure is not None]
    texts = [each.traceback for each in (*failures, speech.uncaught(trials.seen)) if each is not None]
    return [text.split(speech.CAUSED)[0].split(speech.MEANWHILE)[0] for text in texts]


def _raising_lines(trials: BlameTrials) -> list[str]:
    return [lines[-1] for text in _first_tracebacks(trials) if (lines := _LAST_LINE.findall(text))]


def _is_silent(traceback: str) -> bool:
    """Whether the line that raised meant something else: none that says `raise`."""
    lines = _LAST_LINE.findall(traceback)
    return bool(lines) and not lines[-1].startswith("raise")


def _ptxas(seen: Evidence, fault: Fault, trials: BlameTrials, said: str) -> Blame:
    if re.search(r"Internal error|signal|segmentation", said, re.IGNORECASE):
        return Blame(PTXAS, f"ptxas itself breaks: {fault.words}", "the compiler's own words", _place(seen))
    words = set(_QUOTED.findall(fault.text))
    for number, line in enumerate(trials.text.splitlines(), 1):
        if "$0" in line and any(word in line for word in words):
            why = f"ptxas refuses the kernel's inline assembly: {fault.words}"
            return Blame(KERNEL, why, BY_PTXAS, f"{trials.script.path.name}:{number}")
    why = f"ptxas refuses what it is given: {fault.words}"
    if _OF_TRITON.search(fault.text) and not seen.options.get("ptx_version"):
        why += ". Version and target of the PTX are Triton's choice, and no kernel's"
        return Blame(BELOW, why, BY_PTXAS, _place(seen), next=(OTHER_TRITON, OTHER_PTXAS))
    return Blame(UNKNOWN, why, BY_PTXAS, _place(seen), next=(OTHER_TRITON, OTHER_PTXAS))


def _died(seen: Evidence, fault: Fault, trials: BlameTrials) -> Blame:
    """The process died in native code: in LLVM's own, or in a pass."""
    words = list(LAST_WORDS.finditer(trials.seen.stderr))
    last = words[-1].group(0) if words else ""
    why = f"the compiler dies by {fault.klass}{f': {fault.text}' if fault.text else ''}".rstrip(".")
    inline = "inline_asm_elementwise" in trials.text
    if _OF_LLVM.search(last) and inline:
        return unknown(
            f"{why}. LLVM dies, and the kernel has inline assembly, which nobody checked before", OTHER_TRITON
        )
    if _OF_LLVM.search(last):
        return Blame(LLVM, why, "the compiler's own words", _place(seen), next=(OTHER_TRITON,))
    compiling = seen.run is not None and any(not compile.hash for compile in seen.run.compiles)
    if compiling or _IN_COMPILER.search(last):
        if trials.compiles_to_llvm:
            return Blame(
                LLVM, f"{why}, behind all passes of Triton", "a run to LLVM's IR, which ends well", _place(seen)
            )
        if trials.last_pass:
            return _pass(trials.last_pass, f"{why}, and this pass was begun last", _place(seen))
    return unknown(f"{why}. In which part is not told", OTHER_TRITON)
