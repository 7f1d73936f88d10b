"""Traces that tritonparse 0.6.0 wrote of `traces/program.py` (see `traces/make.py`): their launches become scripts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.from_trace import trace
from shrinkray_gpu.lift.from_trace.trace_launch import record
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from tests.e2e.command import shrink
from tests.lift.conftest import same_launch

TRACES = Path(__file__).parent / "traces"
FUNCTIONS = TRACES / "functions.ndjson.gz"  # the source of each kernel, no more
FULL = TRACES / "full.bin.ndjson"  # whole source files, and statistics of the tensors
MAPPED = TRACES / "mapped.ndjson.gz"  # FUNCTIONS after `tritonparse parse`
KERNELS = ("rows", "rows", "gather", "add", "add_tiles")

Event = dict[str, Any]
Rewritten = Callable[..., Path]

ADD_TILES = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_tiles(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    tiles = tl.make_tensor_descriptor(src, shape=[rows, cols], strides=[cols, 1], block_shape=[R, C])
    total = tl.zeros([R, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=S):
        total += tiles.load([tl.program_id(0) * R, col])
    tl.store(dst + tl.arange(0, R), tl.sum(total, axis=1))


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
"""


@pytest.fixture(scope="module")
def program(pool: Pool) -> Run:
    """The program that was traced, without the tracing."""
    text = (TRACES / "program.py").read_text().replace("import tritonparse.structured_logging\n", "")
    before, _, after = text.partition("    tritonparse.structured_logging.init(")
    run = pool.run(before + after.partition("\n    )\n")[2].replace("*sys.argv[1:]", '"", ""'))
    assert run.driver_error == 716, run.stderr
    return run


@pytest.fixture
def rewritten(tmp_path: Path) -> Rewritten:
    """rewritten(change, source): a trace with each of its events changed, or left out where `change` returns None."""

    def write(change: Callable[[Event], Event | None], source: Path = FUNCTIONS) -> Path:
        events = [change(json.loads(line)) for line in gzip.decompress(source.read_bytes()).splitlines()]
        file = tmp_path / "changed.ndjson"
        file.write_text("".join(json.dumps(event) + "\n" for event in events if event is not None))
        return file

    return write


def refusal(path: Path, launch: int | None = None) -> str:
    with pytest.raises(UsageError) as told:
        trace.script(path, launch)
    return str(told.value)


@pytest.mark.parametrize("path", [FUNCTIONS, FULL, MAPPED], ids=lambda path: path.name)
def test_the_launch_that_faults(pool: Pool, program: Run, path: Path) -> None:
    text = trace.script(path, -1)
    head, body = text.split("\n", 1)
    assert head == f"# Launch 4 of {path.name}, a trace by tritonparse."
    assert body.startswith(ADD_TILES)
    again = pool.run(text)
    assert again.driver_error == 716
    same_launch(program, program.launches[-1], again)


@pytest.mark.parametrize("number", range(5), ids=KERNELS)
def test_every_launch_is_made_again(pool: Pool, program: Run, number: int) -> None:
    again = pool.run(trace.script(FULL, number))
    assert program.launches[number].kernel == KERNELS[number]
    same_launch(program, program.launches[number], again)


def test_arguments_of_all_kinds() -> None:
    text = trace.script(FULL, 0)
    assert "@triton.jit(do_not_specialize=['k'])\ndef rows(src: torch.Tensor, dst" in text
    assert text.index("BIAS = tl.constexpr(3)") < text.index("def scaled(v, by)") < text.index("def rows(")
    assert "from triton.language.extra import libdevice\n" in text
    assert 'None, 1000, float("inf"), True, (0, 7), B=128, EVEN=False, T=tl.float32, num_warps=2)' in text
    assert 'dst = torch.zeros(1065, device="cuda")[1:]\n' in text
    assert "TensorDescriptor.from_tensor(tiles, [1, 4]), out, 64, C=4)" in trace.script(FULL, 3)


def test_tensors_are_filled_as_the_statistics_say() -> None:
    gather = trace.script(FULL, 2)
    assert 'index = torch.randint(900, 932, (32,), device="cuda")' in gather and "OF=scaled)" in gather
    assert 'dst = torch.ones(8, device="cuda")' in trace.script(FULL, 4)


def test_without_statistics_floats_are_random_and_integers_zero(rewritten: Rewritten) -> None:
    def integers(event: Event) -> Event:
        if event["event_type"] == "launch" and event["name"] == "add_tiles":
            event["extracted_args"]["dst"].update(dtype="torch.int32")
        return event

    text = trace.script(rewritten(integers), 4)
    assert 'src = torch.randn(8, 64, device="cuda")\n' in text
    assert 'dst = torch.zeros(8, dtype=torch.int32, device="cuda")\n' in text


def test_which_launch_must_be_said() -> None:
    told = refusal(FUNCTIONS)
    assert "--launch N" in told
    lines = [line.strip() for line in told.splitlines()[1:]]
    assert lines == ["0  rows, grid (8,)", "1  rows, grid (4,)", "2  gather, grid (1,)", "3  add, grid (1,)"] + [
        "4  add_tiles, grid (8,)"
    ]
    for number in (5, -6):
        assert f"has no launch {number}" in refusal(FUNCTIONS, number)


def test_launches_of_one_kernel_need_no_choice_and_one_line(rewritten: Rewritten) -> None:
    path = rewritten(lambda event: event if "add_tiles" in json.dumps(event) else None)
    one = path.read_bytes().splitlines(True)
    path.write_bytes(b"".join([*one, *one[-1:] * 40]))
    assert trace.script(path).startswith("# Launch 40 of changed.ndjson")
    assert "\n       0 to 40  add_tiles, grid (8,)" in refusal(path, 41)


def test_a_long_list_is_cut(rewritten: Rewritten) -> None:
    path = rewritten(lambda event: event if event["event_type"] == "launch" else None)
    path.write_bytes(path.read_bytes() * 20)
    lines = refusal(path).splitlines()
    assert len(lines) == trace.TOLD + 2
    assert lines[-2].strip() == "..." and lines[-1].strip() == "99  add_tiles, grid (8,)"


def test_helpers_that_the_trace_does_not_hold() -> None:
    told = refusal(FUNCTIONS, 0)
    assert (
        "launch 0 of functions.ndjson.gz, kernel rows, needs what the trace does not hold: scaled (read by rows)"
        in told
    )
    assert "TRITON_FULL_PYTHON_SOURCE=1" in told
    assert "scaled (read by gather)" in refusal(FUNCTIONS, 2)


def test_helpers_are_taken_from_the_file_while_the_kernel_in_it_is_the_same(
    rewritten: Rewritten, tmp_path: Path
) -> None:
    file = tmp_path / "program.py"
    file.write_text((TRACES / "program.py").read_text())

    def moved(event: Event) -> Event:
        if event["event_type"] == "compilation":
            event["payload"]["python_source"]["file_path"] = str(file)
        return event

    path = rewritten(moved)
    assert trace.script(path, 0).split("src = ")[0].split("\n", 1)[1] in trace.script(FULL, 0).replace(
        "src = ", "torch.manual_seed(0)\nsrc = "
    )
    file.write_text(file.read_text().replace("mask=i < n).to(T)", "mask=i <= n).to(T)"))
    assert "scaled (read by rows)" in refusal(path, 0)


def test_what_the_trace_cannot_tell_is_said(rewritten: Rewritten) -> None:
    def odd(event: Event) -> Event:
        if event["event_type"] == "launch":
            arguments = event["extracted_args"]
            if event["name"] == "add":
                arguments["cols"] = {"type": "tuple", "repr": "(1, 2, 3, ..."}
            if event["name"] == "add_tiles":
                event["extracted_args"] = {"_note": "left out"}
        elif event["payload"]["metadata"]["name"] == "gather":
            event["payload"]["python_source"] = None
        return event

    path = rewritten(odd)
    assert "its argument cols is tuple that the trace shows as '(1, 2, 3, ...'" in refusal(path, 3)
    assert "does not hold its arguments" in refusal(path, 4)
    assert "does not hold the kernel's source" in refusal(path, 2)


def test_a_trace_without_launches(rewritten: Rewritten) -> None:
    told = refusal(rewritten(lambda event: event if event["event_type"] == "compilation" else None))
    assert "tells of 5 compilations and no launch" in told and "TRITON_TRACE_LAUNCH=1" in told


def test_a_trace_that_breaks_off(tmp_path: Path) -> None:
    whole = gzip.decompress(FUNCTIONS.read_bytes())
    path = tmp_path / "cut.ndjson"
    path.write_bytes(whole[:-100])
    told = refusal(path)
    assert "breaks off in line 10" in told and "3  add, grid (1,)" in told and "add_tiles" not in told
    assert "def add(" in trace.script(path, 3)
    zipped = tmp_path / "cut.ndjson.gz"
    zipped.write_bytes(FUNCTIONS.read_bytes()[:-2000])
    assert "breaks off in line" in refusal(zipped)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no trace by tritonparse: no line of it"),
        (b"print(1)\n", "its only line is no JSON"),
        (b"import torch\nprint(1)\n", "line 1, is no JSON"),
        (b'{"event_type": "launch"}\n{"event_\n{}\n', "line 2, is no JSON"),
        (b"[1, 2]\n", "line 1, is no event"),
        (b'{"name": "x"}\n', "line 1, is no event"),
        (b'{"event_type": "roofline"}\n', "no line of it tells of a compilation or a launch"),
        (b"\x28\xb5\x2f\xfd rest", "`zstd -d` it first"),
        (b"\x1f\x8b and what is no header of gzip", "is damaged"),
        (b"\xff\xfe\x00\x01\n\x00\n", "line 1, is no JSON"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "odd.ndjson"
    path.write_bytes(content)
    assert message in refusal(path)


def test_no_such_file(tmp_path: Path) -> None:
    assert "No such file or directory" in refusal(tmp_path / "missing.ndjson")


def test_a_kernel_whose_grid_is_not_known(rewritten: Rewritten) -> None:
    def without(event: Event) -> Event:
        event.pop("grid", None)
        return event

    path = rewritten(without)
    assert "add_tiles, grid not known" in refusal(path)
    assert "kernel add_tiles, cannot be made a script: its grid is not known" in refusal(path, 4)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ({"type": "dtype", "repr": "bf16"}, "tl.bfloat16"),
        ({"type": "dtype", "repr": "fp8e4nv"}, "tl.float8e4nv"),
        ({"type": "dtype", "repr": "uint8"}, "tl.uint8"),
        ({"type": "dtype", "repr": "torch.float16"}, "torch.float16"),
        ({"type": "constexpr", "repr": "constexpr[64]"}, "64"),
        ({"type": "list", "repr": "[1, None, 'x']"}, "[1, None, 'x']"),
        ({"type": "str", "value": "a'b", "length": 3}, '"a\'b"'),
        ({"type": "float", "value": "nan"}, 'float("nan")'),
    ],
)
def test_values_in_words(shown: Event, text: str) -> None:
    source = {"code": "@triton.jit\ndef kernel(x):\n    pass\n", "file_path": ""}
    compiled = {"metadata": {"hash": "1", "name": "kernel"}, "python_source": source}
    launch = {"name": "kernel", "compilation_metadata": {"hash": "1"}, "grid": [1], "extracted_args": {"x": shown}}
    assert record(launch, [compiled], "launch 0")["arguments"][0]["text"] == text


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "some.ndjson.gz").write_bytes(FUNCTIONS.read_bytes())
    checking = ("--arch", "sm_90", "--oracle", "misaligned address", "--check")
    said = shrink("some.ndjson.gz", "--launch", "-1", *checking, cwd=tmp_path)
    assert said.code == 0 and "some_launch4.py shows 'misaligned address'" in said.out, said
    assert (tmp_path / "some_launch4.py").read_text() == trace.script(tmp_path / "some.ndjson.gz", 4)
    (tmp_path / "some_launch4.py").write_text("mine = 1\n")
    said = shrink("some.ndjson.gz", "--launch", "4", *checking, cwd=tmp_path)
    assert said.code == 2 and "some_launch4.py is there already" in said.err
    said = shrink("some_launch4.py", "--launch", "4", *checking, cwd=tmp_path)
    assert said.code == 2 and "only a trace" in said.err
    assert {path.name for path in tmp_path.iterdir()} == {"some.ndjson.gz", "some_launch4.py"}


INDUCTOR = TRACES / "inductor.ndjson.gz"  # of a kernel that Inductor's own autotuner compiled and launched


def test_a_launch_of_inductor_s_is_one_without_inductor_s_decorator(pool: Pool) -> None:
    """Two trials of its autotuner, and the launch; the file of the kernel is gone, as Inductor's cache is."""
    text = trace.script(INDUCTOR, -1)
    assert "@triton.jit\ndef triton_poi_fused_add_0(" in text and "@triton_heuristics" not in text
    assert "from torch._inductor.runtime.triton_helpers import math as tl_math\n" in text
    assert (
        text.rstrip().splitlines()[-2].startswith("triton_poi_fused_add_0[(13,)](in_ptr0, out_ptr0, 3200, XBLOCK=256")
    )
    assert "debug" not in text, "Inductor compiles all with it; this kernel has no checks"
    run = pool.run(text)
    assert run.failure is None, run.stderr
    assert [launch.grid[0] for launch in run.launches] == [13]
    trial = trace.script(INDUCTOR, 1)
    assert "[(25,)]" in trial and "XBLOCK=128" in trial


def test_a_config_that_the_launcher_does_not_pass_is_taken_from_beside(tmp_path: Path) -> None:
    """Up to Triton 3.2 constexprs are no arguments of a launch."""
    lines = [json.loads(line) for line in gzip.open(INDUCTOR, "rt")]
    for event in lines:
        if event["event_type"] == "launch":
            event["extracted_inductor_args"] = {"XBLOCK": event["extracted_args"].pop("XBLOCK")}
    path = tmp_path / "older.ndjson"
    path.write_text("".join(json.dumps(event) + "\n" for event in lines))
    assert trace.script(path, -1).partition("\n")[2] == trace.script(INDUCTOR, -1).partition("\n")[2]
