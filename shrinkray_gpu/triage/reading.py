"""The failures in junit.xml, in logs, and in a folder of capsules."""

from __future__ import annotations

import codecs
import re
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.from_capsule import capsule as capsules
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.triage.infrastructure import trouble_at_end
from shrinkray_gpu.triage.reported import ReportedFailure

LARGEST = 256 << 20
"""Bytes of a file that is read."""
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_CLOCK = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z ", re.MULTILINE)
"""What GitHub writes before each line of a log."""
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::.+?)?)(?: - (.*))?$", re.MULTILINE)
_HEADER = re.compile(r"^_{3,} (?:ERROR at (?:setup|teardown) of |ERROR collecting )?(\S.*?) _{3,}$", re.MULTILINE)
_RAISED = re.compile(r"^E {3}(.*)$", re.MULTILINE)
_RULE = re.compile(r"^={3,} .* ={3,}$", re.MULTILINE)


@dataclass
class ReadReports:
    """What files tell."""

    failures: list[ReportedFailure] = field(default_factory=list)
    junit: bool = False
    """Whether one is a junit.xml, also without a failure: then nothing is wrong with what was named."""


def _nowhere(words: str) -> None:
    pass


def read_all(paths: Sequence[Path], root: Path, say: Callable[[str], None] = _nowhere) -> ReadReports:
    """Of each file, and of each file in a folder: by its contents junit.xml, a capsule or a log. Tests are looked for
    below `root`. Raises UsageError for what cannot be read; in a folder, that is told and left out."""
    found = ReadReports()
    for path in paths:
        for file in _files(path):
            try:
                _read(file, root, found, alone=file == path)
            except UsageError as error:
                if file == path:
                    raise
                say(f"left out: {error}")
    return found


def _files(path: Path) -> list[Path]:
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{path} is an empty folder: name junit.xml, logs, or a folder of capsules")
    return files


def _read(file: Path, root: Path, found: ReadReports, *, alone: bool) -> None:
    try:
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{file} has more than {LARGEST >> 20} MiB: cut out the part with the failures")
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}. Name junit.xml, logs, or a folder") from error
    data = data.removeprefix(codecs.BOM_UTF8)
    head = data[:4096].lstrip()
    if head.startswith(b"<"):
        suites = _suites(file, data)
        found.failures += _junit(file, suites, root)
        found.junit = found.junit or suites.tag in ("testsuite", "testsuites")
    elif head.startswith(b"{") and b'"capsule"' in data:
        found.failures.append(_capsule(file))
    elif b"\0" in head:
        if alone:
            raise UsageError(f"{file} is neither text nor a capsule: name junit.xml, logs, or a folder of capsules")
    else:
        found.failures += _log(file, data.decode("utf-8", "replace"), root)


def _suites(file: Path, data: bytes) -> xml.Element:
    try:
        return xml.fromstring(data)
    except xml.ParseError as error:
        raise UsageError(f"{file} is no XML ({error}): was it cut short? Write it once more") from error


def _junit(file: Path, suites: xml.Element, root: Path) -> Iterator[ReportedFailure]:
    for case in suites.iter("testcase"):
        for failed in case:
            if failed.tag in ("failure", "error"):
                node = _node(case, root)
                name = node or "::".join(filter(None, (case.get("classname", ""), case.get("name", ""))))
                text = _COLOUR.sub("", failed.text or "")
                message = collection_error(_COLOUR.sub("", failed.get("message", "")), text)
                yield ReportedFailure(name, str(file), message, text, node)
                break


def collection_error(message: str, text: str) -> str:
    """The message; of a file that pytest cannot collect, what was raised, since it is the same words for each."""
    if message != "collection failure":
        return message
    return "\n".join(line.strip() for line in _RAISED.findall(text)) or message


def _node(case: xml.Element, root: Path) -> str:
    """What pytest calls the test, where its file is below the root; else empty."""
    parts, name = case.get("classname", "").split("."), case.get("name", "")
    given = case.get("file", "")
    for count in range(len(parts), 0, -1):
        file = "/".join(parts[:count]) + ".py"
        if _is_below(root, file):
            return "::".join([file, *parts[count:], name])
    if given and _is_below(root, given):
        return f"{given}::{name}"
    return ""


def _is_below(root: Path, file: str) -> bool:
    """Whether there is such a file and it is below the root: a report of others names nothing else that is run."""
    try:
        found = (root / file).resolve()
        return found.is_relative_to(root.resolve()) and found.is_file()
    except (OSError, ValueError):  # too long for a name, or with a null in it
        return False


def _capsule(file: Path) -> ReportedFailure:
    found = capsules.read(file, file.with_name(f"{file.stem}_contents"))
    kernels = ", ".join(dict.fromkeys(each.kernel for each in found.likely))
    return ReportedFailure(file.name, str(file), found.error, f"one of the launches of {kernels}", capsule=str(file))


def _log(file: Path, text: str, root: Path) -> Iterator[ReportedFailure]:
    text = _COLOUR.sub("", _CLOCK.sub("", text))
    told = dict(_SUMMARY.findall(text))
    if told:
        parts = _parts(text)
        for name, message in told.items():
            own = parts.get(_title(name), "")
            raised = [line.strip() for line in _RAISED.findall(own)]
            node = name if "::" in name and _is_below(root, name.partition("::")[0]) else ""
            yield ReportedFailure(name, str(file), "\n".join(raised) or message, own, node)
        return
    if trouble := trouble_at_end(text):
        yield ReportedFailure(file.name, str(file), trouble.line, text)
    elif raised_last := (speech.HEADER.search(text) and speech.exception_in(text)):
        yield ReportedFailure(file.name, str(file), speech.last_line(raised_last), text)


def _title(node: str) -> str:
    """What stands above the test's part: `TestX.test_y[8]`; of a file that pytest cannot collect, its path."""
    return ".".join(node.split("::")[1:]) or node


def _parts(log: str) -> dict[str, str]:
    """What the log tells of each failure, by its title."""
    found: dict[str, str] = {}
    headers = list(_HEADER.finditer(log))
    for header, after in zip(headers, [*headers[1:], None]):
        own = log[header.end() : after.start() if after is not None else len(log)]
        end = _RULE.search(own)
        found.setdefault(header[1], own[: end.start()] if end else own)
    return found
