"""A trap's repair, carried to what is left of its place in another text, and whether that text passes with it.

The repair of the program itself is a diff beside it. What a reduction leaves is told by regular expressions: the
program's `cured by`, each for one way in which the place may look by then. Statements are on one line each for them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shrinkray_gpu.runner.run import Run
from tests.traps.trap import Trap

Runs = Callable[[str], Run]
"""Runs a text, and holds its launches against the static rules."""


def repaired(trap: Trap, text: str) -> Iterator[str]:
    """The text with each repair that finds its place there."""
    plain = ast.unparse(ast.parse(text))
    for regex, new in trap.cures:
        mended, count = re.subn(regex, new, plain, flags=re.MULTILINE)
        if count:
            yield mended


def slipped(trap: Trap, text: str, run: Runs) -> str:
    """Why a text that faults has not the trap's fault: no repair makes it pass. Empty if one does."""
    if not faults(run(text)):
        return "it does not fault"
    seen = [failing(run(mended)) for mended in repaired(trap, text)]
    return "" if "" in seen else f"the repair does not help: {seen[0]}" if seen else "nothing of the place is left"


def faults(run: Run) -> bool:
    return any(launch.fault for launch in run.launches)


def failing(run: Run) -> str:
    """Why a run does not pass: to pass, all that it launches is proved to be sound, and the host comes to its end."""
    if run.trouble or run.failure is not None:
        return run.trouble or str(run.failure)
    if not run.launches:
        return "it launches nothing"
    return next((each for launch in run.launches for each in (launch.fault, launch.unfollowed) if each), "")
