"""Benchmark loops run once, and a call that times another one becomes that other."""

from __future__ import annotations

from shrinkray_gpu.passes.host.repeats import find
from tests.passes.offers import offered, results


def test_a_loop_runs_once() -> None:
    assert offered(find, "for _ in range(100): f()", "for _ in range(1): f()")
    assert offered(find, "for i in range(3, 100): f(i)", "for i in range(3, 4): f(i)")


def test_loops_in_kernels_are_left_to_the_loop_pass() -> None:
    assert results(find, "@triton.jit\ndef k(x):\n    for i in range(100):\n        tl.store(x, i)") == []


def test_do_bench_becomes_what_it_measures() -> None:
    assert results(find, "do_bench(lambda: f(x), warmup=5)") == [
        "f(x)",
        "do_bench(lambda: f(x), warmup=0)",
        "do_bench(lambda: f(x), warmup=1)",
    ]
    assert offered(find, "triton.testing.do_bench(step)", "step()")


def test_a_time_that_is_used_becomes_a_number() -> None:
    assert offered(find, "ms = do_bench(lambda: f(x))\nprint(f'{ms:.3f}')", "f(x)\nms = 1.0\nprint(f'{ms:.3f}')")


def test_a_home_made_timer_is_known_by_what_it_does() -> None:
    helper = """
    def go(step, n):
        for _ in range(n):
            step()
    """
    assert offered(find, helper + "    \n    go(train, 20)", helper + "    \n    train()")


def test_a_function_that_only_takes_a_callable_is_no_timer() -> None:
    assert results(find, "def apply(f, x):\n    return f(x)\napply(g, 2)") == []


def test_counts_of_repeats_go_to_one() -> None:
    assert offered(find, "bench(rep=100)", "bench(rep=1)")
    assert offered(find, "def bench(f, n_iters=50): pass", "def bench(f, n_iters=1): pass")
    assert offered(find, "p.add_argument('--warmup', default=25)", "p.add_argument('--warmup', default=0)")
    assert results(find, "f(size=100)") == []
