"""A GPU whose clients share one context, by CUDA MPS: one's fault ends the work of all, so nothing is judged there.

Somebody may turn it on at any time. A context that is there is none of its clients, and each new one is. So it is
looked for before each run and after it.
"""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.run import Run

WHY = "one client's fault would end every other client's work"
STOP = "Stop it (echo quit | nvidia-cuda-mps-control)"


def refuse_sharing(setup: Setup) -> None:
    """Raises UsageError where CUDA MPS is active."""
    if pipe := _active(setup):
        raise UsageError(f"CUDA MPS is active ({pipe}): {WHY}. {STOP} or run on a GPU without it")


def unshared(setup: Setup, run: Callable[[], Run]) -> Run:
    """What `run` comes to. Raises UsageError where CUDA MPS is active before or after it."""
    pipe = _active(setup)
    if not pipe:
        made = run()
        pipe = _active(setup)
        if not pipe:
            return made
    raise UsageError(
        f"CUDA MPS was turned on meanwhile ({pipe}): {WHY}. {STOP} and go on with the same command and --resume"
    )


def _active(setup: Setup) -> str:
    """The folder of MPS, where candidates of this setup would be its clients; else empty."""
    pipe = "" if setup.arch is not None else gpus.sharing(setup.environment)
    return pipe if pipe and gpus.present() else ""
