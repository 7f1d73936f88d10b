"""A way that concerns the whole process gets a worker of its own, which stays and costs the candidates none."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting, parse_setting
from shrinkray_gpu.runner.pool import OTHERS, WORKERS, Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.stock import Stocks
from tests.runner.test_lanes import make

TELL = "import os, sys\nprint(os.getppid(), os.environ.get('COLOUR'), sys.executable)\n"


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    made = make(tmp_path)
    yield made
    made.close()


def worker(run: Run) -> int:
    """The process that forked the lane."""
    assert run.exit == 0, run.stderr + run.trouble
    return int(run.stdout.split()[0])


def test_the_environment_is_there_from_the_start_and_the_worker_stays(pool: Pool) -> None:
    red, blue = parse_setting("COLOUR=red"), parse_setting("COLOUR=blue")
    plain, first, second, other = (pool.run(TELL, way=way) for way in (PLAIN, red, red, blue))
    assert [run.stdout.split()[1] for run in (plain, first, second, other)] == ["None", "red", "red", "blue"]
    assert worker(first) == worker(second)
    assert len({worker(plain), worker(first), worker(other), os.getpid()}) == 4
    assert (first.mode, first.fresh) == ("fork", True)


def test_what_is_imported_ahead_sees_the_environment(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text("import os\nCOLOUR = os.environ.get('COLOUR')\n")
    pool = make(tmp_path, environment={**os.environ, "PYTHONPATH": str(tmp_path)}, own=())
    assert pool.run("import asks\nprint(asks.COLOUR)", way=parse_setting("COLOUR=red")).stdout == "red\n"
    assert pool.run("import asks\nprint(asks.COLOUR)").stdout == "None\n"
    pool.close()


def test_another_interpreter_runs_the_candidate(pool: Pool, tmp_path: Path) -> None:
    link = tmp_path / "another-python"
    link.symlink_to(sys.executable)
    first, second = (pool.run(TELL, way=parse_setting(f"python={link}")) for _ in range(2))
    assert first.stdout.split()[2] == str(link)
    assert worker(first) == worker(second) != worker(pool.run(TELL))


def test_knobs_alone_go_to_the_lanes_that_there_are(pool: Pool) -> None:
    plain, turned = pool.run(TELL), pool.run(TELL, way=parse_setting("num_stages=1"))
    assert worker(plain) == worker(turned)
    assert turned.turned == {"num_stages": 0}  # a script without Triton has nothing to turn
    assert plain.turned == {}


def test_many_ways_do_not_cost_the_candidates_their_worker(pool: Pool) -> None:
    main = worker(pool.run(TELL))
    ways = [parse_setting(f"COLOUR={n}") for n in range(max(OTHERS, WORKERS) + 2)]
    workers = [worker(pool.run(TELL, way=way)) for way in ways]
    assert len(set(workers)) == len(ways)
    assert worker(pool.run(TELL)) == main
    assert worker(pool.run(TELL, way=ways[-1])) == workers[-1]  # used last: kept
    assert worker(pool.run(TELL, way=ways[0])) != workers[0]  # made room


def test_a_worker_in_use_is_not_ended_to_make_room(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    waits = f"print('waiting', flush=True)\nprint(open({str(gate)!r}).read())\n"
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.run, waits, way=parse_setting("COLOUR=waiting"))
        writer = os.open(gate, os.O_WRONLY)  # returns when the candidate has opened its end
        for n in range(OTHERS + 1):
            assert pool.run(TELL, way=parse_setting(f"COLOUR={n}")).exit == 0
        os.write(writer, b"through")
        os.close(writer)
        assert waiting.result().stdout == "waiting\nthrough\n"


def test_a_worker_outlives_the_thread_that_first_asked_for_it(pool: Pool) -> None:
    seen: list[int] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: seen.append(worker(pool.run(TELL, way=parse_setting("COLOUR=red")))))
        thread.start()
        thread.join()
    assert seen[0] == seen[1]


def test_the_kernels_of_another_compiler_setting_are_kept_apart(pool: Pool) -> None:
    cache = "import os\nprint(os.environ.get('TRITON_CACHE_DIR'))"
    folders = [
        pool.run(cache, way=parse_setting(text)).stdout for text in ("PTXAS_OPTIONS=-O1", "TRITON_F32_DEFAULT=ieee")
    ]
    assert len({*folders, pool.run(cache).stdout}) == 3
    assert pool.run(cache, way=parse_setting("no-caching")).stdout == pool.run(cache).stdout


def test_an_interpreter_that_does_not_start_says_nothing_about_the_candidate(pool: Pool) -> None:
    run = pool.run(TELL, way=KnobSetting("python=/bin/false", python="/bin/false"))
    assert "did not start" in run.trouble
    assert pool.run(TELL).exit == 0


def test_where_each_candidate_has_a_process_ways_have_too(pool: Pool, tmp_path: Path) -> None:
    cold = Pool(pool.script, replace(pool.setup), mode="cold", jobs=1, seconds=5)
    runs = [cold.run(TELL, way=parse_setting("COLOUR=red")) for _ in range(2)]
    parents = {worker(run) for run in runs}
    assert len(parents) == 2 and [run.stdout.split()[1] for run in runs] == ["red"] * 2, "each has a guard of its own"
    assert {run.mode for run in runs} == {"cold"}
    cold.close()


def test_none_is_made_while_all_are_ended() -> None:
    """On Ctrl-C a candidate whose worker is gone asks for another one meanwhile, which nobody would end."""
    stocks, made = Stocks(2), []

    class Ending:
        def close(self) -> None:
            with pytest.raises(RuntimeError), stocks.using("other", lambda: made.append(1)):  # type: ignore[arg-type,return-value]
                pass

    with stocks.using("one", Ending):  # type: ignore[arg-type]
        pass
    stocks.close()
    assert made == []


def test_another_worker_comes_up_where_one_was_killed(pool: Pool) -> None:
    first = worker(pool.run(TELL))
    os.kill(first, signal.SIGKILL)
    runs = [pool.run(TELL) for _ in range(6)]
    assert [run.trouble for run in runs] == [""] * 6
    assert worker(runs[-1]) != first  # lanes that it had forked may still have answered the first of these
