"""The command `shrink`: arguments in, words out. All work is done by the public API."""

from __future__ import annotations

import gc
import importlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from shrinkray_gpu.cli import sandbox
from shrinkray_gpu.cli.module import TakesModule, file_or_module, find_command
from shrinkray_gpu.cli.progress import Progress
from shrinkray_gpu.cli.words import CONTEXT, architecture, fail, narrator, publish_option, running, settings
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.errors import NO_ROOM, UsageError
from shrinkray_gpu.evidence.versions import __version__
from shrinkray_gpu.job.asked import places
from shrinkray_gpu.job.reduce import check, reduce
from shrinkray_gpu.lift.from_trace import trace
from shrinkray_gpu.options import Options, display_name
from shrinkray_gpu.oracle import typed
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.result.summary import Result
from shrinkray_gpu.runner.interpreter import interpreter_path
from shrinkray_gpu.runner.sandbox import SandboxPlaces

TOLD = 3
"""Other faults that the summary names; all are in --json."""

OTHERS = {
    "explain": ("shrinkray_gpu.cli.explain", "explain"),
    "replay": ("shrinkray_gpu.cli.replay", "replay_command"),
    "corpus": ("shrinkray_gpu.cli.corpus", "corpus"),
    "ir": ("shrinkray_gpu.cli.ir", "ir"),
    "sweep": ("shrinkray_gpu.cli.sweep", "sweep_command"),
    "report": ("shrinkray_gpu.cli.report", "report_command"),
}
"""Commands beside the main one, and where they are."""


class _MainCommand(TakesModule):
    """The main command, and the door to the others."""

    def main(self, args: Any = None, *others: Any, **extra: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        if words and (other := OTHERS.get(words[0])):  # a script of that name is ./explain
            module, name = other
            return getattr(importlib.import_module(module), name).main(words[1:], prog_name=f"shrink {words[0]}")
        return super().main(words, *others, **extra)


@click.command("shrink", cls=_MainCommand, context_settings=CONTEXT)
@file_or_module()
@click.option(
    "--launch",
    type=int,
    metavar="N",
    help="FILE is a trace by tritonparse (.ndjson): reduce this launch of it, from 0; -1 is the last.",
)
@click.option(
    "--oracle",
    multiple=True,
    metavar="SPEC",
    help="What must persist; repeatable, all must hold. Without it the fault seen is adopted.",
)
@click.option("--reject", multiple=True, metavar="SPEC", help="What must not happen; repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where the result goes. Default: repro_<stem>.py beside FILE.",
)
@running("the candidates", each="a run", default="from the original")
@click.option(
    "--writable",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Where candidates may write, beside folders of their own; repeatable. FILE itself runs as you would run it.",
)
@sandbox.option
@click.option(
    "--keep", multiple=True, metavar="NAME", help="Never remove this definition. Also `# shrink: keep` on a statement."
)
@click.option("--skip-pass", "skip", multiple=True, metavar="NAME", help="Leave this pass out; repeatable.")
@click.option("--list-passes", is_flag=True, help="Print the passes in order, and end.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Lanes. Default: what cores and device memory allow.")
@click.option(
    "--max-time",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Seconds of search, after which the best so far is the result.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same result.")
@click.option(
    "--final-runs",
    type=click.IntRange(1),
    metavar="N",
    help="Clean runs that verify the result. Default: 3 on a GPU, 1 without.",
)
@click.option(
    "--resume", is_flag=True, help="Go on with an interrupted reduction; takes over a best.py edited by hand."
)
@click.option("--restart", is_flag=True, help="Begin anew and forget an earlier reduction of FILE.")
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Only tell whether FILE shows the fault: exit code 0 or 3. Writes nothing.",
)
@click.option(
    "--control",
    "controls",
    multiple=True,
    metavar="KNOB",
    help="With this knob turned at launch the fault must vanish, as num_stages=1; repeatable.",
)
@click.option(
    "--control-env",
    "control_environment",
    multiple=True,
    metavar="K=V",
    help="With this in the environment it must vanish; repeatable.",
)
@click.option(
    "--control-patch",
    "control_patches",
    multiple=True,
    metavar="DIFF",
    type=click.Path(path_type=Path),
    help="With this change of FILE it must vanish: a unified diff, or the whole changed file; repeatable.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the whole reduction, for a fault that shows in some runs only.",
)
@click.option("--no-guards", is_flag=True, help="The oracle alone decides: no controls, no fingerprints. To compare.")
@click.option("--no-credit", is_flag=True, hidden=True, help="Each accepted step takes a run of its own. To compare.")
@click.option("--no-ahead", is_flag=True, hidden=True, help="Lanes idle where nothing is asked. To compare.")
@click.option("--no-second", is_flag=True, help="At the end, do not try once to do better from the start.")
@click.option(
    "--cu", is_flag=True, help="Where it builds CUDA C++: beside the result a .cu with a main(), for plain nvcc."
)
@click.option("--no-report", is_flag=True, help="Leave out ISSUE.md, report.html and the runs that they need.")
@publish_option
@click.option("--zip", "zipped", is_flag=True, help="Put ISSUE.md and all that belongs to it into one archive too.")
@click.option("--gpu-price", type=float, metavar="P", help="Of an hour of GPU: ISSUE.md says what the reduction cost.")
@click.option("--mode", type=click.Choice(["fork", "cold"]), help="Force a running mode, for comparison.")
@click.option("--quiet", is_flag=True, help="No progress bar; only the result.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else.")
@click.option("--verbose", is_flag=True, help="Tell each accepted step.")
@click.version_option(__version__, prog_name="shrink")
@click.pass_obj
def main(words: tuple[str, ...], /, file: Path | None, args: tuple[str, ...], module: str | None, **given: Any) -> None:
    """Reduce FILE, run as `python FILE ARGS...`, to the smallest standalone script that still shows the same fault.

    Options may stand before FILE or behind it. Behind it a word that is no option of shrink is one of ARGS, and so is
    everything behind `--`.

    `shrink [options] -m MODULE ARGS...` does so with `python -m MODULE ARGS...`, for example with one test by
    `-m pytest tests/test_x.py::test_y`: the result is a script that needs neither the package nor the tests.
    `pytest`, `torchrun` and `accelerate launch` may be written without -m.

    A FILE ending in .ndjson or .ndjson.gz is a trace by tritonparse: its --launch N becomes a script and is reduced.

    `shrink explain FILE` reduces nothing: it runs FILE and tells all that the instruments say of its fault.

    `shrink report FOLDER` makes ISSUE.md, artifacts/ and report.html of an earlier reduction anew.

    Exit codes: 0 reduced, 2 usage, 3 did not reproduce, 4 final check failed (the best verified program is still
    written), 130 interrupted (the best so far is written; --resume goes on).
    """
    if given["list_passes"]:
        click.echo(f"{'lift':16} The launch that faults, alone: the first trial, before all passes.")
        click.echo(f"{'embed':16} Sources in files that torch loads (.cu, .cpp): part of the script from the start.")
        for one in dict.fromkeys(PASSES):
            click.echo(f"{one.name:16} {one.why}")
        return
    if file is None and module is None:
        fail("which file? Usage: shrink FILE [options] [ARGS...], or shrink [options] -m MODULE ARGS...", 2)
    sandbox.enter(given["sandbox"], words, _sandbox_places(file, given))
    quiet = given["quiet"] or given["as_json"]
    say = narrator(quiet)
    interrupt = _Interrupt(say)
    progress: Progress | None = None
    try:
        options = _options(args, given)
        if module is not None:
            options = _command(module, options)
        file = options.command.path if options.command else file
        assert file is not None
        file, options = _traced(file, given["launch"], options)
        if given["only_check"]:
            click.echo(f"{display_name(file, options)} shows {typed(check(file, options, say=say))}")
            return
        best = places(file, options)[1] / "best.py"
        if not quiet:
            progress = Progress(Path(os.path.relpath(best)), verbose=given["verbose"])
        gc.set_threshold(100_000, 20, 100)  # syntax trees live long and hold no cycles: a quarter less on 4,000 lines
        try:
            result = reduce(
                file,
                options,
                say=say,
                progress=progress.show if progress else (lambda event, judge: None),
                stop=interrupt.asked,
            )
        finally:
            if progress:
                progress.close()
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        fail(
            f"cannot write any more ({error.strerror}); the best so far, if any, is whole in {best}. Make room and go "
            "on with the same command and --resume, or choose another place with --output",
            2,
        )
    except KeyboardInterrupt:
        fail(f"interrupted; the best so far is {best}. Go on with the same command and --resume", 130)
    if given["as_json"]:
        click.echo(json.dumps(result.to_json()))
    else:
        _tell(result, file, options.command)
    if result.ended in ("stopped", "interrupted"):
        sys.exit(130)


def _options(args: tuple[str, ...], given: dict[str, Any]) -> Options:
    known = ["lift", "embed", *(one.name for one in PASSES)]
    for name in given["skip"]:
        if name not in known:
            raise UsageError(f"--skip-pass {name}: no such pass. There are {', '.join(known)}")
    if given["resume"] and given["restart"]:
        raise UsageError("--resume goes on with a reduction and --restart forgets it: choose one")
    python, found = given["python"], interpreter_path(given["python"])
    if shutil.which(found) is None:
        what = "this folder is no environment: it has no bin/python" if os.path.isdir(python) else "no such interpreter"
        raise UsageError(f"--python {python}: {what}. Give its path")
    as_typed = {one.name: given[one.name] for one in fields(Options) if one.name in given}
    read = {
        "python": found,
        "arch": architecture(given["arch"]),
        "argv": args,
        "keep": frozenset(given["keep"]),
        "skip": frozenset(given["skip"]),
        "environment": settings(given["env"]),
    }
    left_out = {name: not given[f"no_{name}"] for name in ("guards", "credit", "ahead", "second", "report")}
    return Options(**{**as_typed, **read, **left_out})


def _sandbox_places(file: Path | None, given: dict[str, Any]) -> SandboxPlaces:
    """What the command needs in a sandbox: the result goes to a folder that it writes in."""
    path = file or Path("command.py")
    folder = (given["output"] or path).absolute().parent
    seen = (path.absolute().parent, *sandbox.interpreters([given["python"]]), *filter(None, [given["cwd"]]))
    return SandboxPlaces((folder, *given["writable"]), seen, (path,) if os.path.exists(path) else ())


def _command(module: str, options: Options) -> Options:
    """The options with `-m MODULE ARGS...` in place of a file and its arguments."""
    command = find_command(
        module, options.argv, python=options.python, cwd=options.cwd, environment=options.environment
    )
    return replace(options, command=command, argv=())


def _traced(file: Path, launch: int | None, options: Options) -> tuple[Path, Options]:
    """A trace's launch in place of the trace; other files as they are."""
    if options.command is None and trace.is_trace(file):
        output = options.output or file.with_name(f"repro_{trace.stem(file)}.py")
        return trace.script_file(file, launch, output.parent), replace(options, output=output)
    if launch is not None:
        raise UsageError(f"--launch {launch}: only a trace (.ndjson, .ndjson.gz) has launches to choose from")
    return file, options


def _tell(result: Result, file: Path, command: Command | None) -> None:
    """The summary, for a person."""
    tries = ", ".join(f"{count} {tier}" for tier, count in sorted(result.tries.items()))
    spent = result.seconds
    gpu = f", {spent['gpu']:.0f} s of lanes on the GPU" if spent["gpu"] else ""
    head = {"done": "reduced", "out of time": "out of time, the best so far"}.get(
        result.ended, "interrupted, the best so far"
    )
    if command is None:
        click.echo(
            f"{head}: {file} from {result.before[0]} lines to {result.after[0]}, "
            f"{result.before[1]} tokens to {result.after[1]}"
        )
    else:  # nobody counted all that it runs
        click.echo(f"{head}: {command.command_line} to {result.after[0]} lines, {result.after[1]} tokens")
    for label, fact in (*result.verdict.items(), *(("known", each) for each in result.known)):
        click.echo(f"  {label}: {fact}")
    click.echo(
        f"  {sum(result.tries.values())} tries ({tries}) in {spent['start'] + spent['search'] + spent['check']:.0f} s: "
        f"start {spent['start']:.0f}, search {spent['search']:.0f}, final check {spent['check']:.0f}{gpu}"
    )
    click.echo(f"  {typed(result.spec)} in {result.verified} of {result.final_runs} clean runs")
    beside = "" if result.attachment.endswith(".zip") else ", and artifacts/ and report.html beside it"
    more = len(result.others) - TOLD
    for label, text in (
        ("", result.lifted),
        ("fault: ", result.fault),
        ("", result.same),
        *((f"rate of {name}: ", rate) for name, rate in result.rates.items()),
        ("healthy with: ", result.twin and f"{result.twin['edit']}; {result.twin['proof']}"),
        ("not healthy but for its fault: ", result.unhealthy),
        ("", result.guarded),
        *((f"ptxas, {name}: ", used or "nothing told") for name, used in result.ptxas.items()),
        ("passed over, since it shows the fault in lanes but not in each clean run: ", result.passed_over),
        ("", result.fence),
        ("ran without a fence, since it writes as the original does: ", result.unfenced),
        *(("met on the way: ", other) for other in result.others[:TOLD]),
        ("", f"and {more} more other faults in the same folder" if more > 0 else ""),
        ("saved: ", str(result.output)),
        ("plain CUDA: ", result.cu),
        ("to attach: ", result.attachment and f"{result.attachment}{beside}"),
        ("shows the fault: ", result.command),
        ("go on with: ", "the same command and --resume" if result.ended != "done" else ""),
    ):
        if text:
            click.echo(f"  {label}{text}")


class _Interrupt:
    """The first Ctrl-C asks the search to stop at the next wave, the second ends it without a check.

    Before the search there is nothing to save, and the original may take minutes: the first one ends all.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.count, self.searching = say, 0, False
        signal.signal(signal.SIGINT, self._note)
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self.searching:
            click.echo("shrink: interrupted before the search began; nothing is lost", err=True)
            os._exit(130)  # threads wait for the original to end; the processes of the lanes die with us
        if self.count > 1:
            raise KeyboardInterrupt
        self.say("stopping after the tries under way, then the result is checked; Ctrl-C again leaves out the check")

    def asked(self) -> bool:
        self.searching = True
        return self.count > 0
