"""The command `shrink replay CORPUS`: every fault that was ever kept, against this Triton or several."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli import project_settings, sandbox
from shrinkray_gpu.cli.case_kinds import replayer
from shrinkray_gpu.cli.words import (
    CONTEXT,
    OneLineComplaints,
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
from shrinkray_gpu.corpus.expectation import CaseOutcome
from shrinkray_gpu.corpus.replay import replay
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.interpreter import interpreter_path
from shrinkray_gpu.runner.sandbox import SandboxPlaces


@click.command("shrink replay", cls=OneLineComplaints, context_settings=CONTEXT)
@click.argument("corpus", type=click.Path(path_type=Path), default=Path("corpus"))
@click.option("--case", "names", multiple=True, metavar="NAME", help="This case only; repeatable.")
@click.option(
    "--arch",
    metavar="sm_90",
    envvar="SHRINK_ARCH",
    help="No GPU: compile for this architecture on the virtual GPU. Default: SHRINK_ARCH in the environment.",
)
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
@sandbox.option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML there.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page there.")
@click.pass_obj
def replay_command(words: tuple[str, ...], /, corpus: Path, **given: Any) -> None:
    """Run every case of CORPUS (default: ./corpus) that can run here, and tell what each does now: still faults, fixed,
    changed fault, flaky, or why it cannot run. CORPUS may be a file of IR that `shrink` wrote: its passes run again. Or
    any PTX: a table tells what each ptxas makes of it.

    Exit codes: 0 all is as the cases expect, 1 something changed, 2 usage, or not one case can run here.
    """
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

    def tell(outcome: CaseOutcome) -> None:
        say(f"  {_line(outcome)}")

    arch, environment = architecture(given["arch"]), settings(given["env"])
    for path in (given["junit"], given["html"]):
        if path is not None and not os.access(path.absolute().parent, os.W_OK):
            raise UsageError(f"cannot write {path}: {path.parent} is no folder that can be written. Choose another")
    pythons = [interpreter_path(python) for python in dict.fromkeys(given["pythons"])]
    pythons = pythons or [chosen_python(None, corpus, say)]
    tritons = releases(given["tritons"])
    if len(pythons) > 1 and (tritons or given["bisected"]):
        raise UsageError("another Triton is installed beside one interpreter: give --python once")
    if given["bisected"] and "sandbox" in project_settings.taken():
        given = {**given, "sandbox": None}
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
            click.echo("\n".join(map(str, steps)))
        return 0
    chosen_cases = cases(corpus, given["names"])
    if tritons:
        pythons = [environments.with_triton(version, python=pythons[0], say=say) for version in tritons]
    matrix: dict[str, list[CaseOutcome]] = {}
    for python in pythons:
        outcomes = replay(
            chosen_cases, python=python, arch=arch, jobs=given["jobs"], runs=given["runs"], environment=environment,
            say=say, done=tell,
        )  # fmt: skip
        name = outcomes[0].environment
        matrix[name if name not in matrix else f"{name} ({python})"] = outcomes
    say.close()
    if given["as_json"]:
        print_answer(replay_tables.to_json(matrix))
    else:
        click.echo(replay_tables.table(matrix))
        click.echo(f"\n{replay_tables.summary(matrix)}")
    _write(given["junit"], replay_tables.junit, matrix)
    _write(given["html"], replay_tables.html, matrix)
    if replay_tables.nothing_ran(matrix):
        raise UsageError("not one case can run here, so nothing was checked; each says above what it lacks")
    changed = replay_tables.changes(matrix)
    if not given["as_json"]:
        click.echo("\n".join(["not as expected:", *changed] if changed else ["all is as expected"]))
    return 1 if changed else 0


def _write(
    path: Path | None, make: Callable[[replay_tables.OutcomeMatrix], str], matrix: replay_tables.OutcomeMatrix
) -> None:
    if path is not None:
        try:
            path.write_text(make(matrix), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}. Choose another place") from error


def _line(outcome: CaseOutcome) -> str:
    why = f": {outcome.why}" if outcome.why else ""
    return f"{outcome.case.name}: {outcome}{why} ({outcome.seconds:.1f} s)"
