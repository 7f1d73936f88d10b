"""CUDA: sizes that are written alike, and a name for them."""

from __future__ import annotations

from shrinkray_gpu.cu.cu_program import program_of, text_of
from shrinkray_gpu.passes.cuda import cuda_sizes
from shrinkray_gpu.reduction.rendering.render import render

SIZE = "rows * ((n + 31) / 32) * sizeof(int)"
RUN = f"""int *p;
cudaMalloc(&p, {SIZE});
cudaMemset(p, 0, {SIZE});
k<<<1, 1>>>(p, {SIZE});
"""


def named(body: str) -> list[str]:
    program = program_of(f"__global__ void k(int* p, int n) {{}}\nvoid run(int rows, int n) {{\n{body}}}\n", "x.cu")
    made = [render(program, [edit]) for edit in cuda_sizes.find(program) if edit.what.startswith("a name")]
    assert all(each.size < program.size for each in made)
    return [" ".join(text_of(each).split()) for each in made]


def test_a_size_that_is_said_again_has_a_name() -> None:
    """A kernel is given it by that name too: a fix that divides it there is not one of the allocation."""
    (text,) = named(RUN)
    assert f"int *p; size_t bytes = {SIZE}; cudaMalloc(&p, bytes);" in text
    assert "cudaMemset(p, 0, bytes); k<<<1, 1>>>(p, bytes);" in text


def test_what_has_another_value_by_then_is_said_again() -> None:
    for change in ("n = 3;\n", "n += 3;\n", "++n;\n", "f(&n);\n"):
        assert named(RUN.replace("cudaMemset", f"{change}cudaMemset")) == [], change
    assert named(RUN.replace("cudaMemset", "{ int n = 3; use(n); }\ncudaMemset")) == []
    vector = RUN.replace("n + 31", "v.size() + 31")
    assert named(vector) and not named(vector.replace("cudaMemset", "v.push_back(1);\ncudaMemset"))


def test_a_short_one_and_one_of_another_block_have_none() -> None:
    assert named(RUN.replace(SIZE, "n * 4")) == []
    assert named(RUN.replace("cudaMalloc", "if (n) cudaMalloc")) == []
