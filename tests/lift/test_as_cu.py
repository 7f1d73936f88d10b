"""A script's kernels as a .cu of their own: what stays of the sources, and how `main()` launches them."""

from __future__ import annotations

from typing import Any

import pytest

from shrinkray_gpu.lift.cuda.as_cu import NotPlain, cu_source
from shrinkray_gpu.reduction.program import Program
from tests.passes.cuda.samples import KERNEL, PRODUCT

HALF = {"type": "__half const*", "tensor": 4096, "size": 512, "offset": 0, "content": "003c", "whole": True}
OUT = {"type": "float*", "tensor": 8192, "size": 1024, "offset": 64, "content": "", "whole": True}
COUNT = {"type": "int", "bytes": "ffffffff"}


def call(*args: dict[str, Any], **changes: Any) -> dict[str, Any]:
    signature = f"product({', '.join(arg['type'] for arg in args)})"
    return {"kernel": signature, "grid": [2, 3, 1], "block": [32, 1, 1], "shared": 0, "args": list(args), **changes}


def text_of(script: str, *calls: dict[str, Any]) -> str:
    return cu_source(Program.from_text(script).literals, calls, "nvcc product.cu")


def test_kernels_stay_with_what_they_lead_to_and_torch_goes() -> None:
    text = text_of(PRODUCT, call(HALF, HALF, OUT, COUNT))
    assert "__global__ void product(" in text and "__device__ void multiply(" in text
    assert "#include <mma.h>" in text and "#define TILE 16" in text
    assert "torch" not in text
    assert Program.from_text(f"use(r'''{text}''')").literals[0].tree.errors == 0


def test_main_allocates_once_fills_and_launches() -> None:
    text = text_of(PRODUCT, call(HALF, HALF, OUT, COUNT))
    main = text[text.index("int main()") :]
    assert main.count("filled(512, ") == 1 and r'"\x00\x3c", 2)' in main
    assert "cudaMemset(x1, 0, 1024);" in main
    launch = "product<<<dim3(2, 3), 32>>>((__half const*)x0, (__half const*)x0, (float*)(x1 + 64), -1);"
    assert launch in main


def test_a_launch_is_made_as_often_as_the_script_makes_it() -> None:
    """A fault may hang on what the launch before left in shared memory."""
    once, other = call(HALF, HALF, OUT, COUNT), call(HALF, HALF, OUT, COUNT, block=[64, 1, 1])
    launch = "product<<<dim3(2, 3), 32>>>((__half const*)x0, (__half const*)x0, (float*)(x1 + 64), -1);"
    main = text_of(PRODUCT, once, once, other, once)
    assert f"  for (int i = 0; i < 2; ++i) {launch}\n  {launch.replace('32', '64')}\n  {launch}\n" in main
    literals = Program.from_text(PRODUCT).literals
    assert cu_source(literals, [once, once], "nvcc product.cu", repeated=False) == text_of(PRODUCT, once)


def test_an_instance_of_a_template_in_a_namespace_and_more_shared_memory() -> None:
    kernel = "void fa::kernel<fa::Traits<16, 4> >(fa::Params, float)"
    made = call(COUNT, {"type": "float", "bytes": "0000003f"}, kernel=kernel, shared=50000)
    text = text_of(f"use(r'''{KERNEL}''')", made)
    assert "cudaFuncSetAttribute(fa::kernel<fa::Traits<16, 4> >, cudaFuncAttributeMaxDynamicSharedMemory" in text
    assert "fa::kernel<fa::Traits<16, 4> ><<<dim3(2, 3), 32, 50000>>>(-1, (float)0.5);" in text
    assert "warp_sum" in text and 'extern "C" void launch' not in text


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (call({"type": "fa::Params", "bytes": ""}), "takes a fa::Params by value"),
        (call({**HALF, "content": "0102", "whole": False}), "values of all kinds"),
        (call(HALF, kernel="elsewhere(__half const*)"), "elsewhere is not in the script"),
    ],
)
def test_what_cannot_be_written_is_named(made: dict[str, Any], why: str) -> None:
    with pytest.raises(NotPlain, match=why):
        text_of(PRODUCT, made)


def test_without_a_launch_there_is_none() -> None:
    with pytest.raises(NotPlain, match="launches no kernel"):
        text_of(PRODUCT)
