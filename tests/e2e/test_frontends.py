"""Programs as people start them: with flags of their own, under pytest with xdist, by torchrun or accelerate."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import environment, only, plain, refused, shrink, well

OUTSIDE = ("--arch", "sm_90", "--oracle", "illegal memory access")
SOON = (*only("statements"), "--no-guards")
"""Little search and no evidence: this is about what is reduced."""

KERNEL = """\
import torch
import triton
import triton.language as tl

@triton.jit
def copy_rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))

def copied(x, op):
    y = torch.empty_like(x)
    n = x.numel()
    blocks = triton.cdiv(n, 256) * (3 if op == "wild" else 1)
    copy_rows[(blocks,)](x, y, n, BLOCK=256)
    torch.cuda.synchronize()
    return y

"""
FLAGS = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--op", default="safe")
parser.add_argument("rows", nargs="*", type=int)
given = parser.parse_args()
"""


def is_one_launch(repro: Path) -> None:
    """A short script that needs nothing of what started it."""
    text = repro.read_text()
    assert lines(text) <= 24 and "copy_rows[" in text, text
    assert not any(name in text for name in ("argparse", "environ", "runpy", "pytest", "distributed")), text


def test_flags_behind_file_are_the_program_s(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(f"{KERNEL}{FLAGS}copied(torch.ones(1024, device='cuda'), given.op)\n")
    said = well(shrink("run.py", "--op", "wild", *OUTSIDE, *SOON, "7", cwd=tmp_path, interpreters=True))
    assert "running run.py --op wild 7 as it is ..." in said.err
    is_one_launch(tmp_path / "repro_run.py")


def test_flags_stay_where_the_result_needs_them(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(f"{FLAGS}print('on the way')\nprint([1][given.rows[1]])\n")
    said = well(shrink("run.py", "--op", "x", *only("statements"), "3", "5", cwd=tmp_path))
    assert "shows the fault: python repro_run.py --op x 3 5\n" in said.out
    assert "on the way" not in (tmp_path / "repro_run.py").read_text()
    done = plain(tmp_path / "repro_run.py", "--op", "x", "3", "5", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "IndexError: list index out of range"
    assert shrink("run.py", "--check", "--op=safe", "3", "0", cwd=tmp_path).code == 3


def test_a_flag_that_shrink_and_the_program_both_have(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("import sys\nassert '--seed' not in sys.argv, 'seeded'\nraise KeyError\n")
    said = well(shrink("run.py", "--seed", "3", "--check", cwd=tmp_path))
    assert said.err.startswith("note: --seed is taken for an option of shrink, and run.py has one of this name")
    assert "KeyError" in said.out
    said = well(shrink("run.py", "--check", "--", "--seed", "3", cwd=tmp_path))
    assert "note:" not in said.err and "AssertionError" in said.out


TESTS = {
    "pytest.ini": "[pytest]\naddopts = -n 2 --dist loadscope\n",
    "rows.py": KERNEL,
    "conftest.py": """\
import pytest
import torch

@pytest.fixture(params=[torch.float16, torch.float32], ids=str)
def dtype(request):
    return request.param

@pytest.fixture(scope="module")
def folder(worker_id, tmp_path_factory):
    return tmp_path_factory.mktemp(worker_id)

@pytest.fixture
def batch(dtype, folder):
    torch.save(torch.ones(4, 256).to(dtype), folder / "batch.pt")
    yield torch.load(folder / "batch.pt").cuda()
""",
    "test_rows.py": """\
import pytest
from rows import copied

class TestRows:
    @pytest.mark.parametrize("op", ["safe", pytest.param("wild", id="a::b/c [d]")])
    def test_copy(self, batch, op):
        assert (copied(batch, op) == batch).all()
""",
}


def test_one_parametrised_test_under_xdist_with_fixtures(tmp_path: Path) -> None:
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    node = "test_rows.py::TestRows::test_copy[torch.float32-a::b/c [d]]"
    said = well(shrink(*OUTSIDE, *SOON, "pytest", "-n", "4", node, cwd=tmp_path))
    assert "lifted: launch 1 of 1 (copy_rows) alone" in said.out
    repro = tmp_path / "repro_pytest_test_rows.py"
    is_one_launch(repro)
    assert "float16" not in repro.read_text()
    words = ("--dist", "each", "--tx", "2*popen", "test_rows.py", "-k", "float16 and b/c")
    said = well(shrink("explain", *OUTSIDE, "-m", "pytest", *words, cwd=tmp_path))
    assert "f16[4, 256]" in said.out and "kernel       copy_rows" in said.out


DISTRIBUTED = f"""\
{KERNEL}{FLAGS}
import os
import torch.distributed as dist

dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256).cuda(), device_ids=[0])
x = model(torch.ones(4, 256, device="cuda"))
x.sum().backward()
dist.all_reduce(x.detach())
dist.barrier(device_ids=[0])
copied(torch.ones(1024, device="cuda"), given.op)
dist.destroy_process_group()
"""


def test_one_process_of_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "ddp.py").write_text(DISTRIBUTED)
    words = ("torchrun", "--standalone", "--nproc-per-node=1", "train/ddp.py", "--op", "wild")
    said = well(shrink(*OUTSIDE, *SOON, *words, cwd=tmp_path))
    assert "lifted: launch 1 of 1 (copy_rows) alone" in said.out
    is_one_launch(tmp_path / "repro_torchrun_ddp.py")


def test_what_torchrun_sets_stays_in_a_result_that_needs_it(tmp_path: Path) -> None:
    (tmp_path / "rank.py").write_text("import os, sys\nprint('on the way')\n[][int(os.environ['RANK'])]\n")
    said = well(shrink(*only("statements"), "-m", "torch.distributed.run", "rank.py", "--op", "x", cwd=tmp_path))
    repro = tmp_path / "repro_torchrun_rank.py"
    assert "shows the fault: python repro_torchrun_rank.py\n" in said.out
    assert "on the way" not in repro.read_text() and "--op" not in repro.read_text()
    done = plain(Path(shutil.move(repro, tmp_path / "alone.py")), cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "IndexError: list index out of range"


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
def test_one_process_of_accelerate(tmp_path: Path) -> None:
    prepared = "from accelerate import Accelerator\nx = torch.ones(1024, device=Accelerator().device)\n"
    (tmp_path / "run.py").write_text(f"{KERNEL}{FLAGS}{prepared}copied(x, given.op)\n")
    words = ("accelerate", "launch", "--mixed_precision", "bf16", "run.py", "--op", "wild")
    well(shrink(*OUTSIDE, *SOON, *words, cwd=tmp_path))
    is_one_launch(tmp_path / "repro_accelerate_run.py")


def notebook(path: Path, *cells: str, failed: int) -> None:
    """A notebook whose cell of this number failed when it was run, cell by cell, to there."""
    error = {"output_type": "error", "ename": "Error", "evalue": "", "traceback": []}
    made = [
        {
            "cell_type": "code",
            "source": source,
            "execution_count": number if number <= failed else None,
            "outputs": [error] if number == failed else [],
            "metadata": {},
        }
        for number, source in enumerate(cells, 1)
    ]
    text = {"cell_type": "markdown", "source": ["# Rows"], "metadata": {}}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [text, *made]}))


def test_a_notebook_up_to_its_fault(tmp_path: Path) -> None:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "rows.txt").write_text("1024")
    cells = (
        "%matplotlib inline\n%env ROWS=rows.txt\nimport os\nrows = int(open(os.environ['ROWS']).read())",
        KERNEL,
        "%%time\nx = torch.ones(rows, device='cuda')\ndisplay(x.shape)\n%timeit -n 3 copied(x, 'safe')",
        "!nvidia-smi\ny = copied(x, 'wild')",
        "%%unheard\nof",
    )
    notebook(folder / "rows.ipynb", *cells, failed=4)
    said = well(shrink("notebooks/rows.ipynb", *OUTSIDE, *SOON, cwd=tmp_path))
    assert "4 of 5 code cells as a script" in said.err and "must be there: !nvidia-smi (cell 4)" in said.err
    assert "lifted: launch 2 of 2 (copy_rows) alone" in said.out
    is_one_launch(folder / "repro_rows.py")
    well(shrink("corpus", "add", "notebooks/rows.shrink", "--to", "corpus", cwd=tmp_path))
    assert "\nrows = int(open(os.environ['ROWS']).read())\n" in (tmp_path / "corpus/rows/failing.py").read_text()


def test_a_fault_of_a_notebook_s_own_text(tmp_path: Path) -> None:
    notebook(tmp_path / "look.ipynb", "rows = [1]", "n = 7\nrows[n]", failed=2)
    said = well(shrink("explain", "look.ipynb", cwd=tmp_path))
    assert "2 at line 4)" in said.err and "line         look.ipynb:5  rows[n]" in said.out, said
    said = well(shrink("look.ipynb", *only("statements"), cwd=tmp_path))
    assert "shows the fault: python repro_look.py\n" in said.out
    done = plain(tmp_path / "repro_look.py", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "IndexError: list index out of range"


GRAPH = """\
import torch
import torch._inductor.config as config

config.implicit_fallbacks = False

@torch.compile
def factor(x, w):
    y = torch.nn.functional.gelu(x @ w)
    return torch.cholesky(y @ y.T), y.sum(0)

factor(torch.randn(4, 8), torch.randn(8, 16))
"""


def test_a_graph_that_inductor_wrote_down(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(GRAPH)
    debugging = {**environment(), "TORCH_COMPILE_DEBUG": "1", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "model.py"], cwd=tmp_path, env=debugging, capture_output=True, timeout=200)
    (graph,) = tmp_path.glob("torch_compile_debug/**/fx_graph_runnable.py")
    shutil.copy(graph, tmp_path / "graph.py")
    said = well(shrink("explain", "graph.py", cwd=tmp_path))
    assert "python fault: InductorError" in said.out and "missing lowering" in said.out, said
    raised = " ".join(said.out.partition("verdict")[2].split())
    assert raised.startswith("not known: InductorError") and "It is raised in torch/_inductor/graph.py:" in raised
    places = ("--writable", "torch_compile_debug", "--writable", "cache")
    said = well(shrink("graph.py", "--check", "--oracle", "missing lowering", *places, cwd=tmp_path))
    assert said.out == "graph.py shows 'missing lowering'\n" and "in forked children of a warm process" in said.err


def test_an_environment_by_its_folder(tmp_path: Path) -> None:
    venv.create(tmp_path / ".venv", symlinks=True)
    (tmp_path / "where.py").write_text("import os, sys\nraise KeyError(os.path.basename(sys.prefix))\n")
    for named in (".venv", ".venv/bin/python"):
        words = ("--check", "--python", named, "--oracle", "exception:KeyError:.venv")
        assert well(shrink("where.py", *words, cwd=tmp_path)).out == "where.py shows 'exception:KeyError:.venv'\n"
    said = refused("where.py", "--check", "--python", ".", cwd=tmp_path)
    assert said.code == 2 and "--python .: this folder is no environment: it has no bin/python" in said.message


@pytest.mark.parametrize(
    "words, message",
    [
        (("torchrun", "--nproc-per-node", "2", "run.py"), "--nproc-per-node 2: of -m torch.distributed.run a single"),
        (("torchrun", "--nnodes", "2", "run.py"), "Try whether the fault shows in one, with --nnodes 1, --nproc-per-"),
        (("torchrun", "--no-python", "run.py"), "only a program in Python"),
        (("torchrun", "--nope", "run.py"), "torchrun: error: unrecognized arguments: --nope"),
        (("torchrun", "nothing.py"), "there is no script nothing.py"),
        (("torchrun", "-m", "nothing"), "-m nothing: "),
        (("torchrun",), "torchrun: error: the following arguments are required: training_script"),
        (("pytest", "nothing.py"), "-m pytest: there is no test file nothing.py"),
    ],
)
def test_a_wrong_start(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "run.py").write_text("[][0]\n")
    said = refused(*words, cwd=tmp_path)
    assert said.code == 2 and message in said.message and "\n" not in said.message, said


def test_accelerate_where_it_is_missing_or_does_something_else(tmp_path: Path) -> None:
    said = refused("accelerate", "config", cwd=tmp_path)
    there = importlib.util.find_spec("accelerate") is not None
    wanted = "only `accelerate launch SCRIPT` runs a program" if there else "has no accelerate. Name the interpreter"
    assert said.code == 2 and wanted in said.message, said
