"""What `shrink FILE` has in common for the files that a compiler reads: Triton's IR, and PTX."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shrinkray_gpu.cli import project_settings
from shrinkray_gpu.cli.interrupt import Interrupt
from shrinkray_gpu.cli.json_lines import print_event
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.errors import NO_ROOM, FinalCheckFailed, UsageError
from shrinkray_gpu.events import Checked, Finished, nobody, now_and_then, saying
from shrinkray_gpu.intermediate.reduced_text import ReducedText
from shrinkray_gpu.intermediate.search import IrTally
from shrinkray_gpu.oracle.spec import FORMS

if TYPE_CHECKING:
    from shrinkray_gpu.cu.reduce_cu import CuResult

Say = Callable[[str], None]
Shown = Callable[[int, IrTally], None]
OF_PROGRAMS = (
    "launch", "reject", "keep", "skip", "controls", "control_environment", "control_patches", "cu", "zipped", "mode",
    "resume", "fast", "cwd", "writable", "sandbox", "final_runs", "nvcc", "ray", "accelerator",
)  # fmt: skip
"""Options of a reduction of a program that say nothing of what a compiler reads."""
OF_CORPORA = ("bisected", "names", "runs", "junit", "html", "sandbox", "ray", "accelerators", "shard")
"""Options of a replay of cases that say nothing of a file."""
_TYPED = {
    "controls": "control",
    "skip": "skip-pass",
    "zipped": "zip",
    "bisected": "bisect",
    "names": "case",
    "accelerators": "accelerator",
}
"""How an option is written, where its parameter has another name."""


@dataclass(frozen=True)
class CaseReduction:
    """One reduction that was asked for."""

    suffix: str
    """Of the result's name."""
    unit: str
    """`operations`."""
    begun: str
    """What is done first, for a line that says so."""
    check: Callable[[], object]
    """Gives the fault that the reduction would begin with."""
    reduce: Callable[[Say, Callable[[], bool], Shown], ReducedText[Any] | CuResult]
    tell: Callable[[Any, Path], None]
    """Prints what came of it, which `reduce` gave back, and where it was written."""


Asked = Callable[[Path, Sequence[str], Mapping[str, Any], Say], CaseReduction]


def reduce_file(
    asked: Asked, file: Path, args: Sequence[str], given: Mapping[str, Any], screen: Screen, interrupt: Interrupt
) -> None:
    """Reduce the file, write the result, and tell; with `--check`, only tell whether it shows a fault."""
    hear = print_event if given["as_json"] else nobody
    say = saying(screen, hear)
    reduction = asked(file, args, given, say)
    output = (given["output"] or file.with_name(f"repro_{file.stem}{reduction.suffix}")).absolute()
    if output.is_dir():
        raise UsageError(f"{output} is a folder: name a file with --output")
    if output == file.absolute():
        raise UsageError(f"--output {output} is FILE itself: choose another")
    if given["only_check"]:
        spec = str(reduction.check())
        screen.close()
        hear(Checked(str(file), spec))
        if not given["as_json"]:
            echo(f"{file} shows {spec}")
        return
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: {output.parent} is no folder that can be written. Choose another")
    say(reduction.begun)
    say_now_and_then = now_and_then(say)

    def shown(size: int, tally: IrTally) -> None:
        say_now_and_then(f"{size} {reduction.unit}, {tally.tries} tries")

    try:
        result = reduction.reduce(say, interrupt.asked, shown)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise UsageError(
            f"cannot write any more ({error.strerror}): make room beside {output} and in TMPDIR, then start again"
        ) from error
    if result.broken:
        say(f"{result.broken} changes could not be made, by a bug of shrink's own; the result is none the worse")
    screen.close()
    try:
        output.write_text(result.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}. Choose another place") from error
    if result.refuted:
        raise FinalCheckFailed(
            f"{output} is written, but does not show {result.fault} by its own first line in a fresh process: "
            f"{result.refuted}"
        )
    hear(Finished({**result.to_json(), "output": str(output)}))
    if not given["as_json"]:
        reduction.tell(result, output)
    if interrupt.count:
        sys.exit(130)


def tell(result: ReducedText[Any], file: Path, output: Path, *, healthy: str) -> None:
    """Print what came of IR or PTX; `healthy`: what good tries do."""
    tally, place = result.tally, os.path.relpath(output)
    share = f"{tally.share:.0%} of which {healthy}" if tally.tries else "none needed"
    echo(f"reduced: {file} from {result.before} {result.unit} to {result.after}\n\n{result.text}")
    echo(f"  fault: {result.fault} ({result.compiler} {result.release})")
    echo(f"  {tally.tries} tries, {share}, in {result.seconds:.1f} s; seen again in a fresh process")
    echo(f"  saved: {place}")
    echo(f"  shows the fault: {shlex.join(['shrink', 'replay', place])}")


def refuse(names: Sequence[str], of: str, what: str, given: Mapping[str, Any]) -> None:
    """Raise UsageError where an option was typed that says nothing of `what`. A value from the project is no
    mistake."""
    taken = project_settings.taken()
    if unfit := next((name for name in names if given.get(name) and name not in taken), ""):
        option = _TYPED.get(unfit, unfit).replace("_", "-")
        raise UsageError(f"--{option} is for {of}, and {what}: leave it out")


def asked_words(
    given: Mapping[str, Any],
    what: str,
    say: Say,
    *,
    of: str = "the compiler's words",
    kinds: Sequence[str] = ("compile:", "regex:"),
) -> tuple[str, ...]:
    """The SPECs that say which words must persist: plain WORDS, or one of `kinds`; `of`: whose words they are. Raises
    UsageError for another oracle."""
    oracle = given["oracle"]
    if oracle and "oracle" in project_settings.taken():
        say(f"the oracle of [tool.shrink] is for programs: {what} must keep its fault, whatever words that has")
        return ()
    for spec in oracle:
        kind = kind_of(spec)
        if kind not in ("", *kinds):
            offered = ", ".join(f"{each}REGEX" for each in kinds)
            raise UsageError(f"--oracle {spec}: of {what} only {of} can be asked: give WORDS, {offered}")
        if not spec.removeprefix(kind).strip():
            raise UsageError("the oracle is empty: say what must persist, or leave --oracle out")
        try:
            re.compile(spec.removeprefix(kind) if kind else "")
        except re.error as error:
            raise UsageError(f"--oracle {spec}: {error}") from error
    return tuple(oracle)


def kind_of(spec: str) -> str:
    """The prefix of a SPEC, as `compile:`; empty for plain words."""
    return next((form.prefix for form in FORMS if form.prefix and spec.startswith(form.prefix)), "")
