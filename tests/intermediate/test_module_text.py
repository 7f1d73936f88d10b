"""What old releases print, brought to what later ones print."""

from __future__ import annotations

from shrinkray_gpu.runner.inside.intermediate.module_text import without_locations

PRINTED = """\
#loc3 = loc("a.py":3:8)
module {
  tt.func @f(%arg0: i32 loc("a (1).py":2:0)) {
    tt.print "at loc(1): " {hex = false} : %arg0 : i32 loc(callsite(#loc3 at #loc))
    tt.return loc(#loc3)
  } loc(#loc)
} loc(#loc)
#loc = loc("a.py":2:0)
"""
READ = """\
module {
  tt.func @f(%arg0: i32) {
    tt.print "at loc(1): " {hex = false} : %arg0 : i32
    tt.return
  }
}
"""


def test_locations_go_and_words_in_quotes_stay() -> None:
    assert without_locations(PRINTED) == READ
