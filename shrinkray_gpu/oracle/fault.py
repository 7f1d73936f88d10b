"""A Fault: what went wrong in a run, in words that survive a reduction. No paths, numbers or addresses.

The everyday fields come from the Run alone. Instruction, memory space and the like join when instruments look
(`evidence/examine.py`): what nobody looked at is empty, and says nothing in a comparison.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from signal import SIGABRT
from typing import Any

from shrinkray_gpu.device import error_table
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import OUTSIDE, static_rule, sticky_code
from shrinkray_gpu.runner import children
from shrinkray_gpu.runner.run import Compilation, Failure, Run

COMPILER_TYPES = re.compile(r"CompilationError|CompileTimeAssertionFailure|UnsupportedLanguageConstruct|PTXASError")
COMPILER_TEXT = re.compile(r"PassManager::run failed|Internal Triton PTX codegen error|Parse MLIR file failed|ptxas")
FAILING_PASS = re.compile(r"Pipeline failed while executing \[?`(\w+)`?")
REFUSED = re.compile(r"(?:Triton Error \[CUDA\]|CUDA(?: driver)? error): *(.*)")
ASSERTION = re.compile(r"^.*Assertion [`'].*['`] failed\.?.*$", re.MULTILINE)
_BEFORE_ASSERTION = re.compile(r"^.*?(?=Assertion [`'])")
"""Program, file, line and the whole C++ signature: they differ between builds of one and the same compiler."""
COMPLAINT = re.compile(r"^.*?\b(?:error|fatal) *:\s*(.+)$", re.MULTILINE | re.IGNORECASE)

MISALIGNED = 716
READS = frozenset({"LDG", "LDGSTS"})
"""Of global memory: into a register, or on to shared memory where a loop is pipelined. Too far is too far for both;
whether the pipelining itself is at fault, a control tells (num_stages=1)."""

HEADINGS = (
    *("Failures have been detected", "Internal Triton PTX codegen error", "Pipeline failed while executing"),
    *("Aborted", "Segmentation fault", "Bus error", "Floating-point exception", "Illegal instruction"),
)
"""Complaints that only announce that there is a complaint, or (faulthandler) name the signal, which is known."""

LAST_WORDS = re.compile(
    r"^[^\n]*Assertion [`'].*['`] failed\.?.*$"
    r"|^(?:[^\n]+\n)?UNREACHABLE executed at .*$"
    r"|^LLVM ERROR: .*$"
    r"|^terminate called .*(?:\n +what\(\): .*)?$"
    r"|^libc\+\+abi: terminating .*$"
    r"|^[FE]\d{4} .*Check failed: .*$"
    r"|^(?P<heap>\w+\(\): (?:invalid|corrupt|unaligned|mismatching|unsorted|double free).*"
    r"|double free or corruption.*|corrupted (?:size|double-linked).*)$",
    re.MULTILINE,
)
"""What native code says just before it calls abort(). LLVM's reason is the line above its UNREACHABLE."""
HEAP = "the heap is corrupt"
"""One overrun trips over another of glibc's checks once the program has changed; which one says nothing."""

FRONT_END = re.compile(r"^(?:CompilationError|CompileTimeAssertionFailure|UnsupportedLanguageConstruct)$")
_PROGRESS = re.compile(r"\bit/s\b|\bs/it\b|^\[?[IW]\d{3,4} ")
"""A progress bar, a log line with the time of day: not the reason of anything."""
PREDICTED = "predicted by a static rule, not run"
_OBSERVED = frozenset({"instruction", "space", "access"})
"""Fields that stay empty where no instrument looked."""
_WORDS = {"klass": "the class", "text": "the message", "space": "the memory"}
_SUGGESTION = re.compile(r"\. Did you (?:mean|forget to import)\b[^\n]*\?")
"""Python's own, of 3.12 and later and not of earlier ones; which name is the nearest changes with the program."""
_PATH = re.compile(r"(?<![\w.])(?:~|\.{1,2})?(?:/[\w.+@=-]+){2,}/?")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_MANGLED = re.compile(r"@[\w.]*__[\w.]*")
"""A function of the program, with the types of its parameters: `@__main__.read__Pfp32_i32`."""
_NUMBER = re.compile(r"(?<![A-Za-z_\d.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:x\d+)*(?![\d])")


@dataclass(frozen=True)
class Fault:
    phase: str
    """`python`, `compile`, `launch`, `device`, `exit`, `timeout`."""
    klass: str
    """The driver's words, the exception's type, the failing compiler pass, the signal, the exit status."""
    kernel: str = ""
    """The kernel concerned, where that is certain. Names change during a reduction: see `Reference`."""
    code: int = 0
    """The driver's code of a device fault."""
    text: str = ""
    """The message, normalised."""
    instruction: str = ""
    """Family of the instruction at the fault: `UTMALDG`, `LDG`, `STS`."""
    space: str = ""
    """Memory space of the access: `global`, `shared`, `local`."""
    size: int = 0
    """Bytes of one access."""
    access: str = ""
    """`read` or `write`."""
    construct: str = ""
    """What the source line at the fault calls: `descriptor load`, `tl.store`. Told, not compared."""
    child: str = ""
    """What processes of the script died of before it did, normalised, a line each: see `_children`."""
    said: str = field(default="", compare=False)
    """The message with its numbers, for people; of a path only the name. Told, not compared."""
    near: str = ""
    """The last kernel launched, where several were and nobody knows which it was. Told, not compared."""
    predicted: bool = field(default=False, compare=False)
    """Whether no device ran it: a static rule says so of the compiled code. Told, not compared."""
    other: int = field(default=0, compare=False)
    """The code in which the same access ends in other runs. Told, not compared."""

    @property
    def words(self) -> str:
        return self.said or self.text  # older records have the latter only

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fault:
        """What `asdict` made. A field that this version does not know is left out."""
        return cls(**{each.name: data[each.name] for each in fields(cls) if each.name in data})

    @classmethod
    def of(cls, run: Run) -> Fault | None:
        """The fault that a run shows; None if it ends well or tells nothing."""
        if run.trouble:
            return None
        launched = {launch.kernel for launch in run.launches}
        last = run.launches[-1].kernel if run.launches else ""
        # A launch returns before its kernel runs: of several kernels, the last one launched is no more than a guess.
        kernel, near = (last, "") if len(launched) < 2 else ("", last)
        code, _ = sticky_code(run)
        if code:
            broken = next((launch.kernel for launch in run.launches if static_rule(launch)), "")
            words, near = error_table.by_code(code).text, "" if broken else near
            return cls("device", words, broken or kernel, code, near=near, predicted=run.virtual)
        if run.timed_out:
            return cls("timeout", "no end within the time limit", kernel, near=near)
        if not speech.has_failed(run):
            return None
        return _compiling(run) or _raised(run, last) or _ended(run)

    def in_words_of(self, code: int) -> Fault:
        """With this error in the place of its own, where one access may end in either; its own is told as well."""
        if {self.code, code} != OUTSIDE:
            return self
        return replace(self, code=code, klass=error_table.by_code(code).text, other=self.code)

    def difference(self, other: Fault) -> str:
        """In what the other fault differs from this one, in words; empty if in nothing that is known of both."""
        for name in ("phase", "klass", "text", "instruction", "space", "access"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine == theirs or (name in _OBSERVED and not (mine and theirs)):
                continue
            if name == "klass" and {self.code, other.code} == OUTSIDE:
                continue
            if name == "instruction" and {self.code, other.code} <= OUTSIDE and {mine, theirs} == READS:
                continue
            if name == "text" and self._is_loose() and _first_clause(mine) == _first_clause(theirs):
                continue
            if not theirs:
                return f"it does not say {speech.clip(mine)!r}"
            return f"{_WORDS.get(name, name)} is {speech.clip(theirs)!r} instead of {speech.clip(mine)!r}"
        if self.code == other.code == MISALIGNED and self.size and other.size and self.size != other.size:
            return f"the access is {other.size} {'byte' if other.size == 1 else 'bytes'} wide instead of {self.size}"
        mine, theirs = self.child, other.child
        # Which of several children speak before the end is a matter of luck: one that both have is enough.
        if (mine or theirs) and not set(mine.splitlines()) & set(theirs.splitlines()):
            died, instead = speech.clip(theirs) or "nothing", speech.clip(mine) or "nothing"
            return f"a child process died of {died!r} instead of {instead!r}"
        return ""

    def _is_loose(self) -> bool:
        return self.phase == "python" or (self.phase == "exit" and self.klass.startswith("exit status"))

    def __str__(self) -> str:
        number = error_table.by_code(self.code).number
        other = f"; {self.other} in other runs" if self.other else ""
        code = f" ({number}{other})" if self.code and str(self.code) not in self.klass else ""
        named = "the kernel" if self.kernel == "kernel" else f"kernel {self.kernel}"
        kernel = f" in {named}" if self.kernel else f", last launch {self.near}" if self.near else ""
        at = f" at {self.instruction}" if self.instruction else ""
        text = f": {speech.clip(self.words)}" if self.text else ""
        child = f" (child process: {speech.clip(self.child)})" if self.child else ""
        predicted = f"; {PREDICTED}" if self.predicted else ""
        return f"{self.phase} fault: {self.klass}{code}{kernel}{at}{text}{child}{predicted}"


@dataclass(frozen=True)
class Reference:
    """The original's fault, and what tells it from its look-alikes in the same program."""

    fault: Fault
    kernels: frozenset[str] = frozenset()
    """All kernels that the original launched or compiled."""
    casts: frozenset[str] | None = None
    """See `casts`."""

    @classmethod
    def of(cls, run: Run) -> Reference | None:
        """The reference that the original's run makes; None if it shows no fault."""
        fault = Fault.of(run)
        return None if fault is None else cls(fault, frozenset(kernels(run)), casts(run))

    def slip(self, fault: Fault | None, present: frozenset[str]) -> str:
        """Why this fault, in a run with these kernels, is not the original's; empty if nothing speaks against it.

        A kernel may be renamed by the reduction. So another name is another kernel only if it is that of another kernel
        of the original, or if the kernel that the original faults in is still there.
        """
        if fault is None:
            return "it shows no fault"
        if other := self.fault.difference(fault):
            return other
        mine, theirs = self.fault.kernel, fault.kernel
        if mine and theirs and mine != theirs and (theirs in self.kernels or mine in present):
            return f"the fault is in kernel {theirs} instead of {mine}"
        return ""


def kernels(run: Run) -> frozenset[str]:
    """The kernels that a run launched or compiled, by name."""
    named = {launch.kernel for launch in run.launches} | {compile.kernel for compile in run.compiles}
    return frozenset(named - {""})


def casts(run: Run) -> frozenset[str] | None:
    """Those between pointers and numbers in the kernels that a run launched; None where not all of their compilations
    are on record, as of a process that died before it could tell, or of kernels that another process compiled."""
    compiled = {compile.hash for compile in run.compiles}
    if not compiled or not compiled.issuperset(launch.hash for launch in run.launches):
        return None
    return frozenset(cast for compile in run.compiles for cast in compile.casts)


def lookalike(wanted: Fault, seen: Fault) -> bool:
    """Whether a fault that is not the one wanted is worth keeping as a find.

    Most candidates are broken programs: what Python, or the compiler's front end, says of these is nobody's news.
    """
    if seen.phase == "device":
        return True
    if seen.phase == "exit":
        bare_abort = seen.klass == wanted.klass == "SIGABRT" and not seen.text  # the script's own os.abort()
        return not (bare_abort or seen.klass.startswith("exit status"))
    if seen.phase == "compile":
        return not (FRONT_END.search(seen.klass) or hasattr(builtins, seen.klass))
    return seen.phase == wanted.phase == "python" and seen.klass == wanted.klass == "AssertionError"


def _saying(fault: Fault, message: str) -> Fault:
    """The fault with its message, as it is compared and as people read it."""
    named = _PATH.sub(lambda found: found[0].rstrip("/").rpartition("/")[2], message)
    return replace(fault, text=normalise(message), said=" ".join(named.split()))


def normalise(text: str) -> str:
    """The message without what differs from one candidate to the next: paths, numbers, names that Triton gives to the
    program's functions, spacing, suggestions."""
    text = _SUGGESTION.sub("", text)
    text = _MANGLED.sub("@FUNCTION", text)
    text = _PATH.sub("PATH", text)
    text = _ADDRESS.sub("ADDRESS", text)
    text = _NUMBER.sub("N", text)
    return " ".join(text.split())


def _first_clause(text: str) -> str:
    """The message up to its first full stop or bracket: `Tensor-likes are not close!`; what follows counts elements."""
    return re.split(r"[.!?](?:\s|$)|[\[(]", text, maxsplit=1)[0].strip()


def complaint(text: str) -> str:
    """What is wrong, in a compiler's own words: a failed assertion, else the line of the first `error:`."""
    found = ASSERTION.search(text)
    if found:
        return _BEFORE_ASSERTION.sub("", found.group(0)).strip()
    for found in COMPLAINT.finditer(text):
        if not found.group(1).startswith(HEADINGS):
            return found.group(1).strip()
    return ""


def broken_compile(run: Run) -> Compilation | None:
    """The compilation that the run died of: it failed with the uncaught exception, or was under way at the crash."""
    failure = speech.uncaught(run)
    for compile in reversed(run.compiles):
        if failure is not None and compile.failure is not None and _same(compile.failure, failure):
            return compile
        if run.signal is not None and not compile.hash and compile.failure is None:
            return compile
    return None


def _same(one: Failure, other: Failure) -> bool:
    return one.type == other.type and one.text == other.text


def _compiling(run: Run) -> Fault | None:
    compile, failure = broken_compile(run), speech.uncaught(run)
    by_type = failure is not None and COMPILER_TYPES.search(failure.type)
    by_text = failure is not None and COMPILER_TEXT.search(failure.text)
    if compile is None and not by_type and not by_text:
        return None
    said = speech.diagnostics(compile) if compile else ""
    own = "\n".join([said, speech.last_line(failure) if failure else ""])
    # Standard error also has what other compilations said, whose failure the script swallowed. It is asked only where
    # a compiler died without a word of its own; what Python or the front end raises is complete.
    if not (complaint(own) or FAILING_PASS.search(own)) and (failure is None or by_text):
        own += "\n" + (_cleaned(run.stderr) if failure is not None else last_words(run.stderr) or _cleaned(run.stderr))
    failing_pass = FAILING_PASS.search(own)
    if failing_pass:
        klass = failing_pass.group(1)
    elif failure is not None:
        klass = failure.type.rpartition(".")[2]
    else:
        klass = speech.signal_name(run.signal or 0)
    text = compiler_message(compile, failure, own)
    return _saying(Fault("compile", klass, compile.kernel if compile else ""), speech.clip(text, 400))


def compiler_message(compile: Compilation | None, failure: Failure | None, everything: str) -> str:
    """What a failing compilation has to say: the front end's message, or the one that led to it where it has none;
    else the complaint among all that was said."""
    message = speech.without_quotations(failure.text) if failure is not None else ""
    if failure is not None and COMPILER_TYPES.search(failure.type) and "PTXAS" not in failure.type:
        told = message or (speech.reason(compile) if compile is not None else "")
        if told:
            return told
    return complaint(everything) or message


def last_words(stderr: str) -> str:
    """What native code said when it aborted, normalised; empty if it said nothing. The last such words count:
    LLVM survives some of its assertions inside Triton."""
    words = list(LAST_WORDS.finditer(_cleaned(stderr)))
    if not words:
        return ""
    return HEAP if words[-1].group("heap") else normalise(_BEFORE_ASSERTION.sub("", words[-1].group(0)))


def _cleaned(stderr: str) -> str:
    return speech.without_quotations(speech.LISTING.sub("", stderr))


def _raised(run: Run, last: str) -> Fault | None:
    failure = speech.uncaught(run)
    if failure is None:
        return None
    kind = failure.type.rpartition(".")[2]
    said = speech.without_quotations(failure.text)
    if kind == "OutOfResources":
        short = _saying(Fault("launch", "out of resource", last), speech.clip(said, 400))
        return replace(short, text=normalise(said.partition(",")[0]))
    if refused := REFUSED.search(said):
        words = refused.group(1).strip()
        error = error_table.parse_error(words)
        return Fault("launch", error.text if error else words, last)
    return _saying(Fault("python", kind, child=_children(run)), speech.clip(said, 400))


def _ended(run: Run) -> Fault:
    if run.signal is not None:
        text = last_words(run.stderr)
        if not text and run.signal == SIGABRT:
            text = normalise(complaint(_cleaned(run.stderr)))
        return Fault("exit", speech.signal_name(run.signal), text=text)
    klass, child = f"exit status {run.exit}", _children(run)
    # A failure that a later compilation made good (a fallback) is not why the script gave up.
    if run.compiles and (failure := run.compiles[-1].failure) is not None:
        broken = run.compiles[-1]
        text = compiler_message(broken, failure, speech.diagnostics(broken))
        return _saying(Fault("exit", klass, broken.kernel, child=child), speech.clip(text, 400))
    return Fault("exit", klass, text=_parting(run.stderr), child=child)


def _parting(stderr: str) -> str:
    """The last line that a script left on stderr before it gave up, normalised: the message of `sys.exit("...")`."""
    for line in reversed(_cleaned(stderr).splitlines()):
        if line.strip() and not _PROGRESS.search(line):
            return normalise(speech.clip(line, 400))
    return ""


def _until(failure: Failure | None, stderr: str) -> str:
    """What was said before the script's own traceback: a child that dies after it is not what it died of."""
    if failure is None:
        return stderr
    first = f"{failure.type}: {failure.text}".partition("\n")[0].rstrip(": ")
    lines = "\n" + stderr
    at = lines.rfind("\n" + first)
    return lines[1 : at + 1] if at >= 0 else stderr


def _children(run: Run) -> str:
    """What the script's own processes died of: its exceptions that say so, multiprocessing's headers, native aborts.

    A traceback without a header may be one that the script itself printed of something it survived, so it does not
    count. Nor does an assertion that LLVM survived: it is among what a compilation in the script's process printed.
    """
    died = list(run.children)
    for told in children.child_tracebacks(_until(speech.uncaught(run), run.stderr)):
        if (failure := speech.exception_in(told)) and failure.type not in children.AFTERMATH:
            died.append(f"{failure.type}: {speech.clip(speech.without_quotations(failure.text), 400)}")
    words = last_words(run.stderr)
    if words and all(words != last_words(compile.printed) for compile in run.compiles):
        died.append(words)
    return "\n".join(sorted({normalise(each) for each in died}))
