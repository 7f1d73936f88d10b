"""The command `shrink triage`: many failures become clusters by cause, and one repro of each."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli import engines
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import (
    CONTEXT,
    OneLineComplaints,
    architecture,
    chosen_python,
    narrator,
    print_answer,
    running,
    settings,
)
from shrinkray_gpu.errors import Interrupted, UsageError
from shrinkray_gpu.runner import cores

SECONDS = 120.0
"""Of search for each cluster. Most of what a search finds it finds in the first minute."""
TIMEOUT = 120.0
BESIDE, CORES = 4, 4
"""At most so many tests or reductions at a time, and one for so many cores."""


class _TriageCommand(OneLineComplaints):
    """What stands behind `--` is a pytest command; all before it is ours."""

    interrupted = "interrupted; the same command goes on"
    panels = {
        "How it is run": ("arch", "python", "env", "cwd", "timeout"),
        "How far it goes": ("hours", "max-time", "shrink-args", "no-reduce", "restart"),
        "What it is spread over": ("ray", "accelerator", "shard", "merge"),
        "What comes of it": ("output", "quiet", "json", "help"),
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params["command"] = tuple(args[at + 1 :])
        return rest


@click.command("shrink triage", cls=_TriageCommand, context_settings=CONTEXT)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATHS]... [-- pytest ARGS...]")
@running("all tests", each="a run of a test", default="120")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("triage"),
    help="Where all goes: index.md, a folder for each cause with its repro, the journal. Default: triage.",
)
@click.option(
    "--hours",
    type=click.FloatRange(0, min_open=True),
    metavar="H",
    help="Budget: half of it at most for runs, the rest for the clusters that explain most. Default: no end.",
)
@click.option(
    "--max-time",
    type=click.FloatRange(0, min_open=True),
    default=SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds of search for each cluster.",
)
@click.option("--shrink-args", default="", metavar="ARGS", help="More options for each reduction, in one string.")
@click.option("--no-reduce", is_flag=True, help="Only sort: no repro is made.")
@engines.ray_option
@engines.accelerator_option
@engines.shard_option
@click.option("--merge", "merges", is_flag=True, help="PATHS are the DIRs of --shard: all that they have as one.")
@click.option("--restart", is_flag=True, help="Forget what an earlier call found in DIR. Default: go on with it.")
@click.option("--quiet", is_flag=True, help="Only the result.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, and nothing else.")
def triage_command(paths: tuple[Path, ...], **given: Any) -> None:
    """Sort many failing tests by cause, and reduce one test of each cause to a small script.

    \b
    shrink triage -- pytest tests/                        run the tests, and sort what fails
    shrink triage --arch sm_90 -- pytest tests/           the same without a GPU
    shrink triage junit.xml job2.log capsules --hours 2   failures of earlier runs
    shrink triage junit.xml --no-reduce                   sort only

    Each failing test is run once more by itself. What begins at the same statement of the same kernel is one cause,
    whatever it says. Failures of the machine and known cases of a corpus are set apart. Read DIR/index.md first. The
    same command goes on where an earlier one ended.

    Several machines share the runs by --shard, and --merge makes one triage of them. With both they share the
    reductions. A cluster of Ray needs neither: docs/triage.md.

    Exit codes: 0 all are sorted, 2 usage, 130 interrupted (what is there is told).
    """
    from shrinkray_gpu.command.pytest_settings import PytestSettings
    from shrinkray_gpu.triage import page  # neither help nor a complaint waits for these
    from shrinkray_gpu.triage.reductions import Reducing, relative
    from shrinkray_gpu.triage.reruns import TriagePlace
    from shrinkray_gpu.triage.shared_triage import merged
    from shrinkray_gpu.triage.triage import TriageAsked, of_shards, triage

    arguments, shard = _pytest(given["command"]), engines.shard_of(given)
    arch, environment = architecture(given["arch"]), settings(given["env"])
    _check(paths, arguments, arch, given)
    say = narrator(given["quiet"] or given["as_json"])
    together = merged(paths, say) if given["merges"] else None
    reducing = Reducing(given["max_time"], _words(given["shrink_args"]))
    if together and not shard:
        together.copy_repros(given["output"])
        result = of_shards(together)
    else:
        if together:
            together.check(arch, environment)
            arguments, paths = together.pytest, ()
        cwd = (given["cwd"] or Path.cwd()).absolute()
        place = TriagePlace(
            (given["python"] or "") if given["ray"] else chosen_python(given["python"], cwd / "tests", say),
            arch,
            environment,
            cwd,
            given["timeout"] or TIMEOUT,
            PytestSettings.of(arguments),
            given["accelerator"] or "",
        )
        asked = TriageAsked(
            paths,
            arguments,
            given["output"],
            math.inf if given["hours"] is None else given["hours"],
            restart=given["restart"],
            reduce=not given["no_reduce"] and (shard is None or together is not None),
            shard=shard,
            merged=together,
        )
        beside = None if given["ray"] else max(1, min(BESIDE, cores.usable() // CORES))
        with closing(engines.engine_of({**given, "jobs": beside}, say)) as engine:
            result = triage(asked, place, reducing, engine, say)
    say.close()
    told = page.to_json(result)
    try:
        page.write(given["output"], told)
    except OSError as error:
        raise UsageError(f"cannot write {given['output']}: {error.strerror}. Make room there, and try again") from error
    if given["as_json"]:
        print_answer(told)
    elif not (result.failures or result.interrupted):
        echo("no failure: nothing is to be sorted")
    else:
        echo(page.summary(told))
        for each in told["clusters"]:
            echo(f"  {len(each['members'])} x {each['title']}: {each['state']}")
        echo(f"saved: {relative(given['output'] / page.INDEX)}")
    if result.sick:
        raise result.sick
    if result.interrupted:
        raise Interrupted(f"interrupted; {relative(given['output'])} has what is known. The same command goes on")


def _check(paths: tuple[Path, ...], pytest: tuple[str, ...], arch: int | None, given: Mapping[str, Any]) -> None:
    """Raises UsageError for words that do not go together."""
    if given["merges"] and (not paths or pytest):
        raise UsageError("what is merged? Usage: shrink triage --merge DIR DIR ..., which shrink triage --shard wrote")
    if not paths and not pytest:
        raise UsageError("which failures? Usage: shrink triage junit.xml, or shrink triage -- pytest tests/")
    engines.check_words(given)
    if given["shard"] and given["merges"] and given["no_reduce"]:
        raise UsageError("--shard with --merge shares the reductions: leave out --no-reduce, or --shard")
    if given["shard"] and pytest and arch is None:
        raise UsageError(
            "--shard with -- pytest needs --arch. Without it, run a part of the tests on each machine, and hand in the "
            "junit.xml of all"
        )


def _pytest(command: Sequence[str]) -> tuple[str, ...]:
    """The arguments of `pytest ARGS`, `python -m pytest ARGS`. Raises UsageError for another command."""
    if not command:
        return ()
    words = list(command)
    if os.path.basename(words[0]).startswith("python"):
        words = words[1:]
    if words[:1] == ["-m"]:
        words = words[1:]
    if words[:1] not in (["pytest"], ["py.test"]):
        raise UsageError(f"-- {shlex.join(command)}: only pytest is run here, as in: shrink triage -- pytest tests/")
    return tuple(words[1:]) or (".",)


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--shrink-args: {error}. Write it as a shell would read it") from error
