"""AMD's GPU as a virtual one: what a program sees of it, and what becomes of its kernels."""

from __future__ import annotations

from shrinkray_gpu.device import amdgcn

GFX942, GFX1100 = 0x942, 0x1100
ASKS = """
import torch, triton
p = torch.cuda.get_device_properties(0)
print(torch.version.hip is not None, torch.version.cuda, p.gcnArchName.split(":")[0], p.warp_size, p.major, p.minor)
t = triton.runtime.driver.active.get_current_target()
print(t.backend, t.arch, t.warp_size, torch.cuda.get_device_capability(), torch.cuda.get_arch_list())
"""
ADD = """
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
x = torch.zeros(1000, device="cuda")
add[(4,)](x, torch.empty_like(x), 1000, B=256, {options})
torch.cuda.synchronize()
"""

WIDE = """
import torch, triton, triton.language as tl
@triton.jit
def wide(x, y):
    tl.store(y, tl.load((x + 1).to(tl.pointer_type(tl.int64))))
wide[(1,)](torch.zeros(4, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int64))
torch.cuda.synchronize()
"""


def test_a_program_sees_a_gpu_of_amds(play) -> None:
    assert play(ASKS, arch=GFX942).printed.splitlines() == [
        "True None gfx942 64 9 4",
        "hip gfx942 64 (9, 4) ['gfx942']",
    ]
    assert "hip gfx1100 32 (11, 0)" in play(ASKS, arch=GFX1100).printed
    assert play(ASKS).printed.startswith("False ")


def test_a_launch_compiles_for_amd_with_amds_options(play) -> None:
    said = play(ADD.format(options="num_warps=2, waves_per_eu=3"), arch=GFX942, wants=frozenset({"ttgir", "amdgcn"}))
    [compiled] = said.compiles
    assert said.error == "" and compiled["options"]["waves_per_eu"] == 3
    assert 'ttg.target = "hip:gfx942"' in compiled["ir"]["ttgir"] and "buffer_store" in compiled["ir"]["amdgcn"]
    assert "vector registers, 0 of them spilled" in amdgcn.resources(compiled["ir"]["amdgcn"])


def test_the_options_of_a_launch_for_nvidia_are_left_out(play) -> None:
    options = "num_warps=2, maxnreg=64, num_ctas=2"
    [compiled] = play(ADD.format(options=options), arch=GFX942).compiles
    assert compiled["failure"] is None and compiled["options"]["num_ctas"] == 1
    assert "maxnreg" not in compiled["options"]


def test_the_alignment_that_nvidias_hardware_asks_for_is_not_asked_of_amds(play) -> None:
    wants = frozenset({"static:alignment"})
    assert play(WIDE, wants=wants).faults
    said = play(WIDE, arch=GFX942, wants=wants)
    assert said.error == "" and not said.faults and not said.undecided
