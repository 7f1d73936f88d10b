"""Launches of one block and few threads, without the variables that held their sizes."""

from __future__ import annotations

from shrinkray_gpu.passes.cuda import cuda_launches
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

SOURCE = """
__global__ void kernel(int n) { for (int block = 0; block < n; ++block) {} }
void run(int n, cudaStream_t stream) {
  dim3 grid(n, 4);
  dim3 block(64), spare(2);
  kernel<<<grid, block, 0, stream>>>(n);
}
"""


def test_sizes_and_what_held_them() -> None:
    program = Program.from_text(f"use('''{SOURCE}''')\n")
    edits = list(cuda_launches.find(program))
    texts = [render(program, [edit]).text for edit in edits]
    assert texts[0] == program.text.replace(", 0, stream>", ">")
    assert texts[1] == program.text.replace("<<<grid", "<<<1").replace("  dim3 grid(n, 4);\n", "")
    assert [text[text.index("<<<") : text.index(", 0")] for text in texts[2:]] == [
        f"<<<grid, {threads}" for threads in (1, 32, 64, 128, 256)
    ]
    assert all("dim3 block(64), spare(2);" in text for text in texts), "the other of the two may be read"


def test_one_thread_is_least() -> None:
    program = Program.from_text(f"use('''{SOURCE.replace('grid, block, 0, stream', '1, 32')}''')\n")
    assert [edit.what for edit in cuda_launches.find(program)] == ["launch few threads at line 6"]


def test_a_warp_is_least_for_what_a_warp_does() -> None:
    source = SOURCE.replace("{}", "{ __syncwarp(); __shfl_xor_sync(1u, n, 1); }")
    edits = cuda_launches.find(Program.from_text(f"use('''{source}''')\n"))
    assert sum(edit.what.startswith("launch few threads") for edit in edits) == 4
