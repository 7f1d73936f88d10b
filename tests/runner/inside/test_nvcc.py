"""nvcc for one reduction: each source once, no step more than it takes to tell, flags as torch's users write them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp.nvcc import Nvcc

with_nvcc = pytest.mark.skipif(
    not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)), reason="no nvcc here"
)
SAYS = "__global__ void k(int* p) { int spare; *p = 1; }"
SAYS_NOT = "__global__ void k(int* p) { *p = 1; }"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["-O3", "-gencode=arch=compute_80,code=sm_80"], ["-arch=sm_90", "-O3"]),
        (["-gencode", "arch=compute_80,code=sm_80", "-DX"], ["-arch=sm_90", "-DX"]),
        (["-arch", "sm_80", "--generate-code=arch=compute_70,code=sm_70"], ["-arch=sm_90"]),
        (["-gencode=arch=compute_90a,code=sm_90a", "-std=c++17"], ["-arch=sm_90a", "-std=c++17"]),
        (["-c", "-shared", "-Xptxas", "-O1"], ["-arch=sm_90", "-Xptxas", "-O1"]),
        ("-O2", ["-arch=sm_90", "-O2"]),
        (None, ["-arch=sm_90"]),
    ],
)
def test_flags_for_the_architecture_that_is_compiled_for(given: list[str], left: list[str], tmp_path: Path) -> None:
    assert Nvcc(str(tmp_path), 90).flags({"extra_cuda_cflags": given}) == left


@with_nvcc
@pytest.mark.parametrize(
    ("pattern", "further"), [("never referenced", False), ("Used [0-9]+ registers", True), ("no such words", True)]
)
def test_the_step_that_said_it_is_the_last_for_what_does_not(pattern: str, further: bool, tmp_path: Path) -> None:
    nvcc = Nvcc(str(tmp_path), 90, [pattern])
    original = nvcc.cubin("x", SAYS, {})
    assert "never referenced" in original["printed"] and "registers" in original["printed"]
    other = Nvcc(str(tmp_path), 90, [pattern]).cubin("x", SAYS_NOT, {})
    assert not other["failed"] and ("registers" in other["printed"]) is further


@with_nvcc
def test_each_source_once(tmp_path: Path) -> None:
    first = Nvcc(str(tmp_path), 90).cubin("x", SAYS, {})
    (outcome,) = tmp_path.rglob("outcome.json")
    written = outcome.stat().st_mtime_ns
    assert Nvcc(str(tmp_path), 90).cubin("y", SAYS, {}) == {**first, "name": "y"}
    assert outcome.stat().st_mtime_ns == written
    Nvcc(str(tmp_path), 90).cubin("x", SAYS, {"extra_cuda_cflags": ["-O1"]})
    assert len([*tmp_path.rglob("outcome.json")]) == 2


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Killed", 137),  # ptxas, cicc
        ("sh: line 1:  4711 Killed                  cicc --c++17", 137),
        ("gcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.", 1),
        ("collect2: fatal error: ld terminated with signal 9 [Killed]\ncompilation terminated.", 1),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)", 1),
        ("", 137),
    ],
)
def test_a_build_that_was_killed_is_made_anew(
    said: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nvcc 13 says it where one of its steps is killed; which one the kernel takes cannot be told in advance."""
    (tmp_path / "bin").mkdir()
    compiler = tmp_path / "bin" / "nvcc"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    compiler.write_text(f"#!/bin/sh\ncat <<'.'\n{said}\n.\nexit {status}\n")
    compiler.chmod(0o755)
    nvcc = Nvcc(str(tmp_path / "kept"), 90)
    with pytest.raises(MemoryError, match="the compiler was killed"):
        nvcc.cubin("x", SAYS, {})
    compiler.write_text("#!/bin/sh\necho done\n")
    assert nvcc.cubin("x", SAYS, {}) == {"name": "x", "printed": "done\ndone\n", "failed": False}


def test_a_source_that_speaks_of_killing_was_not_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    compiler = tmp_path / "bin" / "nvcc"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    compiler.write_text("#!/bin/sh\necho 'x.cu(1): error: Killed is undefined'; echo '  Killed = 1;'\nexit 1\n")
    compiler.chmod(0o755)
    assert Nvcc(str(tmp_path / "kept"), 90).cubin("x", SAYS, {})["failed"]
    compiler.write_text("#!/bin/sh\necho done\n")
    assert Nvcc(str(tmp_path / "kept"), 90).cubin("x", SAYS, {})["failed"], "remembered"


@with_nvcc
@pytest.mark.parametrize("host", ["std::vector<int64_t> f(at::Tensor x) { return x.sizes().vec(); }", "void f() {}"])
def test_the_headers_that_stand_in_bring_the_standard_library_where_it_is_said(host: str, tmp_path: Path) -> None:
    known = Nvcc(str(tmp_path), 90).cubin("x", f"#include <torch/extension.h>\n{SAYS}\n{host}", {})
    assert not known["failed"], known["printed"]


@with_nvcc
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
def test_an_original_that_fails_with_both_headers_is_told_by_those_that_stand_in(tmp_path: Path) -> None:
    nvcc = Nvcc(str(tmp_path), 90, ["no_such_thing"])
    for body in ("no_such_thing();", "no_such_thing(1);"):
        known = nvcc.cubin("x", f"#include <torch/extension.h>\nvoid f() {{ {body} }}", {})
        assert known["failed"] and 'identifier "no_such_thing" is undefined' in known["printed"]
    assert [path.name for path in tmp_path.glob("*.x")] == ["stand-ins.x"]
