"""Launches of a kernel that the script compiled itself: `kernel.warmup(...)` or `triton.compile`, then `kernel[grid]`.

They go past `JITFunction.run`, by `CompiledKernel.__getitem__` in all of Triton 3.0 to 3.9.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict

from ..process.trouble import note_trouble
from . import description
from .specialisation import arguments_by_name, options, specialisation

_OPTIONS = (
    *("num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "launch_cooperative_grid"),
    *("waves_per_eu", "matrix_instr_nonkdim", "kpack"),
)


def install(capture: Any) -> None:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def launcher(self: Any, grid: Any) -> Any:
            launch = original(self, grid)
            return _recorded_launch(capture, self, grid, launch) if capture.at_work else launch

        return launcher

    def wrap(_: Any) -> None:
        kernel: Any = getattr(sys.modules.get("triton.compiler.compiler"), "CompiledKernel", None)
        if kernel is not None and "__getitem__" in vars(kernel):
            capture.patches.wrap(kernel, "__getitem__", make)

    capture.patches.on_import("triton", wrap)


def _recorded_launch(capture: Any, kernel: Any, grid: Any, launch: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        fn = getattr(kernel.src, "fn", None)
        if not capture.at_work or fn is None:  # made from the text of its IR
            return launch(*args, **kwargs)
        record = capture.record(fn, "compiled")
        result = []

        def go() -> Any:
            result.append(launch(*args, **kwargs))
            return kernel

        with note_trouble(record):
            record["grid"] = [int(n) for n in grid]
            source = kernel.src
            attributes = [getattr(source, "attrs", None) or {}]
            meta: Dict[str, Any] = {"signature": source.signature, "constants": source.constants, "configs": attributes}
            asked = {name: getattr(kernel.metadata, name) for name in _OPTIONS if hasattr(kernel.metadata, name)}
            values = arguments_by_name(fn, meta, args)
            description.describe(record, values, options(asked, capture.log.compiles, kernel))
            record["specialised"] = specialisation(fn, meta, values)
        if capture.history is not None:
            capture.history.note_launch(record, kernel)  # known beforehand, and so where the launch itself raises
        capture.launch(record, go, lambda: record["grid"])
        return result[0]

    return run
