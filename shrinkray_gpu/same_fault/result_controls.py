"""Controls for a fault that may hang on what kernels compute: with zeros in the place of that it vanishes, if so.

zeroed-outputs      for an error of Python's: what kernels write holds zeros. A program that then dies in other words
                    has lost this fault as well: it hangs on what a kernel computed
zeroed-outputs-but  the same for a fault of the device: of all kernels but the one that faults
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting
from shrinkray_gpu.same_fault.controls import INPUTS, RESULTS, Control


def of_results(fault: Fault, kernel: str, kernels: Collection[str], *, gpu: bool) -> tuple[Control, ...]:
    """That for this fault of a program that launches these kernels; none where it hangs on nothing that they write.
    `kernel`: the one at fault, as far as it is known."""
    if fault.phase == "python" and kernels:
        way = parse_setting(RESULTS)
    elif gpu and fault.phase == "device" and kernel.isidentifier() and set(kernels) - {kernel}:
        way = inputs_zeroed(kernel)
    else:
        return ()
    return (Control(way.name, way),)


def kernels_of(text: str) -> set[str]:
    """The kernels that a program defines. Triton's interpreter may run them, and no launch is seen then."""
    functions = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef))
    return {each.name for each in functions if any("jit" in ast.unparse(one) for one in each.decorator_list)}


def inputs_zeroed(kernel: str) -> KnobSetting:
    """What all kernels but this one write holds zeros."""
    return parse_setting(f"{INPUTS}={kernel}")
