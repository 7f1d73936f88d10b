"""The options that say on which machines the cells of a command are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from shrinkray_gpu.cells.cell import CellEngine
from shrinkray_gpu.cells.shard import Shard
from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.errors import UsageError

ray_option = click.option(
    "--ray",
    metavar="ADDRESS",
    help="Run on the machines of this Ray cluster: auto, or HOST:6379. Needs pip install ray.",
)
accelerator_option = click.option(
    "--accelerator",
    metavar="TYPE",
    help="With --ray: on GPUs of this type, as Ray names it: H100.",
)
shard_option = click.option(
    "--shard",
    metavar="I/N",
    help="Only the I-th of N parts, for N machines: --merge puts together what they wrote.",
)


def check_words(given: Mapping[str, Any]) -> None:
    """Raises UsageError for words that do not go together."""
    if given["accelerator"] and given["ray"] is None:
        raise UsageError("--accelerator chooses among the machines of --ray: give that, too, or leave it out")
    if given["ray"] is not None and given.get("sandbox") is not None:
        raise UsageError("--sandbox is for this machine: leave out --ray")
    if given["ray"] is not None and given.get("only_check"):
        raise UsageError("--check runs FILE on this machine: leave out --ray")


def shard_of(given: Mapping[str, Any]) -> Shard | None:
    """Raises UsageError."""
    return None if given["shard"] is None else Shard.parse(given["shard"])


def engine_of(given: Mapping[str, Any], say: Callable[[str], None]) -> CellEngine:
    """The one that is asked for. Raises UsageError where there is no such cluster."""
    if given["ray"] is None:
        return ThisMachine(given["jobs"], say=say)
    if given["jobs"] is not None:
        raise UsageError("--jobs is for this machine, and --ray runs as many cells as the cluster has room for")
    from shrinkray_gpu.cells.ray_cluster import RayCluster

    return RayCluster(given["ray"], say=say)
