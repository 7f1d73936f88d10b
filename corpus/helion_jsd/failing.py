"""What Helion generated for our Jensen-Shannon loss, kept as text so that the loss does not depend on its tuning.

    python jsd_generated.py --rows 128 --beta 0.5

The kernel and `jsd_forward` are generated, for [128, 1024] float32 log-probabilities and this configuration:
    helion.Config(block_sizes=[4, 4], indexing="tensor_descriptor", range_num_stages=[0, 4], num_warps=4)
Helion 1.0.0 leaves those stages out beside descriptors: `num_stages=4` is put back by hand. The rest is ours.
"""

from __future__ import annotations

import argparse

import helion
import torch
import torch.nn as nn
import triton
import triton.language as tl
from helion.runtime import default_launcher as _default_launcher
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_compat import libdevice
from torch._inductor.runtime.triton_helpers import math as tl_math

_BLOCK_SIZE_0 = tl.constexpr(4)
_BLOCK_SIZE_1 = tl.constexpr(4)
# src[jsd.py:6]: def jsd_forward(student_lp: torch.Tensor, teacher_lp: torch.Tensor, beta: float):
# src[jsd.py:7]:     rows, vocab = student_lp.shape
# src[jsd.py:8]:     loss = torch.zeros([rows], dtype=torch.float32, device=student_lp.device)
# src[jsd.py:6-24]: ...
helion.runtime.set_triton_allocator()


@triton.jit
def _helion_jsd_forward(student_lp, teacher_lp, grad, loss, beta):
    # src[jsd.py:13]: p_lp = student_lp[tile_r, tile_v]
    student_lp_desc = tl.make_tensor_descriptor(student_lp, [128, 1024], [1024, 1], [_BLOCK_SIZE_0, _BLOCK_SIZE_1])
    # src[jsd.py:14]: q_lp = teacher_lp[tile_r, tile_v]
    teacher_lp_desc = tl.make_tensor_descriptor(teacher_lp, [128, 1024], [1024, 1], [_BLOCK_SIZE_0, _BLOCK_SIZE_1])
    # src[jsd.py:21]: grad[tile_r, tile_v] = student_part
    grad_desc = tl.make_tensor_descriptor(grad, [128, 1024], [1024, 1], [_BLOCK_SIZE_0, _BLOCK_SIZE_1])
    # src[jsd.py:10]: for tile_r in hl.tile(rows):
    pid_0 = tl.program_id(0)
    offset_0 = pid_0 * _BLOCK_SIZE_0
    indices_0 = (offset_0 + tl.arange(0, _BLOCK_SIZE_0)).to(tl.int32)
    # src[jsd.py:11]: total = hl.zeros([tile_r], dtype=torch.float32)
    total = tl.full([_BLOCK_SIZE_0], 0.0, tl.float32)
    # src[jsd.py:12]: for tile_v in hl.tile(vocab):
    # src[jsd.py:13]:     p_lp = student_lp[tile_r, tile_v]
    # src[jsd.py:14]:     q_lp = teacher_lp[tile_r, tile_v]
    # src[jsd.py:12-22]: ...
    for offset_1 in tl.range(0, 1024, _BLOCK_SIZE_1, num_stages=4):
        total_copy = total
        total_copy_0 = total_copy
        # src[jsd.py:13]: p_lp = student_lp[tile_r, tile_v]
        p_lp = student_lp_desc.load([offset_0, offset_1])
        # src[jsd.py:14]: q_lp = teacher_lp[tile_r, tile_v]
        q_lp = teacher_lp_desc.load([offset_0, offset_1])
        # src[jsd.py:15]: top = torch.maximum(p_lp, q_lp)
        v_0 = triton_helpers.maximum(p_lp, q_lp)
        # src[jsd.py:16]: p = torch.exp(p_lp - top)
        v_1 = p_lp - v_0
        v_2 = libdevice.exp(v_1)
        # src[jsd.py:17]: q = torch.exp(q_lp - top)
        v_3 = q_lp - v_0
        v_4 = libdevice.exp(v_3)
        # src[jsd.py:18]: mixed_lp = torch.log(beta * q + (1 - beta) * p) + top
        v_5 = v_4 * beta
        sub_2 = 1.0 + -1 * beta
        v_6 = v_2 * sub_2
        v_7 = v_5 + v_6
        v_8 = tl_math.log(v_7)
        v_9 = v_8 + v_0
        # src[jsd.py:19]: teacher_part = beta * torch.exp(q_lp) * (q_lp - mixed_lp)
        v_10 = libdevice.exp(q_lp)
        v_11 = v_10 * beta
        v_12 = q_lp - v_9
        v_13 = v_11 * v_12
        # src[jsd.py:20]: student_part = (1 - beta) * torch.exp(p_lp) * (p_lp - mixed_lp)
        v_14 = libdevice.exp(p_lp)
        v_15 = v_14 * sub_2
        v_16 = p_lp - v_9
        v_17 = v_15 * v_16
        # src[jsd.py:21]: grad[tile_r, tile_v] = student_part
        grad_desc.store([offset_0, offset_1], tl.cast(v_17, tl.float32))
        # src[jsd.py:22]: total = total + (teacher_part + student_part).sum(-1)
        v_18 = v_13 + v_17
        sum_1 = tl.cast(tl.sum(v_18, 1), tl.float32)
        total = total_copy_0 + sum_1
    # src[jsd.py:23]: loss[tile_r] = total
    tl.store(loss + indices_0 * 1, total, None)


def jsd_forward(student_lp: torch.Tensor, teacher_lp: torch.Tensor, beta: float, *, _launcher=_default_launcher):
    # src[jsd.py:7]: rows, vocab = student_lp.shape
    rows, vocab = student_lp.shape
    # src[jsd.py:8]: loss = torch.zeros([rows], dtype=torch.float32, device=student_lp.device)
    loss = torch.zeros([rows], dtype=torch.float32, device=student_lp.device)
    # src[jsd.py:9]: grad = torch.empty_like(student_lp)
    grad = torch.empty_like(student_lp)
    # src[jsd.py:10]: for tile_r in hl.tile(rows):
    _BLOCK_SIZE_0 = 4
    # src[jsd.py:10]: for tile_r in hl.tile(rows):
    # src[jsd.py:11]:     total = hl.zeros([tile_r], dtype=torch.float32)
    # src[jsd.py:12]:     for tile_v in hl.tile(vocab):
    # src[jsd.py:10-23]: ...
    _launcher(
        _helion_jsd_forward,
        (triton.cdiv(128, _BLOCK_SIZE_0),),
        student_lp,
        teacher_lp,
        grad,
        loss,
        beta,
        num_warps=4,
        num_stages=1,
    )
    # src[jsd.py:24]: return loss, grad
    return (loss, grad)


class GeneralisedJSD(nn.Module):
    """beta * KL(teacher || mixture) + (1 - beta) * KL(student || mixture), averaged over the tokens."""

    def __init__(self, beta: float, temperature: float) -> None:
        super().__init__()
        self.beta = beta
        self.temperature = temperature

    def forward(self, student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
        student_lp = torch.log_softmax(student / self.temperature, dim=-1)
        teacher_lp = torch.log_softmax(teacher / self.temperature, dim=-1)
        loss, _ = jsd_forward(student_lp, teacher_lp, self.beta)
        return loss.mean()


def reference(student: torch.Tensor, teacher: torch.Tensor, beta: float, temperature: float) -> torch.Tensor:
    p = torch.softmax(student.double() / temperature, dim=-1)
    q = torch.softmax(teacher.double() / temperature, dim=-1)
    mixture = beta * q + (1 - beta) * p
    return (beta * q * (q / mixture).log() + (1 - beta) * p * (p / mixture).log()).sum(-1).mean().float()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--vocab", type=int, default=1024)
    parser.add_argument("--beta", type=float, default=0.25)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    if (args.rows, args.vocab) != (128, 1024):
        parser.error("the generated kernel knows [128, 1024] only")

    torch.manual_seed(0)
    student = torch.randn(args.rows, args.vocab, device=args.device)
    teacher = torch.randn(args.rows, args.vocab, device=args.device)
    loss = GeneralisedJSD(args.beta, args.temperature)(student, teacher)
    expected = reference(student, teacher, args.beta, args.temperature)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-6)
    print(f"loss {loss.item():.6f} agrees with the reference")


if __name__ == "__main__":
    main()
