"""Core dumps of lane runs. The driver is played by the script itself, which leaves a file where the environment says;
cuda-gdb by a program that says of it what the real one said on an H100."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence.dump_runs import LaneDumps
from shrinkray_gpu.evidence.instruments import core_dump
from shrinkray_gpu.evidence.instruments.instrument import Observation, Subject
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.zygotes import ZYGOTES
from tests.oracle.runs import passing

Look = Callable[[Subject, Run | None], Observation]
SAMPLES = Path(__file__).parent / "samples"
WRITES = """
import os
where = os.environ.get("CUDA_COREDUMP_FILE", "")
if where:
    with open(where.replace("%p", str(os.getpid())), "w") as core:
        core.write("{name}")
    os.abort()
"""
DRIVER = "import sys\nsys.modules['shrinkray_inside.process.device'].sticky = lambda: {code}\n"
FAULTS = 'raise RuntimeError("CUDA error: misaligned address")\n'


@pytest.fixture
def lanes(tmp_path: Path) -> Iterator[LaneDumps]:
    scratch, folder = tmp_path / "scratch", tmp_path / "scratch" / "dumps"
    folder.mkdir(parents=True)
    gdb = tmp_path / "cuda-gdb"
    core = '"$(echo "$*" | sed "s/.*cudacore \\([^ ]*\\).*/\\1/")"'
    gdb.write_text(f"#!/bin/sh\ncat {SAMPLES}/gdb_$(cat {core}).txt\n")
    gdb.chmod(0o755)
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(scratch))
    pool = Pool(Script(tmp_path / "script.py", cwd=tmp_path), setup, mode="fork", jobs=3, seconds=60, extra=0)
    yield LaneDumps(pool, gdb, folder)
    pool.close()


def test_each_fault_gets_what_its_own_dump_tells(lanes: LaneDumps) -> None:
    texts = [WRITES.format(name=name) + FAULTS for name in ("tma", "oob")] * 3
    with ThreadPoolExecutor(3) as threads:
        seen = list(threads.map(lanes.fault, texts))
    assert [fault.instruction for fault, _ in seen if fault] == ["UTMALDG", "STG"] * 3
    assert not list(lanes.folder.iterdir())


def test_without_a_fault_or_a_dump_nothing_is_told(lanes: LaneDumps) -> None:
    assert lanes.fault(WRITES.format(name="tma")) == (None, False)
    assert lanes.fault(FAULTS) == (None, False)
    assert lanes.fault(DRIVER.format(code=716) + FAULTS) == (None, False)


@pytest.mark.parametrize(("code", "unread"), [(716, True), (710, False)])
def test_of_an_access_it_is_told_that_nobody_could_read_its_dumps(lanes: LaneDumps, code: int, unread: bool) -> None:
    """Such as cuda-gdb dies of, without a word. A failed assertion has no instruction that they might tell."""
    assert lanes.fault(WRITES.format(name="gone") + DRIVER.format(code=code) + FAULTS) == (None, unread)


def test_a_dump_that_names_the_kernel_only_is_not_all_that_can_be_known(lanes: LaneDumps) -> None:
    fault, unread = lanes.fault(WRITES.format(name="assertion") + DRIVER.format(code=716) + FAULTS)
    assert unread and fault is not None and (fault.kernel, fault.instruction) == ("check", "")


def test_a_dump_that_is_missing_is_asked_for_once_more(lanes: LaneDumps, tmp_path: Path) -> None:
    mark = tmp_path / "scratch" / "ran"
    writes = WRITES.format(name="tma")
    late = f"import os\nif os.path.exists({str(mark)!r}):\n    exec({writes!r})\nopen({str(mark)!r}, 'w')\n"
    seen, _ = lanes.fault(late + FAULTS)
    assert seen is not None and seen.instruction == "UTMALDG"


def test_the_words_are_those_of_a_run_without_a_dump(lanes: LaneDumps) -> None:
    """With a core dump the driver calls a failed assertion a failed launch, and ends the process."""
    asserts = "raise RuntimeError('CUDA error: device-side assert triggered')\n"
    seen, _ = lanes.fault(WRITES.format(name="oob") + DRIVER.format(code=710) + asserts)
    assert seen is not None and (seen.code, seen.klass) == (710, "device-side assert triggered")


@pytest.mark.parametrize(
    ("look", "instruction"), [(core_dump.look, "STG"), (core_dump.look_at_fork, "UTMALDG")], ids=["plain", "fork"]
)
def test_the_process_of_a_checkpoint_s_dump_has_torch_from_its_beginning(
    lanes: LaneDumps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Look, instruction: str
) -> None:
    """That of a dump for a person is a plain one."""
    pytest.importorskip("triton")
    monkeypatch.setattr(gpus, "present", lambda: True)
    text = "import torch\nimport triton\n" + WRITES.replace('"{name}"', "name").replace(
        "import os\n", 'import os\nforked = "--zygote" in open(f"/proc/{os.getppid()}/cmdline").read()\n'
        'name = "tma" if forked else "oob"\n',
    )  # fmt: skip
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTEST_CURRENT_TEST")
    setup = replace(lanes.pool.setup, environment=environment, confine=False)
    subject = Subject(text, lanes.pool.script, setup, 60.0, lanes.folder)
    with ZYGOTES.wanted():
        said = look(subject, None)
    assert [sight.instruction.split(".")[0].split()[-1] for sight in said.sights] == [instruction], said


@pytest.mark.parametrize(("peak", "light"), [(None, True), (1 << 20, False), (1 << 30, True)])
def test_a_dump_has_device_memory_only_where_that_is_known_to_be_little(
    lanes: LaneDumps, monkeypatch: pytest.MonkeyPatch, peak: int | None, light: bool
) -> None:
    monkeypatch.setattr(gpus, "present", lambda: True)
    asked: list[Mapping[str, str]] = []

    def run(subject: Subject, environment: Mapping[str, str]) -> Run:
        asked.append(environment)
        return passing()

    subject = Subject("", lanes.pool.script, lanes.pool.setup, 60.0, lanes.folder)
    core_dump._looked(subject, None if peak is None else replace(passing(), peak=peak), run)
    assert ["skip_global_memory" in one.get("CUDA_COREDUMP_GENERATION_FLAGS", "") for one in asked] == [light]
