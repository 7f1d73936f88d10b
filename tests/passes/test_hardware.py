"""The GPU that a program compiles for is none of the numbers to play with, wherever they come from."""

from __future__ import annotations

import re

import pytest

from shrinkray_gpu.passes import expressions, numbers
from tests.passes.offers import offered, results


@pytest.mark.parametrize("find", [numbers.find, expressions.find], ids=["numbers", "expressions"])
@pytest.mark.parametrize(
    "text",
    [
        'f(GPUTarget("cuda", 90, 32))',
        'f(target=GPUTarget(backend="cuda", arch=90, warp_size=32))',
        "arch = 90\nf(GPUTarget('cuda', arch, 32))",
        "base: int = 90\narch = base\nf(GPUTarget('cuda', arch, 32))",
        "for arch in (90, 90):\n    f(GPUTarget('cuda', arch, 32))",
        "[GPUTarget('cuda', arch, 32) for arch in (90,)]",
        "def made(x, arch):\n    return GPUTarget('cuda', arch, 32)\n\n\nmade(x, 90)",
        "def made(arch=90):\n    return GPUTarget('cuda', arch, 32)\n\n\nmade()",
        "def made(arch):\n    return GPUTarget('cuda', arch, 32)\n\n\nmade(arch=90)",
    ],
)
def test_no_number_of_it_becomes_another(find, text: str) -> None:
    for after in results(find, text):
        if "GPUTarget(" in after:
            assert set(re.findall(r"\b\d+\b", after)) <= {"90", "32"}, after


def test_it_goes_whole_and_other_numbers_go_on() -> None:
    assert offered(expressions.find, 'f(x, target=GPUTarget("cuda", 90, 32))', "f(x)")
    assert offered(numbers.find, 'f(GPUTarget("cuda", 90, 32), w=4)', 'f(GPUTarget("cuda", 90, 32), w=1)')
    assert offered(numbers.find, "f(90)", "f(1)")
