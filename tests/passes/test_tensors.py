from __future__ import annotations

import pytest

from shrinkray_gpu.passes import tensors
from tests.passes.offers import SAMPLES, assert_subsets_parse, offered, results


@pytest.mark.parametrize(
    ("made", "want"),
    [
        ("torch.randint(1, (N, 4), dtype=torch.int8, device=0)", "torch.zeros(N, 4, dtype=torch.int8, device=0)"),
        ("torch.randint(0, 7, [8], device='cuda', generator=g)", "torch.zeros(8, device='cuda')"),
        ("torch.randint(0, 7, size=(8,), device='cuda')", "torch.zeros(8, device='cuda')"),
        ("torch.full((2, 3), 1.5, device='cuda')", "torch.zeros(2, 3, device='cuda')"),
        ("torch.normal(0, 1, (8, 9), device='cuda')", "torch.zeros(8, 9, device='cuda')"),
        ("torch.zeros(4, 8, dtype=torch.int8, device='cuda')", "torch.zeros(32, dtype=torch.int8, device='cuda')"),
        ("torch.randn(2, 3, 5)", "torch.randn(30)"),
    ],
)  # fmt: skip
def test_zeros_of_the_same_extents_and_one_extent_for_several(made: str, want: str) -> None:
    assert offered(tensors.find, f"x = {made}\n", f"x = {want}\n")


@pytest.mark.parametrize(
    "made",
    [
        "torch.zeros(8, device='cuda')",
        "torch.zeros(n, 8)",
        "torch.zeros(*shape)",
        "torch.zeros(2, 8, **options)",
        "torch.full((), 1.0)",
        "torch.full(shape, 1.0)",
        "torch.randint(8, shape)",
        "numpy.full((2, 3), 1.0)",
        "triton.zeros(2, 3)",
    ],
)
def test_what_is_not_known_or_no_shorter_stays(made: str) -> None:
    assert not results(tensors.find, f"x = {made}\n")


def test_in_a_kernel_there_are_no_tensors_of_torch() -> None:
    assert not results(tensors.find, "@triton.jit\ndef kernel():\n    x = torch.zeros(2, 3)\n")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_any_subset_parses(sample) -> None:  # type: ignore[no-untyped-def]
    assert_subsets_parse(tensors.find, sample)
