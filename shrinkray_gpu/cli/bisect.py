"""The command `shrink bisect FILE --good V --bad V`: the release in which a fault began, or ended."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.module import TakesProgram
from shrinkray_gpu.cli.output import echo, print_data
from shrinkray_gpu.cli.replay import bisect_case
from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.cli.words import (
    CONTEXT,
    architecture,
    chosen_python,
    narrator,
    print_answer,
    releases,
    running,
    settings,
)
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.corpus.case import MachineNeeds
from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.events import SCHEMA
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.ptx.ptx_file import holds_ptx
from shrinkray_gpu.questions.bisect import Bisected, Bisection, ReleaseHistory, bisect_program, history_of
from shrinkray_gpu.questions.bisect.answer_log import (
    AnswerLog,
    answer_log,
    settings_with_digests,
    url_with_digest,
    words_with_digests,
)
from shrinkray_gpu.questions.bisect.bisect import check_good_end
from shrinkray_gpu.questions.bisect.git_script import git_script
from shrinkray_gpu.questions.bisect.pair import PairBisection
from shrinkray_gpu.questions.bisect.release_runs import PACKAGES, ReleasePlace, ReleaseRuns
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner.interpreter import check_python

RUNS = 100
"""Of one release, at most. A fault that shows in 5 % of the runs is missed by all with a probability of 0.6 %."""
NOT_FOUND = 3


class _Bisect(TakesProgram):
    interrupted = "interrupted; every answer so far is kept. The same command goes on with them"
    panels = {
        "What is searched": ("good", "bad", "over", "triton", "index"),
        "What counts": ("oracle", "reject", "corpus", "confidence", "runs", "restart"),
        "How it is run": ("arch", "python", "env", "cwd", "timeout"),
        "For git bisect run": ("print-script", "build", "rate"),
        "What is said": ("json", "help"),
    }


@click.command("shrink bisect", cls=_Bisect, context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.argument("args", nargs=-1)
@click.option("--good", metavar="V", help="A release that does not show the fault; older or newer than the bad one.")
@click.option("--bad", metavar="V", help="A release that shows it.")
@click.option(
    "--over",
    metavar="PACKAGE[,PACKAGE]",
    default="triton",
    show_default=True,
    help="Releases of triton, torch or ptxas; of two, such as triton,ptxas, with --good V,V and --bad V,V.",
)
@click.option(
    "--triton", "tritons", metavar="V,V,...", help="Search these releases of Triton only. Default: all of the index."
)
@click.option("--index", metavar="URL", help="Take Triton, or torch, from this package index alone (PEP 503).")
@click.option(
    "--oracle",
    multiple=True,
    metavar="SPEC",
    help="What counts as the fault; repeatable, all must hold. Default: what FILE shows with the bad release.",
)
@click.option("--reject", multiple=True, metavar="SPEC", help="What does not count; repeatable.")
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    metavar="P",
    default=0.95,
    show_default=True,
    help="Below this probability no release is named.",
)
@click.option(
    "--runs", type=click.IntRange(1), metavar="N", default=RUNS, show_default=True, help="Of one release at most."
)
@running("all runs", each="a run", default="120")
@click.option("--restart", is_flag=True, help="Forget the answers of an earlier search.")
@click.option("--print-script", is_flag=True, help="Print a script for git bisect run, and end. Takes --build, --rate.")
@click.option("--build", metavar="COMMAND", help="What the script builds a commit with. Default: nothing.")
@click.option(
    "--rate",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="P",
    default=1.0,
    show_default=True,
    help="For the script: in how many of its runs a bad commit shows the fault.",
)
@click.option("--corpus", type=click.Path(path_type=Path), default=Path("corpus"), help="Of CASE. Default: ./corpus.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else.")
def bisect_command(file: Path | None, args: tuple[str, ...], **given: Any) -> None:
    """Find the release in which the fault of FILE began, between --good and --bad, or ended, where --good is newer.

    Each run may show the fault, pass, or tell nothing: another fault is neither good nor bad. The next run is the one
    that tells most for its price, and a release is named once its probability is --confidence. Answers are kept in
    <stem>.bisect; the same command goes on with them.

    Of two packages each is searched with the other at its bad end: a fault of the pair needs both.

    `shrink bisect CASE` tells between which releases a case of ./corpus changed.

    Exit codes: 0 found, 2 usage, or an end is not what it is said to be, 3 not found to the confidence.
    """
    if file is None:
        raise UsageError("which file? Usage: shrink bisect FILE --good V --bad V [options] [ARGS...]")
    if holds_ptx(file):
        raise UsageError(
            f"{file} is PTX, which each release takes or not: shrink replay {file} --ptxas all tells of all"
        )
    if not (given["good"] or given["bad"] or given["print_script"] or file.suffix == ".py"):
        return bisect_case(os.fspath(file), given)
    read_program(file)
    for spec in (*given["oracle"], *given["reject"]):
        if parse(spec, folder=Path.cwd()).needs.elsewhere:
            raise UsageError(f"--oracle {spec} compares two releases by itself: give shrink FILE --check one by one")
    if given["reject"] and not given["oracle"]:
        raise UsageError("--reject takes something from what --oracle asks for: give that, too")
    if given["print_script"]:
        return print_data(git_script(file, args, _checked(file, given)), nl=False)
    if not (given["good"] and given["bad"]):
        missing = "--bad" if given["good"] else "--good"
        raise UsageError(f"between which releases? Give {missing} V, too: --good one without the fault, --bad one with")
    _check_over(given)
    if not _search(file, args, given):
        sys.exit(NOT_FOUND)


def _check_over(given: Mapping[str, Any]) -> None:
    over = given["over"].split(",")
    if "driver" in over:
        raise UsageError(
            "--over driver: a driver cannot be installed aside, and other ones are not at hand here. Run shrink check "
            "on a machine with each"
        )
    if not {*over} <= {*PACKAGES} or len({*over}) != len(over) or len(over) > 2:
        raise UsageError(f"--over {given['over']}: name one of {', '.join(PACKAGES)}, or two of them with a comma")
    for option in ("good", "bad"):
        if len(given[option].split(",")) != len(over):
            raise UsageError(f"--{option} {given[option]}: give one release of each of --over {given['over']}")
    if "triton" not in over and given["tritons"]:
        raise UsageError(f"--triton is for --over triton: leave it out with --over {given['over']}")
    if over == ["ptxas"] and given["index"]:
        raise UsageError("--index is for --over triton and --over torch: leave it out")


def _checked(file: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with whole paths. Raises UsageError for what a search would refuse, too: git would skip every commit
    for it."""
    architecture(given["arch"])
    settings(given["env"])
    python = chosen_python(given["python"], file, narrator(given["as_json"]))
    check_python(python)
    return {**given, "python": python, "cwd": (given["cwd"] or Path.cwd()).absolute()}


def _search(file: Path, args: tuple[str, ...], given: Mapping[str, Any]) -> bool:
    say = narrator(given["as_json"])
    over = given["over"].split(",")
    place = ReleasePlace(
        over[0],
        chosen_python(given["python"], file, say),
        architecture(given["arch"]),
        settings(given["env"]),
        (given["cwd"] or Path.cwd()).absolute(),
        given["index"] or "",
    )
    if len(over) == 2:
        return _told(_pair(file, args, given, place, say), {}, given["as_json"], say)
    bisection, _ = _bisected(file, args, given, place, file.with_name(f"{file.stem}.bisect"), say)
    check_good_end(bisection)
    return _told(bisection, _moved_along(bisection, place) if over == ["torch"] else {}, given["as_json"], say)


def _told(found: Bisection | PairBisection, moved: Mapping[str, str], as_json: bool, say: Screen) -> bool:
    """Whether it was found. `moved`: the Triton of each torch."""
    say.close()
    if as_json:
        print_answer({"schema": SCHEMA, **found.to_json(), **({"triton": moved} if moved else {})})
    else:
        echo(f"{found.table()}\n{found.verdict()}")
        if len(set(moved.values())) > 1:
            pairs = ", ".join(f"{triton or 'none'} with torch {torch}" for torch, triton in moved.items())
            echo(f"Triton moved along, and may be what changed: {pairs}. Search --over triton, too")
    return found.found


def _pair(
    file: Path, args: tuple[str, ...], given: Mapping[str, Any], place: ReleasePlace, say: Screen
) -> PairBisection:
    """Each of the two beside the bad end of the other; what the first search took for the fault is that of both."""
    names = ("over", "good", "bad")
    asked = [{**given, **dict(zip(names, words))} for words in zip(*(given[name].split(",") for name in names))]
    places = [replace(place, package=each["over"]) for each in asked]
    bad = [_history(each, at).releases[-1] for each, at in zip(asked, places)]
    found = []
    for at, other in ((0, 1), (1, 0)):
        beside = replace(places[at], beside=(places[other].package, bad[other]))
        folder = file.with_name(f"{file.stem}.bisect") / places[at].package
        say(f"{places[at].package}, with {places[other].package} {bad[other]}:")
        bisection, oracle = _bisected(file, args, asked[at], beside, folder, say)
        asked[other] = {**asked[other], "oracle": oracle}
        found.append(bisection)
    return PairBisection(*found)


def _bisected(
    file: Path,
    args: tuple[str, ...],
    given: Mapping[str, Any],
    place: ReleasePlace,
    folder: Path,
    say: Screen,
) -> tuple[Bisection, tuple[str, ...]]:
    """What a search of one package came to, and what it took for the fault."""
    question = {
        "file": hashlib.sha256(file.read_bytes()).hexdigest(),
        **{name: given[name] for name in ("good", "bad", "over", "tritons", "timeout")},
        "index": given["index"] and url_with_digest(given["index"]),
        "oracle": [*given["oracle"]],
        "reject": [*given["reject"]],
        "args": words_with_digests(args),
        "arch": place.arch,
        "environment": settings_with_digests(place.environment),
        "cwd": str(place.cwd),
        "python": place.python,
        **({"beside": [*place.beside]} if place.beside else {}),
    }
    with answer_log(folder, question, restart=given["restart"]) as log:
        history, oracle = _begun(log) or _begin(log, file, args, given, place, question, say)
        program = Bisected(
            folder=file.parent,
            title=file.name,
            klass="",
            mechanism="",
            oracle=oracle,
            reject=given["reject"],
            argv=args,
            timeout=given["timeout"] or 0.0,
            needs=MachineNeeds(gpu=place.arch is None and gpus.present()),
            file=file,
        )
        with ReleaseRuns(program, place, say) as runs:
            return bisect_program(
                history, runs, log, confidence=given["confidence"], most_runs=given["runs"], say=say
            ), oracle


def _moved_along(bisection: Bisection, place: ReleasePlace) -> dict[str, str]:
    """The Triton of each torch that was run, from the last before the change to the last that may have brought it."""
    found = bisection.search.found()
    if found is None:
        return {}
    bounds = range(bisection.search.good_neighbour(found), found.last + 1)
    run = [bisection.history.releases[at] for at in bounds if any(bisection.search.runs(at))]
    return {each: environments.triton_of(place.interpreter(each, lambda text: None)[0]) for each in run}


def _begun(log: AnswerLog) -> tuple[ReleaseHistory, tuple[str, ...]] | None:
    """What an earlier search found out at its beginning."""
    if not log.begun:
        return None
    return ReleaseHistory(log.begun["over"], tuple(log.begun["releases"])), tuple(log.begun["spec"])


def _begin(
    log: AnswerLog,
    file: Path,
    args: tuple[str, ...],
    given: Mapping[str, Any],
    place: ReleasePlace,
    question: Mapping[str, Any],
    say: Callable[[str], None],
) -> tuple[ReleaseHistory, tuple[str, ...]]:
    history = _history(given, place)
    count, ends = len(history.releases), (history.releases[0], history.releases[-1])
    say(f"searching {count} releases of {place.package}, from the good {ends[0]} to the bad {ends[1]}")
    oracle = given["oracle"] or (_adopted(file, args, given, place, history.releases[-1], say),)
    log.begin({**question, "releases": [*history.releases], "spec": [*oracle]})
    return history, oracle


def _history(given: Mapping[str, Any], place: ReleasePlace) -> ReleaseHistory:
    if place.package == "ptxas":
        offered = environments.ptxas_releases(place.python)
    else:
        named = releases(given["tritons"]) if place.package == "triton" else None
        offered = named or environments.triton_releases(place.python, place.index, place.package)
    return history_of(place.package, given["good"], given["bad"], offered=offered)


def _adopted(
    file: Path,
    args: tuple[str, ...],
    given: Mapping[str, Any],
    place: ReleasePlace,
    bad: str,
    say: Callable[[str], None],
) -> str:
    """The fault that FILE shows with the bad release. Raises UsageError where it shows none."""
    from shrinkray_gpu.job.reduce import check
    from shrinkray_gpu.options import Options

    python, environment = place.interpreter(bad, say)
    options = Options(
        python=python, arch=place.arch, argv=args, environment=environment, cwd=place.cwd, timeout=given["timeout"]
    )
    try:
        spec = check(file, options, say=say)
    except NotReproduced as error:
        raise UsageError(
            f"the bad end is not bad: {place.package} {bad}: {error}. Name another release by --bad"
        ) from error
    say(f"the fault: {spec}")
    return spec
