from __future__ import annotations

from shrinkray_gpu.evidence.ptxas import resource_line, usages
from shrinkray_gpu.runner.run import Build

PRINTED = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'
ptxas info    : Function properties for _Z1aPf
    1024 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 105 registers, used 1 barriers, 1024 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'
ptxas info    : Function properties for _Z1bPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
"""


def test_each_kernel_has_its_own() -> None:
    a, b = usages(PRINTED)
    assert (a.kernel, a.registers, a.stack, a.spills, a.shared) == ("_Z1aPf", 105, 1024, 12, 4096)
    assert (b.kernel, b.registers, b.stack, b.spills, b.shared) == ("_Z1bPf", 4, 0, 0, 0)


def test_the_line_has_the_most_of_any() -> None:
    line = resource_line([Build("x", PRINTED)])
    assert line == "2 kernels, at most 105 registers, 1024 bytes of stack, 12 of spills, 4096 of shared memory"
    assert resource_line([Build("x", "warning: nothing of ptxas")]) == ""
