"""The program as it is, but in one file with the modules of its own: only what is in there is reduced."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.command.entry import plain_script
from shrinkray_gpu.judging.cold_tier import full_verdict
from shrinkray_gpu.judging.tally import COLD
from shrinkray_gpu.lift.bundle import Bundle, bundle
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.runner.fence import OPENED, advice, refused
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.capture_runs import Runs
from shrinkray_gpu.start.given import Say, Start, UserProgram


def in_one_file(start: Start, oracle: Oracle, runs: Runs, say: Say) -> Start:
    """The program with its modules, if that shows the fault; else as it is. `runs`: those of the program."""
    given = runs.given
    path, text, roots = given.script.path, given.program.text, _roots(given)
    if given.command is not None:  # its driver imports nothing by a statement
        plain = plain_script(given.command)
        if plain is None:
            return _where_it_is(start, given)
        text, roots = plain.text, list(plain.roots)
    try:
        one = bundle(path, text, roots=roots, cwd=given.script.cwd, relative=True)
    except Exception as error:  # the program can be reduced all the same
        say(f"its modules could not be merged into one file: {type(error).__name__}: {error}")
        return _where_it_is(start, given)
    if one.obstacles:
        one = _bare(start, path, text, roots, runs) or one
    for obstacle in one.obstacles:
        say(f"it needs a module beside it: {obstacle}")
    if not one.modules and given.command is None:
        return start

    def shows(run: Run) -> bool:
        return full_verdict(oracle, one.text, path.name, lambda _: run).faults

    seen = runs.until(shows, one.text, runs.enough)
    if not shows(seen[-1]) and (whole := bundle(path, text, roots=roots, cwd=given.script.cwd)).text != one.text:
        one = whole  # it leaves the folder, or looks for what lies above it
        seen = runs.until(shows, one.text, runs.enough)
    if not shows(seen[-1]) and (opened := _opened(given, shows, one.text, runs, say)):
        seen = opened
    if not shows(seen[-1]):
        fenced = advice(refused(seen[-1], given.script.cwd))
        why = f": {fenced}" if fenced else ""
        say(f"in one file with its modules ({_listed(one.modules)}) the program does not show the fault{why}")
        return _where_it_is(start, given)
    data = f"; it reads {', '.join(map(str, one.data))}" if one.data else ""
    told = f"{start.told}; " if start.told else ""
    many = "1 module" if len(one.modules) == 1 else f"{len(one.modules)} modules"
    told += f"in one file with {many} of its own ({_listed(one.modules)}){data}"
    program = start.program.with_text(one.text)
    return replace(start, program=program, lifted=True, merged=True, seen=tuple(seen), told=told)


def _bare(start: Start, path: Path, text: str, roots: Sequence[Path], runs: Runs) -> Bundle | None:
    """One file without what packages do themselves on the way to a module in them, where nothing else stays outside and
    the program fails as before, to the last digit. So nothing that they set or replace takes part in the fault."""
    before = start.reference.failure if start.reference is not None else None
    bare = bundle(path, text, roots=roots, cwd=runs.given.script.cwd, relative=True, bare=True)
    if before is None or bare.obstacles or not bare.modules:
        return None
    runs.tries[COLD] += 1
    again = runs.given.cold().cold(bare.text).failure
    return bare if again is not None and (again.type, again.text) == (before.type, before.text) else None


def _where_it_is(start: Start, given: UserProgram) -> Start:
    """As it is. Of a command that is no more than its driver, which imports the files that are to be reduced."""
    if given.command is None:
        return start
    told = f"{start.told}; " if start.told else ""
    return replace(start, told=f"{told}not standalone: it runs {given.command.command_line} where that is")


def _opened(given: UserProgram, shows: Callable[[Run], bool], text: str, runs: Runs, say: Say) -> list[Run]:
    """Runs with no more of the fence than what keeps writes in, the last of which shows the fault; none if it does not.
    Which parts of it hide the fault is found out later."""
    with closing(Runs(replace(given, setup=replace(given.setup, left_open=OPENED)), say)) as open_runs:
        seen = open_runs.until(shows, text, 1)
    runs.tries.update(open_runs.tries)
    return seen if shows(seen[-1]) else []


def _roots(given: UserProgram) -> list[Path]:
    """Where the modules of its own are: beside it, and what the user put on the path below the working folder."""
    named = given.setup.environment.get("PYTHONPATH", "").split(os.pathsep)
    own = [Path(name) for name in named if name and Path(name).absolute().is_relative_to(given.script.cwd)]
    return [given.script.path.parent, *own]


def _listed(modules: Sequence[str]) -> str:
    return ", ".join(modules) or "none"
