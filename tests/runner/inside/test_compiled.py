"""torch.compile on the virtual GPU: traced, generated, compiled and launched without a device."""

from __future__ import annotations

from shrinkray_gpu.runner.inside.process import own_bug

TRAINING = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.GELU()).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
step = torch.compile(model)
for _ in range(2):
    loss = step(torch.randn(8, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.device, model[0].weight.device, torch._dynamo.utils.counters["frames"]["ok"])
"""
TRACED_GRADIENT = """
import torch
x = torch.randn(8, 16, device="cuda", requires_grad=True)
x.square().sum().backward()

@torch.compile
def step(x):
    return torch.func.grad_and_value(lambda y: y.sin().sum())(x)

print(step(x.detach())[0].device)
"""
OWN_KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) * 2{mask})

@torch.compile{how}
def step(x):
    if not x.is_cuda or torch.cuda.get_device_properties(x.device).multi_processor_count != 132:
        raise ValueError("not on the GPU")
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), 64)
    print("between two graphs", out.device)
    return torch.softmax(out + torch.ones(1, device=x.device), -1)

print(step(torch.randn(8, 1{size}, device="cuda")).device)
torch.cuda.synchronize()
"""
CRASH = """
import torch
from torch._inductor.runtime import triton_heuristics

@torch.compile
def step(x):
    return torch.relu(x + 1)

def refuse(*args):
    raise KeyError("a pass of the compiler")

import triton.backends.nvidia.compiler as compiler
compiler.CUDABackend.make_ttgir = staticmethod(refuse)
step(torch.ones(64, device="cuda"))
"""


def test_a_model_is_trained(play):
    seen = play(TRAINING)
    assert seen.printed.splitlines()[-1:] == ["cuda:0 cuda:0 1"], seen.error or seen.printed
    names = {launch["kernel"] for launch in seen.launches}
    assert any("layer_norm" in name for name in names) and any("backward" in name for name in names), names
    assert {launch["hash"] for launch in seen.launches} <= {each["hash"] for each in seen.compiles}
    assert all(launch["generated"] for launch in seen.launches)


def test_a_gradient_is_traced_after_an_eager_one(play):
    seen = play(TRACED_GRADIENT)
    assert seen.printed.splitlines()[-1:] == ["cuda:0"], seen.error or seen.printed
    assert any("sin" in launch["kernel"] for launch in seen.launches)


def test_a_kernel_of_the_script_is_judged_within(play):
    seen = play(OWN_KERNEL.format(mask="", how="", size=""), wants=frozenset({"static:bounds", "lines"}))
    assert "between two graphs cuda:0" in seen.printed
    assert [(launch["kernel"], launch["generated"]) for launch in seen.launches if launch["fault"]] == [
        ("double", True)
    ]
    assert seen.sticky == 700
    assert {launch["host"].partition(":")[0] for launch in seen.launches} == {"script.py"}


def test_it_goes_on_where_nothing_is_wrong(play):
    modes = ("", "(mode='reduce-overhead')", "(dynamic=True)", "(backend='aot_eager')")
    for how in modes:
        seen = play(OWN_KERNEL.format(mask=", mask=i < n", how=how, size="00"))
        assert seen.printed.splitlines()[-1:] == ["cuda:0"], (how, seen.error or seen.printed)


def test_templates_are_tried_and_none_fails(play):
    seen = play(
        "import torch\n"
        "@torch.compile(mode='max-autotune')\n"
        "def step(a, b):\n    return torch.relu(a @ b)\n"
        "x = torch.randn(32, 32, device='cuda', dtype=torch.float16)\n"
        "print(step(x, x).device)\n"
    )
    assert seen.printed.splitlines()[-1:] == ["cuda:0"], seen.error or seen.printed
    assert "Failed" not in seen.printed and any("mm" in each["kernel"] for each in seen.compiles)


def test_a_kernel_that_does_not_compile_is_on_record(play):
    seen = play(CRASH)
    assert "a pass of the compiler" in seen.error
    assert [(each["failure"]["type"], each["generated"]) for each in seen.compiles] == [("KeyError", True)]


def test_without_a_compiler_of_cpp_it_is_refused_as_a_limit_of_ours(play):
    seen = play(
        "import os, torch\nos.environ['PATH'] = '/nowhere'\n"
        "from shrinkray_gpu.runner.inside.vgpu import accelerator\n"
        "accelerator.build.cache_clear()\n"
        "try:\n    torch.compile(lambda x: x + 1, backend='eager')(torch.ones(3, device='cuda'))\n"
        "except Exception as error:\n"
        "    from shrinkray_gpu.runner.inside.process import own_bug\n"
        "    print(own_bug.words(error))\n"
    )
    limit = "a limit of shrink's own, which says nothing of the program: "
    assert limit + "torch.compile on the virtual GPU (--arch) needs a C++ compiler" in seen.printed


def test_what_only_a_torch_without_a_gpu_says_is_ours_where_the_gpu_is_virtual(monkeypatch):
    error = RuntimeError("Tried to instantiate dummy base class _cuda_something")
    assert own_bug.words(error) == ""
    monkeypatch.setattr(own_bug, "is_virtual", True)
    assert own_bug.words(error).startswith("a bug of shrink's own, which says nothing of the program")
    assert own_bug.words(NotImplementedError("Could not run 'my::op' with arguments from the 'CUDA' backend")) == ""
