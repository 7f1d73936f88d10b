"""Figures of compiled kernels, held against what the vendor's own tools say of the same code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.device import code_figures, disassembly
from shrinkray_gpu.device.amd import code_figures as amd
from shrinkray_gpu.runner.inside.launches import compilation, cubin

triton = pytest.importorskip("triton")
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
CROWDED = """
import triton, triton.language as tl
@triton.jit
def crowded(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(y + at, value * tl.sin(tl.sum(value, 0)))
"""
"""Sums in shared memory; its sine has an array of its own in local memory."""


def compiled(folder: Path, target: tuple[str, Any, int], **options: Any) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    path = folder / "crowded.py"
    path.write_text(CROWDED)
    names: dict[str, Any] = {}
    exec(compile(CROWDED, str(path), "exec"), names)  # noqa: S102  Triton reads the source from the file
    signature = {"x": "*fp32", "y": "*fp32", "N": "constexpr"}
    return triton.compile(
        ASTSource(fn=names["crowded"], signature=signature, constexprs={(2,): 4096}),
        target=GPUTarget(*target),
        options={"num_warps": 4, **options},
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("most", [None, 32])
def test_a_cubin_is_read_as_nvidia_s_tools_read_it(cache: Path, most: int | None) -> None:
    kernel = compiled(cache, ("cuda", 90, 32), maxnreg=most)
    code = compilation.texts(kernel, code_figures.STAGES)
    seen = code_figures.figures("crowded", code, kernel.metadata.shared)
    assert seen is not None
    file = cache / "crowded.cubin"
    file.write_bytes(kernel.asm["cubin"])
    told = subprocess.run(
        [TOOLS / "cuobjdump", "--dump-resource-usage", file], capture_output=True, text=True, check=True
    ).stdout
    usage = dict(re.findall(r"(REG|STACK|SHARED):(\d+)", told.partition("crowded:")[2]))
    listed = disassembly.disassemble(TOOLS / "nvdisasm", kernel.asm["cubin"])["crowded"]
    assert seen.registers == int(usage["REG"])
    assert seen.instructions == len(listed)
    assert seen.shared == int(usage["SHARED"]) + kernel.metadata.shared > 0
    declared = sum(map(int, re.findall(r"__local_depot\d+\[(\d+)\]", kernel.asm["ptx"])))
    assert declared > 0
    assert seen.spills == max(0, int(usage["STACK"]) - -(-declared // 8) * 8)
    assert (seen.spills > 0) is (most is not None)


    assert cubin.figures(kernel.asm["cubin"], "other") == {}


def test_no_figures_of_what_is_no_cubin() -> None:
    for code in (b"", b"no", b"\x7fELF" + bytes(80)):
        assert cubin.figures(code, "crowded") == {}
    assert code_figures.figures("crowded", {"figures": "{}", "ptx": ""}, 0) is None
    assert code_figures.figures("crowded", {}, 0) is None


def test_an_amdgcn_text_of_a_real_compiler(cache: Path) -> None:
    kernel = compiled(cache, ("hip", "gfx942", 64))
    text = kernel.asm["amdgcn"]
    seen = amd.figures("crowded", {"amdgcn": text}, kernel.metadata.shared)
    assert seen is not None
    assert seen == code_figures.figures("crowded", {"amdgcn": text, "ttir": ""}, kernel.metadata.shared)
    assert seen.shared == kernel.metadata.shared > 0
    assert seen.registers == int(re.findall(r"\.vgpr_count:\s+(\d+)", text)[0])
    code = re.findall(r"^\t(?:[sv]_|ds_|global_|buffer_|flat_|scratch_)\w+", text, re.MULTILINE)
    assert seen.instructions == len(code)
    assert amd.figures("other", {"amdgcn": text}, 0) is None


def test_registers_that_spill_on_amd_are_counted_in_bytes() -> None:
    text = (
        "crowded:\n.Lfunc:\n\ts_load_dword s0, s[0:1], 0x0 ; a\n\tv_mov_b32_e32 v0, s0\n\ts_endpgm\n"
        '\t.section .rodata,"a"\n\t.amdgpu_metadata\n---\namdhsa.kernels:\n'
        "  - .agpr_count:     0\n    .args: []\n    .group_segment_fixed_size: 128\n    .name:           other\n"
        "    .sgpr_spill_count: 0\n    .vgpr_count:     9\n    .vgpr_spill_count: 0\n"
        "  - .agpr_count:     0\n    .group_segment_fixed_size: 256\n    .name:           crowded\n"
        "    .sgpr_spill_count: 3\n    .vgpr_count:     256\n    .vgpr_spill_count: 20\n"
    )
    seen = amd.figures("crowded", {"amdgcn": text}, 64)
    assert seen is not None
    assert (seen.spills, seen.registers, seen.instructions, seen.shared) == (92, 256, 3, 256)
