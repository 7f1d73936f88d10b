"""Each candidate from hell, in a used lane, a fork, a cold process, a zygote's fork and as its user runs it.

What is said of it is true or unknown, the next candidate does not notice, and nothing is left of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.fence import PARTS
from shrinkray_gpu.runner.inside.process import landlock, signal_filter, wire
from shrinkray_gpu.runner.inside.process.signal_filter import PART as ABOVE
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.plain import run_text
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.zygotes import ZYGOTES
from tests.hostile.candidates import ALL, DAEMON, POPEN, Candidate

SECONDS = 1.5
"""Time for a candidate that hangs."""
ENOUGH = 60.0
"""Time for one that ends, also on a machine with much else to do."""
GONE = 30.0
"""Seconds after which nothing of a candidate may be left: far fewer than the 600 that some of them sleep."""
UNHARMED = (
    "import gc, json, os, resource, signal, threading\n"
    "kept = ('Umask', 'Uid', 'CapEff', 'NoNewPrivs', 'Seccomp', 'Cpus_allowed')\n"
    "print(json.dumps('unharmed'), threading.active_count(), os.nice(0), gc.isenabled(), gc.get_threshold(),\n"
    "      [signal.getitimer(number) for number in range(3)], [resource.getrlimit(number) for number in range(16)],\n"
    "      [line for line in open('/proc/self/status') if line.startswith(kept)], flush=True)\n"
)
"""Says how it finds its process, too."""


@dataclass(frozen=True)
class Place:
    """Where candidates run, and how what they leave is recognised: by a word in the environment of their processes."""

    mode: str
    pool: Pool
    word: str
    usual: list[str] = field(default_factory=list)
    """What UNHARMED says where nothing ran before."""
    kept: set[str] = field(default_factory=set)
    """What stays in the scratch folder: the name of Triton's build, where it is there."""

    def run(self, source: str, seconds: float = ENOUGH) -> Run:
        pool = self.pool.serving(self.pool.script, seconds=seconds)
        if self.mode == "cold":
            return pool.cold(source)
        if self.mode == "zygote":
            return pool.forking().cold(source)
        if self.mode != "plain":
            return pool.run(source)
        script, setup = pool.script, pool.setup
        return run_text(
            setup.python, source, script.path, (), environment=setup.environment, cwd=script.cwd,
            scratch=Path(setup.scratch), seconds=seconds,
        )  # fmt: skip

    def left(self) -> list[str]:
        """Processes that carry the word and are none of the pool's own."""
        ours = set(self._ours())
        return [one for one in carriers(self.word) if int(one.split()[0]) not in ours]

    def _ours(self) -> Iterator[int]:
        yield from (zygote.process.pid for zygote in ZYGOTES._made.values())
        for made in self.pool._workers._made.values():
            stock = made.result()
            for lane in (*stock.clean, *stock.spares):
                lane.wait_ready(10)
                yield from (lane.pid, parent(lane.pid))
            yield from (stock.worker.process.pid, parent(stock.worker.process.pid))

    def files(self) -> int:
        """Open files of the tool, without those of lanes that wait."""
        waiting = sum(
            len(made.result().clean) + len(made.result().spares) for made in self.pool._workers._made.values()
        )
        return len(os.listdir("/proc/self/fd")) - waiting


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def pool_in(
    folder: Path, mode: str, word: str, *, left_open: tuple[str, ...] = (), torch: bool = False, warm: bool = False
) -> Pool:
    """`torch`: lanes have it before a candidate comes; `warm`: and a context on the GPU."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    setup = Setup(
        python=sys.executable,
        environment={**environment, "HOSTILE": word},
        imports=("torch",) * torch,
        own=(str(folder),),
        scratch=str(folder / "scratch"),
        warm=warm,
        reuse=mode == "warm",
        left_open=left_open,
        arch=90 if mode == "zygote" else None,  # where a cold process begins with what zygotes have imported
    )
    return Pool(Script(folder / "script.py", cwd=folder), setup, mode="fork", jobs=1, seconds=SECONDS, extra=0.0)


@contextlib.contextmanager
def place_in(folder: Path, mode: str, *, torch: bool = False, warm: bool = False) -> Iterator[Place]:
    (folder / "scratch").mkdir()
    place = Place(mode, pool_in(folder, mode, word := uuid.uuid4().hex, torch=torch, warm=warm), word)
    with closing(place.pool), pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "WHOLE", 2.0)
        place.pool.start("")
        place.usual.append(place.run(UNHARMED).stdout)
        assert place.usual[0].startswith('"unharmed" 1 ')
        place.kept.update(name for name in os.listdir(place.pool.setup.scratch) if name.startswith("triton-"))
        yield place
    assert not_gone(place.left) == []


@pytest.fixture(scope="module", params=["warm", "fork", "cold", "zygote", "plain"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        if request.param == "zygote":
            pytest.importorskip("triton")
            stack.enter_context(ZYGOTES.wanted())
        yield (place := stack.enter_context(place_in(tmp_path_factory.mktemp("hostile"), request.param)))
        guard = "import os\nprint(open(f'/proc/{os.getppid()}/cmdline').read())"
        assert ("--zygote" in place.run(guard).stdout) == (request.param == "zygote")


@pytest.mark.parametrize("name", ALL)
def test_a_candidate_from_hell(place: Place, name: str) -> None:
    check(place, ALL[name])


def check(place: Place, candidate: Candidate) -> None:
    """That what is said of it is true or unknown, that the next one is unharmed, and that nothing is left."""
    if place.mode == "warm":
        place.run("pass")
    before = place.files()
    adopted = candidate.adopted and place.mode in ("warm", "fork")
    began = time.monotonic()
    run = place.run(candidate.source, SECONDS if candidate.hangs or adopted else ENOUGH)
    took = time.monotonic() - began
    again = place.run(UNHARMED)
    assert not_gone(place.left) == []
    assert true_or_unknown(run, as_fenced(candidate, run)) or adopted, run
    assert (again.exit, again.stdout, again.trouble) == (0, *place.usual, ""), again
    assert set(os.listdir(place.pool.setup.scratch)) <= place.kept
    assert [one for one in os.listdir("/dev/shm") if place.word in one] == []
    assert place.files() <= before
    assert took < ENOUGH


SHARED_TENSOR = (
    "import torch, torch.multiprocessing as m\nm.set_sharing_strategy('file_system')\n"
    "shared = torch.ones(1 << 20).share_memory_()\nprint(int(shared.sum()))\n"
)


@pytest.mark.parametrize("mode", ["warm", "cold"])
def test_a_tensor_in_shared_memory_outlives_no_manager(tmp_path_factory: pytest.TempPathFactory, mode: str) -> None:
    """torch's own process removes it, and a tensor whose manager was killed before it aborts the program."""
    with place_in(tmp_path_factory.mktemp("t"), mode, torch=True) as place:  # a socket's name has 107 characters
        check(place, Candidate(SHARED_TENSOR, stdout="1048576\n"))


def as_fenced(candidate: Candidate, run: Run) -> Candidate:
    """What it comes to in the fence of this run."""
    refused = candidate.refused in run.fence or (candidate.refused == landlock.SIGNALS and ABOVE in run.fence)
    return replace(candidate, exit=1, failure="PermissionError", unknown=False) if refused else candidate


REFUSED = [name for name, candidate in ALL.items() if candidate.refused]


@pytest.mark.parametrize("mode", ["warm", "fork", "cold"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_candidate_from_hell_where_nothing_is_refused(tmp_path: Path, mode: str, name: str) -> None:
    (tmp_path / "scratch").mkdir()
    place = Place(mode, pool_in(tmp_path, mode, word := uuid.uuid4().hex, left_open=PARTS), word)
    with closing(place.pool):
        run = place.run(ALL[name].source)
        assert run.fence == () and true_or_unknown(run, ALL[name]), run
        assert place.run("print('unharmed')").stdout == "unharmed\n"
    assert not_gone(lambda: carriers(word)) == []


def true_or_unknown(run: Run, candidate: Candidate) -> bool:
    """Whether the run tells what a process of its own shows, or admits that it cannot."""
    if run.trouble:
        return candidate.unknown
    if candidate.hangs:
        return run.timed_out
    if run.timed_out:
        return False
    ended = run.exit if run.signal is None else -run.signal
    said = run.failure.type if run.failure else ""
    told = ended == candidate.exit and (candidate.stdout is None or run.stdout == candidate.stdout)
    return told and (run.mode == "plain" or said == candidate.failure or candidate.unknown)


def carriers(word: str) -> list[str]:
    """Number and command of the processes in whose environment the word is."""
    found = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if f"HOSTILE={word}".encode() in Path("/proc", entry, "environ").read_bytes():
                found.append(f"{entry} {Path('/proc', entry, 'cmdline').read_text()}".replace("\0", " "))
    return found


def not_gone(look: Callable[[], list[str]]) -> list[str]:
    """What is left after some time. It is ended here, so that one test fails of it and not all."""
    limit = time.monotonic() + GONE
    while (found := look()) and time.monotonic() < limit:
        time.sleep(0.01)
    for one in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(one.split()[0]), signal.SIGKILL)
    return found


TOOL = """
import os, sys, threading, time
from pathlib import Path
from tests.hostile.test_hostile import Place, pool_in
place = Place(sys.argv[1], pool_in(Path(sys.argv[2]), sys.argv[1], os.environ["HOSTILE"]), os.environ["HOSTILE"])
threading.Thread(target=place.run, args=(sys.argv[3],), daemon=True).start()
while not list(Path(sys.argv[2]).glob("scratch/**/daemon")):
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""
SAYS_SO = (
    "import os, tempfile, time\n{start}"
    "open(os.path.join(tempfile.gettempdir(), 'daemon'), 'w').close()\ntime.sleep(600)"
)


@pytest.mark.parametrize("mode", ["warm", "fork", "cold", "plain"])
@pytest.mark.parametrize("start", [DAEMON, POPEN, ""], ids=["a double fork", "a program", "nothing"])
def test_a_tool_that_is_killed_leaves_no_process(tmp_path: Path, mode: str, start: str) -> None:
    (tmp_path / "scratch").mkdir()
    word = uuid.uuid4().hex
    environment = {**os.environ, "HOSTILE": word, "TMPDIR": str(tmp_path / "scratch")}
    command = [sys.executable, "-c", TOOL, mode, str(tmp_path), SAYS_SO.format(start=start)]
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[2], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert not_gone(lambda: carriers(word)) == []


def test_a_fork_server_that_is_killed_is_started_once_more(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with closing(pool_in(tmp_path, "fork", "word")) as pool:
        server = int(pool.run("import os; print(os.getppid())").stdout)
        os.kill(server, signal.SIGKILL)
        runs = [pool.run("import os; print(os.getppid())") for _ in range(6)]
        assert {(run.trouble, run.exit) for run in runs} == {("", 0)}
        assert int(runs[-1].stdout) != server  # a lane that it had forked may answer once more


KILLED_TOOL = """
import os, sys
from contextlib import closing
from pathlib import Path
from shrinkray_gpu.runner import plain
from tests.hostile.test_hostile import Place, pool_in
folder, mode, left_open = Path(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:])
source = f"import os; os.kill({os.getpid()}, 9)"
with closing(pool_in(folder, mode, "word", left_open=left_open)) as pool:
    if mode == "plain":
        (folder / "script.py").write_text(source)
        fence = plain.fence(pool.setup.python, pool.setup)
        plain.run_file(
            pool.setup.python, folder / "script.py", (), environment=os.environ, cwd=folder, seconds=60, prefix=fence
        )
    else:
        Place(mode, pool, "word").run(source)
print("lives")
"""


@pytest.mark.parametrize(
    "left_open", [(), (landlock.SIGNALS,), PARTS], ids=["in the fence", "without Landlock's part", "without"]
)
@pytest.mark.parametrize("mode", ["warm", "fork", "cold", "plain"])
def test_a_candidate_does_not_end_the_tool(tmp_path: Path, mode: str, left_open: tuple[str, ...]) -> None:
    (tmp_path / "scratch").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED_TOOL, str(tmp_path), mode, *left_open],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    refused = left_open != PARTS and (landlock.level() >= 6 or os.uname().machine in signal_filter.CALLS)
    assert (done.returncode, done.stdout) == ((0, "lives\n") if refused else (-signal.SIGKILL, "")), done.stderr
