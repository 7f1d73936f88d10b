"""What was lifted, or what is believed lost, in a line for the user."""

from __future__ import annotations

from collections.abc import Sequence

from shrinkray_gpu import lift
from shrinkray_gpu.lift import losses
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.source.compilations import IR


def lifted_description(run: Run, offers: Sequence[lift.Offer], text: str) -> str:
    offer = next(each for each in offers if each.text == text)
    launches, kernel = len(run.launches), f"{offer.kernel}, of a CUDA graph" if offer.graph else offer.kernel
    if offer.compiled:
        ir = f", whose text stays as it is: what is in {kernel} is not reduced" if kernel.endswith(IR) else ""
        return f"the compilation of {kernel} alone shows the fault{ir}"
    if offer.launch is None:
        return f"the launch of {kernel} alone shows the fault"
    return f"launch {offer.launch + 1} of {max(launches, offer.launch + 1)} ({kernel}) alone shows the fault"


def memory_obstacle(offers: Sequence[lift.Offer]) -> str:
    """Why a launch alone, with what its tensors held, would be another fault; empty where it may be the same."""
    for offer in offers:
        if offer.pointers:
            return f"{offer.kernel} takes numbers as addresses, which say nothing in another process"
        if offer.made_before:
            return f"what an earlier kernel wrote decides where {offer.kernel} goes"
    return ""


def failure_description(again: Run, *, shows: bool, offers: bool) -> str:
    """Why nothing that was lifted shows the fault, as far as can be told. `again`: the run with values written down."""
    if not offers:
        return "not lifted: no launch of it can be written down as a script"
    if not shows:
        return (
            "not lifted: the faulty launch alone does not show the fault, and with what its tensors hold written down "
            "the program does not show it either: the timing is believed to matter"
        )
    tried = "not lifted: neither a launch alone, with the values it had, nor the list of all launches shows the fault"
    if properties := losses.lost_properties(again):
        return f"{tried}; believed lost is {'; '.join(properties)}"
    fault = Fault.of(again)
    if fault is not None and fault.phase == "compile":  # which waits for nothing
        return f"{tried}: something that the compiler sees of the program alone is believed to matter"
    return f"{tried}: timing, or what the host does between the launches, is believed to matter"
