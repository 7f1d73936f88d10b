"""`script:./test.sh`: the user's own test, by the C-Reduce contract. Exit 0 is interesting, the file the argument."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.oracle import Oracle
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.guarded import Guarded
from shrinkray_gpu.runner.run import Run

LAST_BYTES = 4096
TIMEOUT = 300.0


@dataclass(frozen=True, kw_only=True)
class ScriptOracle(Oracle):
    """Runs the script in a folder of its own that holds the candidate under its own name. Asks for no run of ours."""

    path: Path
    timeout: float = TIMEOUT
    needs: Needs = Needs(run=False, text=True)

    def judge(self, run: Run) -> Verdict:
        raise TypeError(f"the oracle {self.spec!r} judges the candidate's text")

    def calibrate(self, reference: Run) -> ScriptOracle:
        return self

    def judge_text(self, text: str, name: str) -> Verdict:
        """`name` is the file's own name."""
        with tempfile.TemporaryDirectory(prefix="shrink-script-") as folder, tempfile.TemporaryFile() as output:
            candidate = Path(folder, Path(name).name)
            candidate.write_text(text, encoding="utf-8")
            started = time.monotonic()
            try:
                process = Guarded(
                    [str(self.path), str(candidate)],
                    environment=os.environ,
                    cwd=folder,
                    out=output.fileno(),
                    err=output.fileno(),
                )
            except OSError as error:
                return unclear(f"{self.path.name} cannot be started: {error.strerror or error}")
            with closing(process):
                status = process.wait(self.timeout)
            if status is None:
                return unclear(f"{self.path.name} was stopped after {self.timeout:.0f} s")
            return self._verdict_of(status, time.monotonic() - started, _last_line(output.fileno()))

    def _verdict_of(self, status: int, seconds: float, last: str) -> Verdict:
        name, said = self.path.name, f": {last}" if last else ""
        if status == 0:
            return shows(f"{name} exits 0 after {seconds:.1f} s{said}")
        if status < 0:
            return unclear(f"{name} was ended by signal {speech.signal_name(-status)}{said}")
        if status in (126, 127):  # the shell's own "cannot execute" and "not found": the test did not test
            return unclear(f"{name} exits {status}, a command in it cannot be run{said}")
        return lacks(f"{name} exits {status}{said}")


def _last_line(output: int) -> str:
    size = os.fstat(output).st_size
    tail = os.pread(output, LAST_BYTES, max(0, size - LAST_BYTES)).decode("utf-8", "replace")
    lines = [line for line in tail.splitlines() if line.strip()]
    return speech.clip(lines[-1]) if lines else ""
