from __future__ import annotations

import pytest

from shrinkray_gpu.passes import scalars
from tests.passes.offers import SAMPLES, assert_subsets_parse, offered, results

SOURCE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, slots):
    slot = tl.load(slots{more})
    tl.store(x + slot * 1024, {value})


{before}kernel[(1,)](x, {tensor})
"""


def made(tensor: str, *, more: str = "", value: str = "0", before: str = "") -> str:
    return SOURCE.format(tensor=tensor, more=more, value=value, before=before)


@pytest.mark.parametrize(
    ("tensor", "element"),
    [
        ("torch.tensor([2100982, 7], dtype=torch.int32, device='cuda')", "2100982"),
        ("torch.tensor([[-3, 1], [2, 0]], device='cuda')", "-3"),
        ("torch.tensor(5, device='cuda')", "5"),
        ("torch.arange(65535, 65529, -1, device='cuda')", "65535"),
        ("torch.arange(6, device='cuda')", "0"),
        ("torch.zeros(4, device='cuda')", "0"),
        ("torch.ones(4, device='cuda')", "1"),
    ],
)
def test_the_element_goes_for_the_tensor(tensor: str, element: str) -> None:
    want = made(element).replace("tl.load(slots)", "slots")
    assert offered(scalars.find, made(tensor), want)
    assert offered(scalars.find, made(tensor, more=", mask=True, other=0"), want)


def test_of_a_variable_as_well_at_each_load() -> None:
    before = "ones = torch.ones(4, device='cuda')\n"
    want = made("1", before=before, value="slots").replace("tl.load(slots)", "slots")
    assert offered(scalars.find, made("ones", before=before, value="tl.load(slots)"), want)


@pytest.mark.parametrize(
    "source",
    [
        made("torch.tensor([1, 2])", more=" + 1"),
        made("torch.tensor([1, 2])", value="slots"),
        made("torch.tensor([])"),
        made("torch.tensor(values)"),
        made("torch.arange(n, 8)"),
        made("torch.arange(start=2, end=8)"),
        made("torch.randn(4)"),
        made("y", before="y = torch.ones(4)\ny = torch.zeros(4)\n"),
        made("torch.ones(1)") + "kernel[(1,)](x, y)\n",
        made("torch.ones(1)") + "print(kernel)\n",
    ],
)
def test_what_is_read_otherwise_or_not_written_down_stays(source: str) -> None:
    assert results(scalars.find, source) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_any_subset_parses(sample) -> None:  # type: ignore[no-untyped-def]
    assert_subsets_parse(scalars.find, sample)
