"""Headers that programs begin with: which they are, and that they are compiled once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.cu.cu_fault import first_look
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial
from shrinkray_gpu.cu.on_cpu.headers import CompiledHeaders, head

PROGRAM = """// A comment that says #include <nothing>
#include <cstdio>
/* another
   one */
# include <vector>

#define SIZE 4
#include <algorithm>
int main() {}
"""


def test_the_head_ends_where_the_program_says_more() -> None:
    """What a macro stands for may change what is read behind it."""
    assert head(PROGRAM) == "#include <cstdio>\n# include <vector>"
    assert head('#include "own.h"\n#include <vector>\n') == ""
    assert head("#if 1\n#include <vector>\n#endif\n") == ""


def test_a_head_is_compiled_once_it_comes_again(tmp_path: Path) -> None:
    compiled: list[Path] = []

    def compile(path: Path) -> bool:
        compiled.append(path)
        return "refused" not in path.read_text()

    headers = CompiledHeaders(tmp_path, "prelude.hpp", compile)
    vector = "#include <vector>\nint main() {}"
    assert headers.of(vector) == headers.of(vector + "// shorter") == "prelude.hpp"
    assert headers.of(vector + "// longer") == headers.of(vector) == str(tmp_path / "head0.hpp")
    assert compiled == [tmp_path / "head0.hpp"]
    assert compiled[0].read_text() == '#include "prelude.hpp"\n#include <vector>\n'
    refused = "#include <refused>\nint main() {}"
    assert [headers.of(refused) for _ in range(3)] == ["prelude.hpp"] * 3
    assert len(compiled) == 2
    assert [headers.of("int main() {}") for _ in range(3)] == ["prelude.hpp"] * 3


@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="nvcc and g++ are needed")
def test_a_name_still_needs_its_own_header(cpu: CpuTrial) -> None:
    """A program without `<vector>` is refused, however many with it came before."""
    with_it = "#include <cstdio>\n#include <vector>\nint main() { return std::vector<int>(3).size(); }\n"
    runs = [cpu.build(with_it + f"// {number}\n", "program", 60, first_look) for number in range(3)]
    assert [each.run.exit for each in runs if each.run is not None] == [3] * 3
    assert (cpu.folder / "head0.hpp.gch").exists()
    assert cpu.build(with_it.replace("#include <vector>\n", ""), "program", 60, first_look).failed
