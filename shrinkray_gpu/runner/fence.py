"""The fence around candidates (`inside/fence`): what held of it, and what it refused a run.

A refusal of a write reads like a file that nobody may write. It is the fence's where the tool itself, which has none,
may write there. Code that is not Python's (a database) does not say which file it was. Where a program shows its fault
outside of the fence alone, what it wrote there is named instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from shrinkray_gpu.runner.inside.fence import PARTS
from shrinkray_gpu.runner.inside.process import landlock, signal_filter
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.sandbox import inside

OPENED = tuple(part for part in PARTS if part != landlock.WRITES)
"""Parts that are left open where the fault needs what they refuse. Where a program may write only its user can say."""
_REFUSED = re.compile(r"\[Errno 13\] Permission denied: '([^'\n]+)'(?: -> '([^'\n]+)')?")


def refused(run: Run, cwd: Path) -> tuple[Path, ...]:
    """The files and folders that the run names as refused, and that its user may write."""
    said = "\n".join([run.failure.text, run.failure.traceback] if run.failure else []) + run.stderr
    named = [Path(os.path.abspath(cwd / name)) for found in _REFUSED.findall(said) for name in found if name]
    return tuple(path for path in dict.fromkeys(named) if _is_writable(path))


def refused_or_written(run: Run, cwd: Path, outside: Run) -> tuple[Path, ...]:
    """What it names as refused; where it names nothing, the files that the same program wrote `outside` of it."""
    return refused(run, cwd) or tuple(path for path in map(Path, outside.writes) if path.is_file())


NOT_ASKED = (landlock.TCP,)
"""Parts that are left open where nobody finds out what hides the fault: in runs of programs that are not reduced."""


def description(held: Sequence[str] | None, left_open: Sequence[str], memory: str, ended: int) -> str:
    """What held of it around candidates, in a line for their user; empty where none ran. `left_open`: the parts that
    the fault needs open; `memory`: how that of the host is limited; `ended`: runs that ended for it."""
    if held is None:
        return ""
    around = inside()
    instead = [signal_filter.PART] * (landlock.SIGNALS in (*held, *left_open))
    lacking = [part for part in PARTS if part not in (*held, *left_open, *instead)]
    left_open = [part for part in left_open if part not in instead]
    told = [f"all of it in a sandbox: {around}"] * bool(around)
    told += [f"fence around candidates: {', '.join(held) or 'none'}"]
    told += [f"not on this machine: {', '.join(lacking)}"] * bool(lacking)
    told += [f"open, since the fault needs it: {', '.join(left_open)}"] * bool(left_open)
    told += [f"host memory: {memory}" + (f", {ended} runs ended for it" if ended else "")]
    return "; ".join(told)


def advice(paths: Sequence[Path]) -> str:
    """What to tell the user of these; empty where there are none."""
    if not paths:
        return ""
    return (
        f"it writes {paths[0]}, where no candidate may: --writable {paths[0].parent} allows it. Candidates are run "
        "many times, with parts missing, and write only below $TMPDIR, which shrink sets"
    )


def _is_writable(path: Path) -> bool:
    while not os.path.exists(path):
        path = path.parent
    return os.access(path, os.W_OK)
