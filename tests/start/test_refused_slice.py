"""What the host computes and Triton's front end refuses: what stays of the program, and when that is asked at all."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

import pytest

from shrinkray_gpu.runner.run import Compilation, Failure, Run
from shrinkray_gpu.start.argument_slice import HEAD, MARK, PARTS
from shrinkray_gpu.start.refused_slice import (
    is_computed,
    left_out,
    made_constants,
    made_gates,
    not_stated,
    with_refused_kept,
)

PROGRAM = """\
KINDS = {"sum": tl.float32, "count": tl.int32}

def block_of(width):
    block = 16
    while block < width:
        block += 16
    return block

@triton.jit
def step(acc, x, KIND: tl.constexpr):
    return acc + x.to(KIND)

@triton.jit
def kernel(x, y, width, BLOCK: tl.constexpr, KIND: tl.constexpr, FLAG: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    kept = columns < width
    acc = tl.zeros([16], dtype=KIND)
    for row in range(4):
        v = tl.load(x + row)
        other = v
        acc = step(acc, v, KIND)
    tl.store(y, acc, mask=kept)

def run(x, kind):
    unused = x.shape[0] + 1
    kernel[(1,)](x, x, unused, BLOCK=block_of(x.shape[1]), KIND=KINDS[kind], FLAG=True)

run(torch.zeros(4, 40), "sum")
"""
KERNEL = "def kernel(x, y, width, BLOCK: tl.constexpr, KIND: tl.constexpr, FLAG: tl.constexpr):"
RANGE = "arange's range must be a power of 2"
CARRIED = "AssertionError('Loop-carried variable acc has initial type int32 but is re-assigned to fp32')"


def refused(line: int, words: str, kind: str = "triton.compiler.errors.CompilationError") -> Run:
    said = f"at {line}:4:\ndef kernel(x, y, width, BLOCK: tl.constexpr):\n    x\n    ^\n{words}"
    failure = Failure(kind, said, traceback=f"{kind}: {said}")
    return Run("virtual", 1, failure=failure, compiles=(Compilation("kernel", "", failure=failure),), virtual=True)


@pytest.mark.parametrize(
    ("run", "kept", "heads", "part"),
    [
        (
            refused(2, RANGE),
            [
                "block = 16", "block += 16", "return block", "columns = tl.arange(0, BLOCK)",
                'run(torch.zeros(4, 40), "sum")',
            ],
            ["while block < width:", KERNEL],
            "block_of(x.shape[1])",
        ),
        (
            refused(5, CARRIED),
            [
                'KINDS = {"sum": tl.float32, "count": tl.int32}', "return acc + x.to(KIND)",
                "acc = tl.zeros([16], dtype=KIND)", "v = tl.load(x + row)", "acc = step(acc, v, KIND)",
                'run(torch.zeros(4, 40), "sum")',
            ],
            ["def step(acc, x, KIND: tl.constexpr):", KERNEL, "for row in range(4):"],
            "KINDS[kind]",
        ),
    ],
)  # fmt: skip
def test_the_statement_and_what_makes_its_operands_stay(run: Run, kept: list[str], heads: list[str], part: str) -> None:
    marked = with_refused_kept(PROGRAM, run, made_constants(PROGRAM, run))
    compile(marked, "marked", "exec")
    lines = [line.strip() for line in marked.splitlines()]
    assert [each.removesuffix(HEAD) for each in lines if each.endswith(HEAD)] == heads
    assert [each.removesuffix(MARK) for each in lines if each.endswith(MARK)] == kept
    assert f"FLAG=True){PARTS}{part}\n" in marked


def test_so_does_what_makes_a_tensor_that_is_refused_for_its_type() -> None:
    program = PROGRAM.replace("KINDS[kind]", "tl.float32")
    program = program.replace("    unused =", "    like = x.new_zeros(4)\n    unused =")
    program = program.replace("](x, x,", "](like, x,")
    run = refused(5, CARRIED)
    assert made_constants(program.replace("block_of(x.shape[1])", "64"), run) == []
    assert not_stated(program, run) == ["x"]
    assert not_stated(program.replace("x.new_zeros(4)", "torch.zeros(4)"), run) == []
    marked = with_refused_kept(program, run, ["x"])
    assert f"like = x.new_zeros(4){MARK}" in marked and f"acc = step(acc, v, KIND){MARK}" in marked
    assert f"block = 16{MARK}" not in marked


@pytest.mark.parametrize(
    "launch",
    [
        "run = lambda x, kind: kernel[(1,)](x, x, 3, BLOCK=kind // 4, KIND=tl.float32, FLAG=True)",
        "[kernel[(1,)](x, x, 3, BLOCK=kind // 4, KIND=tl.float32, FLAG=True) for kind in (40, 41)]",
    ],
)
def test_what_only_a_lambda_knows_stays_in_it(launch: str) -> None:
    program = PROGRAM[: PROGRAM.index("def run(")] + launch + "\n"
    marked = with_refused_kept(program, refused(2, RANGE), ["BLOCK"])
    assert f"{launch}{PARTS}kind // 4\n" in marked


def test_of_a_long_kernel_the_first_lines_are_not_quoted() -> None:
    said = f"at 2:4:\n    x\n    ^\n{RANGE}"
    failure = Failure("triton.compiler.errors.CompilationError", said, traceback=said)
    run = Run("virtual", 1, failure=failure, compiles=(Compilation("kernel", "", failure=failure),), virtual=True)
    assert f"columns = tl.arange(0, BLOCK){MARK}" in with_refused_kept(PROGRAM, run, made_constants(PROGRAM, run))


@pytest.mark.parametrize(
    ("program", "run"),
    [
        (
            PROGRAM.replace("zeros(4, 40)", "zeros(4, 20 * 2)"),
            refused(6, "no such type"),
        ),  # nothing that is known when it is compiled
        (PROGRAM.replace("block_of(x.shape[1])", "48"), refused(2, RANGE)),
        (PROGRAM.replace("block_of(x.shape[1])", "triton.next_power_of_2(x.shape[1])"), refused(2, RANGE)),
        (PROGRAM, refused(2, "PassManager::run failed", "RuntimeError")),  # the compiler's own bug
        (PROGRAM.replace("def kernel", "def other"), refused(2, RANGE)),
        (PROGRAM, Run("virtual", 1, virtual=True)),
    ],
)
def test_of_anything_else_nothing_is_known(program: str, run: Run) -> None:
    assert made_constants(program, run) == [] and with_refused_kept(program, run, []) == ""


PRODUCT = """\
@triton.jit
def kernel(x, y, GROUP: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr):
    total = tl.zeros([ROWS, K], tl.float32)
    scale = tl.arange(0, GROUP)
    for start in range(0, 8, K):
        code = tl.load(x + start + tl.arange(0, K))
        total = tl.dot(total, code * scale, total)
        code += ROWS
    scale += tl.load(y)
    tl.store(y, scale)

def run(x, width):
    kernel[(1,)](x, x, GROUP=width // 2, K=width * 2, ROWS=width + 1)

run(x, 8)
"""


def test_of_the_refused_statement_only_the_refused_operation_stays() -> None:
    said = "at 6:30:\ndef kernel(x, y):\n    x\n    ^\nincompatible dimensions"
    failure = Failure("triton.compiler.errors.CompilationError", said, traceback=said)
    run = Run("virtual", 1, failure=failure, compiles=(Compilation("kernel", "", failure=failure),), virtual=True)
    made = made_constants(PRODUCT, run)
    assert made == ["GROUP", "K", "ROWS"], "a loop is looked through twice, so its last statement may matter"
    lines = [line.strip() for line in with_refused_kept(PRODUCT, run, made).splitlines()]
    assert f"total = tl.dot(total, code * scale, total){PARTS}code * scale" in lines
    assert f"code += ROWS{MARK}" in lines and f"scale = tl.arange(0, GROUP){MARK}" in lines
    # Nobody takes the product's other side, and behind the loop the front end never comes.
    assert {"total = tl.zeros([ROWS, K], tl.float32)", "scale += tl.load(y)", "tl.store(y, scale)"} <= {*lines}


def test_what_the_host_would_do_behind_the_refused_launch_need_not_stay() -> None:
    launch = "kernel[(1,)](x, x, 3, BLOCK=block_of(width), KIND=tl.float32, FLAG=True)"
    program = PROGRAM[: PROGRAM.index("def run(")] + f"width = 40\n{launch}\nwidth = 3\n"
    run = refused(2, RANGE)
    assert run.failure is not None
    line = program.splitlines().index(launch) + 1
    traceback = f'Traceback (most recent call last):\n  File "failing.py", line {line}, in <module>\n'
    run = dataclasses.replace(run, failure=dataclasses.replace(run.failure, traceback=traceback))
    marked = with_refused_kept(program, run, made_constants(program, run))
    assert f"\nwidth = 40{MARK}\n" in marked and marked.endswith("\nwidth = 3\n"), marked


def test_of_what_calls_the_host_only_the_call_stays() -> None:
    call = 'run(torch.zeros(4, 40), "sum")'
    program = PROGRAM.replace(call, f"codes, scales = quantise({call})")
    marked = with_refused_kept(program, refused(2, RANGE), ["BLOCK"])
    assert marked.endswith(f"codes, scales = quantise({call}){PARTS}{call}\n"), marked


def test_the_text_of_an_instruction_is_computed_too() -> None:
    program = PROGRAM.replace("acc + x.to(KIND)", 'tl.inline_asm_elementwise(KIND, "=r", [x], tl.int32, True, 1)')
    program = program.replace("KINDS[kind]", 'f"cvt{kind} $0;"')
    words = "PTXAS error: Internal Triton PTX codegen error\nptxas fatal   : Illegal rounding modifier for 'cvt'"
    failure = Failure("triton.runtime.errors.PTXASError", words, traceback=words)
    run = Run("virtual", 1, failure=failure, compiles=(Compilation("kernel", "", failure=failure),), virtual=True)
    marked = with_refused_kept(program, run, made_constants(program, run))
    assert f'{PARTS}f"cvt{{kind}} $0;"\n' in marked and f"acc = step(acc, v, KIND){MARK}" in marked


def test_of_a_process_of_the_program_the_kernel_is_known_by_its_launch() -> None:
    run = dataclasses.replace(refused(2, RANGE), compiles=())
    assert made_constants(PROGRAM, run) == []
    launched = dataclasses.replace(run, captured={"launches": [{"kernel": "kernel"}, {"kernel": "an older one"}]})
    assert made_constants(PROGRAM, launched) == ["BLOCK"]


@pytest.mark.parametrize(
    ("code", "computed"),
    [
        ("block = size // 4", True),
        ("block = x.shape[1] // 4", True),
        ("block += 128", True),
        ("block = min(1024, size)", True),
        ("block = triton.cdiv(size, 4)", True),
        ("block = args.block or 100", True),
        ("block = triton.next_power_of_2(size) + 128", True),
        ("block = TILES[size]", True),
        ("block = size", False),
        ("rows, size = x.shape", False),
        ("block = x.shape[1]", False),
        ("block = x.size(1)", False),
        ("block = max(16, triton.next_power_of_2(size // 4))", False),
        ("block = int(args.block)", False),
        ("run(torch.zeros(4, 40))", False),
    ],
)
def test_what_the_host_computes(code: str, computed: bool) -> None:
    assert is_computed(ast.parse(code).body[0]) is computed


GATED = """\
@triton.jit
def kernel(x, width, BLOCK: tl.constexpr, WIDE: tl.constexpr, SIGNED: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    if WIDE:
        count = 0
        for start in range(0, width, BLOCK):
            count += tl.sum(tl.load(x + start + columns))
    else:
        count = BLOCK
    tl.store(x, count)

def run(x, limit=512):
    width = x.shape[1]
    block = min(triton.next_power_of_2(width), limit)
    kernel[(1,)](x, width, BLOCK={block}, WIDE={wide}, SIGNED=x is not None)

run(torch.zeros(4, 1280))
"""
LOOP = refused(6, "AssertionError('Loop-carried variable count has initial type int32')")


@pytest.mark.parametrize(
    ("block", "wide", "gates", "constants"),
    [
        pytest.param("128", "block < width", ["WIDE"], [], id="computed gate"),
        pytest.param("128", "True", [], [], id="written gate"),
        pytest.param("128", "x is not None", [], [], id="a tensor is given"),
        pytest.param("limit // 3", "block < width", ["WIDE"], ["BLOCK"], id="and a computed number"),
    ],
)
def test_a_switch_around_the_refused_statement_is_no_number_that_it_hangs_on(
    block: str, wide: str, gates: list[str], constants: list[str]
) -> None:
    text = GATED.format(block=block, wide=wide)
    assert made_gates(text, LOOP) == gates and made_constants(text, LOOP) == constants


def test_a_switch_that_is_read_elsewhere_is_no_gate() -> None:
    text = GATED.format(block="128", wide="block < width").replace("count = 0\n", "count = WIDE\n")
    assert made_gates(text, LOOP) == [] and made_constants(text, LOOP) == ["BLOCK", "WIDE"]


def test_a_comment_behind_the_head_of_a_kernel_is_no_reason_to_lose_its_types() -> None:
    """Without `constexpr` a switch is compiled both ways, and what it keeps out is refused with the fix, too."""
    for comment in ("# fmt: skip", "# noqa: C901"):
        marked = with_refused_kept(PROGRAM.replace(KERNEL, f"{KERNEL}  {comment}"), refused(2, RANGE), ["BLOCK"])
        assert f"{KERNEL}{HEAD}\n" in marked


BIASED = """\
@triton.jit
def kernel(x, bias, out, HAS_BIAS: tl.constexpr, OTHER: tl.constexpr):
    if HAS_BIAS:
        v = tl.load(bias + 1)
    if OTHER:
        tl.store(out, x)

def run(layer, x):
    kernel[(1,)](x, layer.bias, x, HAS_BIAS=layer.uses_bias, OTHER=True)

run(Layer(), torch.zeros(4))
"""
NONE = "AttributeError(\"'NoneType' object has no attribute 'type'\")"


@pytest.mark.parametrize(
    ("program", "bias", "wanted"),
    [
        (BIASED, "None", ["bias", "HAS_BIAS"]),
        (BIASED, "7", []),
        (BIASED.replace("layer.bias, x", "None, x"), "None", []),
        (BIASED.replace("bias + 1", "out + 1"), "None", []),
    ],
)
def test_what_the_host_leaves_out_and_a_switch_counts_on_is_its_doing(
    program: str, bias: str, wanted: list[str]
) -> None:
    run = refused(3, NONE)
    failure = dataclasses.replace(run.failure, text=run.failure.text.replace("at 3:4:", "at 3:20:"))  # type: ignore
    given = [{"kind": "value", "name": "bias", "text": bias}]
    older: Any = {"kernel": "an older one", "arguments": []}
    captured: Any = {"launches": [{"kernel": "kernel", "arguments": given}, older]}
    [compiled] = run.compiles
    compiles = (dataclasses.replace(compiled, failure=failure),)
    assert left_out(program, dataclasses.replace(run, captured=captured, compiles=compiles)) == wanted
