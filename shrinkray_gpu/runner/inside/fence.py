"""The fence around a process: `hold` puts it up around this one; as a command it is that of another program.

main.py --fenced SETUP COMMAND...
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List

from .process import capabilities, device, kernel_settings, landlock, private_memory, signal_filter

PARTS = (landlock.WRITES, landlock.TCP, landlock.SIGNALS, signal_filter.PART, private_memory.PART)
"""All that it may have, in the order in which they are told."""


def prepare(setup: Dict[str, Any]) -> bool:
    """Do once, in a process that has a single thread, what serves all that it forks or becomes. Returns whether `hold`
    can give them shared memory of their own."""
    landlock.always()  # which all that is forked will know
    if landlock.WRITES not in setup["left_open"]:
        kernel_settings.protect(setup["writable"])
    seen = [setup["scratch"], *setup["writable"], *setup["own"], setup["cwd"], sys.prefix, sys.base_prefix]
    return private_memory.PART not in setup["left_open"] and private_memory.possible(seen)


def hold(setup: Dict[str, Any], *, private: bool) -> List[str]:
    """Put up what the kernel has of it, but for the parts in `left_open`. Returns the parts that hold.

    Writes stay possible below the folders `scratch` and `writable`, and to what children have in /proc, where that
    can be had without the kernel's own. `private`: as `prepare` said.
    TCP stays open where the driver is to write a core dump: it takes a port for that, and where none is to be had it
    tries one after another for ever. (580.159, H100)
    """
    left_open = [*setup["left_open"], *([landlock.TCP] if device.writes_dumps() else [])]
    memory = [private_memory.PART] if private and private_memory.begin() else []  # first: Landlock forbids mounts
    writable = [setup["scratch"], *setup["writable"]]
    if landlock.WRITES not in left_open and kernel_settings.protect(setup["writable"]):
        writable.append(kernel_settings.FOLDER)
    held = landlock.confine(writable, left_open)
    if landlock.WRITES in held and landlock.DEVICE_FOLDER not in landlock.always():  # else the driver makes a device
        capabilities.drop()
    if signal_filter.PART not in left_open:
        signals = landlock.SIGNALS not in held
        held += [signal_filter.PART] * (signal_filter.begin(signals=signals) and signals)
    return held + memory


def main() -> None:
    """Put it up, and become the command."""
    setup = json.loads(sys.argv[2])
    hold(setup, private=prepare(setup))
    os.execvp(sys.argv[3], sys.argv[3:])
