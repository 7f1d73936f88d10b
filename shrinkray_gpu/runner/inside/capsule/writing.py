"""From the ring, or the records of a second run, to a capsule on the disk."""

from __future__ import annotations

import base64
import itertools
import json
import os
import sys
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..capture import description, launch_kind, record_text, schema
from ..capture.overlaps import tensors
from . import inductor, ring
from .capsule_schema import VERSION, CapsuleError, CapsuleFile, CapsuleLaunch

Record = Dict[str, Any]
Numbered = Tuple[int, Record]

KINDS = 24
"""Kinds of launches told, and as many of those that differ from the first of their kind."""
EMBEDDED = 16 << 20
"""Bytes of contents that a capsule holds."""
LONGEST = 4000
"""Characters of an error's text."""
_NEXT = (
    "shrink capsule %(file)s reduces it on any machine (--arch sm_90 where there is no GPU). A capsule of mode capture "
    "knows shapes and addresses, and no contents. If the fault does not show without those named in needs_contents, "
    "run the program once more: SHRINKRAY_GPU=record SHRINKRAY_GPU_CAPSULE=%(file)s "
    "python -m shrinkray_gpu.capture PROGRAM"
)


def of_entry(entry: ring.Entry) -> Record:
    """The record of a launch that the ring holds."""
    kernel = entry[ring.KERNEL]
    record = blank(kernel.fn if inductor.is_autotuner(kernel) else kernel, entry[ring.NUMBER])
    record["trouble"] = entry[ring.TROUBLE]
    try:
        args = [ring.facts(value) for value in entry[ring.ARGS] or ()]
        if inductor.is_autotuner(kernel):
            launcher = entry[ring.GRID] or inductor.launcher_of(kernel)
            inductor.describe(record, kernel, launcher, entry[ring.KWARGS].get("grid"), args)
            return record
        record["grid"] = description.grid(entry[ring.GRID])
        kwargs = {name: ring.facts(value) for name, value in (entry[ring.KWARGS] or {}).items()}
        description.describe_call(record, kernel, args, kwargs)
    except Exception as error:
        record["trouble"] = record["trouble"] or str(error)
    return record


def blank(kernel: Any, number: int) -> Record:
    record: Record = {"kernel": kernel, "how": "jit", "grid": None, "scratch": None, "trouble": "", "specialised": {}}
    record.update(launches=[number], tuning=False, raised=False, arguments=[], options=[])
    record["allocator"] = description.allocator_set()
    return record


def by_kind(numbered: Iterable[Numbered]) -> List[Tuple[int, int, Record]]:
    """Number, how many were like it, and record. One of each kind, in the order given; between them those that differ
    from it in grid and scalars only, the rarest first: a loop's one odd launch is one of them."""
    alike: Dict[Any, List[Any]] = {}
    for number, record in numbered:
        key = (launch_kind.kind(record), repr(record["grid"]), repr(launch_kind.state(record)["values"]))
        if key in alike:
            alike[key][1] += 1
        else:
            alike[key] = [number, 1, record]
    kinds: Dict[Any, Any] = {}
    for key, found in alike.items():
        kinds.setdefault(key[0], found)
    firsts = list(kinds.values())[:KINDS]
    others = [found for found in alike.values() if not any(found is first for first in kinds.values())]
    others.sort(key=lambda found: found[1])  # the latest first among those
    pairs = itertools.zip_longest(firsts, others[:KINDS])
    return [(found[0], found[1], found[2]) for pair in pairs for found in pair if found is not None]


def capsule(
    kinds: List[Tuple[int, int, Record]], error: CapsuleError, *, mode: Any, exact: bool, seen: int, folder: str = ""
) -> CapsuleFile:
    """`folder`: where what tensors hold was saved."""
    contents: Dict[str, Any] = {}
    launches: List[CapsuleLaunch] = []
    for number, times, record in kinds:
        words = schema.sound_launch(record_text.in_words(record))
        for tensor in tensors(words.get("arguments", ())):
            _embed(tensor, contents, folder)
        launches.append({"number": number, "times": times, "needs_contents": unknown_contents(words), "record": words})
    return {
        "capsule": VERSION,
        "mode": mode,
        "error": {**error, "text": error["text"][:LONGEST]},
        "exact": exact,
        "launches_seen": seen,
        "launches": launches,
        "versions": versions(),
        "contents": contents,
        "next": "",
    }


def unknown_contents(words: Any) -> List[str]:
    """The arguments of whole numbers of which nobody knows what they held."""
    names = []
    for argument in words.get("arguments", ()):
        whole = any(
            str(tensor["dtype"]).startswith(("int", "uint", "bool")) and "content" not in tensor
            for tensor in tensors([argument])
        )
        names += [argument["name"]] * whole
    return names


def _embed(tensor: Record, contents: Dict[str, Any], folder: str) -> None:
    """The file that holds a tensor's values goes into the capsule; a summary must do where that would be too large."""
    exact = tensor.get("content", {}).get("exact")
    if not exact or exact["kind"] != "file":
        return
    name = os.path.basename(exact["path"])
    if name not in contents:
        spent = sum(map(len, contents.values())) * 3 // 4
        try:
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read() if spent + exact["bytes"] <= EMBEDDED else b""
        except OSError:
            data = b""
        if not data:
            del tensor["content"]["exact"]
            return
        contents[name] = base64.b64encode(data).decode("ascii")
    exact["path"] = name


def versions() -> Dict[str, Any]:
    """Of what is loaded; nothing is imported for it, and the device is not asked."""
    found: Dict[str, Any] = {"python": sys.version.split()[0]}
    for name in ("torch", "triton"):
        module: Any = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", ""))
    return found


def write(made: CapsuleFile, folder: str) -> str:
    """The file's path. Whole or not there: its process may be about to die."""
    path = os.path.join(folder or os.getcwd(), "capsule_%d.json" % os.getpid())
    made["next"] = _NEXT % {"file": os.path.basename(path)}
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(made, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)
    return path


def kernels_of(path: Optional[str]) -> "Optional[frozenset[str]]":
    """The kernels that an earlier capsule names; None without one. Raises OSError or ValueError."""
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    launches = found.get("launches", ()) if isinstance(found, dict) else ()
    return frozenset(str(launch["record"]["kernel"]) for launch in launches)
