"""Host code that GPU scripts are made of runs to its end on the virtual GPU."""

from __future__ import annotations

import pytest

HEAD = """
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

def plus(x, y, B=64):
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), B),)](x, y, out, x.numel(), B)
    return out
"""

SCRIPTS = {
    "a module moved in inference mode": """
with torch.inference_mode():
    layer = torch.nn.Linear(4, 4).to("cuda")
    print(layer(torch.ones(2, 4, device="cuda")).device, layer.weight.device)
""",
    "views": """
x = torch.arange(64, device="cuda", dtype=torch.float32).view(8, 8)
y = x.t()[2:, ::2].contiguous()
assert_on_gpu = [t.device.type for t in (x.t(), x[1:, 3], y, x.detach(), x.reshape(-1), x.expand(2, 8, 8))]
assert_all = set(assert_on_gpu)
plus(x[1], x[2])
print(assert_all, x[3, 5].item(), x[2:, ::2].storage_offset())
""",
    "item": """
n = torch.tensor([3, 5], device="cuda")
for k in range(n[0].item()):
    plus(torch.ones(int(n[1]), device="cuda"), torch.ones(5, device="cuda"))
print(n.sum().item(), [int(v) for v in n], float(n[0]), bool((n > 2).all()), f"{n[1]:d}")
""",
    "tensors of new values where another is": """
x = torch.ones(8, device="cuda")
made = [x.new_tensor(range(8), dtype=torch.float), x.new_tensor(2.0), x.new(3), x.new([1.0]), x.new_full((2,), 1)]
there = {each.device.type for each in made}
plus(x, x * made[0])
here = {x.new_tensor([1.0], device="cpu").device.type, torch.ones(2).new_tensor([1.0]).device.type}
if there != {"cuda"} or here != {"cpu"} or torch.ones(2).new_tensor([1.0], device="cuda").device.type != "cuda":
    raise RuntimeError((there, here))
print("made")
""",
    "backward": """
class Plus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return plus(a, b)
    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        if not (grad.is_cuda and a.is_cuda and torch.zeros_like(a).is_cuda):
            raise RuntimeError("backward is not on the GPU")
        return plus(grad.contiguous(), a), None
x = torch.randn(10, device="cuda", requires_grad=True)
Plus.apply(x, x.detach()).sum().backward()
print(x.grad.device, x.grad.shape)
""",
    "NCCL of one process": """
import torch.distributed as dist
where = torch.device("cuda:0")
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=where)
x = torch.ones(4, device=where)
dist.all_reduce(x), dist.barrier(device_ids=[0]), dist.broadcast(x, 0)
gathered = [torch.empty_like(x)]
dist.all_gather(gathered, plus(x, x), group=dist.new_group([0], backend="nccl"))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda(), device_ids=[0])
model(x).sum().backward()
dist.destroy_process_group()
print(gathered[0].device, model.module.weight.grad.device)
""",
    "streams": """
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    z = plus(torch.ones(8, device="cuda"), torch.ones(8, device="cuda"))
    z.record_stream(side)
torch.cuda.current_stream().wait_stream(side)
side.synchronize()
print(side.query(), z.device)
""",
    "events": """
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
for _ in range(3):
    plus(torch.ones(8, device="cuda"), torch.ones(8, device="cuda"))
end.record()
torch.cuda.synchronize()
print(start.elapsed_time(end) / 3 > 0)
""",
    "graph": """
x, graph = torch.ones(8, device="cuda"), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    plus(x, x)
graph.replay()
torch.cuda.synchronize()
""",
    "autotune": """
@triton.autotune([triton.Config({"B": 64}, num_warps=2), triton.Config({"B": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda a: a["n"] % a["B"] == 0})
@triton.jit
def tuned(x, n, EVEN: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, 1.0, mask=EVEN or i < n)
x = torch.empty(100, device="cuda")
tuned[lambda meta: (triton.cdiv(100, meta["B"]),)](x, 100)
print(tuned.best_config)
""",
    "benchmark": """
x = torch.ones(100, device="cuda")
bench = triton.testing.do_bench
print(bench(lambda: plus(x, x)), bench(lambda: plus(x, x), quantiles=[0.5, 0.2, 0.8]))
""",
    "generators": """
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
g = torch.Generator(device="cuda").manual_seed(1)
a = torch.randn(4, generator=g, device="cuda")
h = torch.Generator("cuda")
h.manual_seed(1)
print(torch.equal(a, torch.randn(4, generator=h, device="cuda")), g.device, torch.randperm(5, device="cuda").device)
large = torch.rand(200, 3, 64, 64, generator=torch.Generator().manual_seed(3))
print(large.shape, torch.randint(0, 9, large.shape, generator=g, device="cuda").device)
""",
    "default_device": """
torch.set_default_device("cuda")
x = torch.zeros(4)
print(x.device, torch.get_default_device(), torch.arange(3).is_cuda)
torch.set_default_device("cpu")
with torch.device("cuda"):
    print(torch.ones(2).device, torch.nn.Linear(2, 2).weight.device)
""",
    "integer_devices": """
x = torch.zeros(4, device=0)
print(x.device, torch.ones(2).to(0).device, torch.ones(2).cuda(0).device, torch.nn.Linear(2, 2).to(0).weight.device,
      torch.device(0), x.new_zeros(2, device=0).device)
""",
    "module": """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16))
        self.register_buffer("scale", torch.ones(16))
    def forward(self, x):
        return plus(self.net(x), self.scale.expand(x.shape[0], -1).contiguous())
net = Net().cuda()
x = torch.randn(4, 8).cuda()
optimizer = torch.optim.AdamW(net.net.parameters())
net.net(x).square().mean().backward()
optimizer.step()
with torch.no_grad(), torch.autocast("cuda"):
    print(net(x).device, net.net[0](x).dtype, next(net.parameters()).grad.is_cuda)
""",
    "testing": """
import numpy as np
x, y = torch.randn(8, device="cuda"), torch.randn(8, device="cuda")
torch.testing.assert_close(plus(x, y), x + y)
np.testing.assert_allclose(plus(x, y).cpu().numpy(), (x + y).cpu().numpy())
triton.testing.assert_close(plus(x, y), x + y)
assert torch.allclose(plus(x, y), x + y)
""",
    "indexing": """
torch.manual_seed(0)
x = torch.randn(100, device="cuda")
index = torch.randint(0, 100, (10,), device="cuda")
mask = x > 0
x[mask] = 0.0
x[index] += 1
x.index_add_(0, index, torch.ones(10, device="cuda"))
print(x[index].shape, x[torch.arange(3)].device, len(torch.nonzero(mask)) == int(mask.sum()), torch.unique(index))
""",
    "properties": """
p = torch.cuda.get_device_properties(torch.cuda.current_device())
print(p.multi_processor_count, torch.cuda.get_device_capability(), torch.cuda.is_available(), torch.cuda.device_count(),
      torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[1] > 1e9, torch.accelerator.current_accelerator())
torch.cuda.set_device(0)
torch.cuda.empty_cache()
torch.cuda.reset_peak_memory_stats()
""",
    "pinned": """
x = torch.randn(16, pin_memory=True)
y = x.pin_memory().to("cuda", non_blocking=True)
z = torch.empty(16, pin_memory=True)
z.copy_(y, non_blocking=True)
print(y.device, z.device)
""",
    "large": """
a = torch.randn(16384, 16384, device="cuda")
b = (a @ a).softmax(-1)
print(b.shape, b.device, plus(b[0], b[1]).shape)
""",
    "threads": """
import threading
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(lambda: torch.zeros(3, device="cuda").device).result())
""",
    "warmup": """
kernel = add.warmup(torch.float32, torch.float32, torch.float32, 64, B=64, grid=(1,))
print(sorted(kernel.asm))
""",
    "host_descriptor": """
from triton.tools.tensor_descriptor import TensorDescriptor
@triton.jit
def copy(a, b, B: tl.constexpr):
    b.store([0, 0], a.load([0, 0]))
x, y = torch.randn(16, 16, device="cuda"), torch.empty(16, 16, device="cuda")
copy[(1,)](TensorDescriptor.from_tensor(x, [16, 16]), TensorDescriptor.from_tensor(y, [16, 16]), 16)
torch.cuda.synchronize()
""",
    "made by torch's C++": """
at = torch.arange(8, device="cuda") % 4
print(torch.nn.functional.one_hot(at, 4).device, torch.vander(at).device)
assert torch.nn.functional.one_hot(torch.arange(3)).device.type == "c" + "pu"
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_runs_to_its_end(play, name):
    seen = play(HEAD + SCRIPTS[name])
    assert (seen.error, seen.exit, seen.sticky) == ("", 0, 0), seen.printed
    assert "cpu" not in seen.printed or name == "pinned", seen.printed
    if "plus(" in SCRIPTS[name]:
        assert "add" in {launch["kernel"] for launch in seen.launches}


REFUSED = {
    "mixed devices": ("torch.ones(3, device='cuda') + torch.ones(3)", "Expected all tensors to be on the same device"),
    "index on the GPU": (
        "torch.ones(3)[torch.zeros(1, dtype=torch.int64, device='cuda')]",
        "indices should be either on cpu",
    ),
    "numpy": ("torch.ones(3, device='cuda').numpy()", "can't convert cuda:0 device type tensor to numpy"),
    "wrong generator": (
        "torch.randn(3, device='cuda', generator=torch.Generator())",
        "Expected a 'cuda' device type for generator",
    ),
    "no such device": ("torch.ones(3, device='cuda:1')", "invalid device ordinal"),
    "cpu pointer": ("plus(torch.ones(3), torch.ones(3))", "cannot be accessed from Triton (cpu tensor?)"),
    "grid too large": (
        "add[(1, 70000)](*[torch.ones(64, device='cuda')] * 3, 64, 64)",
        "Triton Error [CUDA]: invalid argument",
    ),
    "too many warps": (
        "add[(1,)](*[torch.ones(64, device='cuda')] * 3, 64, 64, num_warps=64)",
        "out of resource: threads",
    ),
    "wrong dtype": (
        "torch.testing.assert_close(plus(*[torch.ones(3, device='cuda')] * 2), torch.ones(3, device='cuda').half())",
        "dtype",
    ),
    "wrong value that is known": (
        "torch.testing.assert_close(torch.ones(3, device='cuda'), torch.zeros(3, device='cuda'))",
        "not close",
    ),
    "wait in a capture": (
        "graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph): torch.ones(1, device='cuda').item()",
        "not permitted when stream is capturing",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_fails_as_on_the_device(play, name):
    code, words = REFUSED[name]
    seen = play(HEAD + code)
    assert words in seen.error, seen.error or seen.printed
    assert seen.sticky == 0


SHARED = """
import torch, triton, triton.language as tl
@triton.jit
def mm(a, b, c, N, B: tl.constexpr):
    i = tl.arange(0, B)
    p = i[:, None] * N + i[None, :]
    acc = tl.zeros([B, B], tl.float32)
    for k in range(0, N, B):
        acc = tl.dot(tl.load(a + p + k), tl.load(b + p + k * N), acc)
    tl.store(c + p, acc)
x = torch.ones(512, 512, device="cuda", dtype=torch.float16)
mm[(1,)](x, x, torch.empty(512, 512, device="cuda"), 512, 64, num_stages=8)
"""


@pytest.mark.parametrize(("arch", "fits"), [(90, True), (86, False)])
def test_shared_memory_is_as_large_as_the_architecture_has_it(play, arch, fits):
    seen = play(SHARED, arch=arch)
    assert ("OutOfResources" in seen.error and "shared memory" in seen.error) is not fits, seen.error


def test_a_script_for_a_named_target_needs_no_device(play):
    seen = play("""
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
@triton.jit
def one(x):
    tl.store(x, 1)
kernel = triton.compile(ASTSource(one, {"x": "*i32"}, {}), target=GPUTarget("cuda", 80, 32))
print("sm_80" in kernel.asm["ptx"])
""")
    assert (seen.error, seen.printed.strip()) == ("", "True")
    assert [c["kernel"] for c in seen.compiles] == ["one"] and not seen.launches


def test_the_interpreter_computes_real_values(play):
    seen = play(HEAD + "print(plus(torch.ones(3), torch.ones(3)).tolist())", env={"TRITON_INTERPRET": "1"})
    assert (seen.error, seen.printed.strip()) == ("", "[2.0, 2.0, 2.0]")


def test_inputs_keep_their_values_and_outputs_become_unknown(play):
    seen = play(
        HEAD
        + """
x = torch.ones(8, device="cuda")
out = plus(x, x)
plus(out, x)
"""
    )
    first, second = (launch["args"] for launch in seen.launches)
    assert second[0] == "f32[8] s(1,) +0 @0%128 #?"
    assert second[1] == first[0] != second[0]
