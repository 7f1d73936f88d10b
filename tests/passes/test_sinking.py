from __future__ import annotations

import pytest

from shrinkray_gpu.passes.kernel import sinking
from tests.passes.offers import offered, results

CARRIED = """
acc = tl.zeros([16, 16], tl.float32)
for step in range(2):
    a = load(step)
    acc = tl.dot(a, a)
rows = tl.arange(0, 16)
tl.store(out + rows, acc.to(tl.float16), mask=rows < 0)
"""


def test_the_use_goes_where_the_value_is_made() -> None:
    want = """
    rows = tl.arange(0, 16)
    for step in range(2):
        a = load(step)
        tl.store(out + rows, tl.dot(a, a).to(tl.float16), mask=rows < 0)
    """
    assert offered(sinking.find, CARRIED, want)


def test_an_update_becomes_its_value() -> None:
    source = "total = 0\nfor i in range(3):\n    total += f(i)\nprint(total)\n"
    assert offered(sinking.find, source, "for i in range(3):\n    print(f(i))\n")


def test_precedence_is_kept() -> None:
    source = "total = 0\nfor i in range(3):\n    total = i + 1\nprint(total * 2)\n"
    assert offered(sinking.find, source, "for i in range(3):\n    print((i + 1) * 2)\n")


@pytest.mark.parametrize(
    "source",
    [
        "acc = 0\nfor i in range(3):\n    acc = f(acc)\nprint(acc)\n",  # carried from trip to trip
        "acc = 0\nfor i in range(3):\n    acc = i\nprint(acc, acc)\n",
        "for i in range(3):\n    acc = i\nprint(acc)\n",  # no first value to be saved
        "acc = 0\nfor i in range(3):\n    acc = i\nif x:\n    print(acc)\n",
    ],
)
def test_what_is_no_mere_carrying_stays(source: str) -> None:
    assert results(sinking.find, source) == []
