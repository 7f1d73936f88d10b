"""A capsule, which the hook for production leaves of a launch that failed, in the place of a program.

Each of its launches is a record as a capture writes it, so `emit` makes scripts of it. But anybody may have sent the
file: `capsule_code` refuses all code in it but that of kernels.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from shrinkray_gpu.device import error_table
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.emit import lifts, obstacle
from shrinkray_gpu.lift.from_capsule.capsule_code import foreign
from shrinkray_gpu.reduction.comment_above import one_line
from shrinkray_gpu.runner.inside.capsule.capsule_schema import VERSION, CapsuleFile, CapsuleLaunch
from shrinkray_gpu.runner.inside.capture.schema import sound_launch
from shrinkray_gpu.runner.inside.process.schema_check import problem

LARGEST = 256 << 20
"""Bytes of a capsule: twice what the hook ever writes, by far."""
MOST = 1000
"""Launches of a capsule, and files in it."""
_CUDA_SAYS = re.compile(r"(?:CUDA(?: driver)? error|Triton Error \[CUDA\]): *([^\n]{1,200})")
_PLACE = re.compile(r"at \d+:\d+:\s*")
"""How Triton begins what it says of a kernel; the kernel's lines follow, and what is wrong comes last."""
_FILE = re.compile(r"[0-9a-f]{16}\.pt")


@dataclass(frozen=True)
class Suspect:
    """A launch that may be the one that failed, and the scripts that make it again, the likeliest first."""

    number: int
    kernel: str
    scripts: tuple[str, ...]
    why_none: str = ""
    needs_contents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Capsule:
    """What a capsule says, checked."""

    path: Path
    error: str
    """Its type and first line."""
    cuda_error: str
    """The driver's words; empty where something else was raised."""
    error_type: str
    error_line: str
    """The line of its text that says what is wrong."""
    exact: bool
    recorded: bool
    seen: int
    suspects: tuple[Suspect, ...]
    contents: Mapping[str, bytes]

    @property
    def likely(self) -> tuple[Suspect, ...]:
        """Those of which one failed."""
        return self.suspects[:1] if self.exact else self.suspects

    def tries(self, launch: int | None = None) -> list[tuple[Suspect, str]]:
        """Scripts that may show the fault, the likeliest one of each launch before the second one of any. `launch`: of
        this one alone. Raises UsageError where there is none."""
        chosen = self.likely if launch is None else [each for each in self.suspects if each.number == launch]
        if not chosen:
            known = ", ".join(f"{each.number} ({each.kernel})" for each in self.suspects[:30])
            raise UsageError(f"--launch {launch}: {self.path.name} has no launch of that number. It holds {known}")
        rows = zip_longest(*([(each, text) for text in each.scripts] for each in chosen))
        found = [pair for row in rows for pair in row if pair is not None]
        if not found:
            why = "; ".join(dict.fromkeys(f"{each.kernel}: {each.why_none}" for each in chosen[:3]))
            raise UsageError(f"{self.path.name}: no launch can be made a script ({why})")
        return found

    def what_next(self, tried: Iterable[Suspect]) -> str:
        """What to do where none of these shows the fault by itself."""
        if self.recorded:
            return "It may hang on what an earlier launch wrote: reduce the program itself"
        needs = list(dict.fromkeys(f"{name} of {each.kernel}" for each in tried for name in each.needs_contents))
        what = f"what {', '.join(needs[:4])} held is not known" if needs else "what its tensors held is not known"
        again = f"SHRINKRAY_GPU=record SHRINKRAY_GPU_CAPSULE={self.path.name} python -m shrinkray_gpu.capture PROGRAM"
        return f"It may hang on contents ({what}). To record them, run the program once more: {again}"


def read(path: Path, folder: Path) -> Capsule:
    """The capsule at `path`. Scripts that read what tensors held read it in `folder`. Raises UsageError."""
    made = _checked(path)
    contents = dict(_contents(path, made))
    suspects = tuple(_suspect(launch, contents, folder) for launch in made["launches"])
    if not suspects:
        raise UsageError(f"{path.name} names no launch, so there is nothing to reduce. Reduce the program itself")
    text = made["error"]["text"]
    said = _CUDA_SAYS.search(text)
    lines = [line for line in text.splitlines() if line.strip()]
    first = next(iter(lines), "")
    return Capsule(
        path=path,
        error=one_line(f"{made['error']['type']}: {first}")[:300],
        cuda_error=one_line(said[1]) if said else "",
        error_type=made["error"]["type"],
        error_line=lines[-1] if _PLACE.fullmatch(first) else first,
        exact=made["exact"],
        recorded=made["mode"] == "record",
        seen=made["launches_seen"],
        suspects=suspects,
        contents=contents,
    )


def unpack(capsule: Capsule, folder: Path) -> None:
    """Write what tensors held into `folder`, if any of it was kept. Raises UsageError."""
    try:
        for name, data in capsule.contents.items():
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}. Copy the capsule to where you may write") from error


def spec(capsule: Capsule) -> str:
    """The SPEC for the error that a capsule names. Its words never choose the form: anybody may have sent the file.
    Raises UsageError where it names none."""
    if capsule.cuda_error:
        known = error_table.parse_error(capsule.cuda_error)
        return known.text if known else f"regex:{_escaped(capsule.cuda_error)}"
    named = re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", capsule.error_type)
    said = _escaped(capsule.error_line)
    if not named and not said:
        raise UsageError(f"{capsule.path.name} names no error, so what must persist is not known: say it with --oracle")
    head = f"exception:{capsule.error_type}" if named else "regex"
    return f"{head}:{said}" if said else head


def _escaped(line: str) -> str:
    """A regex for the line, with any numbers in the place of its own: sizes change as the script does."""
    return re.sub(r"\d+", r"\\d+", re.escape(line.strip()))


def _checked(path: Path) -> CapsuleFile:
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path.name} has more than {LARGEST >> 20} MiB: this is no capsule")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}. Name the capsule that the program wrote") from error
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path.name} is no capsule, or is cut short: it is no JSON. Copy it once more") from error
    if not isinstance(found, dict) or type(found.get("capsule")) is not int:
        raise UsageError(f"{path.name} is no capsule: it does not say of which version it is")
    if found["capsule"] != VERSION:
        raise UsageError(
            f"{path.name} is a capsule of version {str(found['capsule'])[:20]}, and this shrink reads version "
            f"{VERSION}: use the release that wrote it"
        )
    if why := problem(CapsuleFile)(found):
        raise UsageError(f"{path.name} is no capsule that the hook writes: capsule{one_line(why)}")
    if len(found["launches"]) > MOST or len(found["contents"]) > MOST:
        raise UsageError(f"{path.name} is no capsule that the hook writes: it names more than {MOST} launches or files")
    return cast(CapsuleFile, found)


def _contents(path: Path, made: CapsuleFile) -> Iterator[tuple[str, bytes]]:
    for name, text in made["contents"].items():
        try:
            if not _FILE.fullmatch(name):
                raise ValueError
            yield name, base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            what = f"its contents {one_line(name)[:60]!r} cannot be read"
            raise UsageError(f"{path.name} is damaged: {what}. Copy it once more") from None


def _suspect(launch: CapsuleLaunch, contents: Mapping[str, bytes], folder: Path) -> Suspect:
    record = sound_launch(launch["record"])
    needs = tuple(one_line(name)[:60] for name in launch["needs_contents"])
    kernel = one_line(record["kernel"])[:100]
    why = record["trouble"] or foreign(record) or obstacle(record)
    scripts: tuple[str, ...] = ()
    if not why:
        for tensor in _tensors(record["arguments"]):
            _place(tensor, contents, folder)
        try:
            scripts = lifts(record)
        except (SyntaxError, ValueError, LookupError, TypeError, RecursionError, MemoryError) as error:
            why = str(error)
    return Suspect(launch["number"], kernel, scripts, one_line(why)[:300], needs)


def _tensors(arguments: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for argument in arguments:
        if "storage" in argument:
            yield cast("dict[str, Any]", argument)
        if "base" in argument:
            yield argument["base"]
        yield from _tensors(argument.get("items", ()))


def _place(tensor: dict[str, Any], contents: Mapping[str, bytes], folder: Path) -> None:
    """A file of the capsule's is one in the folder; any other is none."""
    for content in (tensor.get("content", {}), tensor.get("content", {}).get("exact", {})):
        if content.get("kind") == "file":
            if content["path"] in contents:
                content["path"] = str(folder.absolute() / content["path"])
            else:
                content.clear()
                content.update(kind="unknown", why="the capsule does not hold it")
    if tensor.get("content", {}).get("exact", {}).get("kind") == "unknown":
        del tensor["content"]["exact"]
