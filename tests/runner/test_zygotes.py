"""A fork of a process that has torch imported is as an interpreter that imported it; where it might not be, it is one.

Two forks of one zygote have the same seed for the hashes of strings, two interpreters never have.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.runner import guarded, lanes
from shrinkray_gpu.runner import zygotes as zygote_module
from shrinkray_gpu.runner.guarded import Keeper
from shrinkray_gpu.runner.host_memory import SHORT, MemoryTerms
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.zygotes import AGAIN, MOST, READ_LATER, ZYGOTES, Zygotes
from tests.e2e.programs import NARROW_TILES

pytest.importorskip("triton")

HASH = "print(hash('a'))\n"
FIRST = "import torch\nimport triton\n"
PROCESS = (
    FIRST
    + """\
import gc, json, os, signal, sys, threading
files = [path for path in map("/proc/self/fd/{}".format, os.listdir("/proc/self/fd")) if os.path.lexists(path)]
files = sorted(os.readlink(path).partition(":")[0] for path in files)
signals = [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)]
modules = sorted(name for name in sys.modules if name.partition(".")[0] in ("torch", "triton", "numpy", "__main__"))
print(json.dumps([sys.argv, sys.path, sys.flags[:], dict(os.environ), files, signals, modules, __name__, __file__]))
print(os.getcwd(), gc.isenabled(), torch.get_num_threads(), threading.active_count(), os.getsid(0) == os.getpid())
print(sys.stdin.read(), sys.stdout.encoding, open("/proc/self/oom_score_adj").read())
"""
)
"""Tells all that a program sees of its process."""
Cold = Callable[..., Run]


@pytest.fixture(scope="module")
def wanted() -> Iterator[None]:
    with ZYGOTES.wanted():
        yield


def pool_in(folder: Path, **fields: object) -> Pool:
    """One whose cold processes may be forks."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    setup: Setup = private_setup(folder / "out", environment, python=sys.executable, imports=(), own=(str(folder),))
    setup = replace(setup, **fields)  # type: ignore[arg-type]
    return Pool(Script(folder / "failing.py", cwd=folder), setup, mode="fork", jobs=2, seconds=60).forking()


def hashes(pool: Pool, text: str, way: KnobSetting | None = None) -> set[str]:
    """What two cold runs print."""
    runs = [pool.cold(text, **({"way": way} if way else {})) for _ in range(2)]
    assert not any(run.trouble or run.failure for run in runs), runs
    return {run.stdout for run in runs}


@pytest.mark.parametrize("arch", [None, 90])
def test_a_program_sees_the_same_of_its_process(tmp_path: Path, wanted: None, arch: int | None) -> None:
    with closing(pool_in(tmp_path, arch=arch)) as pool:
        assert len(hashes(pool, FIRST + HASH)) == 1
        forked = pool.cold(PROCESS)
        new = pool.on(replace(pool.terms, forked=False)).cold(PROCESS)
    for run in (forked, new):
        assert run.failure is None and run.fence == pool.fence, run
    assert _placeless(forked.stdout) == _placeless(new.stdout)


def _placeless(text: str) -> str:
    """Without the name of the run's own temporary folder and cache."""
    words = text.replace('"', " ").split()
    return " ".join(word for word in words if "/out/scratch/" not in word)


def test_each_draws_numbers_of_its_own(tmp_path: Path, wanted: None) -> None:
    draws = ("torch.rand(1).item()", "random.random()", "numpy.random.rand()", "torch.initial_seed()")
    with closing(pool_in(tmp_path)) as pool:
        for draw in draws:
            assert len(hashes(pool, f"{FIRST}import numpy.random, random\nprint({draw})\n")) == 2, draw


def test_it_shows_the_same_fault(tmp_path: Path, wanted: None) -> None:
    with closing(pool_in(tmp_path, arch=90)) as pool:
        text = NARROW_TILES.replace("torch.randn(", "torch.ones(")
        runs = [pool.cold(text), pool.on(replace(pool.terms, forked=False)).cold(text)]
    forked, new = ([replace(each, evaluating=0.0) for each in run.launches] for run in runs)
    assert forked and forked[0].fault and forked == new


def test_what_sets_its_environment_before_its_imports_has_an_interpreter(tmp_path: Path, wanted: None) -> None:
    text = "import os\nos.environ['TRITON_DEBUG'] = '1'\n" + FIRST + "print(triton.knobs.runtime.debug)\n"
    with closing(pool_in(tmp_path)) as pool:
        assert [each.split()[0] for each in hashes(pool, text + HASH)] == ["True"] * 2


def test_a_module_of_the_program_s_own_is_found_for_one_that_torch_imports(tmp_path: Path, wanted: None) -> None:
    with closing(pool_in(tmp_path)) as pool:
        assert len(hashes(pool, FIRST + HASH)) == 1
        (tmp_path / "shelve.py").write_text("")  # nobody imports that
        assert len(hashes(pool, FIRST + HASH)) == 1
        (tmp_path / "queue.py").write_text("from _queue import Empty, SimpleQueue\nFull = Queue = LifoQueue = 0\n")
        assert len(hashes(pool, FIRST + HASH)) == 2


def test_in_another_environment_it_is_an_interpreter(tmp_path: Path, zygotes: Zygotes) -> None:
    text = FIRST + "print(triton.knobs.runtime.debug)\n" + HASH
    with closing(pool_in(tmp_path)) as pool:
        assert len(hashes(pool, text)) == 1
        assert hashes(pool, text, KnobSetting("other", environment={"TRITON_DEBUG": "1"})).pop().startswith("True")


def test_there_are_few_and_each_has_an_environment_of_its_own(zygotes: Zygotes) -> None:
    usual = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    first = zygotes.get(sys.executable, usual, forked=True)
    for later in READ_LATER:
        assert zygotes.get(sys.executable, {**usual, later: "1"}, forked=True) is first
    for name in ("LD_PRELOAD", "PYTHONHASHSEED"):
        assert zygotes.get(sys.executable, {**usual, name: ""}, forked=True) not in (None, first)
    assert len(zygotes._made) == MOST and zygotes.get(sys.executable, {**usual, "ODD": ""}, forked=True) is None


def test_what_is_evidence_of_its_beginning_is_an_interpreter(tmp_path: Path, wanted: None) -> None:
    with closing(pool_in(tmp_path)) as pool:
        assert len(hashes(pool.on(replace(pool.terms, forked=False)), FIRST + HASH)) == 2


def test_where_nobody_wants_one_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "ZYGOTES", Zygotes())
    with closing(pool_in(tmp_path)) as pool:
        assert len(hashes(pool, FIRST + HASH)) == 2 and not lanes.ZYGOTES._made


@pytest.fixture
def zygotes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zygotes]:
    """The test's own, with a keeper of its own."""
    monkeypatch.setattr(guarded, "KEEPER", Keeper(MemoryTerms(1500 << 20, grouped=False)))
    monkeypatch.setattr(lanes, "ZYGOTES", Zygotes())
    with lanes.ZYGOTES.wanted():
        yield lanes.ZYGOTES
    assert not lanes.ZYGOTES._made


@pytest.fixture
def alone(zygotes: Zygotes, tmp_path: Path) -> Iterator[Pool]:
    with closing(pool_in(tmp_path)) as pool:
        yield pool


def test_one_that_was_killed_is_not_missed(alone: Pool, zygotes: Zygotes) -> None:
    assert len(hashes(alone, FIRST + HASH)) == 1
    [zygote] = zygotes._made.values()
    os.kill(zygote.process.pid, signal.SIGKILL)
    assert len(hashes(alone, FIRST + HASH)) == 2
    assert alone.run("print(1)").stdout == "1\n"


def test_one_that_is_stopped_goes_on(alone: Pool, zygotes: Zygotes) -> None:
    [before] = hashes(alone, FIRST + HASH)
    [zygote] = zygotes._made.values()
    os.kill(zygote.process.pid, signal.SIGSTOP)
    began = time.monotonic()
    assert hashes(alone, FIRST + HASH) == {before} and time.monotonic() - began < 20


def test_one_that_hangs_is_told_and_not_waited_for(
    zygotes: Zygotes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "triton.py").write_text("import time\ntime.sleep(600)\n")
    said: list[str] = []
    monkeypatch.setattr(zygote_module, "IMPORTS", 3.0)
    monkeypatch.setattr(zygote_module, "FORKS", 1.0)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "path")}
    began = time.monotonic()
    with zygotes.wanted(said.append), closing(pool_in(tmp_path, environment=environment)) as pool:
        for _ in range(AGAIN + 3):
            assert pool.cold("print(1)\n").stdout == "1\n"
    assert len(said) == AGAIN + 1 and {text.partition(",")[0] for text in said} == {"a process with torch imported"}
    assert time.monotonic() - began < 5 * (AGAIN + 1) + 5 and not zygotes._made


def test_one_that_cannot_import_is_not_missed(zygotes: Zygotes, tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "triton.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    with closing(pool_in(tmp_path, environment={**os.environ, "PYTHONPATH": str(tmp_path / "path")})) as pool:
        assert pool.cold("print(1)\n").stdout == "1\n"
    assert zygotes._made


def test_a_fork_that_takes_too_much_memory_is_ended_and_told(alone: Pool) -> None:
    assert len(hashes(alone, FIRST + HASH)) == 1
    greedy = alone.cold(FIRST + "kept = []\nwhile True: kept.append(b'x' * (16 << 20))\n")
    assert greedy.trouble.startswith(SHORT), greedy
    assert alone.cold(FIRST + "print('unharmed')").stdout == "unharmed\n"


def test_it_ends_with_the_last_that_wants_it_and_with_the_tool(tmp_path: Path) -> None:
    for ending in ("", "os.kill(os.getpid(), 9)"):
        text = f"""\
import os, sys
from shrinkray_gpu.runner.zygotes import ZYGOTES
with ZYGOTES.wanted():
    with ZYGOTES.wanted():
        zygote = ZYGOTES.get(sys.executable, os.environ, forked=True)
    assert ZYGOTES.get(sys.executable, os.environ, forked=True) is zygote
    print(zygote.process.pid, flush=True)
    {ending}
assert ZYGOTES.get(sys.executable, os.environ, forked=True) is None
assert not os.path.exists(f"/proc/{{zygote.process.pid}}")
"""
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        assert done.returncode == (-9 if ending else 0), done.stderr
        until = time.monotonic() + 10
        while Path(f"/proc/{done.stdout.strip()}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_a_worker_is_a_fork_and_its_lanes_are_as_ever(alone: Pool, tmp_path: Path) -> None:
    with closing(pool_in(tmp_path, imports=("torch", "triton"))) as pool:
        seen = [pool.run(HASH).stdout, pool.cold(FIRST + HASH).stdout]
        assert seen[0] == seen[1]
        assert pool.run("import torch\nprint(torch.get_num_threads())").stdout == "1\n"
