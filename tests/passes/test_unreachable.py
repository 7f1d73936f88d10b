from __future__ import annotations

from shrinkray_gpu.passes.python import unreachable
from tests.passes.outcomes import all_at_once, lines, offers

SCRIPT = """
    from __future__ import annotations
    import os
    import torch, math
    from triton import cdiv, next_power_of_2

    UNUSED = {"a": 1}
    USED = 2

    def helper(x):
        return math.sqrt(x)

    def caller(x):
        return helper(x)

    def main():
        return torch.ones(cdiv(USED, 2))

    main()
"""


def test_all_that_module_level_code_does_not_reach_goes_in_one_edit() -> None:
    first = next(iter(offers(unreachable, SCRIPT)))
    assert first == "remove 6 unreachable definitions and imports"
    assert offers(unreachable, SCRIPT)[first] == lines("""
        from __future__ import annotations
        import torch
        from triton import cdiv
        USED = 2

        def main():
            return torch.ones(cdiv(USED, 2))

        main()
    """)


def test_each_is_offered_alone_too() -> None:
    assert set(offers(unreachable, SCRIPT)) - {"remove 6 unreachable definitions and imports"} == {
        "remove import os",
        "remove import math",
        "remove import next_power_of_2",
        "remove constant UNUSED",
        "remove function helper",
        "remove function caller",
    }


def test_a_decorator_that_may_register_keeps_its_function() -> None:
    assert offers(unreachable, "@register('x')\ndef f(): pass\n@triton.jit\ndef g(): pass\n").keys() == {
        "remove function g"
    }


def test_functions_inside_functions_live_with_what_calls_them() -> None:
    text = """
        def outer():
            def used(): return 1
            def unused(): return used()
            return used()
        outer()
    """
    assert offers(unreachable, text).keys() == {"remove function unused"}


def test_methods_that_nothing_mentions_go_but_not_those_that_libraries_call() -> None:
    text = """
        class Layer(Module):
            def forward(self, x): return self.inner(x)
            def inner(self, x): return x
            def extra_repr_of_mine(self): return ""
            def __repr__(self): return ""
        Layer()(1)
    """
    assert offers(unreachable, text).keys() == {"remove method Layer.extra_repr_of_mine"}


def test_all_at_once_leaves_a_script_without_dead_weight() -> None:
    assert all_at_once(unreachable, "import os, sys\nprint(sys.argv)\n") == "import sys\nprint(sys.argv)\n"
