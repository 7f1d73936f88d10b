from __future__ import annotations

from shrinkray_gpu.passes.python import names
from tests.passes.outcomes import lines, offers


def test_conventional_names_by_role() -> None:
    text = """
        @triton.jit
        def softmax_forward_kernel(input_ptr, output_ptr, row_stride, n_columns, BLOCK_SIZE: tl.constexpr):
            offsets = tl.arange(0, BLOCK_SIZE)
            values = tl.load(input_ptr + offsets, mask=offsets < n_columns)
            tl.store(output_ptr + offsets * row_stride, values)
        softmax_forward_kernel[(1,)](a, b, 1, n_columns=4, BLOCK_SIZE=64)
    """
    assert offers(names, text)["rename everything"] == lines("""
        @triton.jit
        def kernel(x, out, stride, offs_n, BLOCK: tl.constexpr):
            offs = tl.arange(0, BLOCK)
            values = tl.load(x + offs, mask=offs < offs_n)
            tl.store(out + offs * stride, values)
        kernel[(1,)](a, b, 1, offs_n=4, BLOCK=64)
    """)


def test_strings_by_which_triton_knows_a_parameter() -> None:
    text = """
        @triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 64})], key=["numel"])
        @triton.jit
        def kernel(x, numel, BLOCK_SIZE: tl.constexpr):
            tl.store(x, BLOCK_SIZE)
        kernel[lambda meta: (meta["BLOCK_SIZE"],)](x, n)
    """
    result = offers(names, text)["rename BLOCK_SIZE to BLOCK"]
    assert "BLOCK_SIZE" not in result
    assert 'triton.Config({"BLOCK": 64})' in result and 'meta["BLOCK"]' in result


def test_a_name_that_a_string_says_elsewhere_stays() -> None:
    assert offers(names, 'running_total = 1\nprint(globals()["running_total"])\n') == {}


def test_no_name_shadows_another() -> None:
    text = """
        def f(x, result_of_it):
            return g(x, result_of_it, out)
        out = f(1, 2)
    """
    found = offers(names, text)
    assert found["rename result_of_it to out2"] == lines("""
        def f(x, out2):
            return g(x, out2, out)
        out = f(1, 2)
    """)


def test_f_strings_too() -> None:
    assert offers(names, 'output_tensor = f()\nprint(f"{output_tensor.shape}")\n') == {
        "rename output_tensor to out": 'out = f()\nprint(f"{out.shape}")\n'
    }


def test_fields_methods_imports_and_receivers_keep_their_names() -> None:
    text = """
        import numpy as something_else
        class Config:
            output_width = 1
            def total_bytes_of(self): return self.output_width
        Config().total_bytes_of()
    """
    assert offers(names, text) == {}
