"""A program with settings made: in its text, its environment, its arguments, or as a knob at launch.

Where a setting goes is looked up in the program, in this order: places that give the name a value, a variable of the
environment that the program asks for, a command line option that it names, places that hand a value on, and, for what
every launch has (num_warps, num_stages, num_ctas, maxnreg), the knob. A name that is nowhere is a mistake, and told.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.varying import knob_places
from shrinkray_gpu.questions.varying.settings import Setting
from shrinkray_gpu.reduction import program as texts
from shrinkray_gpu.runner.knob_settings import KNOWN, PLAIN, KnobSetting

KNOBS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True)
class UserScript:
    """A script as the user runs it."""

    path: Path
    text: str
    argv: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConfiguredProgram:
    """What is run."""

    path: Path
    text: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    knobs: Mapping[str, str] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    """For each setting, where it was made: `BLOCK_M: lines 12, 40`."""

    @property
    def knob_setting(self) -> KnobSetting:
        if not (self.environment or self.knobs):
            return PLAIN
        words = [f"{name}={value}" for name, value in sorted({**self.environment, **self.knobs}.items())]
        return KnobSetting(" ".join(words), knobs=self.knobs, environment=self.environment)


def program_at(path: Path, argv: Sequence[str] = ()) -> UserScript:
    """Raises UsageError for what is no script."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the script")
    return UserScript(path.absolute(), texts.read_program(path).text, tuple(argv))


def configure(program: UserScript, settings: Sequence[Setting]) -> ConfiguredProgram:
    """The program with these settings. Raises UsageError for a name that is nowhere in it, naming the nearest."""
    tree = texts.Program.from_text(program.text, str(program.path))
    argv, where = list(program.argv), []
    environment: dict[str, str] = {}
    knobs: dict[str, str] = {}
    for one in settings:
        kind, name = _kind(tree, one, program.path.name)
        if kind == "text":
            chosen = knob_places.of(tree, name)
            numbers = knob_places.lines(tree, chosen)
            tree = texts.Program.from_text(knob_places.with_value(tree, chosen, one.value).text, str(program.path))
            where.append(f"{name}: line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}")
        elif kind == "environment":
            environment[name] = one.value
            where.append(f"{name}: the environment")
        elif kind == "option":
            argv = [*_without(argv, name), f"{name}={one.value}"]
            where.append(f"{name}: the command line")
        else:
            knobs.update(KNOWN[name].make(one.value).knobs)
            where.append(f"{name}: every launch")
    return ConfiguredProgram(program.path, tree.text, tuple(argv), environment, knobs, tuple(where))


def _kind(tree: texts.Program, one: Setting, file: str) -> tuple[str, str]:
    if one.name.startswith("env:"):
        return "environment", one.name[4:]
    if one.name.startswith("--"):
        return "option", one.name
    chosen = knob_places.of(tree, one.name)
    if any(place.plain for place in chosen):
        return "text", one.name
    if one.name in knob_places.variables(tree):
        return "environment", one.name
    long = {option.replace("_", "-"): option for option in knob_places.options(tree)}
    if option := long.get("--" + one.name.replace("_", "-")):
        return "option", option
    if chosen:
        return "text", one.name
    if one.name in KNOBS:
        return "knob", one.name
    names = (
        {place.name for place in knob_places.places(tree)}
        | knob_places.variables(tree)
        | knob_places.options(tree)
        | {*KNOBS}
    )
    near = difflib.get_close_matches(one.name, names, 3, 0.6) or difflib.get_close_matches(
        one.name.upper(), names, 3, 0.6
    )
    known = sorted(name for name in names if name and name not in KNOBS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it gives values to {', '.join(known[:12]) or 'no name'}."
    raise UsageError(
        f"{one}: {file} has no {one.name}; {hint} For a variable that it does not name itself write env:{one}"
    )


def _without(argv: list[str], option: str) -> list[str]:
    """The arguments without an option given before, with its value."""
    kept, skip = [], False
    for at, word in enumerate(argv):
        if skip:
            skip = False
        elif word == option:
            skip = at + 1 < len(argv) and not argv[at + 1].startswith("-")
        elif not word.startswith(f"{option}="):
            kept.append(word)
    return kept
