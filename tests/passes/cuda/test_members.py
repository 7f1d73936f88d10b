"""What the constants of a traits struct come to, in the places where they are read."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes.cuda import cuda_members
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

TRAITS = r"""
#define WARP 32  // lanes
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
template <int M_, int WARPS_ = 4>
struct Traits {{
  static constexpr int M = M_;
  static constexpr int VALUE = {value};
}};
template <typename T> __global__ void kernel(float* p) {{ p[T::VALUE] = fa::Traits<16, 4>::VALUE; }}
using Small = Traits<16, 4>;
"""


def values(value: str) -> list[str]:
    program = Program.from_text(f"use(r'''{TRAITS.format(value=value)}''')\n")
    made = [render(program, [edit]).text for edit in cuda_members.find(program)]
    return [text[text.index("p[") + 2 : text.index("; }", text.index("p["))] for text in made]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("CEIL_DIV(M, WARPS_) * WARP", "128"),
        ("M_ % 7 == 2 ? (1 << 3) : ~0", "8"),
        ("-M / 3", "(-5)"),
        ("!(M > 8 && false)", "1"),
        ("0x10u", "16"),
    ],
)
def test_a_member_is_a_number(value: str, number: str) -> None:
    assert values(value) == [f"{number}] = {number}"]


@pytest.mark.parametrize("value", ["sizeof(float)", "M / (M - 16)", "VALUE + 1", "other(M)", "M << -1"])
def test_what_is_not_worked_out_stays(value: str) -> None:
    assert values(value) == []


def test_an_edit_an_instance() -> None:
    text = TRAITS.format(value="M * WARPS_") + "using Large = Traits<32, 2>;\nusing Again = Traits<16, 4>;\n"
    program = Program.from_text(f"use(r'''{text}''')\n")
    assert [edit.what for edit in cuda_members.find(program)] == ["values of Traits 16 4", "values of Traits 32 2"]
