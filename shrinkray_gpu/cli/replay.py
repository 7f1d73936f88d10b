"""The command `shrink replay CORPUS`: every fault that was ever kept, against this Triton or several."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli import engines, project_settings, sandbox
from shrinkray_gpu.cli.case_kinds import replayer
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import (
    CONTEXT,
    OneLineComplaints,
    arch_option,
    architecture,
    chosen_python,
    narrator,
    print_answer,
    releases,
    settings,
)
from shrinkray_gpu.corpus import environments, replay_tables
from shrinkray_gpu.corpus.bisection import bisect
from shrinkray_gpu.corpus.case import cases
from shrinkray_gpu.corpus.case_cells import CaseCell, ReplayPlace
from shrinkray_gpu.corpus.expectation import CaseOutcome
from shrinkray_gpu.corpus.replay import by_environment, outcomes_of
from shrinkray_gpu.corpus.replay_journal import replay_journal
from shrinkray_gpu.corpus.shared_replay import merged, shard_json
from shrinkray_gpu.errors import Interrupted, SickDevice, UsageError
from shrinkray_gpu.runner.interpreter import interpreter_path
from shrinkray_gpu.runner.sandbox import SandboxPlaces

CORPUS = Path("corpus")


class _Replay(OneLineComplaints):
    panels = {
        "What is replayed": ("case", "triton", "ptxas", "bisect", "runs"),
        "How it is run": ("arch", "python", "env", "sandbox", "jobs", "restart"),
        "What it is spread over": ("ray", "accelerator", "shard", "merge"),
        "What comes of it": ("json", "junit", "html", "help"),
    }


@click.command("shrink replay", cls=_Replay, context_settings=CONTEXT)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[CORPUS]")
@click.option("--case", "names", multiple=True, metavar="NAME", help="This case only; repeatable.")
@arch_option
@click.option("--python", "pythons", multiple=True, metavar="PATH", help="Interpreter; repeatable, a column each.")
@click.option(
    "--triton",
    "tritons",
    metavar="V,V,...",
    help="Releases of Triton, installed aside; a column each. With --bisect: the releases to search.",
)
@click.option(
    "--ptxas",
    metavar="PATH|V,V,...",
    help="CORPUS is PTX: releases of ptxas, installed aside; a row each. `all`: the last of each minor one.",
)
@click.option("--bisect", "bisected", metavar="CASE", help="Find the release of Triton that fixed or broke this case.")
@click.option("--runs", type=click.IntRange(1), metavar="N", help="Runs of each case, instead of what it asks for.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Cases at a time. Default: one a core, 8 at most.")
@click.option("--env", multiple=True, metavar="K=V", help="Environment variable for all cases; repeatable.")
@engines.ray_option
@click.option(
    "--accelerator",
    "accelerators",
    multiple=True,
    metavar="TYPE",
    help="With --ray: on GPUs of this type, as Ray names it (H100); repeatable, a column each.",
)
@engines.shard_option
@click.option("--restart", is_flag=True, help="Forget what an interrupted replay found. Default: go on with it.")
@click.option("--merge", "merges", is_flag=True, help="Run nothing: the outcomes in FILES of --json as one replay.")
@sandbox.option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML there.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page there.")
@click.pass_obj
def replay_command(words: tuple[str, ...], /, paths: tuple[Path, ...], **given: Any) -> None:
    """Run every case of CORPUS (default: ./corpus) that can run here, and tell what each does now: still faults, fixed,
    changed fault, flaky, or why it cannot run. CORPUS may be a file of IR that `shrink` wrote: its passes run again. Or
    any PTX: a table tells what each ptxas makes of it.

    `shrink replay [CORPUS] --merge FILES...` runs nothing: it makes one answer of what several machines wrote.

    Exit codes: 0 all is as the cases expect, 1 something changed, 2 usage, or not one case can run here.
    """
    if given["merges"]:
        sys.exit(_merge(paths, given))
    if len(paths) > 1:
        raise UsageError(f"one corpus at a time, not {len(paths)}; what several machines wrote is read with --merge")
    corpus = paths[0] if paths else CORPUS
    if replay_case := replayer(corpus, given):
        sys.exit(replay_case(corpus, given))
    sys.exit(_replay(corpus, given, words))


def bisect_case(case: str, given: Mapping[str, Any]) -> None:
    """Tell between which releases of Triton a case of `given["corpus"]` changed."""
    rest = replay_command.make_context("shrink replay", [], parent=click.get_current_context()).params
    asked = {name: given[name] for name in ("arch", "tritons", "env", "as_json")}
    pythons = (given["python"],) if given["python"] else ()
    sys.exit(_replay(given["corpus"], {**rest, **asked, "pythons": pythons, "sandbox": None, "bisected": case}, ()))


def _replay(corpus: Path, given: dict[str, Any], words: tuple[str, ...]) -> int:
    say = narrator(given["as_json"])

    arch, environment = architecture(given["arch"]), settings(given["env"])
    _check_written(given)
    tritons, shard = releases(given["tritons"]), engines.shard_of(given)
    pythons = _pythons(corpus, given, say)
    if len(pythons) > 1 and (tritons or given["bisected"]):
        raise UsageError("another Triton is installed beside one interpreter: give --python once")
    if given["bisected"] and "sandbox" in project_settings.taken():
        given = {**given, "sandbox": None}
    _check_engine(given)
    if given["sandbox"] is not None:
        if given["bisected"]:
            raise UsageError("--bisect installs releases on its way, and --sandbox has no network: leave one out")
        for version in tritons:
            environments.with_triton(version, python=pythons[0], say=say)  # likewise
        written = tuple(path.absolute().parent for path in (given["junit"], given["html"]) if path is not None)
        seen = (corpus, environments.home(), *sandbox.interpreters(pythons))
        sandbox.enter(given["sandbox"], words, SandboxPlaces(written, seen))
    if given["bisected"]:
        chosen = cases(corpus, [given["bisected"]])[0]
        steps = bisect(chosen, releases=tritons, python=pythons[0], arch=arch, environment=environment, say=say)
        told = [asdict(step) for step in steps]
        if given["as_json"]:
            print_answer(told)
        else:
            echo("\n".join(map(str, steps)))
        return 0
    place = ReplayPlace(arch=arch, environment=tuple(sorted(environment.items())))
    typed = tuple(dict.fromkeys(given["pythons"])) or ("",)
    places = [replace(place, python=python, typed=each) for python, each in zip(pythons, typed, strict=True)]
    places = [replace(each, triton=version) for each in places for version in tritons or ("",)]
    places = [replace(each, accelerator=kind) for each in places for kind in given["accelerators"] or ("",)]
    every = [CaseCell(case, each, given["runs"]) for each in places for case in cases(corpus, given["names"])]
    cells = shard.of(every) if shard else every
    if given["ray"] is None:
        here = {each: each.installed(say) for each in dict.fromkeys(cell.where for cell in cells)}
        run = [replace(cell, where=here[cell.where]) for cell in cells]
    else:
        run = cells
    outcomes, sick = _outcomes(corpus, run, given, say)
    say.close()
    matrix = by_environment(cells, outcomes)
    if shard and given["as_json"]:
        print_answer(shard_json(shard, every, cells, outcomes))
    return _answer(matrix, given, part=shard is not None, sick=sick)


def _outcomes(
    corpus: Path, cells: Sequence[CaseCell], given: Mapping[str, Any], say: Callable[[str], None]
) -> tuple[list[CaseOutcome], SickDevice | None]:
    """Of all cells, in their order; and what ended it early, if a GPU proved sick. Raises Interrupted."""
    sick: SickDevice | None = None
    here = given["ray"] is None
    with replay_journal(corpus, cells, restart=given["restart"], here=here, say=say) as journal:

        def done(index: int, outcome: CaseOutcome) -> None:
            journal.keep(index, outcome)
            say(f"  {_line(outcome)}")

        try:
            with closing(engines.engine_of(given, say)) as engine:
                outcomes_of(cells, engine, done=done, found=journal.found)
            journal.finish()
        except SickDevice as error:
            sick = error
        except KeyboardInterrupt as error:
            raise Interrupted(f"interrupted; {journal.left_words(len(cells))}") from error
        return [journal.found.get(index) or each.not_run("the GPU is sick") for index, each in enumerate(cells)], sick


def _merge(paths: tuple[Path, ...], given: Mapping[str, Any]) -> int:
    folders = [path for path in paths if path.is_dir()]
    files = [path for path in paths if path not in folders]
    if not files or len(folders) > 1:
        raise UsageError("what is merged? Usage: shrink replay [CORPUS] --merge FILES..., which --json wrote")
    _check_written(given)
    return _answer(merged(files, cases(folders[0] if folders else CORPUS)), given)


def _answer(
    matrix: replay_tables.OutcomeMatrix,
    given: Mapping[str, Any],
    *,
    part: bool = False,
    sick: SickDevice | None = None,
) -> int:
    """Tell and write all of it. `part`: of a shard, whose JSON is told already. Raises `sick`, which ended it early."""
    if not given["as_json"]:
        echo(replay_tables.table(matrix))
        echo(f"\n{replay_tables.summary(matrix)}")
    elif not part:
        print_answer(replay_tables.to_json(matrix))
    _write(given["junit"], replay_tables.junit, matrix)
    _write(given["html"], replay_tables.html, matrix)
    if not (part or sick) and replay_tables.nothing_ran(matrix):
        raise UsageError("not one case can run here, so nothing was checked; each says above what it lacks")
    changed = replay_tables.changes(matrix)
    if not given["as_json"] and (changed or not sick):
        echo("\n".join(["not as expected:", *changed] if changed else ["all is as expected"]))
    if sick:
        raise sick
    return 1 if changed else 0


def _pythons(corpus: Path, given: Mapping[str, Any], say: Callable[[str], None]) -> list[str]:
    """The interpreters; those of a cluster by their paths there."""
    asked = list(dict.fromkeys(given["pythons"]))
    if given["ray"] is not None:
        return asked or [""]
    return [interpreter_path(python) for python in asked] or [chosen_python(None, corpus, say)]


def _check_written(given: Mapping[str, Any]) -> None:
    """Raises UsageError, before anything is run, where a file cannot be written."""
    for path in (given["junit"], given["html"]):
        if path is not None and not os.access(path.absolute().parent, os.W_OK):
            raise UsageError(f"cannot write {path}: {path.parent} is no folder that can be written. Choose another")


def _check_engine(given: Mapping[str, Any]) -> None:
    """Raises UsageError for options that do not go together."""
    engines.check_words({**given, "accelerator": given["accelerators"]})
    if given["bisected"] and given["ray"] is not None:
        raise UsageError("--bisect is for this machine: leave out --ray")
    if given["bisected"] and given["shard"]:
        raise UsageError("--bisect runs one release after the other, so there is nothing to share: leave out --shard")


def _write(
    path: Path | None, make: Callable[[replay_tables.OutcomeMatrix], str], matrix: replay_tables.OutcomeMatrix
) -> None:
    if path is not None:
        try:
            path.write_text(make(matrix), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}. Choose another place") from error


def _line(outcome: CaseOutcome) -> str:
    why = f": {outcome.why}" if outcome.why else ""
    host = f", {outcome.host}" if outcome.host not in ("", socket.gethostname()) else ""
    return f"{outcome.case.name}: {outcome}{why} ({outcome.seconds:.1f} s{host})"
