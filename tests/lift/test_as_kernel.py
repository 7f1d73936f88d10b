"""An extension's launch as a script of its own: the kernel alone, what the binding computed as the launch had it."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from shrinkray_gpu.lift.cuda.as_cu import NotPlain
from shrinkray_gpu.lift.cuda.as_kernel import AGAIN, script_texts
from shrinkray_gpu.reduction.program import Program
from tests.passes.cuda.samples import KERNEL, PRODUCT


def tensor(
    number: int, dtype: str, *shape: int, into: int = 0, content: dict[str, Any] | None = None
) -> dict[str, Any]:
    strides = [1] * len(shape)
    for at in range(len(shape) - 2, -1, -1):
        strides[at] = strides[at + 1] * shape[at + 1]
    seen = {"dtype": dtype, "shape": list(shape), "strides": strides, "offset": 0, "storage": 4096 * number}
    seen.update(bytes=1 << 20, address=4096 * number, residue=0, device="cuda", content=content or {"kind": "zeros"})
    return {"tensor": 4096 * number, "size": 1 << 20, "offset": into, "whole": True, "seen": seen, "into": into}


NORMAL = {"kind": "normal", "mean": 0.0, "std": 1.0, "low": -4.0, "high": 4.0, "nan": False, "inf": False}
HALF = {"type": "__half const*", **tensor(1, "float16", 16, 16, content=NORMAL)}
OUT = {"type": "float*", **tensor(2, "float32", 16, 16, into=64)}
COUNT = {"type": "int", "bytes": "ffffffff"}
PARAMS = {
    "type": "fa::Params",
    "bytes": "",
    "raw": struct.pack("<QQi4x", 4096, 8192, 7).hex(),
    "pointers": {
        "0": {"type": "void*", **tensor(1, "float16", 64)},
        "8": {"type": "void*", **tensor(2, "float32", 64)},
    },
}
SCALE = {"type": "float", "bytes": "0000003f"}
INSTANCE = "void fa::kernel<fa::Traits<16, 4> >(fa::Params, float)"


def call(*args: dict[str, Any], **changes: Any) -> dict[str, Any]:
    signature = f"product({', '.join(arg['type'] for arg in args)})"
    return {"kernel": signature, "grid": [2, 3, 1], "block": [32, 1, 1], "shared": 0, "args": list(args), **changes}


def of_kernel(*args: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return call(*args, **{"kernel": INSTANCE, "shared": 2048, **changes})


def scripts(script: str, *calls: dict[str, Any], flags: tuple[str, ...] = ()) -> list[str]:
    found = script_texts(Program.from_text(script).literals, calls, flags)
    for text in found:
        assert Program.from_text(text).literals[0].tree.errors == 0, text
    return found


def test_tensors_and_integers_are_given_in_python() -> None:
    once, again = scripts(PRODUCT, call(HALF, HALF, OUT, COUNT))
    assert "__global__ void product(" in once and "#include <mma.h>" in once and "torch::" not in once
    assert 'kernel = torch.cuda._compile_kernel(SOURCE, "product")\n' in once
    assert "torch.randn(16, 16, dtype=torch.float16, device=" in once
    assert once.endswith("kernel((2, 3, 1), (32, 1, 1), [x, x, out.flatten()[16:], -1])\ntorch.cuda.synchronize()\n")
    assert f"for _ in range({AGAIN}):\n    kernel(" in again


def test_a_struct_becomes_its_pointers_and_a_template_its_instance() -> None:
    once = scripts(f"use(r'''{KERNEL}''')", of_kernel(PARAMS, SCALE))[0]
    assert (
        "using T = Traits<16, 4>;\n__global__ void __launch_bounds__(128, 2) kernel(const half* q_ptr, float* o_ptr)"
        in once
    )
    begin = once[once.index("float* o_ptr)") :]
    assert begin.startswith("float* o_ptr) {\n  Params params = {q_ptr, o_ptr, 7};\n  float scale = (float)0.5;\n")
    assert "namespace" not in once and "fa::" not in once and "struct Traits" in once
    assert "[q, o], shared_mem=2048)" in once


def test_more_shared_memory_is_asked_for_and_what_nvrtc_knows_is_kept_of_the_flags() -> None:
    flags = ("-arch=sm_90", "-O3", "-Xptxas", "-v", "-Xptxas", "-O1", "-DA=1", "-U__CUDA_NO_HALF_OPERATORS__")
    once = scripts(PRODUCT, call(HALF, HALF, OUT, COUNT, shared=50000), flags=flags)[0]
    assert 'nvcc_options=["-Xptxas=-O1", "-DA=1"]' in once
    assert "kernel.set_shared_memory_config(50000)\n" in once and "shared_mem=50000" in once
    assert 'r"""\n#undef __CUDA_NO_HALF_OPERATORS__\n' in once


def test_headers_and_types_that_nvrtc_lacks_are_spoken_otherwise() -> None:
    source = "#include <vector>\n#include <stdint.h>\n__global__ void fill(int64_t* p, std::uint32_t n) { *p = n; }"
    made = call(
        {"type": "long*", **tensor(1, "int64", 4)},
        {"type": "unsigned int", "bytes": "02000000"},
        kernel="fill(long*, unsigned int)",
    )
    once = scripts(f"use(r'''{source}''')", made)[0]
    assert "#include" not in once
    assert "fill(long long* p, unsigned int n)" in once and "[p, 2]" in once


def test_values_of_templates_words_of_python_and_numbers_of_headers() -> None:
    source = """
namespace {
template <typename T, int N = 4, bool Causal = true>
__global__ void fill(const T* in, T* out, const float lambda, long n) { out[n] = Causal ? in[N] * lambda : -INFINITY; }
}
"""
    made = call(
        {"type": "float const*", **tensor(1, "float32", 64)},
        {"type": "float*", **tensor(2, "float32", 64)},
        SCALE,
        {"type": "long", "bytes": "0700000000000000"},
        kernel="void (anonymous namespace)::fill<float, 8, false>(float const*, float*, float, long)",
    )
    once = scripts(f"use(r'''{source}''')", made)[0]
    assert "using T = float;\nconstexpr int N = 8;\nconstexpr bool Causal = false;\n__global__ void fill(" in once
    assert "const float lambda = (float)0.5;\n  long n = (long)7;" in once and "-__int_as_float(0x7f800000)" in once
    assert "in_2 = torch.zeros(64" in once and "[in_2, out])" in once


def test_a_launch_again_is_one_and_another_is_another() -> None:
    same = dict(HALF, **tensor(5, "float16", 16, 16, content=NORMAL))
    one, other = call(HALF, HALF, OUT, COUNT), call(same, same, OUT, COUNT)
    assert len(scripts(PRODUCT, one, other)) == 2
    assert len(scripts(PRODUCT, one, call(HALF, HALF, OUT, COUNT, grid=[9, 1, 1]))) == 4


def test_a_pointer_to_nothing_is_one() -> None:
    nowhere = {"type": "float*", "tensor": 0, "size": 0, "offset": 0, "content": "", "whole": True}
    once = scripts(PRODUCT, call(HALF, HALF, nowhere, COUNT))[0]
    assert "= nullptr;" in once and "[x, x, -1]" in once


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (of_kernel({**PARAMS, "raw": PARAMS["raw"] + "00" * 8}, SCALE), "struct Params has 32 bytes"),
        (of_kernel({**PARAMS, "pointers": {}}, SCALE), "field q of its struct Params points to no tensor"),
        (of_kernel({**PARAMS, "type": "Other"}, SCALE), "struct Other is not written out"),
        (of_kernel({**PARAMS, "type": "Traits<1>"}, SCALE), "struct Traits has more than fields"),
        (of_kernel(PARAMS), "takes 1 arguments, and its source names 2"),
        (call(HALF, kernel="elsewhere(__half const*)"), "elsewhere is not in the script"),
    ],
)
def test_what_cannot_be_written_is_named(made: dict[str, Any], why: str) -> None:
    with pytest.raises(NotPlain, match=why):
        scripts(f"use(r'''{KERNEL}''')", made)


def test_without_a_launch_there_is_none() -> None:
    with pytest.raises(NotPlain, match="launches no kernel"):
        scripts(PRODUCT)
