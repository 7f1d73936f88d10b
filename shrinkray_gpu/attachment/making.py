"""The whole attachment: from what a reduction told and what was measured to the files in its folder."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu import __version__
from shrinkray_gpu.attachment import artifacts, course, header, issue
from shrinkray_gpu.attachment.dossier import Dossier
from shrinkray_gpu.attachment.measuring import Measured
from shrinkray_gpu.attachment.scrubbing import Scrubber, scrubber
from shrinkray_gpu.attachment.site import site
from shrinkray_gpu.attachment.surroundings import surroundings
from shrinkray_gpu.evidence.card import card

Say = Callable[[str], None]
ISSUE, PAGE, ARTIFACTS = "ISSUE.md", "report.html", "artifacts"


def named(
    text: str,
    output: Path,
    *,
    shows: str,
    versions: Mapping[str, str],
    arch: int | None,
    argv: Sequence[str],
    check: str,
    origin: str,
) -> str:
    """The repro's text under its header. `check` is the command that shows the fault where `python FILE` cannot."""
    words = " ".join(["python", output.name, *argv])
    needs = f"{words}   (on an sm_{arch} GPU)" if arch else words
    run = [needs, *([check] if check.startswith("shrink ") else [])]
    seen = header.platform_of(versions, arch)
    return header.headed(text, shows=shows, seen=seen, run=run, origin=f"{origin}, by shrinkray_gpu {__version__}")


def write(
    folder: Path,
    told: Mapping[str, Any],
    measured: Measured,
    *,
    before: str,
    price: float | None = None,
    zipped: bool = False,
) -> Path:
    """Write the attachment of the reduction in `folder`, in place of an earlier one. Returns the issue's path, or the
    archive's."""
    output = Path(told["output"])
    scrub = _scrubber(told, folder)
    seen = measured.evidence
    versions = {**told.get("versions", {}), **seen.versions}
    arch = told.get("arch")
    environment = surroundings(
        told.get("python", sys.executable), told.get("environment", {}), versions, scrub, arch=arch
    )
    whole = Dossier(
        told=told,
        name=output.name,
        text=measured.text,
        before=before,
        evidence=seen,
        card=card(seen),
        code=measured.code,
        site=site(seen, measured.code, output.name),
        trials=measured.trials,
        build=measured.build,
        environment=environment,
        passing=measured.passing,
        reproducers=measured.reproducers,
        course=course.read(folder / "journal.jsonl"),
        price=price,
        version=__version__,
    )
    files = artifacts.files(whole, scrub)
    text = scrub.text(issue.text(whole))
    repro = scrub.text(whole.text)
    _replace(folder / ARTIFACTS, files)
    _write(folder / whole.name, repro)
    _write(folder / ISSUE, text)
    if issue.paged():
        from shrinkray_gpu.attachment import page  # half a second of imports, that no other command should wait for

        beside = {whole.name: repro.encode(), ISSUE: text.encode(), **files}
        _write(folder / PAGE, page.text(whole, scrub, files=beside))
    return _archive(folder, whole.name) if zipped else folder / ISSUE


def _scrubber(told: Mapping[str, Any], folder: Path) -> Scrubber:
    places = [Path(told[name]).parent for name in ("output", "original") if told.get(name)]
    scratch = (folder / "scratch", folder / "cache")
    return scrubber([*places, *scratch, told.get("cwd") or Path.cwd()], python=told.get("python", sys.executable))


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """A folder with these files and no other; what an earlier attachment left there goes."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.is_file() and old.name not in files:
            old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _write(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def _archive(folder: Path, repro: str) -> Path:
    """Everything in one file, for an issue's upload field."""
    place = folder / f"{folder.stem}_attachment.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (repro, ISSUE, *([PAGE] if issue.paged() else [])):
            archive.write(folder / name, f"{folder.stem}/{name}")
        for path in sorted((folder / ARTIFACTS).iterdir()):
            archive.write(path, f"{folder.stem}/{ARTIFACTS}/{path.name}")
    return place
