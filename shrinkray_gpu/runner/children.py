"""Faults in processes that the script starts: its own exception at the end quotes or follows theirs."""

from __future__ import annotations

import re

from shrinkray_gpu.runner.run import Failure

CARRIERS = ("ProcessRaisedException", "ProcessExitedException", "ChildFailedError", "CalledProcessError")
"""Exceptions that say "a child failed": torch.multiprocessing, torchrun, subprocess."""
_CARRIER = re.compile(rf"^((?:\w+\.)*(?:{'|'.join(CARRIERS)}))(?=:|$):?", re.MULTILINE)
AFTERMATH = ("KeyboardInterrupt", "BrokenPipeError", "EOFError", "ConnectionResetError", "ConnectionAbortedError")
"""What a child dies of because its parent is gone or gave up: an echo, heard or not as chance has it."""
_HEADED = re.compile(r"^Process [^\n]+:\n(?=Traceback \(most recent call last\):$|\S*RemoteTraceback:)", re.MULTILINE)
"""Written by multiprocessing in the child, above the exception that ends it (`BaseProcess._bootstrap`)."""
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_CHAINED = re.compile(
    r"^(?:The above exception was the direct cause|During handling of the above exception).*\s*\Z", re.M
)
_LAST_WORDS = re.compile(r"^(?:\[rank\d+\]: ?)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): .+)$", re.MULTILINE)


def faults(failure: Failure | None, stderr: str) -> tuple[str, ...]:
    """What the children of a script died of, as `Type: text`; nothing where the script died of its own."""
    if failure is None or failure.type.rpartition(".")[2] not in CARRIERS:
        return ()
    told = _LAST_WORDS.findall(failure.text) or _LAST_WORDS.findall(stderr)
    return tuple(dict.fromkeys(said for said in told if said.split(":")[0].rpartition(".")[2] not in CARRIERS))


def child_failure(stderr: str) -> Failure | None:
    """The exception of such a kind that ended a plain process, by what it printed at its end; None if another did."""
    every = list(_CARRIER.finditer(stderr))
    return Failure(every[-1][1], stderr[every[-1].end() :].strip(), traceback=stderr) if every else None


def child_tracebacks(stderr: str) -> tuple[str, ...]:
    """The tracebacks under multiprocessing's headers, each with its causes, whatever the parent died of."""
    found = []
    for part in _HEADED.split(stderr)[1:]:
        starts = [start.start() for start in _TRACEBACK.finditer(part)]
        # The next traceback belongs to it only where a sentence between the two says so; else it is the parent's.
        ends = (start for start in starts[1:] if not _CHAINED.search(part[:start]))
        found.append(part[: next(ends, len(part))])
    return tuple(found)
