"""A machine with ROCm: its GPUs, its debug agent. No such machine was here.

The files of the topology and the agent's outputs are our own, in the form that AMD documents and that two published
outputs (of ROCm 6.3 and 7.2) have.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.device.amd import coredump, gpus, toolkit
from shrinkray_gpu.oracle import Fault
from tests.oracle.runs import plain
from tests.rocm_host import made_host

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made_host(tmp_path)
    monkeypatch.setattr(gpus, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(gpus, "TOPOLOGY", tmp_path / "nodes")
    for name in gpus.HIDING:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_gpus_are_the_nodes_with_simds(host: Path) -> None:
    assert gpus.present() and gpus.driver()
    assert (gpus.capability(), gpus.memory()) == (0x942, 192.0)
    assert gpus.visible({}) == [("0", "gfx942"), ("1", "gfx90a")]
    assert gpus.visible({"HIP_VISIBLE_DEVICES": "1"}) == []


@pytest.mark.parametrize("variable", ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_a_gpu_may_be_hidden(host: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "-1")
    assert not gpus.present()


def test_without_the_driver_there_is_none(host: Path) -> None:
    (host / "dev" / "kfd").unlink()
    assert not gpus.present()


def test_the_gpu_of_a_processor_is_none(host: Path) -> None:
    properties = host / "nodes" / "1" / "properties"
    properties.write_text(properties.read_text().replace("90402", "100306"))  # gfx1036
    assert not gpus.present()


def test_a_container_that_shows_no_gpu_of_its_own_has_none(host: Path) -> None:
    for node in ("1", "2"):
        (host / "nodes" / node / "properties").unlink()
    assert not gpus.present() and gpus.capability() is None and gpus.memory() == 0


def test_of_a_memory_fault_most_waves_stand_behind_the_access() -> None:
    found = coredump.read(Path("agent"), SAMPLES / "agent_memory.txt")
    assert found is not None
    assert (found.exception, found.kernel, found.offset) == ("memory violation", "scale_rows", 0x148)
    assert (found.file, found.line, found.precise) == ("/home/user/scale.py", 13, False)


def test_a_trap_is_at_its_very_instruction() -> None:
    found = coredump.read(Path("agent"), SAMPLES / "agent_trap.txt")
    assert found is not None
    assert (found.exception, found.kernel, found.offset, found.precise) == ("assert trap", "check_indices", 232, True)
    assert found.instruction == "s_trap 2"


@pytest.mark.parametrize(
    "line",
    [
        "wave_0: pc=0x7ff7 (stopped, reason: MEMORY_VIOLATION)",
        "wave_0: pc=0x7ff7 (kernel_code_entry=0x7ff0 <k>) (stopped, reason: MEMORY_VIOLATION|FP_OVERFLOW)",
        "wave_0: pc=0x7ff7 (kernel_code_entry=0x7ff0 <k>, kernargs=0x7fb0) (stopped, reason: MEMORY_VIOLATION)",
    ],
)
def test_each_release_s_line_of_a_wave_is_read(line: str) -> None:
    found = coredump.parse(line)
    assert found is not None and found.exception.startswith("memory violation")
    assert (found.kernel, found.offset) == ("k" if "<k>" in line else "", -1)


def test_of_waves_that_nothing_stopped_it_says_nothing(tmp_path: Path) -> None:
    assert coredump.parse("wave_0: pc=0x7ff7 (stopped, reason: NONE)\n") is None
    assert coredump.read(Path("agent"), tmp_path / "none") is None


def test_the_agent_is_asked_for_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkit, "ROCM", tmp_path / "nowhere")
    assert coredump.find("python", {}) is None and "rocm-debug-agent" in toolkit.missing(coredump.TOOL)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / toolkit.AGENT).touch()
    assert coredump.find("python", {"ROCM_PATH": str(tmp_path)}) == tmp_path / "lib" / toolkit.AGENT
    asked = coredump.environment(tmp_path / "core")
    assert asked.keys() == coredump.VARIABLES and asked["ROCM_DEBUG_AGENT_OPTIONS"] == f"--output={tmp_path}/core"
    assert "AMD's" in toolkit.missing("compute-sanitizer")


def test_two_runs_of_a_fault_differ_in_node_and_address_alone() -> None:
    faults = [
        Fault.of(plain(f"Memory access fault by GPU node-{node} (Agent handle: {agent}) on address {address}. "
                       "Reason: Page not present or supervisor privilege.\n", None, signal=6))
        for node, agent, address in (("4", "0x55d0c0ffee00", "0x7f2a40000000"), ("9", "0x55e1", "0x7e0000001000"))
    ]  # fmt: skip
    assert faults[0] is not None and faults[0] == faults[1]
    agent = Fault.of(plain((SAMPLES / "agent_memory.txt").read_text(), None, signal=6))
    assert agent is not None and not agent.difference(faults[0])
