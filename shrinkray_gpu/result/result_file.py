"""`result.json` in the folder of a reduction: how it was asked for and what came out, for `shrink corpus add`
and `shrink report`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.result import command_script
from shrinkray_gpu.runner.plain_file import replace_file

if TYPE_CHECKING:
    from shrinkray_gpu.options import Options
    from shrinkray_gpu.result.summary import Result

FILE = "result.json"


def write(folder: Path, path: Path, options: Options, result: Result, versions: Mapping[str, str]) -> None:
    """Write the result of reducing `path`: whole or not at all. An earlier one is replaced."""
    replace_file(folder / FILE, json.dumps(result_fields(path, options, result, versions), indent=1).encode())


def read(folder: Path, asked: Iterable[str]) -> Mapping[str, Any]:
    """What the reduction in this folder told, `asked` at least. Raises UsageError where it did not come to its end."""
    path = folder / FILE
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name the one that a reduction left, <stem>.shrink")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in asked if key not in told] if isinstance(told, dict) else list(asked)
        if missing:
            raise ValueError(f"it does not say {missing[0]!r}")
    except FileNotFoundError as error:
        if folder.joinpath("best.cu").exists():
            raise UsageError(f"{folder} is of a CUDA program: only shrink replay takes its result, a .cu") from error
        raise UsageError(
            f"{folder} has no {path.name}, which a reduction writes when it ends: name the <stem>.shrink of one that "
            "reached its end. One that was interrupted goes on with --resume"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not what a reduction writes ({error}): reduce again") from error
    return dict(told)


def result_fields(path: Path, options: Options, result: Result, versions: Mapping[str, str]) -> dict[str, Any]:
    """Everything in `Result`, and beside it what one must know to run the repro again."""
    return {
        **result.to_json(),
        "original": str(path.absolute()),
        "command": options.command.command_line if options.command else "",
        "entered": command_script.command_fields(options.command) if options.command else None,
        "output": str(result.output.absolute()),
        "oracle": list(options.oracle) or [_adopted(result.spec, options)],
        "reject": list(options.reject),
        "python": options.python,
        "arch": options.arch,
        "argv": list(options.argv),
        "environment": dict(options.environment),
        "timeout": options.timeout,
        "cwd": str(options.cwd.absolute()) if options.cwd else "",
        "writable": [str(place.absolute()) for place in options.writable],
        "check": result.command,
        "versions": dict(versions),
    }


def _adopted(spec: str, options: Options) -> str:
    """The fault that was adopted, without what was rejected: a SPEC that parses."""
    for reject in reversed(options.reject):
        spec = spec.removesuffix(f" and not {parse(reject, folder=Path.cwd()).spec}")
    return spec
