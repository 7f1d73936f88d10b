"""What is reduced under faults: without torch, on the virtual GPU, and the README's corpus case there and on one."""

from __future__ import annotations

from tests.e2e.programs import LOOKUP, NARROW_TILES
from tests.hostile.inject.tool import ROOT, Subject

MISALIGNED = ("--oracle", "misaligned address", "--jobs", "2")
IMPORTS_TORCH = "40"
VIRTUAL = ("--arch", "sm_90", *MISALIGNED)
CORPUS_CASE = (ROOT / "corpus" / "tma_misaligned" / "failing.py").read_text()
SUBJECTS = {
    one.name: one
    for one in (
        # The failing call alone would end it before anything can be done to it.
        Subject("lookup", LOOKUP, ("--oracle", "exception:IndexError", "--jobs", "2", "--skip-pass", "failing_call")),
        Subject("narrow_tiles", NARROW_TILES, VIRTUAL, timeout=IMPORTS_TORCH),
        Subject("tma_misaligned", CORPUS_CASE, VIRTUAL, timeout=IMPORTS_TORCH),
        Subject("tma_on_device", CORPUS_CASE, MISALIGNED, timeout=IMPORTS_TORCH),
    )
}
