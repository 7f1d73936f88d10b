"""What is wrong with a captured run, part by part, as `schema.sound` sees it."""

from __future__ import annotations

from typing import Any

from shrinkray_gpu.runner.inside.capture import schema
from shrinkray_gpu.runner.inside.process.schema_check import problem


def problems(captured: Any) -> list[str]:
    parts = captured if isinstance(captured, dict) else {}
    found = [problem(schema.CapturedParts)(captured)]
    found += [schema.launch_problem(each) for each in schema.items(parts.get("launches"))]
    found += [problem(schema.ChildProcess)(each) for each in schema.items(parts.get("children"))]
    if parts.get("history") is not None:
        found.append(schema.history_problem(parts["history"]))
    return [why for why in found if why]
