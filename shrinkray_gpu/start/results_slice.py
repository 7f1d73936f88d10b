"""A fault that hangs on what kernels compute: an index that one wrote, and the host or another kernel takes.

A shorter list, or a number that nobody computed, ends in the same words. So all stays that the value hangs on: what the
host does to make it, its launches, and the kernels themselves, since the mistake may be in any of these.
"""

from __future__ import annotations

import ast

from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.argument_slice import function, marked, slice_of, with_kernels
from shrinkray_gpu.start.behind_fault import behind_fault, own_lines, way_to
from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.slicing import HEADS, MAY_RUN, Slice, Slicer, everything
from shrinkray_gpu.start.statements import is_kernel, names, parameters


def with_results_kept(text: str, run: Run, *, whole: bool = False) -> str:
    """The program's text, with marks at what the statement hangs on that fails in this run; empty where nobody knows
    which that is, or it hangs on no kernel of the text's. `whole`: on all of the program, since it hangs on a kernel by
    a way that nobody sees."""
    tree = ast.parse(text)
    line = next(reversed([*own_lines(run)]), None)
    failing = way_to(tree, line)[-1] if line is not None else None
    code = HostCode(tree)
    if not isinstance(failing, ast.stmt) or failing not in code.scope:
        return ""
    values = [each for each in ast.iter_child_nodes(failing) if isinstance(each, ast.expr)]
    # What fails may be an argument of something that does nothing with it, as a constructor.
    parts = [part for each in values for part in ast.walk(each) if isinstance(part, MAY_RUN)]
    values += [part for part in parts if isinstance(part, ast.expr)]
    found = Slicer(code).behind([failing], values)
    found = with_kernels(tree, everything(code, launches=whole) if found.is_open or whole else found, "", every=whole)
    if not (_kernels_of(tree, found) or whole and code.kernels):
        return ""
    if isinstance(failing, HEADS):
        found = found._replace(heads=[*found.heads, failing])
    else:
        found = found._replace(statements=[*found.statements, failing])
    return marked(text, found.without(behind_fault(tree, run)))


def with_inputs_kept(text: str, run: Run, kernel: str) -> str:
    """The program's text, with marks at what the tensors hang on that launches of this kernel get in this run; empty
    where the text has no such kernel, or no other one of it writes them."""
    launches = [launch for launch in run.launches if launch.kernel == kernel]
    tree = ast.parse(text)
    launched = function(tree, kernel)
    if launched is None or not launches:
        return ""
    wanted = [name for name, described in zip(parameters(launched), launches[0].args) if "[" in described]
    found = with_kernels(tree, slice_of(tree, kernel, wanted, first=len(launches) == 1), kernel)
    if not _kernels_of(tree, found) - {kernel}:
        return ""
    return marked(text, found.without(behind_fault(tree, run)))


def _kernels_of(tree: ast.Module, found: Slice) -> set[str]:
    """The kernels that a slice names."""
    kernels = {each.name for each in ast.walk(tree) if is_kernel(each)}
    return {name for each in found.statements for name in names(each) if name in kernels}
