"""`result.json` in the folder of a reduction: how it was asked for and what came out, for `shrink corpus add`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shrinkray_gpu.oracle import parse

if TYPE_CHECKING:
    from shrinkray_gpu.reducing import Options, Result

FILE = "result.json"


def write(folder: Path, path: Path, options: Options, result: Result, versions: Mapping[str, str]) -> None:
    """Write the result of reducing `path`: whole or not at all. An earlier one is replaced."""
    new = folder / f"{FILE}.new"
    new.write_text(json.dumps(told(path, options, result, versions), indent=1), encoding="utf-8")
    new.replace(folder / FILE)


def told(path: Path, options: Options, result: Result, versions: Mapping[str, str]) -> dict[str, Any]:
    """Everything in `Result`, and beside it what one must know to run the repro again."""
    return {
        **result.to_json(),
        "original": str(path.absolute()),
        "command": options.command.shown if options.command else "",
        "output": str(result.output.absolute()),
        "oracle": list(options.oracle) or [_adopted(result.spec, options)],
        "reject": list(options.reject),
        "python": options.python,
        "arch": options.arch,
        "argv": list(options.argv),
        "environment": dict(options.environment),
        "timeout": options.timeout,
        "versions": dict(versions),
    }


def _adopted(spec: str, options: Options) -> str:
    """The fault that was adopted, without what was rejected: a SPEC that parses."""
    for reject in reversed(options.reject):
        spec = spec.removesuffix(f" and not {parse(reject, folder=Path.cwd()).spec}")
    return spec
