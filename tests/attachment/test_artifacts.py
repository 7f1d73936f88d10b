"""Names under `artifacts/`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from shrinkray_gpu.attachment import artifacts
from shrinkray_gpu.attachment.compiled_code import Code
from shrinkray_gpu.attachment.ptx_beside import ptx_beside
from shrinkray_gpu.evidence.scrubbing import Scrubber


def test_the_ptx_beside_the_repro_has_the_name_that_the_issue_tells(tmp_path: Path) -> None:
    (tmp_path / "repro_a.py.ptx").write_text("// ptxas -arch=sm_90 FILE\n// Fault: exit status 3\n.version 8.0\n")
    told = {"output": str(tmp_path / "repro_a.py")}
    evidence = SimpleNamespace(findings=[], said=[], texts={}, launch=None, run=None)
    code = Code(stages={"ptx": ".version 8.0\n"})
    dossier: Any = SimpleNamespace(
        name="repro_a.py", code=code, passing=None, twin="", build="", card="", told=told,
        evidence=evidence, reproducers={}, as_ir={}, trials=SimpleNamespace(experiments=[]), environment={},
    )  # fmt: skip
    beside = ptx_beside(told)
    found = artifacts.files(dossier, Scrubber({}, {}))
    assert beside is not None and beside.name in beside.command
    assert found[beside.name] == beside.text.encode() and found["repro_a.ptx"] == b".version 8.0\n"
