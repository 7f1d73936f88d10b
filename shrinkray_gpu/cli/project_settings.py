"""`[tool.shrink]` of pyproject.toml: what options are worth where neither the command line nor the environment says it.

It is looked for in the working directory and above, and the nearest file that has the table counts alone.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from shrinkray_gpu.errors import UsageError

FILE = "pyproject.toml"
OF_ONE_COMMAND = frozenset("launch output check check-only resume restart list-passes json help".split())
"""Options that say what one command line is to do, and nothing of a project."""
OF_REDUCTION = ""
"""The default of `--python` where an earlier reduction knows it better than the project does."""
_PLACES = frozenset({"python"})
"""Options that name a file or a folder, beside those whose type says so."""


@dataclass(frozen=True)
class ProjectSettings:
    """The table, and where it stands."""

    file: Path
    values: Mapping[str, Any]
    """By the long names of options."""

    def defaults(self, command: click.Command, known: click.Command) -> dict[str, Any]:
        """What they make of the options of `command`, by the names of its parameters; `known` has all that there may
        be. Raises UsageError for a name that is no option, and for a value that it cannot have."""
        options, own, context = _by_name(known), _by_name(command), click.Context(command)
        for name, value in self.values.items():
            if name not in options:
                raise UsageError(f"{self.file}: [tool.shrink] {name}: {_unknown(name, options)}")
            self._value(name, value, options[name], context)
        return {
            str(own[name].name): self._value(name, value, own[name], context)
            for name, value in self.values.items()
            if name in own and not (name == "python" and own[name].default == OF_REDUCTION)
        }

    def _value(self, name: str, value: Any, option: click.Option, context: click.Context) -> Any:
        several = list(value) if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(each, (dict, list)) for each in several) or (len(several) != 1 and not option.multiple):
            raise UsageError(f"{self.file}: [tool.shrink] {name} = {value!r}: that is no value of --{name}")
        if option.is_flag != isinstance(value, bool):
            wanted = "true or false" if option.is_flag else "a value"
            raise UsageError(f"{self.file}: [tool.shrink] {name} = {value!r}: --{name} takes {wanted}")
        if name in _PLACES or isinstance(option.type, click.Path):
            several = [self._placed(str(each)) for each in several]
        given = several if option.multiple else several[0]
        try:
            option.type_cast_value(context, given)
        except click.UsageError as error:
            raise UsageError(f"{self.file}: [tool.shrink] {name} = {value!r}: {error.message}") from error
        return given

    def _placed(self, path: str) -> str:
        """A path is meant from the file's folder; a word alone may be a command, as `python3.12`."""
        there = self.file.parent / os.path.expanduser(path)
        return str(there) if there.exists() or os.sep in path else path


def may_have(command: click.Command) -> bool:
    """Whether the command has an option that may be set."""
    return bool(_by_name(command))


def taken() -> set[str]:
    """The parameters of the command at work that have their values from there."""
    return _from(ParameterSource.DEFAULT_MAP)


def typed() -> set[str]:
    """Those whose values stand on the command line."""
    return _from(ParameterSource.COMMANDLINE)


def _from(source: ParameterSource) -> set[str]:
    context = click.get_current_context()
    # `shrink check` hands its parameters on.
    typed = context if context.parent is None or isinstance(context.parent.command, click.Group) else context.parent
    names = (each.name or "" for each in context.command.params)
    return {name for name in names if typed.get_parameter_source(name) is source}


def find(folder: Path) -> ProjectSettings | None:
    """The nearest settings, from this folder upwards. Raises UsageError for a file that is no TOML."""
    for place in (folder, *folder.parents):
        try:
            text = (place / FILE).read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        if "shrink" in text and (values := _table(place / FILE, text)) is not None:
            return ProjectSettings(place / FILE, values)
    return None


def _table(file: Path, text: str) -> Mapping[str, Any] | None:
    import tomlkit  # tomllib is there from Python 3.11 on
    from tomlkit.exceptions import ParseError

    try:
        tool = tomlkit.parse(text).unwrap().get("tool", {})
    except ParseError as error:
        raise UsageError(f"{file} is no TOML: {error}") from error
    table = tool.get("shrink") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{file}: tool.shrink is no table: write [tool.shrink], and options below it")
    return table


def _by_name(command: click.Command) -> dict[str, click.Option]:
    """The options that may be set, by their long names without `--`."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    names = {name[2:]: each for each in options for name in each.opts if name.startswith("--")}
    return {name: each for name, each in names.items() if name not in OF_ONE_COMMAND}


def _unknown(name: str, options: Mapping[str, click.Option]) -> str:
    if name in OF_ONE_COMMAND:
        return f"--{name} is for a command line, not for a project. Take it out"
    near = difflib.get_close_matches(name.lower().replace("_", "-"), options, n=1)
    return f"no such option. Did you mean {near[0]}?" if near else "no such option. shrink --help lists what there is"
