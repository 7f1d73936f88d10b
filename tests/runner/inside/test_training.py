"""What training code asks of torch and of a GPU, answered as a real one would answer. Each script checks for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.launches import cubin
from tests.runner.inside.test_scripts import HEAD

CHECK = """
def check(holds, *seen):  # asserts are left out
    if not holds:
        raise ValueError(seen)
"""
SCRIPTS = {
    "lists of large tensors": """
large = [torch.randn(3 << 20, device="cuda") for _ in range(2)]
torch._foreach_add_(large, large, alpha=-0.1)
torch._foreach_lerp_(large, large, 0.5)
check(all(x.is_cuda for x in torch._foreach_mul(large, 2.0) + torch._foreach_norm(large)))
""",
    "optimizers": """
for options in ({}, {"foreach": True}, {"fused": True}, {"capturable": True}):
    for size in (4, 2048):
        layer = torch.nn.Linear(size, size).cuda()
        optimizer = torch.optim.AdamW(layer.parameters(), **options)
        layer(torch.ones(1, size, device="cuda")).sum().backward()
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        check(optimizer.state[layer.weight]["exp_avg"].is_cuda, options)
""",
    "mixed precision": """
seen = []
class Half(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
    def forward(ctx, x):
        seen.append((x.dtype, torch.is_autocast_enabled("cuda")))
        return x * 2
    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return grad
layer = torch.nn.Linear(8, 8).cuda()
optimizer, scaler = torch.optim.AdamW(layer.parameters(), fused=True), torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    y = layer(torch.ones(2, 8, device="cuda"))
    check(y.dtype == torch.bfloat16 == torch.get_autocast_dtype("cuda") and torch.is_autocast_enabled())
    with torch.autocast("cuda", enabled=False):
        check(not torch.is_autocast_enabled() and (y.float() @ y.float().t()).dtype == torch.float32)
    loss = Half.apply(y.float()).sum()
check(not torch.is_autocast_enabled() and seen == [(torch.float16, False)])
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.update()
check(scaler.get_scale() == 32768.0)  # 65536 is no half: the step was left out
""",
    "registers": """
@triton.jit
def spilling(x, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    m = tl.load(x + at)
    tl.store(x + at, m * tl.trans(m) + tl.cumsum(m, 0))
x = torch.zeros(128, 128, device="cuda")
small, large = add[(1,)](x, x, x, 64, 64), spilling[(1,)](x, 128, num_warps=1)
check(0 < small.n_regs < 64 and small.n_spills == 0, (small.n_regs, small.n_spills))
check(large.n_regs > small.n_regs and large.n_spills > 0, (large.n_regs, large.n_spills))
check(large.metadata.shared > 0)
""",
    "memory": """
torch.cuda.reset_peak_memory_stats()
x = torch.empty(1 << 20, device="cuda")
torch.cuda.memory._record_memory_history()
held = torch.cuda.memory_allocated()
check(held >= 4 << 20 and torch.cuda.memory_stats()["allocated_bytes.all.current"] == held)
check(torch.accelerator.memory_allocated() == held)
free, total = torch.cuda.mem_get_info()
check(free < total - held)
del x
check(torch.cuda.memory_allocated() <= held - (4 << 20) and torch.cuda.max_memory_allocated() == held)
torch.cuda.memory._dump_snapshot("snapshot.pickle")
with torch.cuda.use_mem_pool(torch.cuda.MemPool()), torch.cuda.nvtx.range("a range"):
    torch.empty(3, device="cuda")
""",
    "random states": """
state = torch.cuda.get_rng_state()
a = torch.rand(3, device="cuda")
torch.cuda.set_rng_state(state)
check(torch.equal(a, torch.rand(3, device="cuda")))
torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8))  # of a real GPU
torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
check(torch.cuda.default_generators[0].device.type == "cuda")
g = torch.Generator("cuda")
a.normal_(generator=g), torch.bernoulli(a.abs().clamp(max=1), generator=g)
with torch.random.fork_rng(devices=[0]):
    torch.rand(3, device="cuda")
""",
    "recomputed": """
from torch.utils.checkpoint import checkpoint
layers = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).cuda()
x = torch.ones(2, 8, device="cuda", requires_grad=True)
for reentrant in (True, False):
    checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.device, t), lambda pair: pair[1].to(pair[0])):
    saved = layers(x).sum()
saved.backward()
""",
    "streams": """
main, side = torch.cuda.default_stream(), torch.cuda.Stream()
with torch.cuda.stream(side):
    check(torch.cuda.current_stream() == side != main)
    with main:
        check(torch.cuda.current_stream() == main)
    check(torch.cuda.current_stream() == side)
check(torch.cuda.current_stream() == main)
torch.cuda.set_stream(side)
check(torch.cuda.current_stream() == side)
with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=torch.cuda.graph_pool_handle(), stream=side):
    plus(torch.ones(8, device="cuda"), torch.ones(8, device="cuda"))
""",
    "sharded": """
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
mesh = init_device_mesh("cuda", (1,))
d = distribute_tensor(torch.randn(4, 4, device="cuda"), mesh, [Shard(0)])
check(d.is_cuda and (d + d).to_local().is_cuda)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda(), device_ids=[0], static_graph=True)
model(torch.ones(2, 4, device="cuda")).sum().backward()
check(model.module.weight.grad.is_cuda)
dist.destroy_process_group()
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_holds_what_it_says_of_itself(play, name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    seen = play(HEAD + CHECK + SCRIPTS[name])
    assert (seen.error, seen.exit, seen.sticky) == ("", 0, 0), seen.printed


def test_of_what_is_no_machine_code_no_figures_are_known():
    assert [cubin.resources(each, "k") for each in (b"", b"no machine code", b"\x7fELF" + bytes(60))] == [
        cubin.UNKNOWN
    ] * 3
