"""A launch out of resources for which the host chooses tiles, stages or warps: out of a table, or by what an autotuner
prunes. Lifted, it has them as numbers, and the choice, where the mistake may be, is gone. So what they hang on stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkray_gpu.calibration.missed import kernels_ran
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.inside.knobs.knobs import OPTIONS
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.argument_slice import function, marked, slice_of
from shrinkray_gpu.start.behind_fault import behind_fault
from shrinkray_gpu.start.refused_slice import computed, constants, is_computed
from shrinkray_gpu.start.statements import names

_CHOOSING = ("autotune", "heuristics")


def with_options_kept(text: str, run: Run) -> str:
    """The program's text, with marks at how the host chooses constants and options of a launch that is out of
    resources; empty where it computes none, or nobody knows."""
    fault = Fault.of(run)
    if fault is None or fault.phase != "launch" or "out of resource" not in fault.klass:
        return ""
    tree = ast.parse(text)
    kernel = function(tree, fault.kernel)
    if kernel is None:
        return ""
    launched = kernels_ran(run) or not run.virtual
    wanted = [name for name in (*constants(kernel), *OPTIONS) if computed(text, fault.kernel, [name], launched)]
    chosen = list(_chosen(kernel))
    host = slice_of(tree, fault.kernel, wanted, launched=launched, chosen=chosen)
    if not wanted and not any(is_computed(part) for part in (*host.statements, *chosen)):
        return ""
    return marked(text, host._replace(functions=[*host.functions, kernel]).without(behind_fault(tree, run)))


def _chosen(kernel: ast.FunctionDef) -> Iterator[ast.expr]:
    """What an autotuner is told, and a heuristic."""
    for each in kernel.decorator_list:
        if isinstance(each, ast.Call) and not set(_CHOOSING).isdisjoint(names(each.func)):
            yield from (*each.args, *(keyword.value for keyword in each.keywords))
