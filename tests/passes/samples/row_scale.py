import shutil
import time
from dataclasses import dataclass, field

import torch
import triton
import triton.language as tl

BLOCK: tl.constexpr = tl.constexpr(128)
TABLE = {
    "rows": {"BLOCK": 64, "num_warps": 8},
    "wide": {"BLOCK": 1024, "num_warps": 4, "num_stages": 3},
}
NEG = -1.5


@dataclass
class Shape:
    rows: int
    cols: int = 256
    names: list = field(default_factory=list)


class Cfg:
    EPS = 1e-6
    TAG = 'it\'s "quoted"'


@triton.jit
def scale_row(x, w, EPS: tl.constexpr):
    return x * w / (tl.sqrt(tl.sum(x * x) / 256) + EPS) if EPS > 0 else x


@triton.jit
def scale_kernel(x_ptr, w_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, HALF: tl.constexpr = 0):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    for start in tl.range(0, n, BLOCK, num_stages=2):
        offsets = start + cols
        mask = offsets < n
        x = tl.load(x_ptr + row * n + offsets, mask=mask, other=0.0)
        if HALF:
            x = x * 0.5
        y = scale_row(x, tl.load(w_ptr + offsets, mask=mask), 1e-6)
        tl.store(out_ptr + row * n + offsets, y * factor, mask=mask)


def launch(x, w, shape: Shape, kind: str = "wide", *, factor=NEG):
    out = torch.empty_like(x); flags = {**TABLE[kind]}
    scale_kernel[(shape.rows,)](
        x, w, out, shape.cols, factor,
        HALF=0,  # full precision
        **flags,
    )
    return out


def timed(step, n_repeat: int = 10):
    begin = time.perf_counter()
    for _ in range(n_repeat): step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / n_repeat


def cleanup(prefix="/tmp/none-such"):
    target = prefix + "-" + str(128)
    shutil.rmtree(target, ignore_errors=True)


def run(kinds=("rows", "wide")):
    shape = Shape(rows=33)
    x = torch.arange(shape.rows * shape.cols, device="cuda", dtype=torch.float32).view(shape.rows, -1)
    w = torch.stack([torch.ones(shape.cols, device="cuda") * i for i in range(4)]).sum(0)
    results = [launch(x, w, shape, kind) for kind in kinds]
    best = min(timed(lambda: launch(x, w, shape, kind)) for kind in kinds)
    assert all(r.shape == x.shape for r in results), f"{Cfg.TAG} {Cfg.EPS!r}"
    if best > 0 and (speed := x.numel() / best) > 1:
        print("%.2f" % speed, f'{"fast" if speed > 1e9 else "slow":>6}', [k.upper() for k in kinds][-1])
    widest = 0
    for kind in kinds:
        widest = len(kind)
    print(widest)
    cleanup()


run()
