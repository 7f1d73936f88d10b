"""Lanes: what a candidate does to its process is told as it happened, and never reaches the next candidate."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.knob_settings import PLAIN
from shrinkray_gpu.runner.lanes import COMES_UP, Lane, Setup, Worker
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.stock import Stock, WorkerGone

POISON = "import sys; sys.modules['shrinkray_inside.process.device'].sticky = lambda: 716\n"
"""Plays the driver: from here on it reports a misaligned address."""


def make(folder: Path, **setup: object) -> Pool:
    scratch = folder / "scratch"
    scratch.mkdir()
    options: dict[str, object] = {
        "python": sys.executable,
        "environment": dict(os.environ),
        "imports": (),
        "own": (str(folder),),
        "scratch": str(scratch),
        **setup,
    }
    script = Script(folder / "script.py", argv=("--n", "3"), cwd=folder)
    return Pool(script, Setup(**options), mode="fork", jobs=2, seconds=30)  # type: ignore[arg-type]


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    made = make(tmp_path)
    yield made
    made.close()


@pytest.fixture
def reusing(tmp_path: Path) -> Iterator[Pool]:
    made = make(tmp_path, reuse=True)
    yield made
    made.close()


def test_a_script_sees_what_a_plain_run_shows_it(pool: Pool) -> None:
    run = pool.run("import sys\nprint(__name__, __file__, sys.argv, sys.path[0])")
    path = str(pool.script.path)
    assert run.stdout.split(" ", 2)[:2] == ["__main__", path]
    assert f"['{path}', '--n', '3'] {pool.script.path.parent}" in run.stdout


def test_the_plain_run_says_the_same(pool: Pool) -> None:
    source = "import sys, inspect\ndef f(): return 1\n"
    source += "print(__name__, __file__, sys.argv, sys.path[0], inspect.getsource(f))"
    pool.script.path.write_text(source)
    import subprocess

    command = [sys.executable, str(pool.script.path), "--n", "3"]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    assert pool.run(source).stdout == plain.stdout


def test_inspect_reads_the_candidate_and_not_the_file(pool: Pool) -> None:
    pool.script.path.write_text("def f():\n    return 'the original'\n")
    run = pool.run("import inspect\n\ndef f():\n    return 'the candidate'\nprint(inspect.getsource(f))")
    assert "the candidate" in run.stdout


@pytest.mark.parametrize(
    ("source", "exit", "number"),
    [
        ("print('fine')", 0, None),
        ("raise SystemExit(3)", 3, None),
        ("raise SystemExit('words')", 1, None),
        ("import os; os._exit(7)", 7, None),
        ("import os; os.abort()", None, signal.SIGABRT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", None, signal.SIGSEGV),
    ],
)
def test_the_end_is_told_as_it_was(pool: Pool, source: str, exit: int | None, number: int | None) -> None:
    run = pool.run(source)
    assert (run.exit, run.signal, run.failure, run.trouble) == (exit, number, None, "")


def test_an_exception_is_told_with_its_line_and_ancestors(pool: Pool) -> None:
    run = pool.run("import json\njson.loads('{')")
    assert run.exit == 1 and run.failure is not None
    assert (run.failure.type, run.failure.line) == ("json.decoder.JSONDecodeError", 2)
    assert "ValueError" in run.failure.bases
    assert "worker.py" not in run.failure.traceback and "JSONDecodeError" in run.stderr


def test_a_hang_is_ended_with_all_that_it_started(pool: Pool) -> None:
    pool.run("pass")
    pool = within(pool, 1.5)
    child = "subprocess.Popen(['sleep', '1000'])"
    run = pool.run(f"import os, subprocess\nprint({child}.pid, flush=True)\nwhile True: pass")
    assert run.timed_out and run.exit is None
    assert gone(int(run.stdout))


def test_a_lane_holds_none_of_its_fork_server_s_pipes(tmp_path: Path) -> None:
    """From Python 3.12 on asyncio, where it is imported, takes the wakeup file from a child before we do."""
    look = (
        "import os\nnumbers = [number for number in range(3, 99) if os.path.lexists(f'/proc/self/fd/{number}')]\n"
        "print(os.getppid(), [os.readlink(f'/proc/self/fd/{number}') for number in numbers])"
    )
    with closing(make(tmp_path, imports=("asyncio",))) as pool:
        run = pool.run(look)
        server, _, held = run.stdout.partition(" ")
        links = {os.readlink(file) for file in Path(f"/proc/{server}/fd").iterdir() if int(file.name) > 2}
    pipes = [link for link in links if link.startswith("pipe")]
    assert run.mode == "fork" and pipes and not [pipe for pipe in pipes if pipe in held], run


def within(pool: Pool, seconds: float) -> Pool:
    return pool.on(replace(pool.terms, seconds=seconds))


def test_a_view_has_terms_of_its_own_and_the_same_lanes(tmp_path: Path) -> None:
    pool = make(tmp_path, reuse=True)
    view = pool.on(replace(pool.terms, seconds=1.5, jobs=1))
    try:
        assert view.run("while True: pass").timed_out and (pool.seconds, pool.jobs) == (30, 2)
        pids = {each.run("pass").pid for each in (pool, view, pool.beside(1), pool.serving(pool.script, seconds=5))}
        assert len(pids) == 1, "a lane that came out clean is there for the others"
        assert view.retired == pool.retired == {"timeout": 1, "": 4}
    finally:
        pool.close()


def gone(pid: int) -> bool:
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_flood_of_output_is_cut_in_the_middle(pool: Pool) -> None:
    run = pool.run("print('head'); print('x' * 3_000_000); print('tail')")
    assert run.stdout.startswith("head") and run.stdout.endswith("tail\n") and "bytes left out" in run.stdout
    assert len(run.stdout) < 300_000


def test_nothing_is_written_outside_the_candidate_s_folder(pool: Pool, tmp_path: Path) -> None:
    victim = tmp_path / "data"
    victim.mkdir()
    (victim / "kept").write_text("here")
    run = pool.run(f"import shutil; shutil.rmtree({str(victim)!r})")
    assert run.failure is not None and run.failure.type == "PermissionError"
    assert (victim / "kept").read_text() == "here"
    assert pool.run("import tempfile; f = tempfile.NamedTemporaryFile('w'); f.write('x'); f.flush()").exit == 0


LEAVES = "import os, tempfile; open(os.path.join(tempfile.gettempdir(), 'left'), 'w').close()\n"
FOLDER = "import os, tempfile; print(tempfile.gettempdir(), os.environ['TMPDIR'], os.listdir(os.environ['TMPDIR']))"
ENDS = {"well": "", "by a signal": "os.kill(os.getpid(), 9)", "at the limit": "while True: pass"}


def own_folder(run: Run) -> str:
    """The temporary folder that a run told by FOLDER: one, and empty."""
    place, told, held = run.stdout.split(maxsplit=2)
    assert place == told and held == "[]\n"
    return place


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("mode", ["fork", "warm", "cold"])
def test_what_lies_in_the_temporary_folder_is_of_this_run(tmp_path: Path, mode: str, end: str) -> None:
    pool = make(tmp_path, reuse=mode == "warm")

    def run(source: str, seconds: float = 5) -> Run:
        limited = pool.on(replace(pool.terms, seconds=seconds, extra=0.0))
        return limited.cold(source) if mode == "cold" else limited.run(source)

    try:
        places = [own_folder(run(FOLDER))]
        left = run(LEAVES + ENDS[end], 1.5 if end == "at the limit" else 5)
        assert left.failure is None and (left.timed_out, left.signal) == (
            end == "at the limit",
            9 if "signal" in end else None,
        )
        places += [own_folder(run(FOLDER)) for _ in range(2)]
        assert len(set(places)) == 3 and all(Path(place).parent == tmp_path / "scratch" for place in places)
        assert list((tmp_path / "scratch").iterdir()) == []
    finally:
        pool.close()


def test_processes_of_the_script_write_in_its_folder_too(reusing: Pool) -> None:
    """multiprocessing remembers its folder, which is gone when the process runs its next candidate."""
    source = "from multiprocessing import util; import tempfile; print(tempfile.gettempdir(), util.get_temp_dir())"
    reusing.run("import multiprocessing.util")
    for _ in range(2):
        place, inner = reusing.run(source).stdout.split()
        assert os.path.dirname(inner) == place


def test_a_path_of_this_reduction_is_no_value_of_the_program(pool: Pool) -> None:
    shown = (
        "f'{os.environ[\"TMPDIR\"]}/x', os.path.basename(tempfile.gettempdir()), ('a', tempfile.gettempdir()), 'kept'"
    )
    run = pool.run(f"import os, tempfile\nfor i, one in enumerate([{shown}]): __shrink_saw__(i, one)", values=True)
    assert run.failure is None and {at: text for at, text in run.values.items() if text} == {3: "'kept'"}


def test_a_module_of_the_script_hides_none_of_ours_and_ours_none_of_its(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text("WHO = 'the user'")
    assert pool.run("import device; print(device.WHO)").stdout == "the user\n"


def test_exit_handlers_and_threads_run_to_their_end(pool: Pool) -> None:
    source = (
        "import atexit, threading, time\natexit.register(print, 'handler')\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\nprint('main')"
    )
    assert pool.run(source).stdout.split() == ["main", "thread", "handler"]


def test_a_candidate_after_a_sticky_error_gets_a_new_process(reusing: Pool) -> None:
    first = reusing.run(POISON)
    assert first.driver_error == 716
    second = reusing.run("print('harmless')")
    assert second.driver_error == 0 and second.fresh


def test_a_clean_process_is_reused_and_says_so(reusing: Pool) -> None:
    import_pid = "import os; print(os.getpid())"
    runs = [reusing.run(import_pid) for _ in range(3)]
    assert len({run.stdout for run in runs}) == 1
    assert [(run.mode, run.fresh) for run in runs] == [("fork", True), ("warm", False), ("warm", False)]
    assert reusing.run(import_pid, fresh=True).fresh


@pytest.mark.parametrize("extension", [False, True])
def test_a_process_with_torch_is_reused_though_builds_are_watched(tmp_path: Path, extension: bool) -> None:
    """As on a GPU: what watches NVRTC and the extensions replaces functions of torch's, and puts them back."""
    pool = make(tmp_path, reuse=True, imports=("torch",), writable=(str(tmp_path / "scratch"),))
    source = "import torch\n" + "import torch.utils.cpp_extension\n" * extension
    runs = [pool.run(source) for _ in range(3)]
    pool.close()
    assert [(run.mode, run.trouble) for run in runs] == [("fork", ""), ("warm", ""), ("warm", "")], pool.retired


LEAKS = {
    "environment": ("import os; os.environ['LEFT'] = '1'", "import os; assert 'LEFT' not in os.environ"),
    "folder": ("import os; os.chdir('/')", "import os; assert os.getcwd() != '/'"),
    "path": ("import sys; sys.path.insert(0, '/left')", "import sys; assert '/left' not in sys.path"),
    "module": ("import sys; sys.modules['left'] = sys", "import sys; assert 'left' not in sys.modules"),
    "global": ("left = 1", "import __main__; assert not hasattr(__main__, 'left')"),
    "seed": (
        "import random; random.seed(1)",
        "import random; a = random.random(); random.seed(1); assert a != random.random()",
    ),
    "filter": ("import warnings; warnings.simplefilter('error')", "import warnings; warnings.warn('x')"),
    "builtin": ("import builtins; builtins.len = lambda x: 0", "assert len('abc') == 3"),
    "patch": ("import os; os.getpid = lambda: 0", "import os; assert os.getpid()"),
    "thread": (
        "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "import threading; assert threading.active_count() == 1",
    ),
    "recursion": ("import sys; sys.setrecursionlimit(77)", "import sys; assert sys.getrecursionlimit() != 77"),
    "stream": (
        "import sys, io; sys.stdout = io.StringIO()",
        "import sys, io; assert not isinstance(sys.stdout, io.StringIO)",
    ),
    "handler": (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "import signal; assert signal.getsignal(2) != signal.SIG_IGN",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_what_a_candidate_leaves_behind_does_not_reach_the_next(reusing: Pool, name: str) -> None:
    leave, look = LEAKS[name]
    assert reusing.run(leave).failure is None
    run = reusing.run(look)
    assert (run.failure, run.exit) == (None, 0)


def test_the_look_finds_what_is_not_put_back() -> None:
    """The looks above can fail: each does where both parts run in one process."""
    for name, (leave, look) in LEAKS.items():
        if name in ("global", "seed"):
            continue  # of `__main__` itself, which this test has not
        assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", f"{leave}\n{look}"]) != 0, name


def test_a_cold_process_and_a_lane_agree(pool: Pool) -> None:
    for source in ("print(1)", "1 / 0", "import os; os._exit(5)", "import os; os.abort()"):
        assert facts(pool.cold(source)) == facts(pool.run(source))


def facts(run: Run) -> tuple[object, ...]:
    return run.exit, run.signal, run.failure and run.failure.type, run.stdout


def test_the_environment_set_before_the_imports_is_in_force_in_the_worker(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text("")
    source = "import os\nos.environ['PYTHONWARNINGS'] = 'error'\nimport json\nprint(os.environ['PYTHONWARNINGS'])"
    assert pool.run(source).stdout == "error\n"
    assert pool.run("import os\nimport json\nprint('PYTHONWARNINGS' in os.environ)").stdout == "False\n"


def stock_of(pool: Pool, source: str) -> Stock:
    with pool._workers.using(*pool._worker(pool.script.request(source), "", PLAIN)) as stock:
        return stock


def test_lanes_die_with_the_tool(tmp_path: Path) -> None:
    """A tool killed with -9 leaves no process behind."""
    code = (
        "import os, sys\nfrom pathlib import Path\nsys.path.insert(0, os.getcwd())\n"
        "from tests.runner.test_lanes import make, stock_of\n"
        f"pool = make(Path({str(tmp_path)!r}))\n"
        "pid = pool.run('import os; print(os.getppid())').stdout.strip()\n"
        "lane = stock_of(pool, '').spares[0]\nlane.wait_ready(5)\n"
        "print(pid, lane.pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == -9, done.stderr
    assert all(gone(int(pid)) for pid in done.stdout.split())


def test_a_spare_lane_comes_for_each_that_is_taken_and_one_more_for_each_that_was_waited_for(pool: Pool) -> None:
    """On a GPU each makes a context, one after another for the whole machine."""
    stock = Stock(stock_of(pool, "").worker, 5)
    for _ in range(3):
        for spare in stock.spares:
            assert spare.wait_ready(10)
        stock.take(fresh=True).kill()
        assert len(stock.spares) == 2
    for _ in range(6):  # sooner than a process is forked
        stock.take(fresh=True).kill()
    assert 2 < len(stock.spares) <= 5


def test_lanes_that_will_be_taken_at_once_come_up_beforehand_and_are_not_replaced(pool: Pool) -> None:
    stock = Stock(stock_of(pool, "").worker, 6, first=0)
    assert not stock.spares
    stock.expect(9)
    assert len(stock.spares) == 6
    for spare in stock.spares:
        assert spare.wait_ready(10)
    taken = [stock.take(fresh=True) for _ in range(6)]
    assert not stock.spares and len({lane.pid for lane in taken}) == 6
    assert stock.take(fresh=True).wait_ready(10)
    assert len(stock.spares) == 1


def test_an_interpreter_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    setup = Setup(python="/bin/false", environment={}, imports=(), own=(), scratch=str(tmp_path))
    with pytest.raises(UsageError, match="did not start in /bin/false"):
        Worker(setup)


KILLED = """
import os, pathlib
starts = pathlib.Path(__file__).with_name("starts")
starts.open("a").write("x")
if len(starts.read_text()) <= {kills}:
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("kills", [1, 2])
def test_a_worker_that_is_killed_while_it_imports_is_started_once_more(tmp_path: Path, kills: int) -> None:
    (tmp_path / "killing.py").write_text(KILLED.format(kills=kills))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    setup = Setup(sys.executable, environment, ("killing",), (), str(tmp_path))
    if kills == 1:
        with closing(Worker.start(setup)) as worker:
            assert not worker.report["failed"]
    else:
        with pytest.raises(UsageError, match="was killed while it started.* Make memory free and try again"):
            Worker.start(setup)
    assert len((tmp_path / "starts").read_text()) == 2


def test_where_workers_are_killed_in_a_search_a_candidate_has_a_process_of_its_own(tmp_path: Path) -> None:
    """Such as a second one, for a candidate that sets another environment before its imports."""
    (tmp_path / "killing.py").write_text("import os\nif os.environ.get('SECOND'):\n    os.kill(os.getpid(), 9)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    setup = Setup(sys.executable, environment, ("killing",), (), str(tmp_path))
    script = Script(tmp_path / "script.py", cwd=tmp_path)
    with closing(Pool(script, setup, mode="fork", jobs=1, seconds=60)) as pool:
        first = pool.run("print(1)\n")
        second = pool.run("import os\nos.environ['SECOND'] = '1'\nimport json\nprint(2)\n")
        third = pool.run("print(3)\n")
    assert [run.stdout for run in (first, second, third)] == ["1\n", "2\n", "3\n"]
    assert [run.mode for run in (first, second, third)] == ["fork", "cold", "fork"]


def test_a_worker_that_is_killed_when_it_is_up_is_gone_and_no_error(pool: Pool) -> None:
    worker = Worker(pool.setup)
    os.kill(worker.process.pid, signal.SIGKILL)
    assert worker.process.wait(5) == -signal.SIGKILL
    with closing(Stock(worker, 2)) as stock, pytest.raises(WorkerGone):
        stock.take(False)


HANGING_SEED = """\
import sys, time, types
sys.modules["numpy.random"] = types.SimpleNamespace(seed=lambda: time.sleep(1000))
"""
"""Plays numpy: of a lane without a context, its seed is what comes before its first word."""
HANGING_CONTEXT = "import time\nset_num_threads = id\ndef empty(*_, **__):\n    time.sleep(1000)\n"
"""Plays torch on a GPU that is lost: a context never comes up."""


@pytest.mark.parametrize("context", [True, False])
def test_a_lane_that_never_comes_up_is_waited_for_once(
    context: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without a context is waited for less long."""
    (tmp_path / "torch.py").write_text(HANGING_CONTEXT)
    (tmp_path / "hanging.py").write_text(HANGING_SEED)
    monkeypatch.setattr(f"shrinkray_gpu.runner.stock.{'CONTEXTS' if context else 'COMES_UP'}", 1.0)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    more: dict[str, object] = {"warm": True} if context else {"imports": ("hanging",), "own": ()}
    with closing(make(tmp_path, environment=environment, prepare=False, **more)) as pool:
        pool.start("")
        waits, wait_ready = list[float](), Lane.wait_ready

        def counted(lane: Lane, seconds: float) -> bool:
            waits.append(seconds)
            return wait_ready(lane, seconds)

        monkeypatch.setattr(Lane, "wait_ready", counted)
        run = pool.run("pass")
        assert run.trouble == "a lane did not come up: no answer in time"
        assert waits == [1.0]


def test_a_cold_process_that_never_comes_up_is_not_waited_for_as_long_as_imports_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is imported in it before it says that it is there."""
    (python := tmp_path / "python").write_text("#!/bin/sh\nexec sleep 1000\n")
    python.chmod(0o755)
    monkeypatch.setattr("shrinkray_gpu.runner.lanes.COMES_UP", 0.5)
    with closing(make(tmp_path, python=str(python))) as pool:
        assert pool.cold("pass").trouble == "the interpreter did not start"


STOPS = "import os\nos.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), 19))\n"


def test_a_lane_and_a_cold_process_that_are_stopped_before_they_are_up_go_on(tmp_path: Path) -> None:
    (python := tmp_path / "python").write_text(f'#!/bin/sh\nkill -STOP $$\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (path := tmp_path / "path").mkdir()
    (path / "stops.py").write_text(STOPS)
    environment = {**os.environ, "PYTHONPATH": str(path)}
    began = time.monotonic()
    with closing(make(tmp_path, python=str(python), environment=environment, imports=("stops",), own=())) as pool:
        assert [pool.run("print(1)").stdout, pool.cold("print(1)").stdout] == ["1\n"] * 2
    assert time.monotonic() - began < COMES_UP


def test_a_lane_that_its_candidate_stopped_does_not_go_on_while_another_one_comes_up(tmp_path: Path) -> None:
    with closing(make(tmp_path)) as pool, ThreadPoolExecutor(1) as thread:
        brief = pool.serving(pool.script, seconds=4.0)
        stopped = thread.submit(brief.run, "import os\nos.kill(os.getpid(), 19)\nprint('on')")
        while not stopped.done():
            assert pool.run("pass", fresh=True).exit == 0
        assert stopped.result().timed_out and stopped.result().stdout == ""


def test_what_a_worker_made_is_left_out_when_a_lane_collects_garbage(pool: Pool) -> None:
    source = (
        "import gc, json\n"
        "left = gc.get_objects(0) + gc.get_objects(1) + gc.get_objects(2)\n"
        "print(gc.isenabled(), any(each is json.loads for each in left))\n"
    )
    assert pool.run(source).stdout == "True False\n"


def test_a_worker_starts_though_its_gpu_does_not_answer(tmp_path: Path) -> None:
    """One that is busy may have no memory for one context more. There is none at all here."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    worker = Worker(
        Setup(sys.executable, environment, imports=("torch", "triton"), own=(), scratch=str(tmp_path), warm=True)
    )
    with closing(worker):
        assert not worker.report["failed"]


@pytest.mark.parametrize("module", ["broken", "broken.kernels"])
def test_a_worker_starts_though_a_package_cannot_be_imported(tmp_path: Path, module: str) -> None:
    """One that asks for the GPU's architecture while it is imported, say. To find a module of it imports it, too."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("raise AssertionError('no device')\n")
    (tmp_path / "broken" / "kernels.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with closing(Worker(Setup(sys.executable, environment, (module, "json"), (), str(tmp_path)))) as worker:
        assert worker.report["failed"] == {module: "AssertionError: no device"}


def test_a_lane_forked_while_its_worker_ends_ends_as_well(tmp_path: Path) -> None:
    """Else nobody would end it: Ctrl-C waited for as long as its candidate slept."""
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = make(folder)
        made.start("pass")
        lane = stock_of(made, "pass").worker.spawn()
        made.close()
        assert not lane.wait_ready(20) or gone(lane.pid)
