"""Faults in processes that the script starts: its own exception at the end quotes or follows theirs."""

from __future__ import annotations

import re

from shrinkray_gpu.runner.run import Failure

CARRIERS = ("ProcessRaisedException", "ProcessExitedException", "ChildFailedError", "CalledProcessError")
"""Exceptions that say "a child failed": torch.multiprocessing, torchrun, subprocess."""
_LAST_WORDS = re.compile(r"^(?:\[rank\d+\]: ?)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): .+)$", re.MULTILINE)


def faults(failure: Failure | None, stderr: str) -> tuple[str, ...]:
    """What the children of a script died of, as `Type: text`; nothing where the script died of its own."""
    if failure is None or failure.type.rpartition(".")[2] not in CARRIERS:
        return ()
    told = _LAST_WORDS.findall(failure.text) or _LAST_WORDS.findall(stderr)
    return tuple(dict.fromkeys(said for said in told if said.split(":")[0].rpartition(".")[2] not in CARRIERS))
