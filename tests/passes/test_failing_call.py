"""The failing call alone, made of what a watched run saw. Here the runs are real: each text is run in this process."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from textwrap import dedent
from types import ModuleType
from unittest.mock import patch

import pytest

from shrinkray_gpu.passes.host import failing_call
from shrinkray_gpu.passes.host.observed import instrument
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.passes.schedule import HOST, ONE_LAUNCH, PASSES, order_for
from shrinkray_gpu.reduction.interestingness import TRACEBACK
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render
from shrinkray_gpu.runner.inside.watchers.constants import SeenValues
from tests.passes.offers import SAMPLES, program

LEDGER = SAMPLES[0].with_name("host_ledger.py").read_text()


def fault(text: str) -> str:
    """What the program raises, and where; empty if it ends well."""
    module = ModuleType("__main__")
    with patch.dict("sys.modules", {"__main__": module}), redirect_stdout(StringIO()):
        try:
            exec(compile(text, "case.py", "exec"), module.__dict__)
        except Exception as error:
            told = traceback.extract_tb(error.__traceback__)
            lines = [str(entry.lineno) for entry in told if entry.filename == "case.py"]
            return f"{type(error).__name__}: {error}\n{' '.join(lines)}"
    return ""


def watched(start: Program, *, trace: bool = True) -> Mapping[int, str]:
    seen = SeenValues(frozenset())
    with patch.object(builtins, "__shrink_saw__", seen, create=True):
        said = fault(instrument(start, watchable(start)).text)
    lines = said.rpartition("\n")[2]
    return {**seen.found(), **({TRACEBACK: lines} if trace and lines else {})}


def faulting(text: str, *, trace: bool = True) -> list[str]:
    """The programs offered that raise what this one does, in the order of the offers."""
    start = program(text)
    what = fault(start.text).partition("\n")[0]
    assert what, "the program must fail"
    offers = [render(start, [edit]).text for edit in failing_call.find(start, watched(start, trace=trace))]
    return [offer for offer in offers if fault(offer).partition("\n")[0] == what]


@pytest.mark.parametrize("trace", [True, False])
def test_a_method_deep_down_becomes_a_call_with_its_values(trace: bool) -> None:
    assert faulting(LEDGER, trace=trace)[0].strip() == dedent("""\
        def rate(kind, total, RATES):
            if total > 4:
                return RATES[kind] * total + 5
            return total


        rate('zero', 13, {'standard': 3, 'reduced': 2})""")


def test_values_of_an_object_stand_in_its_place_and_unseen_ones_are_none() -> None:
    (found, *_) = faulting("""\
        class Item:
            def __init__(self, name, sizes):
                self.name, self.sizes = name, sizes
        def check(item, limits):
            for size in item.sizes:
                if size > limits[item.name]:
                    raise ValueError(f"{item.name}: {size}")
            return item.best
        def main(names):
            limits = {name: 4 for name in names}
            for name in names:
                check(Item(name, [1, 5]), limits)
        main(["a", "b"])
        """)
    assert found.splitlines()[0] == "def check(limits):" and found.splitlines()[-1] == "check({'a': 4, 'b': 4})"
    assert "in [1, 5]" in found and "None.best" in found and "Item" not in found


def test_of_several_calls_it_is_the_last_one() -> None:
    (found, *_) = faulting("""\
        def halves(count, by):
            return count // by
        for by in (2, 1, 0):
            print(halves(8, by))
        """)
    assert found.splitlines()[-1] == "halves(8, 0)"


def test_a_method_that_calls_others_keeps_its_class_and_gets_the_values_of_its_object() -> None:
    (found, *_) = faulting("""\
        class Plan:
            def __init__(self, depth):
                self.depth, self.done = depth, {object()}
            def go(self, left):
                if left == 0:
                    raise RuntimeError(self.text())
                return self.go(left - 1)
            def text(self):
                return f"at {self.depth}"
        def main():
            return Plan(3).go(2)
        print(main())
        """)
    assert "it = Plan.__new__(Plan)\nit.depth = 3\nit.go(left=" in found and "main" not in found


def test_what_the_module_does_before_may_prepare_it() -> None:
    (found, *_) = faulting("""\
        CHECKS = []
        def register(least):
            CHECKS.append(lambda values: len(values) > least)
        register(1)
        def unused():
            return 3
        def check(values):
            assert CHECKS[0](values), "too short"
        def main(settings):
            check([settings.count(4)])
        main([4, 4])
        """)
    assert "register(1)" in found and "unused" not in found and found.endswith("check([2])\n")


def test_a_generator_is_run_to_its_end() -> None:
    (found, *_) = faulting("""\
        def pairs(count):
            for number in range(count):
                yield number, 6 // (2 - number)
        def main():
            return dict(pairs(4))
        main()
        """)
    assert found.splitlines()[-1] == "list(pairs(4))"


def test_what_deletes_or_writes_is_called_with_no_values_of_ours() -> None:
    text = """\
        import os
        def clear(folder, name):
            {}(os.path.join(folder, name))
            raise ValueError(name)
        def main(folder):
            clear(folder, "a")
        main("b")
        """
    assert faulting(text.format("len"))
    deletes = program(text.format("os.remove"))
    seen = dict.fromkeys(range(len(watchable(deletes))), "'a'")
    assert "clear" not in " ".join(edit.what for edit in failing_call.find(deletes, seen))


@pytest.mark.parametrize(
    "more",
    ["import torch\n", "import triton.language as tl\n", "import mine\n", "import ctypes\n", "from . import mine\n"],
)
def test_what_may_use_a_gpu_is_left_alone(more: str) -> None:
    text = "def half(n):\n    return n // 0\ndef main():\n    half(3)\nmain()\n"
    start = program(text)
    values = watched(start)
    assert list(failing_call.find(start, values))
    assert not list(failing_call.find(program(more + text), {number + 1: text for number, text in values.items()}))
    assert failing_call not in [each.module for each in order_for(program(more + text), one_launch=False)]


def test_the_orders_have_the_same_passes() -> None:
    assert sorted(each.name for each in HOST) == sorted(each.name for each in PASSES)
    assert HOST[0].module is failing_call and order_for(program("x = 1\n"), one_launch=False) == HOST
    assert order_for(program("x = 1\n"), one_launch=True) == ONE_LAUNCH


def test_the_last_of_several_values_is_told_and_when() -> None:
    seen = SeenValues(frozenset())
    for index, value in ((0, 1), (1, "a"), (0, 2), (2, [3] * 20), (3, object()), (1, "a"), (4, {"a": (1,)})):
        assert seen(index, value) is value
    assert list(seen.found().items()) == [
        (0, "last 2"),
        (2, f"last {[3] * 20}"),
        (3, ""),
        (1, "'a'"),
        (4, "last {'a': (1,)}"),
    ]
