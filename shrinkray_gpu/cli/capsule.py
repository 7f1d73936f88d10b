"""The command `shrink capsule CAPSULE`: what a program in production left of a fault, reduced without the program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli import reduce as of_reduce
from shrinkray_gpu.cli import sandbox
from shrinkray_gpu.cli.words import CONTEXT, OneLineComplaints, chosen_python, fail, narrator
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.runner.sandbox import SandboxPlaces

_LEFT_OUT = frozenset({"file", "args", "module", "launch", "list_passes", "only_check"})


class _CapsuleCommand(OneLineComplaints):
    panels = of_reduce.reduce_command.panels


@click.pass_context
def _capsule(context: click.Context, /, capsule: Path | None, launch: int | None, **given: Any) -> None:
    """Reduce the launch that failed in a program with the capture hook, from the CAPSULE that it left. The program is
    not needed.

    A capsule names the launches of which one failed. Each becomes a script, and the first that shows the error is
    reduced, as `shrink FILE` does. Without --oracle the error is the one that the capsule names.

    A capsule holds code, and its scripts run as your own. Of a stranger's, use --sandbox.

    Exit codes: as of shrink FILE; 3 too where no launch shows the error by itself.
    """
    if capsule is None:
        fail("which capsule? Usage: shrink capsule CAPSULE [options]", 2)
    from shrinkray_gpu.lift.from_capsule import capsule as capsules

    place = given["output"].absolute().parent if given["output"] else capsule.absolute().parent
    sandbox.enter(given["sandbox"], context.obj, _sandbox_places(capsule, place, given))
    say = narrator(given["quiet"] or given["as_json"])
    held = place / f"{capsule.stem}_contents"
    found = capsules.read(capsule, held)
    tries = found.tries(launch)
    given["oracle"] = given["oracle"] or (capsules.spec(found),)
    say(f"{capsule.name}: {found.error}; {found.seen} launches, {len(found.likely)} of them may be the one")
    capsules.unpack(found, held)
    rest = of_reduce.reduce_command.make_context("shrink", []).params
    for (suspect, text), name in zip(tries, script_names([suspect.number for suspect, _ in tries])):
        say(f"launch {suspect.number} of {found.seen}, {suspect.kernel}, by itself:")
        say.close()
        file = place / f"{capsule.stem}_{name}.py"
        began = _write(file, f"# Launch {suspect.number} of {found.seen}, from a capsule.\n{text}")
        try:
            context.invoke(of_reduce.reduce_command, **{**rest, **given, "file": file, "args": ()})
        except NotReproduced as error:
            say(str(error).splitlines()[0])
            if began:
                file.unlink()
        else:
            return
    say.close()
    tried = [suspect for suspect, _ in tries]
    raise NotReproduced(f"no launch of {capsule.name} shows {found.error!r} by itself. {found.what_next(tried)}")


def script_names(numbers: Sequence[int]) -> list[str]:
    """One for each script: a launch may have several, and each keeps its files whatever became of the others."""
    earlier = [numbers[:at].count(number) for at, number in enumerate(numbers)]
    return [f"launch{number}" + (f"_{before + 1}" if before else "") for number, before in zip(numbers, earlier)]


def _sandbox_places(capsule: Path, place: Path, given: dict[str, Any]) -> SandboxPlaces:
    """The scripts and the result go to one folder; the capsule stays as it is."""
    seen = [capsule.absolute().parent, *sandbox.interpreters([chosen_python(given["python"], capsule)])]
    return SandboxPlaces((place, *given["writable"]), (*seen, *filter(None, [given["cwd"]])), (capsule,))


def _write(file: Path, text: str) -> bool:
    """Whether nothing of a reduction of it was there."""
    try:
        began = not file.exists() and not file.with_suffix(".shrink").exists()
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise UsageError(f"{file} is there already and is another script. Move it away, or choose another --output")
        file.write_text(text, encoding="utf-8")
        return began
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {file}: {error}. Choose another place with --output") from error


capsule_command = _CapsuleCommand(
    "shrink capsule",
    context_settings=CONTEXT,
    callback=_capsule,
    help=_capsule.__doc__,
    params=[
        click.Argument(["capsule"], type=click.Path(path_type=Path), required=False),
        click.Option(["--launch"], type=int, metavar="N", help="Only this launch, by its number in the capsule."),
        *(each for each in of_reduce.reduce_command.params if each.name not in _LEFT_OUT),
    ],
)
