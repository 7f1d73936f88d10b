"""The whole attachment: from what a reduction told and what was measured to the files in its folder."""

from __future__ import annotations

import dataclasses
import errno
import io
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shrinkray_gpu.attachment import artifacts, course, issue
from shrinkray_gpu.attachment.dossier import Dossier
from shrinkray_gpu.attachment.forms import Form
from shrinkray_gpu.attachment.measurements import Measurements
from shrinkray_gpu.attachment.site import site
from shrinkray_gpu.attachment.surroundings import surroundings
from shrinkray_gpu.evidence.card import card
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.scrubbing import Scrubber, scrubber
from shrinkray_gpu.evidence.secrets_found import Publish, published_texts, without_secret_words
from shrinkray_gpu.evidence.versions import __version__

ROOM = 16 << 20
"""Bytes that must be free: kernels of the repro and of some dozen variants are compiled in the folder, too."""
ISSUE, PAGE, ARTIFACTS = "ISSUE.md", "report.html", "artifacts"


def write(
    folder: Path,
    told: Mapping[str, Any],
    measured: Measurements,
    *,
    before: str,
    form: Form,
    price: float | None = None,
    zipped: bool = False,
    publish: Publish = Publish(),  # noqa: B008  it is frozen
) -> Path:
    """Write the attachment of the reduction in `folder`, in place of an earlier one. Returns the issue's path, or the
    archive's. Raises UsageError where there are secrets and `publish` is strict, and OSError where there is no room, or
    something may not be written; then an earlier one is as it was.
    """
    output = Path(told["output"])
    places = published_texts(told.get("argv", ()), told.get("environment", {}), measured.text, before)
    publish.check(places)
    scrub = _scrubber(told, folder, places.values())
    measured = dataclasses.replace(measured, evidence=in_words_of_clean_runs(measured.evidence, told))
    seen = measured.evidence
    versions = {**told.get("versions", {}), **seen.versions}
    arch = told.get("arch")
    environment = surroundings(
        told.get("python", sys.executable), told.get("environment", {}), versions, scrub, arch=arch
    )
    whole = Dossier(
        **vars(measured),
        told={**told, "argv": without_secret_words(told.get("argv", ()))},
        name=output.name,
        before=before,
        card=card(seen),
        site=site(seen, measured.code, output.name),
        environment=environment,
        course=course.read(folder / "journal.jsonl"),
        price=price,
        version=__version__,
        stem=folder.stem,
        form=form,
    )
    files = artifacts.files(whole, scrub)
    texts = {whole.name: scrub.text(whole.text), ISSUE: issue.text(whole, scrub)}
    beside = {name: text.encode() for name, text in texts.items()}
    made = {**{f"{ARTIFACTS}/{name}": data for name, data in files.items()}, **beside}
    if issue.has_page():
        from shrinkray_gpu.attachment import page  # half a second of imports, that no other command should wait for

        made[PAGE] = page.text(whole, scrub, files={**beside, **files}).encode()
    archive = f"{folder.stem}_attachment.zip"
    replace(folder, {**made, archive: _zipped(folder.stem, made)} if zipped else made)
    return folder / (archive if zipped else ISSUE)


def in_words_of_clean_runs(seen: Evidence, told: Mapping[str, Any]) -> Evidence:
    """What the instruments saw, with the error in which clean runs of the repro ended: theirs was another run."""
    repro = (told.get("fingerprint") or {}).get("repro")
    if seen.fault is None or repro is None:
        return seen
    return dataclasses.replace(seen, fault=seen.fault.in_words_of(repro["code"]))


def check_place(folder: Path) -> None:
    """Raises OSError where an attachment of this reduction cannot be written, before much time went into making it."""
    place = folder / ARTIFACTS
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryFile(dir=folder), tempfile.TemporaryFile(dir=place):
        pass
    if (free := shutil.disk_usage(folder).free) < ROOM:
        said = f"only {free >> 10} KiB are free on its disk, of {ROOM >> 10} that it may take"
        raise OSError(errno.ENOSPC, said, folder)


def _scrubber(told: Mapping[str, Any], folder: Path, texts: Iterable[str]) -> Scrubber:
    places = [Path(told[name]).parent for name in ("output", "original") if told.get(name)]
    scratch = (folder / "scratch", folder / "cache")
    folders = [*places, *scratch, told.get("cwd") or Path.cwd()]
    python, environment = told.get("python", sys.executable), told.get("environment", {})
    return scrubber(folders, python=python, environment=environment, texts=texts)


def replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """These files in the folder, by their names in it, and no others in its artifacts/. All are written aside before
    one of them takes its place, so that an earlier attachment stays whole where there is no room for this one."""
    place = folder / ARTIFACTS
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".attachment-") as aside:
        (Path(aside) / ARTIFACTS).mkdir()
        for name, data in files.items():
            (Path(aside) / name).write_bytes(data)
        for name in files:
            os.replace(Path(aside) / name, folder / name)
    for old in place.iterdir():
        if old.is_file() and f"{ARTIFACTS}/{old.name}" not in files:
            old.unlink()


def _zipped(stem: str, files: Mapping[str, bytes]) -> bytes:
    """Everything in one file, for an issue's upload field."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(os.fsencode(f"{stem}/{name}").decode("utf-8", "replace"), data)
    return made.getvalue()
