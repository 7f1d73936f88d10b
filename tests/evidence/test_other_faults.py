"""Other faults that a reduction meets: one file a kind, the smallest program of it, labelled, and still a program."""

from __future__ import annotations

import ast
import io
import random
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from shrinkray_gpu.evidence.other_faults import MARK, MOST, OtherFaults, OtherFaultsContext, add_label, file_name
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.reduction.program import Program

ILLEGAL = Fault("device", "an illegal memory access was encountered", "spin", 700)
MISALIGNED = Fault("device", "misaligned address", code=716)
CONTEXT = OtherFaultsContext("failing.py", "misaligned address", "in forked children", "python {file} --n 3")


def program(*names: str) -> Program:
    return Program.from_text("".join(f"print({name!r})\n" for name in names))


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text().partition("\n\n")[2] for path in folder.iterdir()}


def test_the_smallest_program_of_each_kind_is_kept(tmp_path: Path) -> None:
    finds = OtherFaults(tmp_path / "other", CONTEXT)
    assert finds.by_size == [] and not (tmp_path / "other").exists()
    for names in (("a", "b", "c"), ("a",), ("a", "b")):
        finds.consider(program(*names), ILLEGAL)
    finds.consider(program("x", "y"), Fault("exit", "SIGSEGV"))
    assert texts(tmp_path / "other") == {
        "illegal_memory_access.py": "print('a')\n",
        "exit_sigsegv.py": "print('x')\nprint('y')\n",
    }
    assert [(find.path.name, find.fault.klass, find.lines) for find in finds.by_size] == [
        ("illegal_memory_access.py", ILLEGAL.klass, 1),
        ("exit_sigsegv.py", "SIGSEGV", 2),
    ]


def test_the_fault_told_is_that_of_the_program_kept(tmp_path: Path) -> None:
    finds = OtherFaults(tmp_path, CONTEXT)
    finds.consider(program("a", "b"), ILLEGAL)
    finds.consider(program("a"), Fault("device", ILLEGAL.klass, "copy", 700))
    assert [find.fault.kernel for find in finds.by_size] == ["copy"], "a kernel's name makes no other kind"
    assert "in kernel copy" in finds.by_size[0].path.read_text()


def test_kinds_of_one_class_are_numbered(tmp_path: Path) -> None:
    finds = OtherFaults(tmp_path, CONTEXT)
    for text in ("Assertion `a' failed.", "Assertion `b' failed.", "Assertion `c' failed."):
        finds.consider(program("a"), Fault("exit", "SIGABRT", text=text))
    assert sorted(texts(tmp_path)) == ["exit_sigabrt.py", "exit_sigabrt_2.py", "exit_sigabrt_3.py"]


def test_the_first_kinds_stay_when_there_are_too_many(tmp_path: Path) -> None:
    finds = OtherFaults(tmp_path, CONTEXT)
    for number in range(MOST + 5):
        finds.consider(program("a", "b"), Fault("compile", "SomePass", text=f"complaint {number}"))
    finds.consider(program("a"), Fault("compile", "SomePass", text="complaint 0"))
    assert len(finds.by_size) == len(list(tmp_path.iterdir())) == MOST
    assert finds.by_size[0].fault.text == "complaint 0" and finds.by_size[0].lines == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_resumed_reduction_ends_in_the_same_files(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    faults = [ILLEGAL, MISALIGNED, *(Fault("exit", "SIGABRT", text=text) for text in "xyz")]
    seen = [(program(*chance.choices("abcde", k=chance.randint(1, 6))), chance.choice(faults)) for _ in range(40)]
    whole, killed = OtherFaults(tmp_path / "whole", CONTEXT), OtherFaults(tmp_path / "killed", CONTEXT)
    for one in seen:
        whole.consider(*one)
    for one in seen[:25]:
        killed.consider(*one)
    again = OtherFaults(tmp_path / "killed", CONTEXT, resumed=True)
    assert texts(tmp_path / "killed"), "what was found stays there meanwhile"
    for one in seen:
        again.consider(*one)
    assert texts(tmp_path / "killed") == texts(tmp_path / "whole")
    assert [find[1:] for find in again.by_size] == [find[1:] for find in whole.by_size]


def test_programs_of_one_size_are_in_an_order_too(tmp_path: Path) -> None:
    one, other = program("a"), program("b")
    for number, order in enumerate([(one, other), (other, one)]):
        finds = OtherFaults(tmp_path / str(number), CONTEXT)
        for each in order:
            finds.consider(each, ILLEGAL)
    assert texts(tmp_path / "0") == texts(tmp_path / "1") == {"illegal_memory_access.py": "print('a')\n"}


def test_another_reduction_clears_away_what_is_ours_and_nothing_else(tmp_path: Path) -> None:
    OtherFaults(tmp_path, CONTEXT).consider(Program.from_text("#!/usr/bin/python\nprint('a')\n"), ILLEGAL)
    (tmp_path / "notes.py").write_text(f"# the user's own, on what is\n#\n#\n{MARK}\n")
    (tmp_path / "notes.txt").write_text(MARK)
    OtherFaults(tmp_path, CONTEXT, resumed=True)
    assert len(list(tmp_path.iterdir())) == 3
    OtherFaults(tmp_path, CONTEXT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.py", "notes.txt"]


def test_the_label_says_what_is_known_and_what_is_not(tmp_path: Path) -> None:
    finds = OtherFaults(tmp_path, CONTEXT)
    finds.consider(program("a"), ILLEGAL)
    label = (tmp_path / "illegal_memory_access.py").read_text().partition("\n\n")[0]
    for said in (
        "another fault than the one that was asked for",
        "nobody has verified it in a clean process",
        "device fault: an illegal memory access was encountered (CUDA error 700) in kernel spin",
        "asked for  misaligned address",
        "failing.py",
        "in forked children",
        "python illegal_memory_access.py --n 3",
        "shrink illegal_memory_access.py",
    ):
        assert said in label


NASTY = {
    "a future import": "from __future__ import annotations\nx: undefined = 1\n",
    "a docstring": '"""What it does."""\nfrom __future__ import annotations\nprint(__doc__)\n',
    "a shebang": "#!/usr/bin/env python3\nfrom __future__ import annotations\n",
    "a cookie": "# -*- coding: utf-8 -*-\nprint('ä')\n",
    "a cookie below a shebang": "#!/usr/bin/python\n# coding: utf-8\nprint('ä')\n",
    "a cookie below a comment": "# what it does\n# coding=utf-8\nprint('ä')\n",
    "what is no cookie": "print(1)\n# coding: nonsense\n",
    "a string with strange ends of lines": "x = 'a\x0cb\u2028c'\n",
    "nothing": "",
}


@pytest.mark.parametrize("case", NASTY)
def test_a_labelled_program_is_the_same_program(case: str) -> None:
    source = NASTY[case]
    strange = Fault("python", "Error", text="coding: nonsense\n\x00\ud800 'quoted'\u2028x = 1")
    text = add_label(source, strange, OtherFaultsContext("a\nb.py", "regex:coding=nonsense"), "x_y.py")
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    data = text.encode("utf-8")
    assert tokenize.detect_encoding(io.BytesIO(data).readline)[0] == "utf-8"
    assert text.split("\n")[0] == source.split("\n")[0] or not source.startswith("#")
    assert ast.get_docstring(ast.parse(text)) == ast.get_docstring(ast.parse(source))
    compile(data, "x_y.py", "exec")


def test_a_find_runs_as_it_stands(tmp_path: Path) -> None:
    OtherFaults(tmp_path, CONTEXT).consider(
        Program.from_text('#!/bin/false\n"""Says."""\nprint(__doc__)\n'), MISALIGNED
    )
    done = subprocess.run([sys.executable, "misaligned_address.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("Says.\n", "")


NAMES = {
    ILLEGAL: "illegal_memory_access",
    MISALIGNED: "misaligned_address",
    Fault("device", "CUDA error 9999", code=9999): "cuda_error_9999",
    Fault("device", "device-side assert triggered", code=710): "device_side_assert",
    Fault("device", "the launch timed out and was terminated", code=702): "launch_timed_out",
    Fault("compile", "TritonGPUPipeline"): "triton_gpupipeline",
    Fault("python", "AssertionError"): "assertion_error",
    Fault("exit", "SIGSEGV"): "exit_sigsegv",
    Fault("timeout", "no end within the time limit"): "no_end_within_the_time_limit",
    Fault("python", "Übel"): "python_bel",
    Fault("python", "???"): "python_fault",
    Fault("python", "torch"): "python_torch",
}


@pytest.mark.parametrize("fault", NAMES, ids=NAMES.get)
def test_a_file_is_named_by_its_fault_and_never_as_a_module_is(fault: Fault) -> None:
    assert file_name(fault) == NAMES[fault]
    assert file_name(fault) not in sys.stdlib_module_names
