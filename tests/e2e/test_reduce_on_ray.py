"""`shrink FILE --ray`: candidates on the nodes of a real Ray cluster, whose result is that of this machine."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.job.reduce import reduce
from shrinkray_gpu.options import Options
from tests.e2e.command import only, refused, shrink, shrinking, well
from tests.e2e.flaky import ORACLE, SHORT, lay_out
from tests.e2e.programs import LOOKUP, NARROW_TILES
from tests.e2e.test_cu_file import lay_out_table, needs_nvcc

ray = pytest.importorskip("ray", reason="needs Ray: pip install ray")
pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.ray]
SMALL = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
INDEX = ("--oracle", "exception:IndexError", "--jobs", "2", "--seed", "5")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args=SMALL)
    made.add_node(**SMALL)
    yield made
    made.shutdown()


def lookup(folder: Path, seconds: float = 0.0) -> None:
    """A program that needs a module and a file beside it."""
    (folder / "rows.py").write_text("ROWS = [1, 2, 3]\n")
    (folder / "sizes.txt").write_text("12")
    text = LOOKUP.replace("import json\n", "import json\nimport time\n\nimport rows\n", 1)
    text = text.replace(
        "Table([1, 2, 3])", f"Table(rows.ROWS[: int(open('sizes.txt').read())])\n    time.sleep({seconds})"
    )
    (folder / "failing.py").write_text(text)


def both(cluster: Any, folder: Path, *words: str) -> tuple[str, str]:
    """The results of the cluster and of this machine."""
    texts = []
    for name, where in (("there.py", ("--ray", cluster.address)), ("here.py", ())):
        said = well(shrink("failing.py", *words, "-o", name, *where, "--restart", cwd=folder))
        assert bool(re.search(r"^runs on the cluster: \d+ on \S+$", said.err, re.MULTILINE)) == (name == "there.py")
        texts.append((folder / name).read_text())
    return texts[0], texts[1]


def test_the_same_result_as_on_this_machine(cluster: Any, tmp_path: Path) -> None:
    lookup(tmp_path)
    there, here = both(cluster, tmp_path, *INDEX)
    assert there == here and len(there.splitlines()) <= 3


def test_the_same_result_on_the_virtual_gpu(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(NARROW_TILES)
    there, here = both(cluster, tmp_path, "--arch", "sm_90", "--jobs", "2")
    assert there == here and len(there.splitlines()) < 20


def test_the_many_runs_of_a_flaky_fault(cluster: Any, tmp_path: Path, draws: Path) -> None:
    """The same minimum as that of its twin which always fails, on this machine."""
    texts, said = [], []
    for chance, more in ((1.0, {}), (0.7, {"ray": cluster.address, "confidence": 0.999, "writable": (draws,)})):
        folder = tmp_path / str(chance)
        path = lay_out(folder, chance, SHORT, draws=draws if more else None)
        asked = Options(oracle=(ORACLE,), cwd=folder, jobs=2, report=False, skip=frozenset({"lift"}))
        texts.append(reduce(path, asked, say=said.append, **more).text)
    assert texts[0] == texts[1]
    ran = next(line for line in said if line.startswith("runs on the cluster: "))
    assert any(line.startswith("flaky: ") for line in said) and int(ran.split()[4]) > 50


@needs_nvcc
def test_a_cuda_program(cluster: Any, tmp_path: Path) -> None:
    """Each verdict is a cell: nvcc alone, and for a warning the host's code and its launches, too."""
    folder, wanted, texts = lay_out_table(tmp_path), "expression must have class type", []
    for name, where in (("there.cu", ("--ray", cluster.address)), ("here.cu", ())):
        words = ("table.cu", "--arch", "sm_90", "--oracle", wanted, "--jobs", "2", "-o", name, *where, "--restart")
        said = well(shrink(*words, *only("cuda_unread"), cwd=folder))
        assert bool(re.search(r"^runs on the cluster: \d+ on \S+$", said.err, re.MULTILINE)) == (name == "there.cu")
        texts.append((folder / name).read_text().replace(name.removesuffix(".cu"), "NAME"))
    assert texts[0] == texts[1] and ".scaled(" in texts[0] and "clear" not in texts[0]


def test_a_node_that_is_lost_costs_time_only(cluster: Any, tmp_path: Path) -> None:
    lookup(tmp_path, 0.5)
    third = cluster.add_node(**SMALL)
    with shrinking(
        "failing.py", *INDEX, "--verbose", "--ray", cluster.address, "-o", "there.py", cwd=tmp_path
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "searching from" in line:
                break
        cluster.remove_node(third, allow_graceful=False)
        said = process.communicate(timeout=250)[1]
    assert process.returncode == 0, said
    well(shrink("failing.py", *INDEX, "-o", "here.py", "--restart", cwd=tmp_path))
    assert (tmp_path / "there.py").read_text() == (tmp_path / "here.py").read_text()


def test_a_host_with_other_versions_judges_nothing(cluster: Any, tmp_path: Path) -> None:
    """The only node with a thing that is asked for has another Triton, as far as its metadata tell."""
    from ray.cluster_utils import Cluster

    lookup(tmp_path)
    other = tmp_path / "other" / "triton-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 9.9\n")
    made = Cluster(initialize_head=True, head_node_args={**SMALL, "env_vars": {"PYTHONPATH": str(other.parent)}})
    try:
        said = shrink("failing.py", *INDEX, "--ray", made.address, cwd=tmp_path)
    finally:
        made.shutdown()
    assert said.code == 2 and re.search(r"^shrink: \S+: it has triton 9.9 for [\d.]+, and a verdict may", said.message)
    assert not (tmp_path / "repro_failing.py").exists()


def test_ctrl_c_ends_in_seconds_and_goes_on(cluster: Any, tmp_path: Path) -> None:
    lookup(tmp_path, 0.5)
    words = ("failing.py", *INDEX, "--verbose", "-o", "repro.py")
    with shrinking(*words, "--ray", cluster.address, cwd=tmp_path) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "searching from" in line:
                break
        time.sleep(1)
        began = time.monotonic()
        for _ in range(2):  # the second one leaves out the check
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "Traceback" not in said, said
    assert time.monotonic() - began < 30
    well(shrink(*words, "--ray", cluster.address, "--resume", cwd=tmp_path))


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("failing.py", "--ray 127.0.0.1:1", "--ray 127.0.0.1:1: nobody answers there"),
        ("failing.py", "--accelerator H100", "--accelerator chooses among the machines of --ray"),
        ("failing.py", "--ray auto --sandbox bwrap", "--sandbox is for this machine: leave out --ray"),
        ("failing.py", "--ray auto --check", "--check runs FILE on this machine: leave out --ray"),
        ("a.cu", "--arch sm_90 --ray 127.0.0.1:1", "--ray 127.0.0.1:1: nobody answers there"),
        ("a.ttir", "--ray auto", "--ray is for programs"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, name: str, words: str, told: str) -> None:
    (tmp_path / name).write_text("int main() {}\n" if name.endswith("cu") else "print(1)\n")
    said = refused(name, *words.split(), cwd=tmp_path)
    assert said.code == 2 and told in said.message and len(said.message.splitlines()) == 1, said
