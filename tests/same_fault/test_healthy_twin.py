"""The healthy twin: for each kind of cause the edit that is found, on the virtual GPU; and where there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.cures import of_patch
from shrinkray_gpu.same_fault.healthy_twin import COMPILES, PROVED, WANTS, Health, change_size, health

HEAD = "import torch, triton, triton.language as tl\n"
COPY = """@triton.jit
def copy(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, {load}, mask=at {below} {bound})
x, y = torch.zeros({size}, device="cuda"), torch.zeros({size}, device="cuda")
copy[({grid},)](x, y, {n}, B=16)
torch.cuda.synchronize()
"""
ROWS = """@triton.jit
def rows(x, y, a, b, N: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, N)
    tl.store(y + column, tl.load(x + row * a + column * b))
x, y = torch.empty({shape}, dtype=torch.int8, device="cuda"), torch.zeros(16, device="cuda")
rows[({rows},)](x, y, {a}, {b}, N=16)
torch.cuda.synchronize()
"""
GATHERED = """@triton.jit
def gathered(x, index, y):
    at = tl.arange(0, 16)
    tl.store(y + at, tl.load(x + tl.load(index + at)))
x, index, y = torch.zeros(64, device="cuda"), torch.full((16,), {at}, device="cuda"), torch.zeros(16, device="cuda")
gathered[(1,)](x, index, y)
torch.cuda.synchronize()
"""
STALE = """@triton.jit
def put(x, place):
    tl.store(x + tl.load(place), 0)
x, d = torch.zeros(8, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
h = torch.zeros(1, dtype=torch.int32, pin_memory=True)
d.copy_(h, non_blocking=True)
put[(1,)](x, d)
h.fill_({at})
torch.cuda.synchronize()
"""
FAR = 1 << 22


def copy(*, load: str = "tl.load(x + at, mask=at < n)", below: str = "<", bound: str = "n", **given: object) -> str:
    values = {"size": 56, "grid": 4, "n": 56, **given}
    return HEAD + COPY.format(load=load, below=below, bound=bound, **values)


def rows(**given: object) -> str:
    return HEAD + ROWS.format(**{"shape": (64, 16), "rows": 64, "a": 16, "b": 1, **given})


@dataclass
class Trials:
    pool: Pool
    count: int = 0

    def __call__(self, text: str) -> Run:
        self.count += 1
        return self.pool.run(text, wants=WANTS, machine_code=False)

    def health(self, text: str, **given: object) -> Health:
        self.count = 0
        return health(text, self(text), self, file="program.py", **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    folder = tmp_path_factory.mktemp("twin")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")}
    setup = Setup(
        sys.executable, environment, ("torch", "triton"), (), str(folder), (str(folder),), arch=90, reuse=False
    )
    pool = Pool(Script(folder / "program.py", cwd=folder), setup, mode="virtual", jobs=1, seconds=60)
    yield Trials(pool)
    pool.close()


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (copy(load="tl.load(x + at)"), "mask=at < n in tl.load(...) (line 5)"),
        (copy(below="<="), "at < n for at <= n (line 5)"),
        (copy(bound="n + 8"), "at < n for at < n + 8 (line 5)"),
        (copy(n="56 * 4", grid=14), "x.shape[0] for 56 * 4 (line 7)"),
        (copy(grid=5, load="tl.load(x + at)", bound="64", size=64), "(4,) for (5,) (line 7)"),
        (HEAD + STALE.format(at=FAR), "d.copy_(h, non_blocking=False) for d.copy_(h, non_blocking=True) (line 7)"),
        (rows(a=40_000), "x.stride(0) for 40000 (line 8)"),
        (rows(a="x.stride(0) * 4"), "x.stride(0) for x.stride(0) * 4 (line 8)"),
        (rows(shape=(70_000, 40_000), a=40_000, rows=70_000), "row.to(tl.int64) * a for row * a (line 6)"),
    ],
)
def test_the_smallest_edit_that_is_enough(trials: Trials, text: str, edit: str) -> None:
    found = trials.health(text)
    assert found.twin is not None
    assert (str(found.twin), found.second, found.twin.proof) == (edit, "", PROVED)
    run = trials(found.twin.text)
    assert run.exit == 0 and not run.launches[0].causes and not run.launches[0].unfollowed


def test_swapped_strides_are_passed_in_the_other_order(trials: Trials) -> None:
    text = rows(shape=(64, 4096), rows=64, a="x.stride(1)", b="x.stride(0)").replace("N=16", "N=4096")
    found = trials.health(text.replace("torch.zeros(16", "torch.zeros(4096"))
    assert found.twin is not None
    assert "rows[(64,)](x, y, x.stride(0), x.stride(1), N=4096)" in found.twin.text


def test_strides_that_are_handed_on_as_a_tuple_are_swapped_there(trials: Trials) -> None:
    text = (
        rows(shape=(64, 4096), rows=64, a="*strides").replace("*strides, 1, ", "*strides, ").replace("N=16", "N=4096")
    )
    made = "strides = x.stride(1), x.stride(0)\nrows["
    found = trials.health(text.replace("torch.zeros(16", "torch.zeros(4096").replace("rows[", made))
    assert found.twin is not None and "strides = x.stride(0), x.stride(1)\n" in found.twin.text


def test_a_mask_would_only_hide_that_an_index_is_wrong(trials: Trials) -> None:
    assert trials.health(HEAD + GATHERED.format(at=FAR)) == Health()
    assert trials.count == 1


def test_two_accesses_without_a_mask_are_two_defects(trials: Trials) -> None:
    text = copy(load="tl.load(x + at)").replace(", mask=at < n)\nx", ")\nx")
    found = trials.health(text)
    assert found.twin is not None and len(found.twin.edits) == 2
    assert found.second == "it takes 2 changes to mend it"


def test_a_second_defect_is_told_though_nothing_mends_the_first(trials: Trials) -> None:
    text = HEAD + GATHERED.format(at=FAR).replace("tl.store(y + at,", f"tl.store(y + at + {FAR},")
    found = trials.health(text)
    assert found.twin is None and "the offset" in found.second


def test_an_error_of_the_front_end_is_cured(trials: Trials) -> None:
    wrong = "tl.load(x + at.to(tl.float32), mask=at < n)"
    found = trials.health(copy(load=wrong))
    assert found.twin is not None and str(found.twin) == "at for at.to(tl.float32) (line 5)"
    assert found.twin.proof == COMPILES


def test_what_a_front_end_s_error_hid_is_told(trials: Trials) -> None:
    found = trials.health(copy(load="tl.load(x + at.to(tl.float32))"))
    assert found.twin is None
    assert found.second.startswith("once it compiles (at for at.to(tl.float32)), the load (program.py:5:")


def test_what_a_control_was_is_tried_too_and_the_smaller_one_wins(trials: Trials) -> None:
    text = copy(load="tl.load(x + at)")
    patch = of_patch("fix.diff", text, text.replace("tl.load(x + at)", "tl.load(x + at % n)"))
    found = trials.health(text, offered=[patch])
    assert found.twin is not None and str(found.twin) == "the patch fix.diff (line 5)"


def test_an_edit_that_takes_an_access_away_is_no_twin(trials: Trials) -> None:
    text = copy(load="tl.load(x + at)")
    gone = [of_patch("gone", text, text.replace("tl.load(x + at)", new)) for new in ("0.0", "tl.load(x + at, at < 0)")]
    found = trials.health(text, offered=gone)
    assert found.twin is not None and "mask=at < n" in str(found.twin)


def test_edits_may_be_ruled_out(trials: Trials) -> None:
    text = copy(grid=5, load="tl.load(x + at)", bound="64", size=64)
    found = trials.health(text, allowed=lambda edit: edit.in_kernel)
    assert found.twin is not None and "mask=" in str(found.twin)


def test_the_size_of_a_change_is_what_differs() -> None:
    assert change_size("a <= b", "a < b") == (1, 1)
    assert change_size("f(x)", "f(x, mask=m)") == (4, 8)
    assert change_size("same", "same") == (0, 0)
    assert change_size("row * s", "row.to(tl.int64) * s") < change_size("row * s", "(row * s).to(tl.int64) // 1")
