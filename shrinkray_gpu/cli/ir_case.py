"""`shrink FILE` and `shrink replay FILE` where FILE is Triton's IR: arguments in, words out."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli import project_settings
from shrinkray_gpu.cli.interrupt import Interrupt
from shrinkray_gpu.cli.json_lines import print_event
from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.cli.words import chosen_python, narrator, print_answer, releases, settings
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.errors import FinalCheckFailed, UsageError
from shrinkray_gpu.events import Checked, Finished, nobody, saying
from shrinkray_gpu.intermediate.ir_replay import ReplayedIr, replay_ir
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.intermediate.pass_table import read_pass
from shrinkray_gpu.intermediate.reduce_ir import IrResult, check_ir, reduce_ir
from shrinkray_gpu.intermediate.search import IrTally
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.oracle.spec import FORMS
from shrinkray_gpu.oracle.words import plain_pattern
from shrinkray_gpu.runner.interpreter import check_python, interpreter_path

_OF_PROGRAMS = (
    "launch", "reject", "keep", "skip", "controls", "control_environment", "control_patches", "cu", "zipped", "mode",
    "resume", "cwd", "writable", "sandbox", "jobs", "timeout", "final_runs",
)  # fmt: skip
"""Options of a reduction of a program that say nothing of IR."""
_OF_CORPORA = ("bisected", "names", "runs", "junit", "html", "sandbox", "ray", "accelerators", "shard")
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
_SETTING = re.compile(r"(\w+)=(-?\d+|true|false)")
_VALUES = {"true": True, "false": False}
EVERY = 5.0
"""Seconds between two lines that tell how far the search is."""


def reduce_case(
    file: Path, args: Sequence[str], given: Mapping[str, Any], screen: Screen, interrupt: Interrupt
) -> None:
    """Reduce the file, write the result, and tell; with `--check`, only tell whether a pass fails."""
    hear = print_event if given["as_json"] else nobody
    say = saying(screen, hear)
    options = _options(file, args, given, say)
    output = (given["output"] or file.with_name(f"repro_{file.stem}.mlir")).absolute()
    if output.is_dir():
        raise UsageError(f"{output} is a folder: name a file with --output")
    if output == file.absolute():
        raise UsageError(f"--output {output} is FILE itself: choose another")
    if given["only_check"]:
        spec = str(check_ir(file, options))
        screen.close()
        hear(Checked(str(file), spec))
        if not given["as_json"]:
            click.echo(f"{file} shows {spec}")
        return
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: {output.parent} is no folder that can be written. Choose another")
    say(f"running the passes on {file} ...")
    last = time.monotonic()

    def shown(operations: int, tally: IrTally) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            say(f"{operations} operations, {tally.tries} tries")

    result = reduce_ir(file, options, say=say, stop=interrupt.asked, shown=shown)
    screen.close()
    try:
        output.write_text(result.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}. Choose another place") from error
    if result.refuted:
        raise FinalCheckFailed(
            f"{output} is written, but does not show {result.fault} by its own RUN: line in a fresh process: "
            f"{result.refuted}"
        )
    hear(Finished({**result.to_json(), "output": str(output)}))
    if not given["as_json"]:
        tell(result, file, output)
    if interrupt.count:
        sys.exit(130)


def tell(result: IrResult, file: Path, output: Path) -> None:
    """Print what came of it."""
    tally = result.tally
    share = f"{tally.parsed / tally.tries:.0%} of which parse" if tally.tries else "none was needed"
    click.echo(f"reduced: {file} from {result.before} operations to {result.after}\n\n{result.text}")
    click.echo(f"  fault: {result.fault}")
    click.echo(f"  {tally.tries} tries, {share}, in {result.seconds:.1f} s; seen again in a fresh process")
    click.echo(f"  saved: {os.path.relpath(output)}")
    click.echo(f"  shows the fault: shrink replay {os.path.relpath(output)}")


def replay_case(file: Path, given: Mapping[str, Any]) -> int:
    """Run the passes of a result again with each interpreter. Returns 0 if the fault is still there everywhere."""
    _refuse(_OF_CORPORA, "corpora", file, given)
    say = narrator(given["as_json"])
    pythons = [interpreter_path(python) for python in dict.fromkeys(given["pythons"])]
    pythons = pythons or [chosen_python(None, file, say)]
    if tritons := releases(given["tritons"]):
        if len(pythons) > 1:
            raise UsageError("another Triton is installed beside one interpreter: give --python once")
        pythons = [environments.with_triton(version, python=pythons[0], say=say) for version in tritons]
    found: list[ReplayedIr] = []
    for python in pythons:
        check_python(python)
        environment = {**os.environ, **settings(given["env"])}
        found.append(replay_ir(file, IrOptions(python=python, environment=environment, arch=given["arch"] or "")))
    say.close()
    if given["as_json"]:
        print_answer([each.to_json() for each in found])
    else:
        for each in found:
            click.echo(f"Triton {each.release}: {each}")
    return 0 if all(each.outcome == "still faults" for each in found) else 1


def _options(file: Path, args: Sequence[str], given: Mapping[str, Any], say: Callable[[str], None]) -> IrOptions:
    _refuse(_OF_PROGRAMS, "programs", file, given)
    oracle = given["oracle"]
    if oracle and "oracle" in project_settings.taken():
        say("the oracle of [tool.shrink] is for programs: IR must keep its fault, whatever words that has")
        oracle = ()
    python = chosen_python(given["python"], file, say)
    check_python(python)
    return IrOptions(
        python=python,
        environment={**os.environ, **settings(given["env"])},
        arch=given["arch"] or "",
        words=tuple(map(_words, oracle)),
        passes=tuple(call for word in given["passes"] for call in read_pass(word)),
        settings=dict(map(_setting, args)),
        seed=given["seed"],
        **({} if given["max_time"] is None else {"max_time": given["max_time"]}),
    )


def _refuse(names: Sequence[str], of: str, file: Path, given: Mapping[str, Any]) -> None:
    """Raise UsageError where an option was typed that says nothing of IR. A value from the project is no mistake."""
    taken = project_settings.taken()
    if unfit := next((name for name in names if given.get(name) and name not in taken), ""):
        option = _TYPED.get(unfit, unfit).replace("_", "-")
        raise UsageError(f"--{option} is for {of}, and {file} is IR: leave it out")


def _words(spec: str) -> Pattern:
    kind = next((form.prefix for form in FORMS if form.prefix and spec.startswith(form.prefix)), "")
    if kind not in ("", "compile:", "regex:"):
        raise UsageError(f"--oracle {spec}: of IR only the compiler's words can be asked: give WORDS or compile:REGEX")
    if not spec.strip():
        raise UsageError("the oracle is empty: say what must persist, or leave --oracle out")
    try:
        return re.compile(spec.removeprefix(kind)) if kind else plain_pattern(spec)
    except re.error as error:
        raise UsageError(f"--oracle {spec}: {error}") from error


def _setting(word: str) -> tuple[str, Any]:
    found = _SETTING.fullmatch(word)
    if found is None:
        raise UsageError(f"{word}: behind IR stand options of the compiler only, as num_warps=8 or num_stages=4")
    return found[1], _VALUES[found[2]] if found[2] in _VALUES else int(found[2])
