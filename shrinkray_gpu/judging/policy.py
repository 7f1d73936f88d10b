"""What an interestingness test may take for an answer, as calibration and the user have it, and as drifts teach it."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tightening import Tightening


@dataclass(frozen=True)
class Policy:
    """What a test may take for an answer. The test takes a stricter one while it is in use, and never a looser one."""

    predicts: bool = False
    """Whether a candidate whose dry run shows the fault is believed on credit."""
    excludes: bool = False
    """Whether each dry run of the original shows the fault itself: then a candidate whose dry run does not is out. The
    fault is gone, or it comes with undefined behaviour of the candidate's own (a null pointer, a descriptor past its
    tensor)."""
    credit: bool = True
    """Whether launches that were judged before need no second run: the engine has that confirmed by cold runs."""
    repeats: FlakyTest | None = None
    """Where the fault is flaky: candidates are run again until it decides, and nothing is taken on credit, since the
    same launches may fault or not."""
    brief: float = 0.0
    """For a kernel that hangs: a lane whose GPU is at work for so many seconds after the last launch is taken to hang
    until a run that waits for as long as the oracle says tells otherwise. From then on all lanes wait."""
    machine_code: bool = True
    """Whether the kernels of candidates on the virtual GPU have any; those of cold runs do."""
    peak: int = 0
    """Device memory, in bytes, that the original held."""
    insisting: bool = False
    """Whether the last round has come, in which a "no" stands."""
    doubts_reused: bool = False
    """Whether a "yes" of a context that another program used before is asked again in a fresh one."""
    tightening: Tightening = Tightening()
    """What a "yes" must pass besides the oracle."""
