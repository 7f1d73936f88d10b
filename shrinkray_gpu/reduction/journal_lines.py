"""Lines of the journal: each one a JSON object, whole or cut off, and what stands in it of a verdict."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict


def line_of(event: str, key: str, verdict: Verdict) -> dict[str, Any]:
    """The line that says of the candidate with this key what the verdict says."""
    line: dict[str, Any] = {"event": event, "key": key, "answer": verdict.answer.value, "why": verdict.why}
    if verdict.provisional:
        line["provisional"] = True
    if verdict.certain:
        line["certain"] = True
    if verdict.credit:
        line["credit"] = True
    if verdict.other is not None:
        line["other"] = dataclasses.asdict(verdict.other)
    return line


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    """The verdict that a line tells of."""
    return Verdict(
        Answer(line["answer"]),
        line.get("why", ""),
        provisional=line.get("provisional", False),
        other=_fault(line["other"]) if line.get("other") else None,
        credit=line.get("credit", False),
        certain=line.get("certain", False),
    )


def _fault(fields: Mapping[str, Any]) -> Fault:
    """What another version of the tool wrote besides is left out."""
    return Fault(**{each.name: fields[each.name] for each in dataclasses.fields(Fault) if each.name in fields})


def whole_lines(log: IO[bytes]) -> list[dict[str, Any]]:
    """All complete lines. What a kill left of the last one is cut off, so that the next line starts on its own."""
    log.seek(0)
    data = log.read()
    whole = data[: data.rfind(b"\n") + 1]
    lines: list[dict[str, Any]] = []
    for text in whole.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # torn by a crash of the machine, not only of the tool
        if isinstance(line, dict):
            lines.append(line)
    if len(whole) < len(data):
        log.truncate(len(whole))
    return lines if lines and "settings" in lines[0] else []


def is_unfinished(lines: list[dict[str, Any]]) -> bool:
    """Whether a search began and did not end. (The original did not show its fault, or the tool ended before the
    search: then there is nothing to lose.)"""
    begun = any(line.get("event", "lifting") not in ("lifting", "perturbed") for line in lines)
    return begun and not any(line.get("event") == "end" for line in lines)


def check_same(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Raises UsageError where what the headers say of the original and the settings is not the same."""
    changed = []
    if old.get("format") != new["format"]:
        changed.append("the journal's format")
    if old.get("original") != new["original"]:
        changed.append("the script (or a module that it imports)")
    before, now = old["settings"], new["settings"]
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            changed.append(f"{name} ({_say(before.get(name))} then, {_say(now.get(name))} now)")
    if changed:
        raise UsageError(
            f"Cannot resume {folder}: {', '.join(changed)} changed since. Put it back, or use --restart to begin anew."
        )


def _say(value: Any) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)
