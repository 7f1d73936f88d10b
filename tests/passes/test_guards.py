from __future__ import annotations

from shrinkray_gpu.passes.kernel import guards
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from tests.passes.outcomes import offers


def test_a_mask_goes_with_other_and_other_alone() -> None:
    found = offers(guards, "x = tl.load(p + i, mask=i < n, other=0.0)\n")
    assert found == {
        "no guards at all": "x = tl.load(p + i)\n",
        "no guards of tl.load at line 1": "x = tl.load(p + i)\n",
        "no other=0.0 at line 1": "x = tl.load(p + i, mask=i < n)\n",
    }


def test_positional_masks_are_known() -> None:
    found = offers(guards, "tl.store(p, x, m)\ntl.load(p, m, 0.0)\n")
    assert found["no guards at all"] == "tl.store(p, x)\ntl.load(p)\n"


def test_initialised_inputs() -> None:
    assert offers(guards, "x = torch.zeros(4, device='cuda')\n") == {
        "torch.empty at line 1": "x = torch.empty(4, device='cuda')\n"
    }


def test_the_size_order_prefers_the_guarded_program() -> None:
    program = Program.from_text("x = tl.load(p + i, mask=i < n, other=0.0)\ny = torch.zeros(4)\n")
    for edit in guards.find(program):
        assert render(program, [edit]).size > program.size, edit.what
