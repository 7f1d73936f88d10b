"""Failures of the machine, and not of the program: by well-known words, with the line that has them."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass

from shrinkray_gpu.oracle.adopt import NO_CUDA
from shrinkray_gpu.oracle.speech import FULL, clip
from shrinkray_gpu.triage.reported import ReportedFailure

_STALE = "|".join(re.escape(os.strerror(number)) for number in (errno.EIO, errno.ESTALE, errno.EROFS))
KINDS = {
    "out of disk": re.compile(rf"{FULL.pattern}|{_STALE}|No usable temporary directory|database or disk is full"),
    "no GPU": re.compile(NO_CUDA.pattern, re.IGNORECASE),
    "killed": re.compile(
        r"\bOut of memory: Killed process|\boom-kill|\bOOMKilled\b|^Killed\b|\bexit(?:ed with)? (?:code|status) 137\b"
        r"|(?:signal 9|SIGKILL)\b|The runner has received a shutdown signal|\bThe operation was canceled\b"
    ),
    "network": re.compile(
        r"Connection (?:reset by peer|refused|timed out)|Temporary failure in name resolution|Name or service not known"
        r"|Network is unreachable|Max retries exceeded with url|No route to host|Could not resolve host"
        r"|(?:Read|Connect)TimeoutError|HTTP Error (?:429|5\d\d)|\b(?:502 Bad Gateway|503 Service Unavailable)\b"
        r"|(?:RemoteDisconnected|SSLEOFError|IncompleteRead)\b"
    ),
    "sick device": re.compile(
        r"uncorrectable (?:NVLink|ECC) error|\bECC error|\bXid\b|GPU is lost|GPU has fallen off the bus"
        r"|NVML: (?:Unknown Error|GPU is lost)|Unable to determine the device handle|system not yet initialized"
        r"|Failed to initialize NVML|devices? (?:is|are) (?:busy or )?unavailable|CUDA-capable device\(s\) is/are busy"
    ),
}
LAST = 40
"""Lines of a log, of the last, that are looked at: what it says of retries that went well comes before."""


@dataclass(frozen=True)
class MachineTrouble:
    """What of the machine failed, and the line that says so."""

    kind: str
    line: str


def trouble_in(words: str) -> MachineTrouble | None:
    """What of the machine these words say failed."""
    for line in reversed(words.splitlines()):
        for kind, pattern in KINDS.items():
            if pattern.search(line):
                return MachineTrouble(kind, clip(line, 200))
    return None


def trouble_of(report: ReportedFailure) -> MachineTrouble | None:
    """What of the machine failed, by the failure's own words. Captured output is none of these: a program may well
    have tried again. Of a log that tells no exception all that it ends with counts."""
    raised = [line[1:].strip() for line in report.text.splitlines() if re.match(r"E {3}", line)]
    return trouble_in("\n".join([report.message, *raised]))


def trouble_at_end(log: str) -> MachineTrouble | None:
    """What of the machine failed, by the end of a log."""
    return trouble_in("\n".join(log.splitlines()[-LAST:]))
