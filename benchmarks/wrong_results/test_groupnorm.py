"""Tests of the group norm kernel: forward, with and without affine parameters."""
import pytest
import torch
import triton
import triton.language as tl

DEVICE = "cuda"
TOLERANCES = {torch.float32: (1e-4, 1e-4), torch.float16: (2e-2, 2e-2)}


@triton.jit
def _group_norm_fwd(
    X, Y, W, B,
    channels_per_group, hw, n_groups, eps,
    AFFINE: tl.constexpr, BLOCK: tl.constexpr,
):
    batch = tl.program_id(0)
    group = tl.program_id(1)
    size = channels_per_group * hw
    start = (batch * n_groups + group) * size
    offs = tl.arange(0, BLOCK)
    mask = offs < size
    x = tl.load(X + start + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / size
    centred = x - mean
    var = tl.sum(centred * centred, axis=0) / size
    y = centred * tl.rsqrt(var + eps)
    if AFFINE:
        channel = group * channels_per_group + offs // hw
        w = tl.load(W + channel, mask=mask, other=1.0).to(tl.float32)
        b = tl.load(B + channel, mask=mask, other=0.0).to(tl.float32)
        y = y * w + b
    tl.store(Y + start + offs, y.to(Y.dtype.element_ty), mask=mask)


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    n, c, h, w = x.shape
    if c % num_groups:
        raise ValueError(f"{c} channels do not divide into {num_groups} groups")
    x = x.contiguous()
    y = torch.empty_like(x)
    per_group = c // num_groups
    block = triton.next_power_of_2(per_group * h * w)
    affine = weight is not None
    _group_norm_fwd[(n, num_groups)](
        x, y, weight if affine else x, bias if affine else x,
        per_group, h * w, num_groups, eps,
        AFFINE=affine, BLOCK=block, num_warps=4 if block <= 2048 else 8,
    )
    return y


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1234)
    yield


@pytest.fixture
def affine_params(request):
    def make(channels, dtype):
        weight = torch.rand(channels, device=DEVICE, dtype=dtype) + 0.5
        bias = torch.randn(channels, device=DEVICE, dtype=dtype)
        return weight, bias

    return make


@pytest.fixture(params=[(2, 8, 8, 8), (3, 12, 5, 7)], ids=["even", "odd"])
def images(request):
    return torch.randn(request.param, device=DEVICE) * 2.0 + 3.0


def reference(x, groups, weight, bias):
    out = torch.nn.functional.group_norm(
        x.float(), groups,
        None if weight is None else weight.float(),
        None if bias is None else bias.float(),
    )
    return out.to(x.dtype)


class TestGroupNorm:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["fp32", "fp16"])
    @pytest.mark.parametrize("groups", [2, 4])
    def test_forward(self, images, affine_params, groups, dtype):
        x = images.to(dtype)
        weight, bias = affine_params(x.shape[1], dtype)
        actual = group_norm(x, groups, weight, bias)
        expected = reference(x, groups, weight, bias)
        rtol, atol = TOLERANCES[dtype]
        assert actual.shape == expected.shape
        torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)

    def test_no_affine(self, images):
        actual = group_norm(images, 4)
        torch.testing.assert_close(actual, reference(images, 4, None, None), rtol=1e-4, atol=1e-4)


def test_refuses_odd_groups():
    with pytest.raises(ValueError):
        group_norm(torch.zeros(1, 6, 2, 2, device=DEVICE), 4)
