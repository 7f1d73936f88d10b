"""A table of configurations comes down to one entry."""

from __future__ import annotations

from shrinkray_gpu.passes.host.configs import find
from tests.passes.offers import offered, results

KERNEL = """
@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    pass
"""


def tuned(configs: str, launch: str, before: str = "") -> str:
    return f"{before}\n@triton.autotune(configs={configs}, key=['n']){KERNEL}\n{launch}"


def test_autotune_becomes_the_arguments_of_one_entry() -> None:
    source = tuned("[triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 128}, 8, 3)]", "k[grid](x, n)")
    assert offered(find, source, f"{KERNEL}\nk[grid](x, n, BLOCK=64, num_warps=2)")
    assert offered(find, source, f"{KERNEL}\nk[grid](x, n, BLOCK=128, num_warps=8, num_stages=3)")


def test_a_hook_cannot_move_so_the_list_keeps_one_entry() -> None:
    source = tuned("[triton.Config({'BLOCK': 64}, pre_hook=h), triton.Config({'BLOCK': 1}, pre_hook=h)]", "k[g](x, n)")
    assert offered(find, source, tuned("[triton.Config({'BLOCK': 1}, pre_hook=h)]", "k[g](x, n)"))
    assert all("autotune" in text for text in results(find, source))


def test_a_launch_that_names_an_option_gets_the_value_of_the_entry() -> None:
    source = tuned("[triton.Config({'BLOCK': 64}, num_warps=2)]", "k[g](x, n, num_warps=4)")
    assert offered(find, source, f"{KERNEL}\nk[g](x, n, num_warps=2, BLOCK=64)")


def test_a_launch_without_arguments_gets_its_first() -> None:
    source = "@triton.autotune([triton.Config({'B': 64})], [])\n@triton.jit\ndef k(B): pass\nk[g]()"
    assert offered(find, source, "@triton.jit\ndef k(B): pass\nk[g](B=64)")


def test_configs_are_found_behind_names_functions_and_comprehensions() -> None:
    want = f"{KERNEL}\nk[g](x, n, BLOCK=32, num_stages=3)"
    made = "[triton.Config({'BLOCK': b}, num_stages=s) for b in (16, 32) for s in (2, 3)]"
    assert offered(find, tuned(made, "k[g](x, n)"), want)
    assert offered(find, tuned("CONFIGS", "k[g](x, n)", f"CONFIGS = {made}"), f"CONFIGS = {made}\n{want}")
    function = f"def get():\n    return {made}"
    assert offered(find, tuned("get()", "k[g](x, n)", function), f"{function}\n{want}")


def test_heuristics_are_given_at_the_launch() -> None:
    source = "@triton.heuristics({'EVEN': lambda a: a['n'] % 8 == 0})" + KERNEL + "k[g](x)"
    assert offered(find, source, KERNEL + "k[g](x, EVEN=True)")


def test_a_list_that_is_gone_through_keeps_one_entry() -> None:
    assert results(find, "for c in [a, b]: f(c)") == ["for c in [a]:\n    f(c)", "for c in [b]:\n    f(c)"]
    loop = "\nfor k, v in D.items(): f(k)"
    assert offered(find, "D = {'a': 1, 'b': 2}" + loop, "D = {'b': 2}" + loop)


def test_a_table_that_is_looked_into_becomes_one_entry() -> None:
    source = "CONFIGS = {'a': Config(1), 'b': Config(2)}\ncfg = CONFIGS[name]"
    assert results(find, source) == ["cfg = Config(1)", "cfg = Config(2)"]


def test_a_table_with_other_readers_keeps_that_entry() -> None:
    source = "CONFIGS = {'a': Config(1), 'b': Config(2)}\nprint(CONFIGS)\ncfg = CONFIGS[name]"
    assert offered(find, source, "CONFIGS = {'b': Config(2)}\nprint(CONFIGS)\ncfg = Config(2)")


def test_arguments_by_place_get_the_names_that_triton_gives_them() -> None:
    source = tuned("[triton.Config({'BLOCK': 64}, 4, 3, 1)]", "k[g](x, n)")
    assert offered(find, source, f"{KERNEL}\nk[g](x, n, BLOCK=64, num_warps=4, num_stages=3, num_ctas=1)")


def test_a_place_that_is_another_in_another_triton_keeps_the_entry() -> None:
    for rest in ("4, 3, 1, None, hook", "4, 3, 1, 0"):
        assert not results(find, tuned(f"[triton.Config({{'BLOCK': 64}}, {rest})]", "k[g](x, n)"))
