"""What the plan decides about a search."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Fault, parse
from shrinkray_gpu.oracle.fault import Reference
from shrinkray_gpu.oracle.same import Same
from shrinkray_gpu.searching import leads_outside


@pytest.mark.parametrize(
    ("fault", "outside"),
    [
        (Fault("device", "an illegal memory access was encountered", code=700), True),
        (Fault("device", "operation not supported on global/shared address space", code=717), True),
        (Fault("device", "misaligned address", code=716), False),
        (Fault("exit", "SIGSEGV"), True),
        (Fault("exit", "SIGABRT"), False),
        (Fault("compile", "SIGSEGV"), False),
        (Fault("python", "IndexError"), False),
    ],
)
def test_only_an_access_of_the_running_program_leads_outside(tmp_path: Path, fault: Fault, outside: bool) -> None:
    """A compiler that ends by SIGSEGV does so whatever the offset is."""
    words = parse("error", folder=tmp_path)
    assert leads_outside(Same(spec="error", inner=words, reference=Reference(fault))) is outside
    assert not leads_outside(Same(spec="error", inner=words)) and not leads_outside(words)
