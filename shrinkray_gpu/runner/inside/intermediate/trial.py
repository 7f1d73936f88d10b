"""What a forked child does: parse, verify, and run passes one after another, telling the parent how far it came."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from . import binding, module_text

Tell = Callable[[dict[str, Any]], None]


def normalised(ctx: Any, text: str, folder: str, tell: Tell) -> None:
    """Tell the text in generic form and as people write it."""
    lib = binding.libtriton()
    module = module_text.parsed(lib, ctx, text, folder)
    tell({"parsed": True, "pretty": module_text.pretty(module)})
    tell({"generic": module_text.generic(lib, ctx, module)})


def run_steps(ctx: Any, text: str, steps: list[list[Any]], snapshots: bool, folder: str, tell: Tell) -> None:
    """Run the steps, each `[place, function, arguments]`, on the module. The last step told is the one that failed."""
    lib = binding.libtriton()
    module = module_text.parsed(lib, ctx, text, folder)
    tell({"parsed": True, "verified": bool(module.verify())})
    for at, (place, function, arguments) in enumerate(steps):
        tell({"at": at, "before": module_text.pretty(module)} if snapshots else {"at": at})
        manager = lib.ir.pass_manager(ctx)
        binding.adder(lib, place, function)(manager, *arguments)
        run(manager, module)
    tell({"at": len(steps)})


def run(manager: Any, module: Any) -> None:
    """Releases from 3.6 on take a name for the run."""
    try:
        manager.run(module, "shrink")
    except TypeError:
        manager.run(module)


def described_passes(ctx: Any, skip: int, tell: Tell) -> None:
    """Tell each pass of the binding, those before `skip` left out: one of them ended an earlier child."""
    lib = binding.libtriton()
    for at, (place, function) in enumerate(binding.adders(lib)):
        if at >= skip:
            tell({"try": at})
            if found := binding.described(lib, ctx, place, function):
                tell({"pass": found})


def teller(fd: int) -> Tell:
    """Writes each event as a line of JSON, at once: nothing is lost with the process."""

    def tell(event: dict[str, Any]) -> None:
        data = json.dumps(event).encode() + b"\n"
        while data:
            data = data[os.write(fd, data) :]

    return tell
