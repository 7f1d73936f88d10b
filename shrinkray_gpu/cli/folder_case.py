"""`shrink --sources DIR -- COMMAND`: arguments in, words out."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu.cli.compiler_case import OF_PROGRAMS, refuse
from shrinkray_gpu.cli.interrupt import Interrupt
from shrinkray_gpu.cli.json_lines import print_event
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.cli.words import fail, settings
from shrinkray_gpu.errors import NO_ROOM, FinalCheckFailed, UsageError
from shrinkray_gpu.events import Checked, Finished, nobody, now_and_then, saying
from shrinkray_gpu.folder.options import FolderOptions
from shrinkray_gpu.folder.reduce_folder import FolderResult, check_folder, reduce_folder
from shrinkray_gpu.folder.tree import FileTree
from shrinkray_gpu.intermediate.search import IrTally
from shrinkray_gpu.oracle import typed
from shrinkray_gpu.runner import cores

_TAKEN = ("reject", "writable", "resume")
_UNFIT = (*(name for name in OF_PROGRAMS if name not in _TAKEN), "passes", "ptxas", "arch", "python", "publish")
"""Options that say nothing of a command."""


def reduce_case(
    file: Path, args: Sequence[str], given: Mapping[str, Any], screen: Screen, interrupt: Interrupt
) -> None:
    """Reduce the folder and tell; with `--check`, only tell whether the command shows a fault."""
    root = given["sources"]
    if given["resume"]:
        raise UsageError("--resume: a reduction of a folder goes on from its result: name that with --sources")
    refuse(_UNFIT, "programs", "of a folder a command is run", given)
    options = _options(root, (str(file), *args), given)
    hear = print_event if given["as_json"] else nobody
    say = saying(screen, hear)
    if given["only_check"]:
        spec = check_folder(root, options, say=say)
        screen.close()
        hear(Checked(str(root), spec))
        if not given["as_json"]:
            echo(f"{root} shows {typed(spec)}")
        return
    home = root.resolve()
    output = (given["output"] or home.parent / f"repro_{home.name}").absolute()
    say_now_and_then = now_and_then(say)

    def shown(tree: FileTree, tally: IrTally) -> None:
        say_now_and_then(f"{len(tree.texts)} files, {tree.lines} lines, {tree.bytes} bytes, {tally.tries} tries")

    try:
        result = reduce_folder(root, options, output, say=say, stop=interrupt.asked, shown=shown)
    except KeyboardInterrupt:
        fail(f"interrupted; the best so far is {output}", 130)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise UsageError(f"cannot write any more ({error.strerror}): make room for {output} and in TMPDIR") from error
    finally:
        screen.close()
    if result.refuted:
        raise FinalCheckFailed(f"{output} is written, but does not show {result.shows}: {result.refuted}")
    hear(Finished({**result.to_json(), "output": str(output)}))
    if not given["as_json"]:
        _tell(root, result)
    if interrupt.count:
        sys.exit(130)


def _options(root: Path, command: tuple[str, ...], given: Mapping[str, Any]) -> FolderOptions:
    program = command[0]
    if os.sep not in program and (os.access(root / program, os.X_OK) or shutil.which(program) is None):
        program = f"./{program}" if (root / program).is_file() else program  # as it was written
    return FolderOptions(
        command=(program, *command[1:]),
        environment=settings(given["env"]),
        oracles=given["oracle"],
        rejects=given["reject"],
        writable=given["writable"],
        guards=not given["no_guards"],
        jobs=given["jobs"] or cores.usable(),
        timeout=given["timeout"],
        confidence=given["confidence"],
        seed=given["seed"],
        **({} if given["max_time"] is None else {"max_time": given["max_time"]}),
    )


def _tell(root: Path, result: FolderResult) -> None:
    place = os.path.relpath(result.output)
    pairs = (("files", result.files), ("lines", result.lines), ("bytes", result.bytes))
    echo(f"reduced: {root} from " + ", ".join(f"{before} {what} to {after}" for what, (before, after) in pairs))
    for path in sorted(result.output.rglob("*"), key=str):
        if path.is_file() and not path.is_symlink():
            name = os.fsencode(path.relative_to(result.output)).decode(errors="replace")
            echo(f"  {name}: {path.stat().st_size} bytes")
    echo(f"  fault: {result.shows}; the same by this, by how it ends, and with no other error beside it")
    told = f"; {result.unknown} told nothing" if result.unknown else ""
    echo(f"  {result.tally.tries} tries in {result.seconds:.1f} s{told}; seen again in a fresh copy")
    if result.carried:
        echo(f"  carried along, since the fault needs them: {result.carried} files or folders")
    echo(f"  saved: {place}")
    echo(f"  shows the fault: {shlex.join([os.path.join(place, result.script)])}")
