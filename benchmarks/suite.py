"""The failing programs under benchmarks/programs/: what each is, its text as one file, whether a text shows its fault.

A program is a folder: `failing.py` and the modules that it imports, `smallest.py` (the smallest repro known) and
`program.toml`:

    where       compile (no GPU needed), launch, device, differs, hang
    oracle      as for --oracle
    words       what a user would grep for; absent where no words tell
    seconds     a run that is still going after so long shows the fault (hangs)
    smallest    file, tokens, and by what means it was found
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.lift.bundle import bundle  # noqa: E402
from shrinkray_gpu.oracle import all_of, parse  # noqa: E402
from shrinkray_gpu.oracle.same import same_fault  # noqa: E402
from shrinkray_gpu.oracle.verdict import Verdict  # noqa: E402
from shrinkray_gpu.runner.lanes import Setup  # noqa: E402
from shrinkray_gpu.runner.pool import Pool, Script  # noqa: E402

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Failing:
    """One program of the benchmark."""

    folder: Path
    title: str
    where: str
    oracle: tuple[str, ...]
    words: str
    seconds: float
    """Of a hang: how long a run must last. 0 for all others."""
    smallest: int
    """Tokens of the smallest repro known."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def path(self) -> Path:
        return self.folder / "failing.py"

    @property
    def for_peers(self) -> bool:
        """Whether a tool that runs a command and looks at what it says can take part."""
        return bool(self.words or self.seconds)

    def text(self) -> str:
        """The program as one file: with it all tools start, since most of them take but one."""
        merged = bundle(self.path, self.path.read_text(), roots=[self.folder])
        if merged.obstacles:
            raise SystemExit(f"{self.name} cannot be merged to one file: {merged.obstacles[0]}")
        return merged.text


def programs() -> list[Failing]:
    return [_read(path) for path in sorted(PROGRAMS.glob("*/program.toml"))]


def _read(path: Path) -> Failing:
    told: dict[str, Any] = tomlkit.parse(path.read_text()).unwrap()
    return Failing(
        path.parent,
        told["title"],
        told["where"],
        tuple(told["oracle"]),
        told.get("words", ""),
        float(told.get("seconds", 0)),
        told["smallest"]["tokens"],
    )


class Cold:
    """Runs texts in cold processes, and judges them by the Fault that the first one shows."""

    def __init__(self, program: Failing, *, python: str, arch: int | None, seconds: float = 120) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="peers-cold-", ignore_cleanup_errors=True)
        scratch = self._folder.name
        self.oracle = same_fault(all_of([parse(spec, folder=program.folder) for spec in program.oracle]))
        environment = {
            **os.environ,
            "TRITON_CACHE_DIR": f"{scratch}/triton",
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        }
        given = (python, environment, ("torch", "triton"), (), scratch, (scratch,))
        setup = Setup(*given, arch=arch, warm=False, reuse=False)
        needs = self.oracle.needs
        script = needs.on(Script(program.path, cwd=program.folder), virtual=arch is not None)
        self._pool = Pool(script, setup, mode="cold", jobs=1, seconds=needs.seconds or seconds)

    def reference(self, text: str) -> Verdict:
        """The original: its Fault is what others are compared with."""
        run = self._pool.cold(text)
        self.oracle = self.oracle.calibrate(run)
        return self.oracle.judge(run)

    def judge(self, text: str) -> Verdict:
        return self.oracle.judge(self._pool.cold(text))

    def close(self) -> None:
        self._pool.close()
        self._folder.cleanup()
