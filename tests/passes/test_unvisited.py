"""What no run came to goes in one step; the statement that fails stays."""

from __future__ import annotations

from collections.abc import Collection

from shrinkray_gpu.passes.kernel import unvisited
from shrinkray_gpu.passes.kernel.typed import watchable
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import source
from tests.passes.offers import program, results, tidy

KERNEL = """import triton.language as tl
@triton.jit
def k(x, y, n, EVEN: tl.constexpr):
    at = tl.arange(0, 16)
    if EVEN:
        value = tl.load(x + at)
    else:
        value = tl.load(at + x, mask=at < n)
    wrong = x + value
    again = value * 2
    for i in range(4):
        tl.store(y + i, again)
"""


def seeing(seen: Collection[str]):  # type: ignore[no-untyped-def]
    def find(start: Program):  # type: ignore[no-untyped-def]
        nodes = watchable(start)
        return unvisited.find(start, {at: "" for at, node in enumerate(nodes) if source(start, node) in seen})

    return find


def test_behind_the_statement_that_is_refused_and_in_arms_that_constants_rule_out() -> None:
    tail, failing, arm = results(seeing(["tl.arange(0, 16)", "x + at", "tl.load(x + at)"]), KERNEL)
    assert tail == tidy(KERNEL[: KERNEL.index("    again")]), "that of which nothing was seen first may be what fails"
    assert tail != failing == tidy(KERNEL.replace("    wrong = x + value\n", ""))
    assert "mask" not in arm and "again" in arm


def test_nothing_is_known_where_nothing_was_seen_or_all_was() -> None:
    start = program(KERNEL)
    assert results(seeing([]), KERNEL) == []
    assert results(seeing({source(start, node) for node in watchable(start)}), KERNEL) == []


def test_a_host_program_ends_at_its_fault() -> None:
    text = """\
        def run(n):
            a = f(n)
            b = g(a)
            c = h(b)
            return c
        z = run(3 + 4)
        print(z + 1)
        w = z + 2
        """
    behind_z, first_behind_z, behind_b, b = results(seeing(["3 + 4", "f(n)", "n"]), text)
    assert behind_b.startswith("def run(n):\n    a = f(n)\n    b = g(a)\nz =")
    assert first_behind_z.endswith("z = run(3 + 4)\nw = z + 2") and "b =" not in b
    assert behind_z.endswith("z = run(3 + 4)\nprint(z + 1)")


def test_a_statement_that_waits_for_the_device_becomes_a_wait() -> None:
    text = "import torch\nk[(1,)](y)\nfor a in sorted(x.tolist()[1:]):\n    print(a)\nprint(1)\n"
    found = results(seeing(["y"]), text)
    assert "import torch\nk[1,](y)\ntorch.cuda.synchronize()\nprint(1)" in found
    assert unvisited.WAIT not in "".join(results(seeing(["y"]), text.replace("import torch\n", "")))
