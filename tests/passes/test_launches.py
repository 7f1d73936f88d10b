from __future__ import annotations

from shrinkray_gpu.passes.host import launches
from tests.passes.outcomes import lines, offers

KERNEL = "@triton.jit\ndef k(x, n, BLOCK: tl.constexpr): pass\n"


def after_kernel(text: str) -> dict[str, str]:
    return {what: result.removeprefix(KERNEL) for what, result in offers(launches, KERNEL + text).items()}


def test_a_grid_of_one_program() -> None:
    found = after_kernel("k[(n, 2 * m)](x, n, BLOCK=4)\n")
    assert found["grid of the launch at line 3 is (1,)"] == "k[(1,)](x, n, BLOCK=4)\n"
    assert found["one axis less of the launch at line 3"] == "k[(n,)](x, n, BLOCK=4)\n"
    assert found["axis 1 of the launch at line 3 is 1"] == "k[(n, 1)](x, n, BLOCK=4)\n"


def test_only_one_of_several_launches() -> None:
    found = after_kernel("k[g](x, 1, BLOCK=4)\nk[g](x, 2, BLOCK=4)\nk[g](x, 3, BLOCK=4)\n")
    assert found["only the launch at line 5"] == "k[g](x, 3, BLOCK=4)\n"
    assert found["only the launch at line 3"] == "k[g](x, 1, BLOCK=4)\n"


def test_options_but_not_parameters() -> None:
    found = after_kernel("k[g](x, n, BLOCK=4, num_warps=8, num_stages=2)\n")
    assert found["drop all launch options"] == "k[g](x, n, BLOCK=4)\n"
    assert found["drop num_warps=8 at line 3"] == "k[g](x, n, BLOCK=4, num_stages=2)\n"
    assert not any("BLOCK" in what for what in found)


def test_a_grid_lambda_becomes_a_tuple() -> None:
    text = """
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        k[grid](x, n, BLOCK=64)
    """
    assert after_kernel(lines(text))["plain grid of the launch at line 4"] == lines("""
        grid = (triton.cdiv(n, 64),)
        k[grid](x, n, BLOCK=64)
    """)


def test_a_grid_that_asks_for_tuned_values_stays() -> None:
    found = after_kernel('k[lambda meta: (meta["BLOCK"],)](x, n)\n')
    assert not any(what.startswith("plain grid") for what in found)


def test_the_grid_of_a_warmup() -> None:
    found = after_kernel("k.warmup(x, n, BLOCK=4, num_warps=8, grid=(n, 2))\n")
    assert found["grid of the launch at line 3 is (1,)"] == "k.warmup(x, n, BLOCK=4, num_warps=8, grid=(1,))\n"
    assert found["drop num_warps=8 at line 3"] == "k.warmup(x, n, BLOCK=4, grid=(n, 2))\n"


def test_options_of_tuned_configurations() -> None:
    found = offers(launches, "c = [triton.Config({'B': 4}, num_warps=4), triton.Config({'B': 8}, num_warps=8)]\n")
    assert found["drop every num_warps"] == "c = [triton.Config({'B': 4}), triton.Config({'B': 8})]\n"


def test_a_call_of_an_element_is_no_launch() -> None:
    assert offers(launches, "table[0](x)\n") == {}


def test_a_kernel_of_cuda_in_one_block_and_few_threads() -> None:
    made = 'kernel = torch.cuda._compile_kernel(SOURCE, "k")\n'
    found = offers(launches, made + "kernel((7, 16, 1), (256, 1, 1), [x], shared_mem=96)\n")
    results = {what: result.removeprefix(made) for what, result in found.items()}
    assert results == {
        "grid of the launch at line 2 is (1, 1, 1)": "kernel((1, 1, 1), (256, 1, 1), [x], shared_mem=96)\n",
        "axis 0 of the grid of the launch at line 2 is 1": "kernel((1, 16, 1), (256, 1, 1), [x], shared_mem=96)\n",
        "axis 1 of the grid of the launch at line 2 is 1": "kernel((7, 1, 1), (256, 1, 1), [x], shared_mem=96)\n",
        "block of the launch at line 2 is (1, 1, 1)": "kernel((7, 16, 1), (1, 1, 1), [x], shared_mem=96)\n",
        "block of the launch at line 2 is (32, 1, 1)": "kernel((7, 16, 1), (32, 1, 1), [x], shared_mem=96)\n",
        "block of the launch at line 2 is (64, 1, 1)": "kernel((7, 16, 1), (64, 1, 1), [x], shared_mem=96)\n",
        "block of the launch at line 2 is (128, 1, 1)": "kernel((7, 16, 1), (128, 1, 1), [x], shared_mem=96)\n",
    }


def test_a_kernel_of_cuda_by_name_by_keyword_and_at_once() -> None:
    found = offers(launches, "torch.cuda._compile_kernel(SOURCE, 'k')(block=(n, 1, 1), grid=grid)\n")
    assert found["block of the launch at line 1 is (1, 1, 1)"].endswith("(block=(1, 1, 1), grid=grid)\n")
    assert not any(what.startswith("grid") for what in found)
    assert offers(launches, "kernel((7, 16, 1), (256, 1, 1))\n") == {}, "of a function that is not seen nobody knows"


def test_zeros_instead_of_a_launch_that_fills_a_tensor() -> None:
    """No repro may read memory that nobody wrote, so the launch alone could not go."""
    text = """
        x = torch.empty(4)
        self.y = x.new_empty(4)
        z = torch.ones(4)
        k[g](x, self.y, BLOCK=4)
        k[g](z, 1, BLOCK=4)
    """
    found = after_kernel(lines(text))
    assert found["zeros instead of the launch at line 6"] == lines("""
        x = torch.zeros(4)
        self.y = x.new_zeros(4)
        z = torch.ones(4)
        k[g](z, 1, BLOCK=4)
    """)
    assert "zeros instead of the launch at line 7" not in found
