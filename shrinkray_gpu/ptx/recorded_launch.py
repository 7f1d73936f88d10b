"""A script that makes one recorded launch by the driver alone, whatever program made it: see `runner/launch_recorder`.

The kernel comes from the image that the program loaded. Memory has the sizes and contents that it had before the
launch. What a record does not hold (a cluster, a cooperative grid, an argument that nobody saw) has no script.
"""

from __future__ import annotations

from shrinkray_gpu.ptx.launcher import NoLauncher, script
from shrinkray_gpu.runner.launch_recorder import DeviceMemory, Parameter, RecordedLaunch


def recorded_launcher(launch: RecordedLaunch) -> str:
    """The script, to lie beside the record's files. Raises NoLauncher."""
    if launch.how == "late":
        raise NoLauncher("the error was there before it: of a copy, a graph, or what else nobody records")
    if launch.how != "plain":
        raise NoLauncher(f"it is launched with {'a cooperative grid' if launch.how == 'cooperative' else launch.how}")
    if not launch.image:
        raise NoLauncher("the record does not tell which module its kernel is from")
    if any(each.data is None for each in launch.parameters):
        raise NoLauncher("an argument is not in the record")
    memory = "".join(f"    {_memory(each)},\n" for each in launch.memory)
    arguments = "".join(f"    {_argument(each)!r},\n" for each in launch.parameters)
    return script(
        f"FILE = {launch.image!r}\nKERNEL = {launch.kernel!r}\nGRID = {launch.grid!r}\nBLOCK = {launch.block!r}\n"
        f"SHARED = {launch.shared}  # bytes of dynamic shared memory\n",
        arguments,
        memory,
    )


def unread(launch: RecordedLaunch) -> int:
    """How many of its allocations nobody has read: they hold zeros in the script."""
    return sum(not each.fill and not each.file and each.size > 0 for each in launch.memory)


def outdated(launch: RecordedLaunch) -> int:
    """How many of its allocations hold addresses, which are those of the program's own run in the script."""
    return sum(each.pointers for each in launch.memory)


def _memory(memory: DeviceMemory) -> str:
    return repr((memory.size, memory.file or memory.fill.hex()))


def _argument(parameter: Parameter) -> tuple[object, ...]:
    assert parameter.data is not None
    places = tuple((each.at, each.memory, each.offset) for each in parameter.pointers)
    return "bytes", parameter.data.hex(), places
