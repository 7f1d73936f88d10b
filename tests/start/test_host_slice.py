"""What the host program does to make a wrong value: which causes are its own, and which statements make it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Failure, Launch, Run
from shrinkray_gpu.start.argument_slice import HEAD, MARK, PARTS
from shrinkray_gpu.start.host_slice import made_by_host, with_slice_kept, with_waits

PROGRAM = """\
@triton.jit
def kernel(x, table, rows, stride):
    rows = rows + 1

@triton.jit
def other(x, rows):
    pass

class Norm:
    def __init__(self, width):
        self.width = width
        self.table = torch.arange(8)  # one each

    def starts(self, counts):
        return counts.cumsum(0)

    def __call__(self, x):
        length = x.shape[1]
        if length > 4:
            self.width = length
        rows = (
            x.shape[0] * length
        )
        table = self.starts(self.table)
        unused = rows * 2
        kernel[(rows,)](x, table, rows, stride=self.width)
        other[(1,)](x, unused)

Norm(3)(torch.zeros(4, 8))
"""
CALL = "Norm(3)(torch.zeros(4, 8))"
ARGS = ("f32[4, 8] s(8, 1) +0 @0%128", "i64[8] s(1,) +0 @0%128", "i32 32", "i32 8")


def run(
    kind: str, name: str = "", inputs: tuple[str, ...] = (kinds.ARGUMENT,), *, value: int = 7, sized: bool = False
) -> Run:
    """`name`: of what it hangs on, in one string. `value`: that of what is passed."""
    cause = Cause(
        "bounds", kind, "", "term", inputs, "load", True, True, True, True, False, "",
        place="k.py:3:4", at="k.py:4:8", sentence="it goes wrong (k.py:3:4)", values=(value,), tensor="table",
        parameters=tuple(name.split()), sized=sized,
    )  # fmt: skip
    return Run("virtual", 1, virtual=True, launches=(Launch("kernel", "", (1,), ARGS, causes=(cause,)),))


@pytest.mark.parametrize(
    ("kind", "inputs", "own"),
    [
        (kinds.EXTENT, (kinds.ARGUMENT,), True),
        (kinds.STRIDE, (kinds.CONSTANT,), True),  # it stands in the kernel, but the tensor is the host's
        (kinds.MEMORY, (kinds.LOADED,), True),
        (kinds.ASSERTION, (kinds.LOADED,), True),
        (kinds.ASSERTION, (kinds.PROGRAM,), False),
        (kinds.NO_MASK, (kinds.ARGUMENT, kinds.PROGRAM, kinds.RANGE), False),  # the kernel knows the extent
        (kinds.WRONG_MASK, (kinds.PROGRAM, kinds.RANGE), False),
        (kinds.NO_MASK, (kinds.ARGUMENT, kinds.PROGRAM), True),  # or the grid is wrong, or the tensor's size
        (kinds.NO_MASK, (kinds.LOADED, kinds.RANGE), True),  # or what is loaded is wrong
        (kinds.WRONG_MASK, (kinds.LOADED, kinds.RANGE), True),
        (kinds.WRAPPED, (kinds.ARGUMENT, kinds.PROGRAM), False),
        (kinds.HINT, (kinds.ARGUMENT, kinds.PROGRAM), True),  # the hint may be right, and what is passed wrong
        (kinds.HINT, (kinds.PROGRAM, kinds.RANGE), False),
    ],
)
def test_whose_doing_it_is(kind: str, inputs: tuple[str, ...], own: bool) -> None:
    assert made_by_host(LaunchCauses.of(run(kind, inputs=inputs, sized=True))) == ("it goes wrong" if own else "")
    assert made_by_host(None) == ""


@pytest.mark.parametrize("kind", [kinds.NO_MASK, kinds.WRONG_MASK])
def test_where_the_kernel_asks_for_no_extent_the_tensor_may_be_too_small(kind: str) -> None:
    """What makes the tensor stays, and so does the grid, which may be too large."""
    seen = run(kind, inputs=(kinds.PROGRAM, kinds.RANGE))
    assert made_by_host(LaunchCauses.of(seen)) == "it goes wrong"
    marked = with_slice_kept(PROGRAM, seen)
    assert all(f"{line}{MARK}" in marked for line in ("length = x.shape[1]", "table = self.starts(self.table)"))


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("table = torch.ones(8)\nkernel[(4,)](x, table, rows, 4)", False),  # lifted the size is a number as well
        ("table = torch.ones(n - 1)\nkernel[(4,)](x, table, rows, 4)", True),
        ("table = torch.ones(8)\nkernel[(n // 2,)](x, table, rows, 4)", True),
        ("def run(n):\n    kernel[(4,)](x, torch.ones(8), rows, 4)\ny = n - 1", True),  # nobody sees what calls it
    ],
    ids=["number", "size", "grid", "unseen"],
)
def test_only_a_size_that_the_host_may_have_computed_stays(host: str, own: bool) -> None:
    text = f"{PROGRAM[: PROGRAM.index('class')]}n = 9\nx = torch.ones(4, 8)\nrows = x.shape[0]\n{host}\n"
    causes = LaunchCauses.of(run(kinds.NO_MASK, inputs=(kinds.PROGRAM, kinds.RANGE)))
    assert causes is not None and causes.of_size_alone
    assert bool(made_by_host(causes, text)) is own


@pytest.mark.parametrize(("stride", "own"), [("8", False), ("n - 1", True)])
def test_a_hint_is_the_kernels_where_the_host_computes_nothing(stride: str, own: bool) -> None:
    text = f"{PROGRAM[: PROGRAM.index('class')]}n = 9\nkernel[(4,)](torch.ones(4, 8), torch.ones(n), n, {stride})\n"
    seen = run(kinds.HINT, "stride")
    assert bool(made_by_host(LaunchCauses.of(seen), text)) is own
    assert (f" ;; {stride}\n" in with_slice_kept(text, seen)) is own


FIELD = ["self.width = width"]  # a fix may take it
TABLE = ["self.table = torch.arange(8)", "return counts.cumsum(0)", "table = self.starts(self.table)"]
LAUNCH = "kernel[(rows,)](x, table, rows, stride=self.width)"
WIDTH = [LAUNCH, "self.width = width", "if length > 4:", "self.width = length"]
LENGTH = ["length = x.shape[1]"]
GRID = [*LENGTH, ")", LAUNCH]


@pytest.mark.parametrize(
    ("seen", "kept"),
    [
        (run(kinds.EXTENT, "rows"), [*FIELD, *LENGTH, ")", *TABLE]),  # and the tensor that the access leaves
        (run(kinds.STRIDE, "stride"), [*WIDTH, *LENGTH, *TABLE]),
        (run(kinds.MEMORY, "table", (kinds.LOADED,)), [*FIELD, *TABLE, *GRID]),  # how much is loaded tells how many
        (run(kinds.EXTENT, "rows", value=8), [*WIDTH, *LENGTH, ")", *TABLE]),  # the stride is 8, too: which was meant?
        (run(kinds.ASSERTION, "stride table"), [*WIDTH, *LENGTH, *TABLE]),
    ],
)
def test_what_makes_it_is_marked(seen: Run, kept: list[str]) -> None:
    marked = with_slice_kept(PROGRAM, seen)
    compile(marked, "marked", "exec")
    lines = [line.partition(MARK)[0].strip() for line in marked.splitlines() if MARK in line]
    assert sorted(lines) == sorted([*kept, CALL])
    heads = [line.partition(HEAD)[0].strip() for line in marked.splitlines() if HEAD in line]
    assert heads == [each for each in kept if each.startswith("if")]


def test_a_grid_that_is_too_large_for_a_table_is_the_hosts() -> None:
    seen = run(kinds.NO_MASK, inputs=("program", "range"), sized=True)
    [launch] = seen.launches
    [cause] = launch.causes
    more = replace(seen, launches=(replace(launch, causes=(replace(cause, whole=True, beyond=("program",)),)),))
    assert made_by_host(LaunchCauses.of(more)) and not made_by_host(LaunchCauses.of(seen))
    marked = with_slice_kept(PROGRAM, more)
    assert f"length = x.shape[1]{MARK}" in marked and f"table = self.starts(self.table){MARK}" in marked


def test_what_is_computed_in_the_call_stays_there() -> None:
    text = PROGRAM.replace("(x, table, rows, stride=", "(x, table, x.numel() // length, stride=")
    marked = with_slice_kept(text.replace("(x, table, x", "(x, table,\n            x"), run(kinds.EXTENT, "rows"))
    assert f"x.numel() // length, stride=self.width){PARTS}x.numel() // length\n" in marked


def test_of_what_is_unpacked_anything_may_be_meant() -> None:
    text = PROGRAM.replace("(x, table, rows, stride=self.width)", "(x, *both)").replace(
        "        unused = rows", "        both = table, rows, self.width\n        unused = rows"
    )
    marked = with_slice_kept(text, run(kinds.EXTENT, "rows"))
    assert f"both = table, rows, self.width{MARK}" in marked and f"length = x.shape[1]{MARK}" in marked


def test_so_may_anything_behind_it() -> None:
    """Of `*both` nobody knows how many it fills."""
    text = PROGRAM.replace("(x, table, rows, stride=self.width)", "(*both, rows, self.width)").replace(
        "        unused = rows", "        both = x, table\n        unused = rows"
    )
    marked = with_slice_kept(text, run(kinds.STRIDE, "stride"))
    [launch] = [line for line in marked.splitlines() if "kernel[(rows,)]" in line]
    assert launch.endswith(f"(*both, rows, self.width){PARTS}self.width")
    assert f"self.width = length{MARK}" in marked and f"both = x, table{MARK}" in marked


def test_where_an_older_triton_numbers_its_parameters_any_of_the_type_may_be_meant() -> None:
    seen = run(kinds.EXTENT, "arg2")
    [launch] = seen.launches
    unnamed = replace(seen, launches=(replace(launch, causes=(replace(launch.causes[0], tensor="arg1"),)),))
    marked = with_slice_kept(PROGRAM, unnamed)
    assert f"{LAUNCH}{PARTS}self.width\n" in marked and f"length = x.shape[1]{MARK}" in marked
    assert f"table = self.starts(self.table){MARK}" not in marked


def test_what_is_passed_on_stays_in_the_launch() -> None:
    """Of `a, b = ...` nothing would see to it that it is passed."""
    text = PROGRAM.replace(
        "        rows = (\n            x.shape[0] * length\n        )", "        rows, unused = x.shape"
    )
    seen = run(kinds.EXTENT, "rows")
    marked = with_slice_kept(text, seen)
    assert f"{LAUNCH}{PARTS}rows\n" in marked
    assert f"rows, unused = x.shape{MARK}" in marked
    elsewhere = with_slice_kept(f"def count(x):\n    rows = x.shape[0]\n    return rows\n\n{text}", seen)
    assert f"{LAUNCH}{PARTS}rows\n" in elsewhere  # another function's variable


def test_where_nobody_sees_what_is_called_everything_is_marked() -> None:
    """All but launches: these change with their kernels."""
    marked = with_slice_kept(PROGRAM.replace(CALL, ""), run(kinds.EXTENT, "rows"))
    assert f"unused = rows * 2{MARK}" in marked and f"if length > 4:{HEAD}" in marked
    assert "other[(1,)](x, unused)\n" in marked and f"{LAUNCH}\n" in marked


def test_where_the_kernel_is_launched_by_another_name_that_stays_as_well() -> None:
    text = PROGRAM.replace("        kernel[(rows,)]", "        launched = kernel\n        launched[(rows,)]")
    marked = with_slice_kept(text, run(kinds.EXTENT, "rows"))
    assert f"launched = kernel{MARK}" in marked and f"unused = rows * 2{MARK}" not in marked


def test_a_kernel_of_another_file_leaves_the_text_alone() -> None:
    text = "from package import kernel\nkernel[(1,)](x, rows)\n"
    assert with_slice_kept(text, run(kinds.EXTENT, "rows")) == text


HELION = """\
@helion.kernel(config=helion.Config(block_sizes=[16]))
def bag(tokens, table):
    out = torch.empty_like(table)
    for tile in hl.tile(tokens.size(0)):
        out[tile] = table[tokens[tile]]
    return out

def main():
    unused = torch.ones(4)
    tokens = torch.arange(48)
    tokens[-1] = 99
    table = torch.randn(8)
    pooled = bag(tokens, table)
    print(pooled, unused)

main()
"""


def test_what_the_host_gives_a_kernel_of_helion_is_marked() -> None:
    """What Helion generates from it has parameters of its own, so all that it is given stays."""
    seen = run(kinds.MEMORY, "tokens", (kinds.LOADED,))
    generated = replace(seen, launches=(replace(seen.launches[0], kernel="_helion_bag"),))
    marked = with_slice_kept(HELION, generated)
    assert [line.strip() for line in marked.split("\n") if MARK in line] == [
        f"tokens = torch.arange(48){MARK}",
        f"tokens[-1] = 99{MARK}",
        f"table = torch.randn(8){MARK}",
        f"main(){MARK}",
    ]
    other = HELION.replace("helion", "other")
    assert with_slice_kept(other, generated) == other


INTERPRETED = """\
@triton.jit
def helper(x):
    return x + 1

@triton.jit
def counts(x, out, B: tl.constexpr):
    if B > 1:
        tl.store(out, helper(tl.load(x)))

@triton.jit
def other(x, out):
    tl.store(out, tl.load(x))

@triton.jit
def kernel(x, table):
    tl.store(x + tl.load(table), 1)

n = 3
unused = torch.zeros(4)
table = torch.zeros(4)
counts[(n,)](table, table, B=2)
other[(1,)](unused, unused)
kernel[(4,)](unused, table)
"""


def test_a_kernel_that_was_run_stays_with_what_it_calls() -> None:
    """What the launch hangs on was written by one: its launch stays, its grid and all of its code."""
    seen = run(kinds.MEMORY, "table", (kinds.LOADED,))
    launches = (Launch("counts", "", (3,), interpreted=True), *seen.launches)
    args = ("f32[4] s(4,) +0 @0%128", ARGS[1])
    seen = replace(seen, launches=(launches[0], replace(launches[1], args=args)))
    text = with_slice_kept(INTERPRETED, seen)
    kept = [line.partition(MARK)[0].strip() for line in text.split("\n") if line.endswith((MARK, HEAD))]
    assert kept == [
        "def helper(x):",
        "return x + 1",
        "def counts(x, out, B: tl.constexpr):",
        "if B > 1:",
        "tl.store(out, helper(tl.load(x)))",
        "n = 3",
        "table = torch.zeros(4)",
        "counts[(n,)](table, table, B=2)",
    ]
    assert "counts" not in "".join(
        line
        for line in with_slice_kept(INTERPRETED, replace(seen, launches=seen.launches[1:])).split("\n")
        if line.endswith((MARK, HEAD))
    )


def test_a_kernel_that_feeds_itself_stays_whole() -> None:
    program = INTERPRETED.replace("counts[(n,)](table, table, B=2)", "kernel[(n,)](table, table)")
    seen = run(kinds.MEMORY, "table", (kinds.LOADED,))
    seen = replace(seen, launches=(Launch("kernel", "", (3,), interpreted=True), *seen.launches))
    text = with_slice_kept(program, seen)
    assert f"    tl.store(x + tl.load(table), 1){MARK}" in text and f"def kernel(x, table):{HEAD}" in text


def test_behind_a_wait_for_the_launch_nothing_is_marked() -> None:
    """Nobody sees what is called there, so it may change what is passed."""
    seen, text = run(kinds.STRIDE, "stride"), f"import torch\n{PROGRAM}".replace("other[(1,)](x", "LATER['log'](self")
    waiting = with_waits(text, seen)
    lines = [line.partition(MARK)[0].strip() for line in waiting.splitlines()]
    at = lines.index("torch.cuda.synchronize()")
    assert lines[at - 1].startswith("kernel[") and lines[at + 1].startswith("LATER[")
    start, call = waiting.count("\n"), lines.index(CALL) + 1
    frames = [(call, "<module>"), (at + 1, "__call__")]
    traceback = "".join(f'  File "p.py", line {line}, in {name}\n' for line, name in frames)
    failed = replace(
        seen, failure=Failure("RuntimeError", "", traceback=f"Traceback (most recent call last):\n{traceback}")
    )
    marked = with_slice_kept(waiting, failed).splitlines()
    assert len(marked) == start + (not waiting.endswith("\n")) and MARK in marked[at]
    assert MARK in with_slice_kept(waiting, seen).splitlines()[at + 1] and MARK not in marked[at + 1]


def test_no_wait_is_added_where_torch_has_another_name_or_the_user_has_set_marks() -> None:
    seen = run(kinds.STRIDE, "stride")
    assert "synchronize" not in with_waits(PROGRAM, seen)
    text = f"import torch{MARK}\n{PROGRAM}"
    assert with_waits(text, seen) == text


def test_each_table_that_the_same_index_leaves_is_kept() -> None:
    """One of two stores may be all that is left."""
    text = PROGRAM.replace("def kernel(x, table, rows", "def kernel(x, table, more, rows")
    call = "kernel[(rows,)](x, table, "
    text = text.replace(call, f"more = torch.zeros(8)\n        {call}more, ")
    seen = run(kinds.MEMORY, "table", (kinds.LOADED,))
    [launch] = seen.launches
    [cause] = launch.causes
    args = (*ARGS[:2], "f32[8] s(1,) +0 @0%128", *ARGS[2:])
    both = replace(launch, args=args, causes=(cause, replace(cause, tensor="more")))
    assert f"more = torch.zeros(8){MARK}" in with_slice_kept(text, replace(seen, launches=(both,)))
    alone = replace(both, causes=(cause,))
    assert f"more = torch.zeros(8){MARK}" not in with_slice_kept(text, replace(seen, launches=(alone,)))
