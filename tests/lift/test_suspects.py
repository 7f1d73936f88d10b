"""Which launch: the latest kinds are suspects, and an instrument may name a kernel of long before."""

from __future__ import annotations

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

MANY = """import torch, triton, triton.language as tl

@triton.jit
def early(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1.0)

@triton.jit
def late(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 2.0)

x = torch.zeros(1024, device="cuda")
early[(1,)](x, N=16)
for n in (2, 4, 8, 16, 32, 64, 128, 256):
    late[(1,)](x, N=n)
torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def run(pool: Pool) -> Run:
    return pool.run(MANY, capture="launch")


def test_unnamed_it_is_one_of_the_latest(run: Run) -> None:
    offers = lift.offers(run)
    assert {offer.kernel for offer in offers} == {"late"}
    assert "N=256" in offers[0].text and "N=2)" not in "".join(offer.text for offer in offers)


def test_a_kernel_that_the_instruments_name_comes_alone_however_early_it_was(run: Run) -> None:
    assert lift.suspect_kernels(run) == {"early", "late"}
    assert {offer.kernel for offer in lift.offers(run, "early")} == {"early"}


def test_a_name_that_no_launch_has_changes_nothing(run: Run) -> None:
    """A kernel of torch's own, say."""
    assert lift.offers(run, "vectorized_elementwise_kernel") == lift.offers(run)
