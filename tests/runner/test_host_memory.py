"""Host memory: a candidate that takes too much of it is ended, told as such, and nothing else is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.runner import guarded, plain
from shrinkray_gpu.runner.guarded import Keeper
from shrinkray_gpu.runner.host_memory import SHORT, MemoryLimit, MemoryTerms
from shrinkray_gpu.runner.inside.process import host_memory
from shrinkray_gpu.runner.lanes import MEMORY, Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

LIMIT = 400 << 20
GREEDY = "kept = []\nwhile True: kept.append(b'x' * (16 << 20))"
IN_CHILD = f"import os\nif os.fork() == 0:\n    {GREEDY.replace(chr(10), chr(10) + '    ')}\nos.wait()"
SHARED = "import mmap\nkept = []\nwhile kept.append(mmap.mmap(-1, 16 << 20)) is None: kept[-1].write(b'x' * (16 << 20))"


def keeper_on(monkeypatch: pytest.MonkeyPatch, terms: MemoryTerms) -> Iterator[Keeper]:
    """A keeper of its own for what the test runs, which is gone afterwards with its control group."""
    keeper = Keeper(terms)
    monkeypatch.setattr(guarded, "KEEPER", keeper)
    yield keeper
    keeper.control.close()
    keeper.process.wait(10)
    assert not keeper.memory.group or not Path(keeper.memory.group).exists()


@pytest.fixture(params=["grouped and watched", "watched", "grouped"])
def keeper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    terms = MemoryTerms(LIMIT, grouped="grouped" in request.param, watched="watched" in request.param)
    for keeper in keeper_on(monkeypatch, terms):
        guarded.Guarded(["true"], environment=os.environ, cwd="/", out=1, err=2).close()
        if request.param == "grouped" and not keeper.memory.group:
            pytest.skip("no control group can be made here")
        yield keeper


@pytest.fixture(params=["fork", "cold", "plain"])
def run(request: pytest.FixtureRequest, keeper: Keeper, tmp_path: Path) -> Iterator[Callable[[str], Run]]:
    setup = Setup(sys.executable, os.environ, (), (str(tmp_path),), str(tmp_path))
    with closing(Pool(Script(tmp_path / "script.py"), setup, mode="fork", jobs=2, seconds=20)) as pool:

        def run(source: str) -> Run:
            if request.param == "plain":
                (tmp_path / "script.py").write_text(source)
                return plain.run_file(
                    sys.executable, tmp_path / "script.py", (), environment=os.environ, cwd=tmp_path, seconds=20
                )
            return pool.run(source) if request.param == "fork" else pool.cold(source)

        yield run


@pytest.mark.parametrize("source", [GREEDY, IN_CHILD, SHARED], ids=["itself", "a child", "shared memory"])
def test_a_candidate_that_takes_too_much_is_ended_and_told(
    keeper: Keeper, run: Callable[[str], Run], source: str
) -> None:
    began = time.monotonic()
    greedy = run(source)
    assert greedy.trouble.startswith(SHORT), greedy
    assert time.monotonic() - began < 20
    after = run("print('unharmed')")
    assert (after.trouble, after.stdout) == ("", "unharmed\n")


def test_a_neighbour_is_not_ended(keeper: Keeper, tmp_path: Path) -> None:
    setup = Setup(sys.executable, os.environ, (), (str(tmp_path),), str(tmp_path))
    waiting = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'over')!r}): time.sleep(0.01)\nprint('whole')"
    with closing(Pool(Script(tmp_path / "script.py"), setup, mode="fork", jobs=2, seconds=20)) as pool:
        with ThreadPoolExecutor(1) as beside:
            neighbour = beside.submit(pool.run, waiting)
            greedy = pool.run(GREEDY)
            (tmp_path / "over").touch()
    assert greedy.trouble.startswith(SHORT) and pool.retired[MEMORY] >= 1
    told = neighbour.result()
    # Whom the kernel ended, nobody tells: then both are unknown. In a group it may be sooner than the keeper.
    spared, unknown = told.stdout == "whole\n", told.trouble.startswith(SHORT)
    assert (spared or unknown and keeper.terms.grouped) if keeper.terms.watched else unknown


def test_where_nothing_limits_it_a_candidate_takes_what_it_wants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    setup = Setup(sys.executable, os.environ, (), (str(tmp_path),), str(tmp_path))
    for keeper in keeper_on(monkeypatch, MemoryTerms(LIMIT, grouped=False, watched=False)):
        with closing(Pool(Script(tmp_path / "script.py"), setup, mode="fork", jobs=1, seconds=20)) as pool:
            run = pool.run(f"kept = b'x' * {2 * LIMIT}\nprint(open('/proc/self/oom_score_adj').read(), end='')")
        assert (run.trouble, run.stdout) == ("", "1000\n")  # and would be the first that the kernel ends
        assert str(keeper.memory) == "not limited"


def test_most_of_the_machine_s_memory_may_be_taken_and_some_is_kept_free() -> None:
    around = host_memory.groups()
    kept = host_memory.kept_free(around)
    assert 512 << 20 <= kept <= 8 << 30 and kept < host_memory.total(around)
    watch = host_memory.Watch(0)
    assert watch.largest([[os.getpid()]]) is None or host_memory.left(around, kept) < kept


@pytest.mark.parametrize(
    "files",
    [
        {
            "memory.max": "1000",
            "memory.current": "900",
            "memory.stat": "anon 500\ninactive_file 40\nactive_file 2",
            "memory.events": "low 0\noom_kill 3",
        },
        {
            "memory.limit_in_bytes": "1000",
            "memory.usage_in_bytes": "900",
            "memory.stat": "inactive_file 1\ntotal_inactive_file 40\ntotal_active_file 2",
            "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3",
        },
    ],
    ids=["version 2", "version 1"],
)
def test_what_a_group_has_left(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    group = host_memory.Group(str(tmp_path))
    assert (group.limit(), group.left(50), group.left(200)) == (1000, 100, 142)
    assert host_memory.kills(group.counter) == 3
    (tmp_path / group.limit_file).write_text("max")
    assert (group.limit(), group.left(200)) == (None, None)


def test_what_a_killed_keeper_leaves_is_removed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = Keeper(MemoryTerms())
    monkeypatch.setattr(guarded, "KEEPER", killed)
    guarded.Guarded(["true"], environment=os.environ, cwd="/", out=1, err=2).close()
    group = killed.memory.group
    if not group:
        pytest.skip("no control group can be made here")
    killed.process.kill()
    killed.process.wait()
    for after, left in ((3600.0, True), (-1.0, False)):  # seconds for which it is left alone
        monkeypatch.setattr("shrinkray_gpu.runner.host_memory.SETTLED", after)
        for _ in keeper_on(monkeypatch, MemoryTerms()):
            guarded.Guarded(["true"], environment=os.environ, cwd="/", out=1, err=2).close()
        assert Path(group).exists() == left


@pytest.mark.parametrize(("group", "killed", "counts"), [("", False, False), ("", True, True), ("ours", False, True)])
def test_a_process_that_the_kernel_ended_elsewhere_is_no_concern_of_a_run_that_reports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, group: str, killed: bool, counts: bool
) -> None:
    counter = tmp_path / "vmstat"
    counter.write_text("oom_kill 3\n")
    keeper = Keeper(MemoryTerms())
    keeper.memory = MemoryLimit(keeper.terms, group, "")
    monkeypatch.setattr(guarded, "KEEPER", keeper)
    monkeypatch.setattr(MemoryLimit, "kills", lambda limit: host_memory.kills(str(counter)))
    check = guarded.MemoryCheck()
    counter.write_text("oom_kill 4\n")
    assert bool(check.trouble(7, killed)) == counts
