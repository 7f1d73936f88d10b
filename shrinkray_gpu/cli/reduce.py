"""The commands `shrink FILE` and `shrink check FILE`: arguments in, words out.

All work is done by the public API. It is imported once there is work: help and complaints wait for nothing.
"""

from __future__ import annotations

import difflib
import gc
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shrinkray_gpu.cli import engines, project_settings, sandbox
from shrinkray_gpu.cli.case_kinds import kind_options, reducer
from shrinkray_gpu.cli.interrupt import Interrupt
from shrinkray_gpu.cli.json_lines import print_event
from shrinkray_gpu.cli.module import TakesModule, file_or_module, find_command
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import (
    CONTEXT,
    architecture,
    chosen_python,
    fail,
    for_option,
    narrator,
    publish_option,
    running,
    settings,
)
from shrinkray_gpu.errors import NO_ROOM, UsageError
from shrinkray_gpu.events import nobody, saying
from shrinkray_gpu.options import Options, display_name
from shrinkray_gpu.runner.sandbox import SandboxPlaces

if TYPE_CHECKING:
    from shrinkray_gpu.cli.progress import Progress

_OF_CHECK = frozenset(
    "oracle reject control control-env control-patch m sources launch arch ptxas nvcc python env cwd writable sandbox "
    "jobs timeout quiet json help".split()
)
"""Options of `shrink check`."""


class _Reduce(TakesModule):
    panels = {
        "What must persist": (
            "oracle", "reject", "keep", "control", "control-env", "control-patch", "confidence", "no-guards",
        ),
        "What FILE may be": ("m", "sources", "launch", "pass", "ptxas", "nvcc"),
        "How it is run": ("arch", "python", "env", "cwd", "writable", "sandbox"),
        "What it is spread over": ("jobs", "gpus", "ray", "accelerator"),
        "How long it may take": ("timeout", "max-time", "fast", "final-runs", "resume", "restart", "check"),
        "What comes of it": ("output", "no-report", "for", "publish", "zip", "cu", "gpu-price"),
        "What is said": ("quiet", "verbose", "json", "help"),
        "To study the tool": ("list-passes", "skip-pass", "seed", "mode"),
    }  # fmt: skip


@click.command("shrink", cls=_Reduce, context_settings=CONTEXT)
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
@kind_options
@click.option("--skip-pass", "skip", multiple=True, metavar="NAME", help="Leave this pass out; repeatable.")
@click.option("--list-passes", is_flag=True, help="Print the passes in order, and end.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N", help="Lanes. Default: what cores and device memory allow."
)
@click.option(
    "--gpus", type=click.IntRange(1), metavar="N", help="GPUs to spread lanes over. Default: all like the first."
)
@engines.ray_option
@engines.accelerator_option
@click.option(
    "--max-time",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Seconds of search, after which the best so far is the result.",
)
@click.option("--fast", is_flag=True, help="End the search where its next step is not worth ten seconds.")
@click.option(
    "--seed", type=int, metavar="N", default=0, show_default=True, help="The same seed gives the same result."
)
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
    "--check-only",
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
    metavar="P",
    default=0.95,
    show_default=True,
    help="That the result is right, for a fault that shows in some runs only.",
)
@click.option(
    "--no-guards", is_flag=True, help="The oracle alone decides: no controls, no fingerprints. For experiments."
)
@click.option("--kernel-only", is_flag=True, hidden=True, help="Refuse a fault that hangs on no kernel.")
@click.option("--no-credit", is_flag=True, hidden=True, help="Each accepted step takes a run of its own. To compare.")
@click.option("--no-ahead", is_flag=True, hidden=True, help="Lanes idle where nothing is asked. To compare.")
@click.option(
    "--cu", is_flag=True, help="Of a program that builds CUDA C++: write a .cu with a main() beside the result, too."
)
@click.option("--no-report", is_flag=True, help="Leave out ISSUE.md, report.html and the runs that they need.")
@for_option
@publish_option
@click.option("--zip", "zipped", is_flag=True, help="Put ISSUE.md and all that belongs to it into one archive too.")
@click.option(
    "--gpu-price", type=float, metavar="P", help="Price of an hour of GPU: ISSUE.md says what the reduction cost."
)
@click.option(
    "--mode",
    type=click.Choice(["fork", "cold"]),
    help="How candidates run, whatever calibration says. For experiments.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress bar; only the result.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one a line; the last is the result.")
@click.option("-v", "--verbose", is_flag=True, help="Tell each accepted step, tries by kind, and more at the end.")
@click.pass_obj
def reduce_command(
    words: tuple[str, ...], /, file: Path | None, args: tuple[str, ...], module: str | None, **given: Any
) -> None:
    """Reduce FILE, run as `python FILE ARGS...`, to the smallest standalone script that still shows the same fault.

    Options may stand before FILE or behind it. Behind it a word that is no option of shrink is one of ARGS, and so is
    everything behind `--`.

    `shrink [options] -m MODULE ARGS...` does so with `python -m MODULE ARGS...`, for example with one test by
    `-m pytest tests/test_x.py::test_y`: the result is a script that needs neither the package nor the tests.
    `pytest`, `torchrun` and `accelerate launch` may be written without -m. Of any other command, as
    `--sources DIR -- ./run.sh`, the files in DIR are reduced.

    A FILE with Triton's IR (.ttir, .ttgir, .mlir, or a log with a module in it) on which a pass of the compiler fails
    becomes the smallest such module, a test for lit: --arch names the target, as gfx942, where FILE names no passes.

    A FILE with PTX (.ptx, or a log with it) on which ptxas fails becomes the smallest. Behind `--` stand its options.

    A FILE ending in .cu is a CUDA program with a main(): it becomes the smallest one that shows the same fault, in what
    nvcc says or in a run. ARGS are the program's.

    A FILE ending in .ndjson or .ndjson.gz is a trace by tritonparse: its --launch N becomes a script and is reduced.

    Exit codes: 0 reduced, 2 usage, 3 did not reproduce, 4 final check failed (the best verified program is still
    written), 130 interrupted (the best so far is written; --resume goes on).
    """
    if given["list_passes"]:
        from shrinkray_gpu.passes import PASSES

        echo(f"{'lift':16} The launch that faults, alone: the first trial, before all passes.")
        echo(f"{'embed':16} Sources in files that torch loads (.cu, .cpp): part of the script from the start.")
        for one in dict.fromkeys(PASSES):
            echo(f"{one.name:16} {one.why}")
        return
    if file is None and module is None:
        own = "shrink check" if given["only_check"] else "shrink"
        fail(f"which file? Usage: {own} FILE [options] [ARGS...], or {own} [options] -m MODULE ARGS...", 2)
    engines.check_words(given)
    sandbox.enter(given["sandbox"], words, _sandbox_places(file, given))
    quiet = given["quiet"] or given["as_json"]
    screen = narrator(quiet)
    hear = print_event if given["as_json"] else None
    say = saying(screen, hear or nobody)
    interrupt = Interrupt(screen, as_json=given["as_json"])
    progress: Progress | None = None
    best: Path | None = None
    _tell_settings(say)
    if reduce_case := reducer(file if module is None else None, given):
        return reduce_case(file or Path(), args, given, screen, interrupt)
    try:
        options = _options(args, given, chosen_python(given["python"], file, say))
        from shrinkray_gpu.cli.progress import Progress
        from shrinkray_gpu.cli.summary import tell
        from shrinkray_gpu.job import reduce as job
        from shrinkray_gpu.job.asked import places
        from shrinkray_gpu.oracle import typed

        if module is not None:
            options = _command(module, options)
        file = options.command.path if options.command else file
        assert file is not None
        file, options = _traced(file, given["launch"], options)
        if given["only_check"]:
            spec = job.check(file, options, say=screen, on_event=hear)
            screen.close()
            if hear is None:
                echo(f"{display_name(file, options)} shows {typed(spec)}")
            return
        best = places(file, options)[1] / "best.py"
        if not quiet:
            progress = Progress(Path(os.path.relpath(best)), screen, verbose=given["verbose"])
        gc.set_threshold(100_000, 20, 100)  # syntax trees live long and hold no cycles: a quarter less on 4,000 lines
        try:
            result = job.reduce(
                file,
                options,
                say=screen,
                progress=progress.show if progress else None,
                stop=interrupt.asked,
                on_event=hear,
            )
        finally:
            screen.close()
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        whole = f"the best so far, if any, is whole in {best}" if best is not None else "nothing was reduced yet"
        in_the_way = f": {error.filename2 or error.filename}" if isinstance(error, IsADirectoryError) else ""
        fail(
            f"cannot write any more ({error.strerror}{in_the_way}); {whole}. Make room and go on with the same command "
            "and --resume, or choose another place with --output",
            2,
        )
    except KeyboardInterrupt:
        if best is None:
            fail("interrupted before the search began; nothing is lost", 130)
        fail(f"interrupted; the best so far is {best}. Go on with the same command and --resume", 130)
    gc.freeze()  # what is left ends with the process: Python would look through all of it first, for a second
    if hear is None:
        tell(result, file, options.command, whole=given["verbose"])
    if result.ended in ("stopped", "interrupted"):
        sys.exit(130)


class _Check(TakesModule):
    panels = {title: tuple(each for each in names if each in _OF_CHECK) for title, names in _Reduce.panels.items()}


@click.pass_context
def _check(context: click.Context, /, **given: Any) -> None:
    """Tell whether FILE, run as `python FILE ARGS...`, shows the fault that a reduction would begin with. Writes
    nothing beside it. `shrink FILE --check` is the same.

    Exit codes: 0 it shows it, 2 usage, 3 it does not.
    """
    rest = reduce_command.make_context("shrink", [], parent=context).params
    context.invoke(reduce_command, **{**rest, **given, "only_check": True})


check_command = _Check(
    "shrink check",
    context_settings=CONTEXT,
    callback=_check,
    help=_check.__doc__,
    params=[
        each
        for each in reduce_command.params
        if each.name in ("file", "args") or any(name.lstrip("-") in _OF_CHECK for name in each.opts)
    ],
)


_OF_ENVIRONMENT = frozenset({"env", "control-env"})
"""Options whose values may be secrets."""


def _tell_settings(say: Callable[[str], None]) -> None:
    """Which options come from pyproject.toml."""
    project, taken = project_settings.find(Path.cwd()), project_settings.taken()
    if project is not None and taken:
        params = click.get_current_context().command.params
        named = {name.lstrip("-"): each.name for each in params for name in each.opts}
        words = {name: name if name in _OF_ENVIRONMENT else f"{name} {value}" for name, value in project.values.items()}
        said = ", ".join(word for name, word in words.items() if named.get(name) in taken)
        say(f"from {project.file}: {said}")


def _options(args: tuple[str, ...], given: dict[str, Any], found: str) -> Options:
    if given["skip"]:
        _check_passes(given["skip"])
    if given["resume"] and given["restart"]:
        raise UsageError("--resume goes on with a reduction and --restart forgets it: choose one")
    if shutil.which(found) is None:
        python = given["python"] or found
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
    left_out = {name: not given[f"no_{name}"] for name in ("guards", "credit", "ahead", "report")}
    return Options(**{**as_typed, **read, **left_out})


def _check_passes(names: Sequence[str]) -> None:
    from shrinkray_gpu.passes import PASSES

    known = ["lift", "embed", "on_cpu", *(one.name for one in PASSES)]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "--list-passes tells all that there are"
            raise UsageError(f"--skip-pass {name}: no such pass; {hint}")


def _sandbox_places(file: Path | None, given: dict[str, Any]) -> SandboxPlaces:
    """What the command needs in a sandbox: the result goes to a folder that it writes in."""
    path = file or Path("command.py")
    folder = (given["output"] or path).absolute().parent
    project, python = project_settings.find(Path.cwd()), chosen_python(given["python"], file)
    seen = [path.absolute().parent, *sandbox.interpreters([python])]
    seen += [*filter(None, [given["cwd"]]), *([project.file] if project else [])]
    return SandboxPlaces((folder, *given["writable"]), tuple(seen), (path,) if os.path.exists(path) else ())


def _command(module: str, options: Options) -> Options:
    """The options with `-m MODULE ARGS...` in place of a file and its arguments."""
    command = find_command(
        module, options.argv, python=options.python, cwd=options.cwd, environment=options.environment
    )
    return replace(options, command=command, argv=())


def _traced(file: Path, launch: int | None, options: Options) -> tuple[Path, Options]:
    """A trace's launch in place of the trace; other files as they are."""
    from shrinkray_gpu.lift.from_trace import trace

    if options.command is None and trace.is_trace(file):
        output = options.output or file.with_name(f"repro_{trace.stem(file)}.py")
        return trace.script_file(file, launch, output.parent), replace(options, output=output)
    if launch is not None:
        raise UsageError(f"--launch {launch}: only a trace (.ndjson, .ndjson.gz) has launches to choose from")
    return file, options
