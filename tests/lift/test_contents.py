"""What is said of a tensor, and that what is made of those words holds the same, or the like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from shrinkray_gpu.lift.values import choices, new
from shrinkray_gpu.runner.inside.capture import contents


def described(tensor: Any, folder: Path) -> dict[str, Any]:
    return contents.Contents(str(folder)).describe(tensor)


def made_again(tensor: Any, content: dict[str, Any]) -> list[Any]:
    """A tensor for each way to fill it, the simplest first."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    record = {"dtype": dtype, "shape": list(tensor.shape), "content": content}
    found = []
    for choice in choices([record]):
        torch.manual_seed(0)
        found.append(eval(new(record["shape"], dtype, "cpu", choice(record)), {"torch": torch}))
        assert (found[-1].dtype, found[-1].shape) == (tensor.dtype, tensor.shape)
    return found


@pytest.mark.parametrize(
    ("tensor", "kind"),
    [
        (torch.zeros(3, 5), "zeros"),
        (torch.zeros(0, 5), "zeros"),
        (torch.zeros(100, dtype=torch.bool), "zeros"),
        (torch.ones(3, 5, dtype=torch.int8), "ones"),
        (torch.ones(100, dtype=torch.bool), "ones"),
        (torch.full((2, 2), -7), "full"),
        (torch.full((2, 2), 0.5), "full"),
        (torch.full((2, 2), 0.5, dtype=torch.bfloat16), "full"),
        (torch.full((), float("inf")), "full"),
        (torch.arange(100), "arange"),
        (torch.arange(100, dtype=torch.int32).view(10, 10), "arange"),
        (torch.arange(90, 3, -3), "arange"),
        (torch.arange(0, 800, 8, dtype=torch.float32), "arange"),
        (torch.arange(1 << 21), "arange"),
    ],
)
def test_what_can_be_said_whole_is_made_again_as_it_was(tensor: Any, kind: str, tmp_path: Path) -> None:
    content = described(tensor, tmp_path)
    assert content["kind"] == kind and "exact" not in content
    [again] = made_again(tensor, content)
    assert torch.equal(again, tensor)
    assert not list(tmp_path.iterdir())


def test_integers_lie_in_the_same_range_and_then_are_the_same(tmp_path: Path) -> None:
    torch.manual_seed(7)
    tensor = torch.randint(-3, 90, (50, 40), dtype=torch.int32)
    like, same = made_again(tensor, described(tensor, tmp_path))
    assert (like.min(), like.max()) == (tensor.min(), tensor.max())
    assert not torch.equal(like, tensor) and torch.equal(same, tensor)


def test_one_odd_element_of_many_is_no_arange(tmp_path: Path) -> None:
    tensor = torch.arange(1 << 20)
    tensor[777_777] = -1
    assert described(tensor, tmp_path)["kind"] == "range"


def test_the_largest_of_an_index_is_told_however_large_it_is(tmp_path: Path) -> None:
    tensor = torch.zeros(3_000_001, dtype=torch.int32)
    tensor[1_234_567] = 1 << 30
    assert described(tensor, tmp_path)["high"] == 1 << 30


def test_few_integers_are_written_down_at_once(tmp_path: Path) -> None:
    tensor = torch.tensor([[3, 1], [4, 1]], dtype=torch.int16)
    [same] = made_again(tensor, described(tensor, tmp_path))
    assert torch.equal(same, tensor) and not list(tmp_path.iterdir())


def test_few_floats_are_made_up_first(tmp_path: Path) -> None:
    tensor = torch.tensor([0.5, float("nan"), float("-inf"), -2.0])
    like, same = made_again(tensor, described(tensor, tmp_path))
    assert like.isfinite().all()
    assert torch.equal(same.nan_to_num(nan=9), tensor.nan_to_num(nan=9))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.complex64]
)
def test_floats_of_a_like_size_and_then_the_same(dtype: Any, tmp_path: Path) -> None:
    tensor = (torch.randn(40, 50) * 6 + 20).to(dtype)
    like, same = made_again(tensor, described(tensor, tmp_path))
    assert torch.equal(same.view(torch.uint8), tensor.view(torch.uint8))
    if dtype != torch.complex64:
        assert abs(like.float().mean() - 20) < 2 and abs(like.float().std() - 6) < 2


def test_what_is_never_negative_stays_so(tmp_path: Path) -> None:
    tensor = torch.rand(1000) * 30
    like, _ = made_again(tensor, described(tensor, tmp_path))
    assert like.min() >= 0 and 20 < like.max() <= 31


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_booleans(share: float, tmp_path: Path) -> None:
    tensor = torch.rand(4000) < share
    like, same = made_again(tensor, described(tensor, tmp_path))
    assert torch.equal(same, tensor) and abs(like.float().mean() - share) < 0.05


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_unsigned(bits: int, tmp_path: Path) -> None:
    tensor = torch.randint(0, 99, (500,)).to(getattr(torch, f"uint{bits}"))
    like, same = made_again(tensor, described(tensor, tmp_path))
    assert like.to(torch.int64).max() <= 98 and torch.equal(same.to(torch.int64), tensor.to(torch.int64))


def test_a_view_is_described_and_not_what_lies_around_it(tmp_path: Path) -> None:
    tensor = torch.randn(100, 100)
    tensor[:, :3] = 4
    assert described(tensor[:, :3], tmp_path) == {"kind": "full", "value": 4.0}
    assert described(torch.ones(1).expand(1 << 40), tmp_path)["kind"] == "ones"
    assert described(torch.arange(100).view(10, 10).T, tmp_path)["kind"] == "range"


def test_nothing_is_saved_of_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "SAVED", 1000)
    content = described(torch.randn(1000), tmp_path)
    assert content["kind"] == "normal" and "exact" not in content and not list(tmp_path.iterdir())


def test_the_same_values_are_saved_once_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = contents.Contents(str(tmp_path))
    tensors = [torch.randn(1000) for _ in range(3)]
    paths = [every.describe(t)["exact"]["path"] for t in (*tensors, tensors[0])]
    assert paths[3] == paths[0] and len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr(contents, "KEPT", 12_000)
    every.describe(torch.randn(1000))
    assert Path(paths[0]).exists() and not Path(paths[1]).exists()


def test_what_a_kernel_that_never_ran_would_have_written_is_not_known(tmp_path: Path) -> None:
    about: dict[str, Any] = {}
    contents.Contents(str(tmp_path), lambda tensor: "f32[3] #?").note(torch.zeros(3), about)
    assert about["content"]["kind"] == "unknown"


def test_what_cannot_be_read_stops_no_launch(tmp_path: Path) -> None:
    about: dict[str, Any] = {}
    contents.Contents(str(tmp_path)).note(torch.empty(3, device="meta"), about)
    assert about["content"]["kind"] == "unknown" and about["content"]["why"]
