"""Cases as a user would write them, in a folder of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from shrinkray_gpu.corpus.case import Case, load
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status

LOOKUP = "print({}['gone'])\n"
"""Shows `exception:KeyError`, without Triton and in no time."""
PLAIN: Mapping[str, Any] = {
    "title": "A key that is not there",
    "class": "missing key",
    "mechanism": "Somebody looks it up.",
    "oracle": ["exception:KeyError"],
    "fault": {"phase": "python", "klass": "KeyError", "text": "'gone'"},
    "expect": {">=3": "faults"},
}


def write(corpus: Path, name: str, repro: str = LOOKUP, **changes: Any) -> Path:
    """A folder with a case; `changes` replace keys of PLAIN, None leaves one out."""
    folder = corpus / name
    folder.mkdir(parents=True)
    (folder / f"repro_{name}.py").write_text(repro, encoding="utf-8")
    (folder / "failing.py").write_text(repro, encoding="utf-8")
    data = {key: value for key, value in {**PLAIN, **changes}.items() if value is not None}
    (folder / "case.toml").write_text(tomlkit.dumps(data), encoding="utf-8")
    return folder


def case(corpus: Path, name: str = "lookup", repro: str = LOOKUP, **changes: Any) -> Case:
    return load(write(corpus, name, repro, **changes))


def outcome(case: Case, status: Status, *, triton: str = "3.7.1", **more: Any) -> CaseOutcome:
    return CaseOutcome(status, case=case, environment=f"triton {triton}", versions={"triton": triton}, **more)
