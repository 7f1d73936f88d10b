"""What a program is compiled for is told by its name in ISSUE.md."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shrinkray_gpu.attachment.issue import templates
from shrinkray_gpu.device import architectures
from shrinkray_gpu.evidence.scrubbing import Scrubber


@pytest.mark.parametrize(("name", "gpu"), [("gfx942", "on a gfx942 GPU"), ("sm_90", "on an sm_90 GPU")])
def test_an_architecture_has_its_name(name: str, gpu: str) -> None:
    told = SimpleNamespace(arch=architectures.number(name), argv=())
    row = SimpleNamespace(name="num_warps", row=SimpleNamespace(current="4"), boundary="2 passes")
    said = {"d": SimpleNamespace(told=told, name="a.py", text="x = 1\n"), "deciding": [row], "idle": []}
    environment = templates(Scrubber({}, {}))
    repro = environment.get_template("issue/repro.md.j2").render(beside=None, **said)
    assert gpu in repro
    assert f"compiled for {name} and" in environment.get_template("issue/decides.md.j2").render(beside=None, **said)
