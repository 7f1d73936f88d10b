"""The sentence above the change that makes the repro pass."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shrinkray_gpu.attachment.issue import templates
from shrinkray_gpu.evidence.scrubbing import Scrubber
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.same_fault.healthy_twin import COMPILES, ENDS_WELL, PROVED


@pytest.mark.parametrize(
    ("phase", "proof", "sentence"),
    [
        ("device", PROVED, f"One change away it passes; {PROVED}:"),
        ("compile", PROVED, f"One change away it compiles; {PROVED}:"),
        ("compile", COMPILES, f"One change away {COMPILES}:"),
        ("compile", ENDS_WELL, f"One change away {ENDS_WELL}:"),
    ],
)
def test_what_becomes_of_it_is_told_once(phase: str, proof: str, sentence: str) -> None:
    told = templates(Scrubber({}, {})).get_template("issue/twin.md.j2")
    facts = {
        "change": SimpleNamespace(diff="-a\n+b\n", proof=proof),
        "fault": Fault(phase, "CompilationError"),
        "d": SimpleNamespace(told=SimpleNamespace(unhealthy="")),
    }
    assert told.render(facts).strip().splitlines()[0] == sentence
