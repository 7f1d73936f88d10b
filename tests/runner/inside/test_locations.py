"""From an operation of the IR to the source line behind its `loc(...)`."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.static import locations

IR = """\
#loc = loc("/home/me/failing.py":5:0)
module {
  tt.func public @k(%a: i32 loc("a"(#loc))) {
    %x = arith.addi %a, %a : i32 loc(#loc9)
    %y = arith.muli %a, %a : i32 loc(#loc4)
    tt.store %p, %y : i32 loc(#loc5)
    tt.return loc("/home/me/other.py":2:4)
    tt.unknown %q : i32 loc(#loc1)
  }
}
#loc1 = loc(unknown)
#loc2 = loc("/home/me/helper.py":31:8)
#loc3 = loc("/home/me/failing.py":9:20)
#loc4 = loc(callsite(#loc2 at #loc3))
#loc5 = loc(callsite(#loc1 at #loc3))
#loc9 = loc("x"(#loc3))
"""


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("arith.addi %a, %a : i32", "failing.py:9:20"),  # by the variable's name
        ("arith.muli %a, %a : i32", "helper.py:31:8"),  # inlined: the callee's line
        ("tt.store %p, %y : i32", "failing.py:9:20"),  # inlined from nobody knows where
        ("tt.return", "other.py:2:4"),
        ("tt.unknown %q : i32", ""),
        ("not there", ""),
    ],
)
def test_a_location_is_followed_to_a_line(body: str, place: str) -> None:
    assert locations.of_operation(IR, body) == place
