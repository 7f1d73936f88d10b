"""A reduction's folder becomes a case of the corpus, if its repro still shows the fault: what does not is refused."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomlkit

from shrinkray_gpu.cases.case import FILE, Case, load
from shrinkray_gpu.cases.expectation import Status
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.replay import replay

RESULT = "result.json"
"""Written by a reduction into its folder when it ends."""
_SEEN = ("gpu", "driver", "triton", "torch", "helion", "python")

Say = Callable[[str], None]


def add(
    folder: Path,
    corpus: Path,
    *,
    name: str = "",
    title: str = "",
    klass: str = "",
    mechanism: str = "",
    upstream: tuple[str, ...] = (),
    python: str = "",
    say: Say = lambda text: None,
) -> Case:
    """Make a case of the reduction in `folder` (`<stem>.shrink`). Raises UsageError, NotReproduced.

    What the user does not say is taken from the reduction: the fault's words are title and class.
    """
    told = _told(folder)
    original, repro = Path(told["original"]), Path(told["output"])
    name = name or repro.stem.removeprefix("repro_")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(f"{name!r} is no name for a case: small letters, digits and _; give one with --name")
    place = corpus / name
    if place.exists():
        raise UsageError(f"{place} is there already: give another --name, or remove it first")
    for path in (original, repro):
        if not path.is_file():
            raise UsageError(f"{path}, of which {folder / RESULT} tells, is not there any more")
    if not corpus.is_dir():
        raise UsageError(f"{corpus} is not a folder: create it, or name another corpus with --to")
    with tempfile.TemporaryDirectory(dir=corpus, prefix=f".{name}-") as aside:
        made = Path(aside, name)
        made.mkdir()
        shutil.copyfile(original, made / "failing.py")
        shutil.copyfile(repro, made / f"repro_{name}.py")
        text = document(told, title=title, klass=klass, mechanism=mechanism, upstream=upstream)
        (made / FILE).write_text(text, encoding="utf-8")
        case = load(made)
        interpreter = python or told.get("python") or sys.executable
        outcome = replay([case], python=interpreter, arch=told.get("arch"), say=say)[0]
        if outcome.status not in (Status.FAULTS, Status.FLAKY):
            raise NotReproduced(f"{repro} does not show its fault here: {outcome}: {outcome.why}. Nothing was added")
        made.rename(place)
    return load(place)


def document(told: Mapping[str, Any], *, title: str, klass: str, mechanism: str, upstream: tuple[str, ...]) -> str:
    """The text of `case.toml` for what a reduction told of itself."""
    given = (told.get("fingerprint") or {}).get("original")
    fault = Fault(**given) if given else None
    arch, versions = told.get("arch"), told.get("versions", {})
    data = tomlkit.document()
    data["title"] = title or str(fault or told["spec"])
    data["class"] = klass or (fault.klass if fault else "as the oracle says")
    data["mechanism"] = mechanism or "not known yet"
    data["oracle"] = told["oracle"] or [told["spec"]]
    if upstream:
        data["upstream"] = list(upstream)
    for key in ("argv", "environment"):
        if told.get(key):
            data[key] = told[key]
    needs = tomlkit.table()
    if fault is not None and fault.phase in ("device", "launch") and arch is None:
        needs["gpu"] = True
    if arch:
        needs["architecture"] = f"sm_{arch}"
    if needs:
        data["needs"] = needs
    if fault is not None:
        # What the reduction renames or only tells is no part of what must be the same.
        plain = {key: value for key, value in asdict(fault).items() if value and key not in ("kernel", "near")}
        data["fault"] = plain
    seen = {key: versions[key] for key in _SEEN if versions.get(key)}
    if arch:
        seen["arch"] = f"sm_{arch}"
    seen["date"] = datetime.date.today().isoformat()
    tables = tomlkit.aot()
    tables.append(tomlkit.item(seen))
    data["seen"] = tables
    if versions.get("triton"):
        data["expect"] = {f"=={versions['triton'].split('+')[0]}": "flaky" if told.get("rates") else "faults"}
    return tomlkit.dumps(data)


def _told(folder: Path) -> Mapping[str, Any]:
    path = folder / RESULT
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name the one that a reduction left, <stem>.shrink")
    try:
        told: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} has no {RESULT}: a reduction writes it when it ends. Run it to its end, or again"
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not what a reduction writes: {error}") from error
    return told
