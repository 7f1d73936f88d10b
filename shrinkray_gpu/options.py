"""How to reduce: what the command line and Python code may ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import cores

if TYPE_CHECKING:  # a command line that is wrong waits for no parser
    from shrinkray_gpu.command.driver import Command


@dataclass(frozen=True)
class Options:
    """How to reduce. Everything has the default that the command has."""

    oracle: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    output: Path | None = None
    python: str = sys.executable
    arch: int | None = None
    """Number of an architecture (90: `sm_90`, 0x942: `gfx942`): compile for it on the virtual GPU, launch nothing."""
    argv: tuple[str, ...] = ()
    command: Command | None = None
    """`-m MODULE ARGS...` instead of a file; its `path` goes where the file's would."""
    keep: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    jobs: int | None = None
    gpus: int | None = None
    """On how many GPUs of this machine; None: on all that are like the first."""
    ray: str | None = None
    """Address of a Ray cluster, whose machines run the candidates: `auto`, `HOST:6379`."""
    accelerator: str | None = None
    """The kind of its GPUs, by Ray's names: `H100`."""
    timeout: float | None = None
    max_time: float | None = None
    fast: bool = False
    """Whether the search ends where its next step is not worth ten seconds."""
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    writable: tuple[Path, ...] = ()
    """Folders that candidates may write in, beside their own."""
    seed: int = 0
    resume: bool = False
    restart: bool = False
    final_runs: int | None = None
    """Clean runs of the result at the end. Default: 3 on a GPU, 1 without, where a run decides nothing by chance."""
    mode: str | None = None
    """Force a running mode (`cold`, `fork`); for comparison."""
    controls: tuple[str, ...] = ()
    """Knobs that must make the fault vanish: `num_stages=1`."""
    control_environment: tuple[str, ...] = ()
    """Environment settings `K=V` that must make it vanish."""
    control_patches: tuple[Path, ...] = ()
    """Changes of the script (a unified diff, or the whole changed file) that must make it vanish."""
    kernel_only: bool = False
    """Whether a fault that hangs on no kernel is refused."""
    guards: bool = True
    """Off: the oracle alone decides, whatever fault it is; for comparison."""
    credit: bool = True
    """Off: what makes the launches of a program judged before runs all the same; for comparison."""
    ahead: bool = True
    """Off: lanes that idle do not begin with what will most likely be asked next; for comparison."""
    confidence: float = 0.95
    """Of the whole reduction, where the fault is a flaky one."""
    report: bool = True
    """Whether the attachment is made at the end: ISSUE.md, artifacts/, report.html."""
    reader: str = ""
    """The project that ISSUE.md is for (`--for`): `triton`, `pytorch`, `helion`, `vllm`, `nvidia`; empty: chosen from
    the repro."""
    zipped: bool = False
    """Whether all of it goes into one archive too."""
    cu: bool = False
    """Whether a .cu with a `main()` is made of the result, too."""
    strict: bool = False
    """Whether secrets in what is published are refused; else they are replaced, and told."""
    gpu_price: float | None = None
    """Of an hour of GPU, for what the reduction cost."""


Say = Callable[[str], None]


def arch_number(arch: int | str | None) -> int | None:
    """An architecture as Python code has it at hand, 90, `sm_90` or `gfx942`, as a number. Raises UsageError."""
    if not isinstance(arch, str):
        return arch
    try:
        return architectures.asked(arch)
    except UsageError as error:
        raise UsageError(f"arch={error}") from error


def display_name(path: Path, options: Options) -> str:
    """What the user calls the program."""
    return options.command.command_line if options.command else path.name


def jobs_of(options: Options) -> int:
    return options.jobs or cores.usable()
