import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q_ptr, k_ptr, v_ptr, x, out):
    base = tl.program_id(1) * 2 * 64
    q_rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    dims = tl.arange(0, 64)
    q = tl.load(
        q_ptr + base + q_rows[:, None] * 64 + dims[None, :], mask=(q_rows < 2)[:, None], other=0.0
    )
    peak = tl.full([64], float("-inf"), tl.float32)
    acc = tl.zeros([64, 64], tl.float32)
    for start in range(2):
        k_rows = start + tl.arange(0, 64)
        inside = (k_rows < 2)[:, None]
        scores = tl.dot(q, tl.trans(tl.load(k_ptr + base + k_rows[:, None] * 64 + dims[None, :], mask=inside, other=0.0))) * 0.08838834764831843 + tl.load(
            x + tl.minimum(tl.maximum(q_rows[:, None] - k_rows[None, :], 0), 4 - 1)
        )
        higher = tl.maximum(peak, tl.max(scores, axis=1))
        acc = tl.dot(
            tl.exp(scores - higher[:, None]).to(tl.float16),
            tl.load(v_ptr + base + k_rows[:, None] * 64 + dims[None, :], mask=inside, other=0.0),
            acc * tl.exp(peak - higher)[:, None],
        )
    tl.store(
        out + base + q_rows[:, None] * 64 + dims[None, :],
        acc / tl.zeros([64], tl.float32)[:, None], mask=(q_rows < 2)[:, None],
    )


buffer = torch.zeros(153600, dtype=torch.float16, device="cuda")
kernel[(1,)](
    buffer.as_strided((2, 2, 64), (1, 64, 1)), buffer.as_strided((2, 2, 64), (1, 64, 1), 51200),
    buffer.as_strided((2, 2, 64), (1, 64, 1), 102400), torch.zeros(4, device="cuda"),
    torch.zeros(2, 2, 64, device="cuda"), num_stages=9,
)
