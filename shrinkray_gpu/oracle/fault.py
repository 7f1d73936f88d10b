"""A Fault: what went wrong in a run, in words that survive a reduction. No paths, numbers or addresses.

The everyday fields come from the Run alone. Instruction, memory space and the like join when instruments look.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..runner.run import Compile, Failure, Run
from . import cuda_errors, speech
from .sticky import static_rule, sticky_code

COMPILER_TYPES = re.compile(r"CompilationError|CompileTimeAssertionFailure|UnsupportedLanguageConstruct|PTXASError")
COMPILER_TEXT = re.compile(r"PassManager::run failed|Internal Triton PTX codegen error|Parse MLIR file failed|ptxas")
FAILING_PASS = re.compile(r"Pipeline failed while executing \[?`(\w+)`?")
REFUSED = re.compile(r"(?:Triton Error \[CUDA\]|CUDA(?: driver)? error): *(.*)")
ASSERTION = re.compile(r"^.*Assertion [`'].*['`] failed\.?.*$", re.MULTILINE)
COMPLAINT = re.compile(r"^.*?\b(?:error|fatal) *:\s*(.+)$", re.MULTILINE | re.IGNORECASE)

HEADINGS = ("Failures have been detected", "Internal Triton PTX codegen error", "Pipeline failed while executing")
"""Complaints that only announce that there is a complaint."""

_PATH = re.compile(r"(?<![\w.])(?:~|\.{1,2})?(?:/[\w.+@=-]+){2,}/?")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"(?<![A-Za-z_\d.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:x\d+)*(?![\d])")


@dataclass(frozen=True)
class Fault:
    phase: str
    """`python`, `compile`, `launch`, `device`, `exit`, `timeout`."""
    klass: str
    """The driver's words, the exception's type, the failing compiler pass, the signal, the exit status."""
    kernel: str = ""
    """The kernel concerned, where known. Names change during a reduction, so it is told and not compared."""
    code: int = 0
    """The driver's code of a device fault."""
    text: str = ""
    """The message, normalised."""

    @classmethod
    def of(cls, run: Run) -> Fault | None:
        """The fault that a run shows; None if it ends well or tells nothing."""
        if run.trouble:
            return None
        last = run.launches[-1].kernel if run.launches else ""
        code, _ = sticky_code(run)
        if code:
            broken = next((launch.kernel for launch in run.launches if static_rule(launch)), last)
            return cls("device", cuda_errors.by_code(code).text, broken, code)
        if run.timed_out:
            return cls("timeout", "no end within the time limit", last)
        if not speech.failed(run):
            return None
        return _compiling(run) or _raised(run, last) or _ended(run)

    def same_class(self, other: Fault) -> bool:
        """Whether both are one kind of fault: same phase and class, and the same complaint where the class has many."""
        return (self.phase, self.klass, self.code, self.text) == (other.phase, other.klass, other.code, other.text)

    def __str__(self) -> str:
        code = f" (CUDA error {self.code})" if self.code and str(self.code) not in self.klass else ""
        kernel = f" in kernel {self.kernel}" if self.kernel else ""
        text = f": {speech.clipped(self.text)}" if self.text else ""
        return f"{self.phase} fault: {self.klass}{code}{kernel}{text}"


def normalised(text: str) -> str:
    """The message without what differs from one candidate to the next: paths, addresses, numbers, spacing."""
    text = _PATH.sub("PATH", text)
    text = _ADDRESS.sub("ADDRESS", text)
    text = _NUMBER.sub("N", text)
    return " ".join(text.split())


def complaint(text: str) -> str:
    """The line of a compiler's output that says what is wrong: a failed assertion, else the first `error:`."""
    found = ASSERTION.search(text)
    if found:
        return found.group(0).strip()
    for found in COMPLAINT.finditer(text):
        if not found.group(1).startswith(HEADINGS):
            return found.group(1).strip()
    return ""


def broken_compile(run: Run) -> Compile | None:
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
    raised = speech.spoken(failure) if failure else ""
    everything = "\n".join([said, raised, speech.without_quotations(speech.LISTING.sub("", run.stderr))])
    failing_pass = FAILING_PASS.search(everything)
    if failing_pass:
        klass = failing_pass.group(1)
    elif failure is not None:
        klass = failure.type.rpartition(".")[2]
    else:
        klass = speech.signal_name(run.signal or 0)
    own = speech.without_quotations(failure.text) if failure else ""
    text = own if by_type and "PTXAS" not in klass else complaint(everything) or own
    return Fault("compile", klass, compile.kernel if compile else "", text=normalised(speech.clipped(text, 400)))


def _raised(run: Run, last: str) -> Fault | None:
    failure = speech.uncaught(run)
    if failure is None:
        return None
    kind = failure.type.rpartition(".")[2]
    said = speech.without_quotations(failure.text)
    if kind == "OutOfResources":
        return Fault("launch", "out of resource", last, text=normalised(said.partition(",")[0]))
    if refused := REFUSED.search(said):
        words = refused.group(1).strip()
        error = cuda_errors.named(words)
        return Fault("launch", error.text if error else words, last)
    return Fault("python", kind, text=normalised(speech.clipped(said, 400)))


def _ended(run: Run) -> Fault:
    if run.signal is not None:
        assertion = ASSERTION.search(run.stderr)
        text = normalised(assertion.group(0)) if assertion else ""
        return Fault("exit", speech.signal_name(run.signal), text=text)
    return Fault("exit", f"exit status {run.exit}")
