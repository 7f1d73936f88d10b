"""How each program here is reduced, and what must come of it: for the test and for benchmarks/lifting.py."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.events import printed_result

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

MISALIGNED = "misaligned address"
ILLEGAL = "illegal memory access"
TEXTS = {
    MISALIGNED: MISALIGNED,
    # What is far from any allocation may be reported as the second.
    ILLEGAL: "illegal memory access|operation not supported on global",
}
"""What a plain process says of the fault."""


@dataclass(frozen=True)
class Case:
    """One program."""

    name: str
    fails: str
    """What is wrong with it, and why it is no ordinary script."""
    command: tuple[str, ...]
    """The last words of the command: FILE and its arguments, or `-m MODULE ARGS...`."""
    oracle: str
    lines: int
    """Non-blank ones that the result may have."""
    seconds: float | None = None
    """That the whole reduction may take."""
    helion: bool = False
    folder: Path = HERE
    """Where the command is given."""
    kernel: str = ""
    """The one that faults, where another one could be taken for it."""


@dataclass(frozen=True)
class Lifted:
    """What came of it."""

    case: Case
    code: int
    told: dict[str, Any]
    """The result as JSON; empty where there is none."""
    errors: str
    seconds: float
    repro: Path

    @property
    def lines(self) -> int:
        return int(self.told["after"][0])

    @property
    def summary(self) -> dict[str, Any]:
        """What a person wants to see of it."""
        wanted = ("before", "after", "tries", "seconds", "mode", "lifted", "fault", "same", "verified", "final_runs")
        return {"name": self.case.name, "wall": round(self.seconds, 1), **{k: self.told.get(k) for k in wanted}}


CASES = (
    Case(
        "helion_matmul",
        "a Helion kernel: rows of 16 halves by descriptor in a loop with four stages",
        ("helion_matmul.py",),
        MISALIGNED,
        lines=16,
        seconds=120,
        helion=True,
    ),
    Case(
        "jsd_generated",
        "code that Helion generated: tiles of 4 x 4 by descriptor in a loop with four stages",
        ("jsd_generated.py",),
        MISALIGNED,
        lines=16,
        seconds=120,
        helion=True,
    ),
    Case(
        "tma_misaligned",
        "the corpus case: one script, several kernels, one bad configuration",
        ("corpus/tma_misaligned/failing.py",),
        MISALIGNED,
        lines=14,
        folder=ROOT,
    ),
    Case(
        "compiled_model",
        "torch.compile: a custom kernel reads words of 8 bytes from rows that do not begin at such",
        ("compiled_model.py",),
        MISALIGNED,
        lines=30,
    ),
    Case(
        "autotuned",
        "an autotuner tries eight configurations; the sixth has tiles of 64 bytes and four stages",
        ("autotuned.py",),
        MISALIGNED,
        lines=30,
    ),
    Case(
        "package",
        "six modules under pytest: the backward kernel takes the index of a head for one in the batch",
        ("-m", "pytest", "tests/test_attention.py::test_backward"),
        ILLEGAL,
        lines=30,
        folder=HERE / "package",
    ),
    Case(
        "heavy_setup",
        "20 GB and half a minute before a kernel that counts rows in bytes and from the wrong one",
        ("heavy_setup.py", "--", "--seconds", "20"),
        ILLEGAL,
        lines=30,
    ),
    Case(
        "guessed_rows",
        "the first of two kernels writes by a bad slot; the second, lifted with guessed rows, faults as well",
        ("guessed_rows.py",),
        ILLEGAL,
        lines=30,
        kernel="mark_kernel",
    ),
    Case(
        "graphed",
        "two kernels recorded in a CUDA graph; the second has tiles of 16 bytes and four stages",
        ("graphed.py",),
        MISALIGNED,
        lines=16,
        kernel="row_sums",
    ),
    Case(
        "history_workspace",
        "offsets of an earlier, larger job are left in a workspace, and read beyond those of the later one",
        ("history_workspace.py",),
        ILLEGAL,
        lines=30,
    ),
    Case(
        "history_specialised",
        "a kernel compiled for rows of 32 halves is launched, without Triton's check, with rows of 66",
        ("history_specialised.py",),
        MISALIGNED,
        lines=30,
    ),
)


def lift(case: Case, folder: Path, *options: str) -> Lifted:
    """`shrink`, as its user calls it; everything that it writes goes to `folder`."""
    repro = folder / f"repro_{case.name}.py"
    words = ["--oracle", case.oracle, "-o", str(repro), "--json", "--no-report", *options]
    command = [sys.executable, "-m", "shrinkray_gpu", *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_before(str(ROOT), os.environ.get("PYTHONPATH")))}
    started = time.monotonic()
    done = subprocess.run([*command, *case.command], capture_output=True, text=True, cwd=case.folder, env=environment)
    seconds = time.monotonic() - started
    told = printed_result(done.stdout)
    return Lifted(case, done.returncode, told, done.stderr[-3000:], seconds, repro)


def plain(lifted: Lifted, folder: Path) -> subprocess.CompletedProcess[str]:
    """`python repro.py` with nothing beside it, and no Helion to import."""
    blocked, empty = folder / "blocked", folder / "empty"
    for place in (blocked, empty):
        place.mkdir()
    (blocked / "helion.py").write_text("raise ImportError('a repro must not need helion')\n")
    repro = Path(shutil.copy(lifted.repro, empty))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "TRITON_"))}
    return subprocess.run(
        [sys.executable, str(repro)],
        capture_output=True,
        text=True,
        cwd=empty,
        env={**environment, "PYTHONPATH": str(blocked), "TRITON_CACHE_DIR": str(folder / "cache")},
    )


def faults(case: Case, done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode != 0 and re.search(TEXTS[case.oracle], done.stderr) is not None


def imports(text: str) -> set[str]:
    """The top-level packages that a script imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def _before(first: str, rest: str | None) -> list[str]:
    return [first, rest] if rest else [first]
