import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def route_kernel(logits_ptr, expert_ptr):
    token = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(
        expert_ptr + token,
        tl.argmax(
            tl.load(
                logits_ptr + (token[:, None] * 16 + tl.arange(0, 16)[None, :]),
                mask=(token < 262144)[:, None], other=0.0,
            ),
            axis=1,
        ),
        mask=token < 262144,
    )


@triton.jit
def count_kernel(expert_ptr):
    token = tl.program_id(0) * 64 + tl.arange(0, 64)
    number = tl.arange(0, 16)
    tl.store(
        expert_ptr + number,
        tl.load(expert_ptr + number) + tl.sum(
            (tl.load(expert_ptr + token, mask=token < 262144, other=-1)[:, None] == number[None, :]).to(
                tl.int32
            ),
            axis=0,
        ),
    )


def balance_kernel():
    pass


parser = argparse.ArgumentParser(
    description=None, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser
parser
parser.add_argument("--device", default="cuda")
parser.parse_args()
logits = torch.randn(262144, 16, device="cuda")
expert = torch.empty(262144, dtype=torch.int32, device=logits.device)
count = torch.zeros(16, dtype=torch.int32, device=logits.device)
route_kernel[(4096,)](logits, expert)
count_kernel[(4096,)](expert)
count, torch.empty(1, device=logits.device)
