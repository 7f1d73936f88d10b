"""The program that a reduction of a command began with, for a case: `-m mypkg.bench` has no file of its own.

What the command enters (the module, the test file) as a plain script, with the modules that it imports, is what a
reader of the case wants to see. It is never run, like any `failing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.command.entry import plain_script
from shrinkray_gpu.command.launchers import Launched
from shrinkray_gpu.lift.bundle import modules


@dataclass(frozen=True)
class Original:
    """The text of `failing.py`, and the files beside it by their place there; or why there is none."""

    text: str = ""
    files: Mapping[str, Path] | None = None
    lacking: str = ""


def command_fields(command: Command) -> dict[str, Any]:
    """What `result.json` keeps of a command for `original`."""
    return {
        "module": command.module,
        "args": list(command.args),
        "cwd": str(command.cwd.absolute()),
        "file": str(command.file.absolute()) if command.file is not None else None,
        "launched": asdict(command.launched) if command.launched is not None else None,
    }


def original(shown: str, entered: Mapping[str, Any]) -> Original:
    """Of the command `shown` (`-m mypkg.bench --n 7`), of which `entered` tells."""
    file = Path(entered["file"]) if entered["file"] else None
    arguments, launched = tuple(entered["args"]), _launched(entered["launched"])
    command = Command(entered["module"], arguments, Path(entered["cwd"]), file, launched=launched)
    plain = plain_script(command)
    if plain is None:
        return Original(lacking=f"no single file of yours says what {shown} runs (or it is not there any more)")
    try:
        files = modules(command.path, plain.text, roots=plain.roots)
    except Exception as error:  # text of any kind, which is never run
        return Original(lacking=f"the modules of {shown} cannot be read ({type(error).__name__}: {error})")
    head = f"# {shown}, as a script: what a reduction of that command began with.\n"
    return Original(plain.text if plain.text.startswith("#!") else head + plain.text, files)


def _launched(kept: Mapping[str, Any] | None) -> Launched | None:
    if not kept:
        return None
    environment = tuple((name, value) for name, value in kept["environment"])
    return Launched(kept["script"], kept["module"], tuple(kept["args"]), environment)
