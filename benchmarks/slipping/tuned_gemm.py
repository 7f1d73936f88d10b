"""Tuned GEMM with an epilogue. Configurations that cannot fit are pruned before the autotuner tries them."""

import argparse
import json
import pathlib
import tempfile

import torch
import triton
import triton.language as tl

SHARED_LIMIT = 227 * 1024


def bytes_needed(config, elements):
    tile = config.kwargs
    per_stage = tile["BM"] * tile["BK"] + tile["BK"] * tile["BN"]
    return config.num_stages * per_stage * elements


def prune(configs, named, **kwargs):
    """Keeps what fits into shared memory, what fills it best first, and of that only the first."""
    half = 2
    fitting = [config for config in configs if bytes_needed(config, half) <= SHARED_LIMIT]
    fitting.sort(key=lambda config: bytes_needed(config, half), reverse=True)
    return fitting[:1]


def space():
    for bm, bn in ((64, 64), (128, 64), (128, 128)):
        for bk in (32, 64):
            for stages in (2, 3, 5):
                warps = 4 if bm * bn < 128 * 128 else 8
                yield triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_stages=stages, num_warps=warps)


@triton.jit
def swizzle(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    width = GROUP * tiles_n
    first = (pid // width) * GROUP
    size = min(tiles_m - first, GROUP)
    return first + (pid % width) % size, (pid % width) // size


@triton.autotune(configs=list(space()), key=["m", "n", "k"], prune_configs_by={"early_config_prune": prune})
@triton.jit
def gemm_kernel(
    a, b, c, bias, m, n, k, stride_a, stride_b, stride_c,
    ACT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    row, column = swizzle(tl.program_id(0), tl.cdiv(m, BM), tl.cdiv(n, BN), 8)
    rm = row * BM + tl.arange(0, BM)
    rn = column * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * stride_a + rk[None, :]
    pb = b + rk[:, None] * stride_b + rn[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        left = tl.load(pa, mask=(rm < m)[:, None] & (start + rk < k)[None, :], other=0.0)
        right = tl.load(pb, mask=(start + rk < k)[:, None] & (rn < n)[None, :], other=0.0)
        acc = tl.dot(left, right, acc)
        pa += BK
        pb += BK * stride_b
    if bias is not None:
        acc += tl.load(bias + rn, mask=rn < n, other=0.0)[None, :]
    if ACT == "relu":
        acc = tl.maximum(acc, 0.0)
    tl.store(c + rm[:, None] * stride_c + rn[None, :], acc, mask=(rm < m)[:, None] & (rn < n)[None, :])


@triton.jit
def norm_kernel(c, norms, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(c + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
        total += value * value
    tl.store(norms + row, tl.sqrt(tl.sum(total, axis=0)))


def gemm(a, b, bias=None, act=""):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    gemm_kernel[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](
        a, b, c, bias, m, n, k, a.stride(0), b.stride(0), c.stride(0), ACT=act
    )
    return c


def bench(sizes, dtype):
    results = {}
    for m, n, k in sizes:
        a = torch.randn(m, k, device="cuda", dtype=dtype)
        b = torch.randn(k, n, device="cuda", dtype=dtype)
        out = gemm(a, b, torch.zeros(n, device="cuda", dtype=dtype), act="relu")
        norms = torch.empty(m, device="cuda")
        norm_kernel[(m,)](out, norms, n, out.stride(0), BLOCK=256)
        torch.cuda.synchronize()
        results[f"{m}x{n}x{k}"] = list(out.shape)
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--sizes", default="256x256x512,512x256x256")
    parser.add_argument("--save", type=pathlib.Path, default=None)
    args = parser.parse_args()
    sizes = [tuple(map(int, item.split("x"))) for item in args.sizes.split(",")]
    results = bench(sizes, getattr(torch, args.dtype))
    target = args.save or pathlib.Path(tempfile.mkdtemp()) / "gemm.json"
    target.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
