"""What is reduced and replayed otherwise than a program in Python: Triton's IR, PTX, a CUDA program, a folder with a
command."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.interrupt import Interrupt
from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.cli.words import several
from shrinkray_gpu.cu.options import holds_cu
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.folder.contents import SCRIPTS, is_script_of_result
from shrinkray_gpu.intermediate.ir_file import holds_ir
from shrinkray_gpu.ptx.ptx_file import holds_ptx

Reducer = Callable[[Path, Sequence[str], Mapping[str, Any], Screen, Interrupt], None]
_ELSEWHERE = {
    "ptxas": "--ptxas is for PTX (.ptx); of a program, `shrink explain FILE --ptxas` asks other releases",
    "nvcc": "--nvcc is for a CUDA program (.cu): a program in Python gives its builds their flags itself",
    "passes": "--pass is for IR (.ttir, .ttgir, .mlir), and a program names no passes: leave it out",
}
"""Options that say nothing of a program."""

kind_options = several(
    click.option(
        "--sources",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="FILE ARGS... is any command, which runs in this folder: reduce the files in a copy of it.",
    ),
    click.option(
        "--pass",
        "passes",
        multiple=True,
        metavar="NAME",
        help="FILE is IR that names no passes: run this pass of MLIR on it; repeatable, in order.",
    ),
    click.option(
        "--ptxas",
        metavar="PATH|V,V,...",
        help="FILE is PTX: the ptxas, or releases of it, installed aside: the first reduces. Default: Triton's own.",
    ),
    click.option(
        "--nvcc",
        metavar="FLAGS",
        help="FILE is a CUDA program (.cu): what nvcc gets. Default: a comment `// nvcc ...` in its head.",
    ),
)
"""Options that say what FILE is, or how to compile it."""


def reducer(file: Path | None, given: Mapping[str, Any]) -> Reducer | None:
    """What reduces such a file; None for a program. Raises UsageError for an option that says nothing of that."""
    if given.get("sources") is not None:
        if file is None:
            raise UsageError("--sources: the command stands behind --, as in -- ./run.sh or -- python -m pytest")
        from shrinkray_gpu.cli import folder_case

        return folder_case.reduce_case
    if file is not None and (case := _case(file)):
        from shrinkray_gpu.cli.compiler_case import reduce_file

        return functools.partial(reduce_file, case.asked)
    _refuse(given)
    return None


def replayer(file: Path, given: Mapping[str, Any]) -> Callable[[Path, Mapping[str, Any]], int] | None:
    """What replays such a file; None for a corpus. Raises UsageError likewise."""
    if file.is_file() and (case := _case(file)):
        replay: Callable[[Path, Mapping[str, Any]], int] = case.replay_case
        return replay
    if file.is_dir() and (script := next((name for name in SCRIPTS if is_script_of_result(file / name)), "")):
        raise UsageError(f"{file} is a folder that a command runs in, and no corpus: {file / script} shows its fault")
    _refuse(given)
    return None


def _case(file: Path) -> Any:
    """The module here that knows such a file, imported; None for a program."""
    for holds, name in ((holds_cu, "cu_case"), (holds_ptx, "ptx_case"), (holds_ir, "ir_case")):
        if holds(file):
            return importlib.import_module(f"shrinkray_gpu.cli.{name}")
    return None


def _refuse(given: Mapping[str, Any]) -> None:
    for name, why in _ELSEWHERE.items():
        if given.get(name):
            raise UsageError(why)
