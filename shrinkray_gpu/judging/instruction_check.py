"""The cheapest check that tells many drifts: a program's kernels must hold the instruction of the original's fault."""

from __future__ import annotations

import base64
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from shrinkray_gpu.device import disassembly
from shrinkray_gpu.device.instruction import Opcodes, holds
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle.fault import MISALIGNED, Fault
from shrinkray_gpu.oracle.verdict import Verdict, lacks
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Compilation, Run

WANTS = ("cubin",)


class InstructionCheck:
    """Disassembles the kernels of runs, each once, in threads of its own."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._codes: dict[str, Future[Opcodes]] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(pool.jobs, thread_name_prefix="disassembler")

    def tightening(self, wanted: Fault | None, *, if_any: bool = False) -> Tightening:
        """The test with this check for the instruction of `wanted`, the original's fault; with none where nobody knows
        it. `if_any`: a run without kernels passes."""

        def refute(text: str, run: Run) -> Verdict | None:
            return self._refute(run, wanted) if wanted is not None and (run.compiles or not if_any) else None

        return Tightening((refute,), WANTS, self.begin)

    def begin(self, run: Run) -> None:
        """List the code that a dry run made: nvdisasm takes as long as a try in a lane, so it is begun beside that."""
        for compile in run.compiles:
            self._code(compile)

    def _refute(self, run: Run, wanted: Fault) -> Verdict | None:
        if run.builds:
            return None
        codes = [self._code(compile) for compile in run.compiles if compile.failure is None]
        if any(code is None or not code.result() or _holds(code.result(), wanted) for code in codes):
            return None
        wide = f" of {wanted.size} bytes" if _width(wanted) else ""
        return lacks(f"another fault: no {wanted.instruction}{wide} in its kernels")

    def tells_apart(self, text: str, wanted: Fault) -> bool:
        """Whether the disassembly alone, for a process of nvdisasm, tells this program from the original."""
        run = self.pool.run(text, wants=WANTS)
        begun = [code for compile in run.compiles if (code := self._code(compile))]
        codes = [code.result() for code in begun if code.result()]
        return bool(codes) and not any(_holds(code, wanted) for code in codes)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _code(self, compile: Compilation) -> Future[Opcodes] | None:
        """The opcodes of a kernel, none where nobody can list them; None without a cubin."""
        cubin = compile.ir.get("cubin")
        with self._lock:
            if compile.hash not in self._codes and cubin:
                self._codes[compile.hash] = self._threads.submit(self._opcodes, base64.b64decode(cubin))
            return self._codes.get(compile.hash)

    def _opcodes(self, cubin: bytes) -> Opcodes:
        setup = self.pool.setup
        tool = disassembly.find(setup.python, setup.environment)
        return disassembly.opcodes(disassembly.listing(tool, cubin)) if tool else frozenset()


def _width(wanted: Fault) -> int:
    """Bytes that the instruction must have: of a misaligned access they are part of the fault."""
    return wanted.size if wanted.code == MISALIGNED else 0


def _holds(opcodes: Opcodes, wanted: Fault) -> bool:
    return holds(opcodes, wanted.instruction, _width(wanted))
