"""Faults that a corpus knows already: its cases with the same fingerprint, and the releases in which they are fixed.

A fingerprint is no proof: two bugs may look alike. So one that says little (an error of CUDA and no instruction) is not
looked up at all, and what is found is told as the same fingerprint, not as the same bug.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from shrinkray_gpu.corpus.case import FILE, Case, told
from shrinkray_gpu.corpus.expectation import Status, expected_status
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault

OURS = Path(__file__).parents[2] / "corpus"
"""Of a checkout; an installed tool has none."""
MOST = 3
_TELLING = ("text", "instruction")
_COMPARED = ("phase", "klass", "code", "text", "instruction", "space")


def known(fault: Fault, triton: str, corpora: Sequence[Path] = (Path("corpus"), OURS)) -> tuple[str, ...]:
    """A sentence for each case with this fingerprint that is not fixed in this Triton, as far as the case says: which
    it is, where it is fixed, where it was reported."""
    if fault.phase not in ("compile", "device") or not any(getattr(fault, name) for name in _TELLING):
        return ()
    return tuple(map(_sentence, _alike(fault, triton, corpora)))[:MOST]


def _alike(fault: Fault, triton: str, corpora: Sequence[Path]) -> Iterator[Case]:
    folders = {file.parent.resolve(): None for corpus in corpora for file in sorted(corpus.glob(f"*/{FILE}"))}
    for folder in folders:
        with suppress(UsageError):  # a broken case is for `shrink replay` to tell
            case = told(folder)
            if case.fault is not None and all(getattr(case.fault, each) == getattr(fault, each) for each in _COMPARED):
                if not triton or expected_status(case, triton) is not Status.FIXED:
                    yield case


def _sentence(case: Case) -> str:
    fixed = [str(releases) for releases, what in case.expect if what == "fixed"]
    where = f"; by that case fixed in Triton {' and '.join(fixed)}" if fixed else ""
    links = f"; {' '.join(case.upstream)}" if case.upstream else ""
    return f"the same fingerprint as the case {case.name} of the corpus ({case.title}){where}{links}"
