"""Cross entropy with label smoothing and ignored labels, one program a row, with its backward."""
import unittest

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

IGNORE = -100


@triton.jit
def xent_forward(logits_ptr, label_ptr, loss_ptr, lse_ptr, stride, classes, smoothing,
                 IGNORE_INDEX: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < classes
    x = tl.load(logits_ptr + row * stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    top = tl.max(x, axis=0)
    lse = top + tl.log(tl.sum(tl.exp(x - top), axis=0))
    tl.store(lse_ptr + row, lse)
    label = tl.load(label_ptr + row)
    if label == IGNORE_INDEX:
        tl.store(loss_ptr + row, 0.0)
    else:
        target = tl.load(logits_ptr + row * stride + label).to(tl.float32)
        mean = tl.sum(tl.where(mask, x, 0.0), axis=0) / classes
        loss = (1 - smoothing) * (lse - target) + smoothing * (lse - mean)
        tl.store(loss_ptr + row, loss)


@triton.jit
def xent_backward(grad_ptr, logits_ptr, label_ptr, lse_ptr, dloss_ptr, stride, classes, smoothing, count,
                  IGNORE_INDEX: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < classes
    label = tl.load(label_ptr + row)
    x = tl.load(logits_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    p = tl.exp(x - tl.load(lse_ptr + row))
    grad = p - smoothing / classes - tl.where(cols == label, 1 - smoothing, 0.0)
    scale = tl.load(dloss_ptr) / count
    grad = tl.where(label == IGNORE_INDEX, 0.0, grad * scale)
    tl.store(grad_ptr + row * stride + cols, grad, mask=mask)


class SmoothXent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels, smoothing):
        rows, classes = logits.shape
        loss = torch.empty(rows, device=logits.device, dtype=torch.float32)
        lse = torch.empty_like(loss)
        block = triton.next_power_of_2(classes)
        xent_forward[(rows,)](logits, labels, loss, lse, logits.stride(0), classes, smoothing,
                              IGNORE_INDEX=IGNORE, BLOCK=block)
        ctx.save_for_backward(logits, labels, lse)
        ctx.smoothing, ctx.block = smoothing, block
        ctx.count = rows
        return loss.sum() / ctx.count

    @staticmethod
    def backward(ctx, dloss):
        logits, labels, lse = ctx.saved_tensors
        grad = torch.empty_like(logits)
        rows, classes = logits.shape
        xent_backward[(rows,)](grad, logits, labels, lse, dloss.contiguous(), logits.stride(0), classes,
                               ctx.smoothing, ctx.count, IGNORE_INDEX=IGNORE, BLOCK=ctx.block)
        return grad, None, None


class SmoothXentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(5)
        cls.device = torch.device("cuda")
        cls.rows, cls.classes = 24, 100

    def setUp(self):
        self.logits = torch.randn(self.rows, self.classes, device=self.device)
        self.labels = torch.randint(self.classes, (self.rows,), device=self.device)

    def losses(self, smoothing):
        ours = self.logits.clone().requires_grad_()
        theirs = self.logits.clone().requires_grad_()
        loss = SmoothXent.apply(ours, self.labels, smoothing)
        expected = F.cross_entropy(theirs, self.labels, ignore_index=IGNORE, label_smoothing=smoothing)
        loss.backward()
        expected.backward()
        return (loss, ours.grad), (expected, theirs.grad)

    def assertClose(self, actual, expected):
        for ours, theirs in zip(actual, expected):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)

    def test_plain(self):
        self.assertClose(*self.losses(0.0))

    def test_smoothing(self):
        self.assertClose(*self.losses(0.1))

    def test_ignored_labels(self):
        self.labels[::3] = IGNORE
        self.assertClose(*self.losses(0.1))


if __name__ == "__main__":
    unittest.main()
