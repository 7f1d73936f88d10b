import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def kernel(a):
    p = a + gl.arange(0, 1, gl.CoalescedLayout())
    gl.store(p, gl.load(p))


kernel[(1,)](torch.zeros(1, device="cuda"))
