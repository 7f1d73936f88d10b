"""Cells on a real Ray cluster of three nodes on this machine: their rows, and what nodes do in the middle of it."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cells.ray_cluster import RayCluster
from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.errors import SickDevice, UsageError
from tests.cells.toys import ToyCell
from tests.corpus.making import LOOKUP, write
from tests.e2e.command import shrink, shrinking

pytest.importorskip("ray", reason="needs Ray: pip install ray")
pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.ray]
SMALL = {"object_store_memory": 80_000_000, "include_dashboard": False}
ROOT = str(Path(__file__).parents[2])


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "not so within a minute"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core. The second has a GPU on paper, and what comes with it."""
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = ROOT  # for the toys
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    made.add_node(
        num_cpus=1, num_gpus=1, resources={"triton:9.9": 1, "accelerator_type:TOY": 1}, env_vars={"TOY_NODE": "second"},
        **SMALL,
    )  # fmt: skip
    yield made
    made.shutdown()
    os.environ.update({"PYTHONPATH": before} if before is not None else {})


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def engine(cluster: Any, told: list[str]) -> Iterator[RayCluster]:
    with closing(RayCluster(cluster.address, say=told.append)) as made:
        yield made


def says(rows: list[tuple[int, dict[str, Any]]]) -> dict[int, str]:
    return {index: row["says"] for index, row in rows}


def test_rows_are_those_of_this_machine(engine: RayCluster, told: list[str], tmp_path: Path) -> None:
    (tmp_path / "case" / "sub").mkdir(parents=True)
    (tmp_path / "case" / "sub" / "told.txt").write_text("shipped")
    cells = [ToyCell("a"), ToyCell("b", folder=tmp_path / "case"), ToyCell("c", by_itself=True), ToyCell("d", "there")]
    with closing(ThisMachine(1)) as machine:
        plain = [row for _, row in sorted(machine.run(cells), key=lambda each: each[0])]
    rows = [row for _, row in sorted(engine.run(cells), key=lambda each: each[0])]
    kept = ("says", "file", "folder")
    assert [[row.get(key) for key in kept] for row in rows] == [[row.get(key) for key in kept] for row in plain]
    assert rows[1]["file"] == "shipped" and rows[1]["folder"] == str(tmp_path / "case")
    assert told == [f"on 2 nodes of the Ray cluster {engine.address} ..."]


def test_a_cell_goes_to_a_node_that_has_what_it_needs(engine: RayCluster, told: list[str]) -> None:
    cells = [
        ToyCell("kind", resources={"GPU": 1, "accelerator_type:TOY": 0.001}),
        ToyCell("wish", preferred=("triton:9.9.1", "triton:9.9")),
        ToyCell("vain", preferred=("triton:1.0",)),
    ]
    rows = dict(engine.run(cells))
    assert rows[0]["node"] == rows[1]["node"] == "second" and rows[2]["says"] == "vain"
    assert len(told) == 1


def test_a_worker_that_dies_costs_time_only(engine: RayCluster, tmp_path: Path) -> None:
    cells = [ToyCell("a"), ToyCell("b", kills=tmp_path / "killed"), ToyCell("c")]
    assert says(list(engine.run(cells))) == {0: "a", 1: "b", 2: "c"} and (tmp_path / "killed").exists()


def test_a_node_that_is_lost_costs_time_only(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    third = cluster.add_node(num_cpus=1, env_vars={"TOY_NODE": "third"}, **SMALL)
    rows = []
    with closing(RayCluster(cluster.address, say=lambda text: None)) as engine:
        for number, row in enumerate(engine.run([ToyCell(str(number), sleeps=0.3) for number in range(30)])):
            rows.append(row)
            if number == 9:
                cluster.remove_node(third, allow_graceful=False)
    assert says(rows) == {number: str(number) for number in range(30)}
    assert "third" in {row["node"] for _, row in rows}
    assert capsys.readouterr().out == "", "what Ray says of nodes is no answer"


def test_a_sick_gpu_gets_no_more_cells(cluster: Any, engine: RayCluster, told: list[str]) -> None:
    sick = cluster.add_node(
        num_cpus=1, num_gpus=1, env_vars={"TOY_NODE": "sick", "SICK_GPU": "cuInit gives error 999"}, **SMALL
    )
    try:
        rows = list(engine.run([ToyCell(str(number), sleeps=0.3, resources={"GPU": 1}) for number in range(12)]))
        assert says(rows) == {number: str(number) for number in range(12)}
        assert {row["node"] for _, row in rows} == {"second"}
        assert sum("is sick and gets no more cells: cuInit gives error 999" in line for line in told) == 1
    finally:
        cluster.remove_node(sick)


def test_where_all_gpus_are_sick_it_ends(cluster: Any, engine: RayCluster) -> None:
    sick = cluster.add_node(
        num_cpus=1, num_gpus=1, resources={"accelerator_type:ILL": 1}, env_vars={"SICK_GPU": "it is gone"}, **SMALL
    )
    try:
        with pytest.raises(SickDevice, match="no healthy GPU is left in the cluster: .*: it is gone"):
            list(engine.run([ToyCell("a", resources={"GPU": 1, "accelerator_type:ILL": 0.001})]))
    finally:
        cluster.remove_node(sick)


def test_a_place_that_cannot_be_opened_is_told_with_its_host(engine: RayCluster) -> None:
    with pytest.raises(UsageError, match=r"^\S+: nothing runs there. Name another place$"):
        list(engine.run([ToyCell("a", "nowhere")]))


def test_what_nobody_has_waits_and_is_told(engine: RayCluster, told: list[str]) -> None:
    rows = engine.run([ToyCell("a"), ToyCell("b", resources={"tpu": 1})])
    began = time.monotonic()
    assert next(rows)[1]["says"] == "a" and time.monotonic() - began < 60
    assert told[-1] == "no node of the cluster has tpu now: its cells wait until one comes (Ctrl-C ends it)"
    rows.close()


def test_a_replay_through_ray_and_ctrl_c(cluster: Any, tmp_path: Path) -> None:
    """Two cases end, in lanes of a node, and two would sleep longer than the test has patience. In the second call
    these do not."""
    write(tmp_path / "corpus", "early")
    write(tmp_path / "corpus", "fine", "print('fine')\n", expect={">=3": "fixed"})
    awake = tmp_path / "awake"
    for name in ("sleeps", "waits"):
        sleeps = f"import os, time\nos.path.exists({str(awake)!r}) or time.sleep(1000)\n{LOOKUP}"
        write(tmp_path / "corpus", name, sleeps, timeout=1000)
    temporary = Path(tempfile.gettempdir())
    before = {*temporary.glob("shrink-worker-*")}
    words = ("replay", "--arch", "sm_90", "--ray", cluster.address)
    with shrinking(*words, cwd=tmp_path) as process:
        assert process.stderr is not None
        lines = list(itertools.islice(process.stderr, 3))
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=100)[1]
    assert re.match(r"on \d nodes of the Ray cluster", lines[0]), lines
    assert sorted(line.partition(":")[0].strip() for line in lines[1:]) == ["early", "fine"]
    assert process.returncode == 130 and "shrink: interrupted; 2 of 4 outcomes are kept in " in rest
    assert "Traceback" not in rest, rest
    with closing(RayCluster(cluster.address, say=print)) as engine:
        assert len(list(engine.run([ToyCell("a"), ToyCell("b", by_itself=True)]))) == 2  # the cores are free again
    _until(lambda: not {*temporary.glob("shrink-worker-*")} - before)
    awake.touch()
    said = shrink(*words, cwd=tmp_path)
    assert said.code == 0 and "going on with 2 of 4 outcomes of " in said.err, said.err
    assert not {"early", "fine"} & {line.partition(":")[0].strip() for line in said.err.splitlines()}
    assert "3 still faults, 1 fixed" in said.out and not (tmp_path / "corpus.replay").exists()


def test_no_cluster_there() -> None:
    with pytest.raises(UsageError, match="--ray 127.0.0.1:1: nobody answers there "):
        RayCluster("127.0.0.1:1", say=print)


def test_a_triage_through_ray_is_that_of_this_machine(cluster: Any, tmp_path: Path) -> None:
    """The tests lie in a folder that only this process is given; the name of that folder stands in a message."""
    (tmp_path / "test_it.py").write_text(
        "def test_a(): raise ValueError(__file__)\ndef test_b(): 1 // 0\ndef test_c(): pass\n"
    )
    told: list[Any] = []
    for words in ((), ("--ray", cluster.address)):
        place = (
            "--arch",
            "sm_90",
            "--no-reduce",
            "-o",
            f"out{len(words)}",
            "--",
            "pytest",
            "-p",
            "no:cacheprovider",
            ".",
        )
        done = shrink("triage", "--json", *words, *place, cwd=tmp_path)
        assert done.code == 0, done.err
        told.append(json.loads(re.sub(r'"seconds": [\d.]+', '"seconds": 0', done.out)))
    assert told[0] == told[1] and told[0]["failures"] == 2
    assert str(tmp_path / "test_it.py") in told[1]["clusters"][0]["members"][0]["message"]


def test_ctrl_c_ends_a_triage_through_ray_in_seconds_and_the_same_command_goes_on(cluster: Any, tmp_path: Path) -> None:
    """One test ends, and one sleeps for longer than anybody waits until a file is there."""
    tests, flag = tmp_path / "tests", tmp_path / "flag"
    tests.mkdir()
    waits = f"def test_b():\n    time.sleep(0 if os.path.exists({str(flag)!r}) else 1000)\n    1 // 0\n"
    (tests / "test_it.py").write_text(f"import os, time\n\n\ndef test_a(): raise ValueError\n\n\n{waits}")
    before = {*Path(tempfile.gettempdir()).glob("shrink-worker-*")}
    words = ("triage", "--arch", "sm_90", "--no-reduce", "--timeout", "1000", "--ray", cluster.address)
    words = (*words, "-o", "../out", "--", "pytest", "-p", "no:cacheprovider", ".")
    with shrinking(*words, cwd=tests) as process:
        assert process.stderr is not None
        assert any("test_it.py::test_a" in line for line in process.stderr)
        _until(lambda: '"first run"' in (tmp_path / "out" / "journal.jsonl").read_text())  # told first, then recorded
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=100)[1]
    assert process.returncode == 130 and time.monotonic() - began < 30, said
    assert "The same command goes on" in said and "Traceback" not in said
    _until(lambda: not {*Path(tempfile.gettempdir()).glob("shrink-worker-*")} - before)
    flag.touch()
    again = shrink(*words, cwd=tests)
    assert again.code == 0 and "2 failures: 2 causes" in again.out, again
    assert "test 1 of 2" not in again.err and "test 2 of 2" in again.err
