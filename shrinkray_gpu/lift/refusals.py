"""Runs that have no launch to lift because the fault comes before any: a generator of kernels failed by itself."""

from __future__ import annotations

from shrinkray_gpu.oracle.speech import frames
from shrinkray_gpu.runner.run import Run

GENERATORS = {"helion": "Helion", "torch._inductor": "Inductor", "torch._dynamo": "TorchDynamo"}
"""Packages that write kernels, with the name to tell the user."""


def beyond(run: Run) -> str:
    """Why nothing of this run can be lifted, if its fault lies in what makes kernels and not in one; else empty."""
    failure = run.failure
    if failure is None or any(compile.failure for compile in run.compiles):
        return ""
    if run.launches or (run.captured and run.captured["launches"]):
        return ""
    for package, name in GENERATORS.items():
        if not _raised_in(package, failure.type, failure.traceback):
            continue
        what = " ".join(failure.text.split("\n", 1)[0].split())
        told = f"{failure.type}: {what[:160]}" if what else failure.type
        return (
            f"the fault is in {name} itself ({told}), before any kernel was launched: there is no launch to lift, and "
            "the program is reduced as it is"
        )
    return ""


def _raised_in(package: str, type_name: str, traceback: str) -> bool:
    """Whether the exception is the package's own, or came up in its code."""
    if type_name.startswith(f"{package}."):
        return True
    found = frames(traceback)
    return bool(found) and f"/{package.replace('.', '/')}/" in found[-1].file.replace("\\", "/")
