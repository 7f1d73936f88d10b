"""The fence: it stands around candidates, not around the user's own program, and what it refuses is told by name."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.device import coredump
from shrinkray_gpu.runner import plain
from shrinkray_gpu.runner.fence import advice, description, refused
from shrinkray_gpu.runner.inside import fence
from shrinkray_gpu.runner.inside.process import landlock, private_memory, signal_filter
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from tests.oracle.runs import failing

fenced = pytest.mark.skipif(landlock.level() < 1, reason="this kernel has no Landlock")
ORIGINAL = "open('results.html', 'w').write('1')\n"
CANDIDATE = "open('results.html', 'w').write('2')\n"


LEVELS = {landlock.WRITES: 1, landlock.TCP: 4, landlock.SIGNALS: 6}
"""Of Landlock, from which on a part of the fence is there."""
ABSTRACT = "import socket\nsocket.socket(socket.AF_UNIX).connect({!r})\n"


def pool(
    folder: Path, *, writable: tuple[Path, ...] = (), left_open: tuple[str, ...] = (), mode: str = "cold"
) -> Pool:
    setup = private_setup(
        folder / "work",
        dict(os.environ),
        python=sys.executable,
        imports=(),
        own=(),
        writable=writable,
        left_open=left_open,
    )
    script = Script(folder / "failing.py", cwd=folder, original=ORIGINAL)
    return Pool(script, setup, mode=mode, jobs=1, seconds=60)


def outcomes(folder: Path, source: str, left_open: tuple[str, ...] = ()) -> list[str]:
    """What the source ends in: in a fork, in a cold process, as the final check runs it."""
    with closing(pool(folder, left_open=left_open, mode="fork")) as lanes:
        runs = [lanes.run(source), lanes.cold(source)]
        file = folder / "script.py"
        file.write_text(source)
        plainly = plain.run_file(
            sys.executable, file, (), environment=os.environ, cwd=folder, seconds=60,
            prefix=plain.fence(sys.executable, lanes.setup),
        )  # fmt: skip
    ended = [run.failure.type if run.failure else run.stdout.strip() for run in runs]
    last = (plainly.stderr.strip().splitlines() or [plainly.stdout.strip()])[-1]
    return [*ended, last.partition(":")[0]]


def held(part: str, folder: Path) -> bool:
    """Whether this machine has that part of the fence. A part that Landlock has is there from its level on."""
    run = pool(folder).cold("pass")
    assert part not in LEVELS or (part in run.fence) == (landlock.level() >= LEVELS[part])
    return part in run.fence


@pytest.mark.parametrize("forbidden", [(), fence.PARTS], ids=["the whole fence", "none of it"])
@pytest.mark.parametrize(
    ("part", "source"),
    [
        (landlock.WRITES, "open({outside!r}, 'w')"),
        (landlock.TCP, "import socket\nsocket.create_connection(('127.0.0.1', {port}))"),
        (landlock.TCP, "import socket\nsocket.socket().bind(('127.0.0.1', 0))"),
        (landlock.SIGNALS, "import os\nos.kill({tool}, 0)"),
        (landlock.SIGNALS, "import os\nos.kill(os.getppid(), 0)"),
        (landlock.SIGNALS, "import resource\nresource.prlimit({tool}, resource.RLIMIT_CPU)"),
        (landlock.SIGNALS, ABSTRACT),
    ],
    ids=["a file", "a connection", "a port", "the tool", "its parent", "the tool's limits", "an abstract socket"],
)
def test_what_a_part_of_the_fence_refuses(
    tmp_path: Path, part: str, source: str, forbidden: tuple[str, ...]
) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.create_server(("127.0.0.1", 0)) as server:
        listening.bind(name := f"\0shrink-{tmp_path}")
        listening.listen(5)
        port, outside = server.getsockname()[1], str(tmp_path / "outside")
        source = source.format(name, outside=outside, tool=os.getpid(), port=port)
        refused = not forbidden and held(part, tmp_path)
        ends = outcomes(tmp_path, source, forbidden)
    assert ends == ["PermissionError" if refused else ""] * 3


PORT = "import socket\nsocket.socket().bind(('127.0.0.1', 0))"


def test_a_run_that_writes_a_core_dump_of_the_gpu_gets_a_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver asks for one, and without an end where the fence refuses it."""
    monkeypatch.setenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "0")
    assert outcomes(tmp_path, PORT) == ["PermissionError" if held(landlock.TCP, tmp_path) else ""] * 3
    monkeypatch.setenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1")
    assert outcomes(tmp_path, PORT) == [""] * 3


def test_a_way_that_writes_a_core_dump_leaves_the_record_of_the_fence_as_it_was(tmp_path: Path) -> None:
    way = KnobSetting("dump", environment=coredump.environment(tmp_path / "core"))
    with closing(pool(tmp_path, mode="fork")) as lanes:
        before = (lanes.run("pass"), lanes.cold("pass"))[1].fence
        dumping = [lanes.run(PORT, way=way), lanes.cold(PORT, way=way)]
        assert [run.failure for run in dumping] == [None] * 2
        assert [set(run.fence) for run in dumping] == [set(before) - {landlock.TCP}] * 2
        assert lanes.fence == before


def test_without_landlock_s_part_no_signal_goes_up(tmp_path: Path) -> None:
    """Nor to all processes; but to one beside it, to its own group, and to what it started."""
    left_open = (landlock.SIGNALS,)
    assert signal_filter.PART in pool(tmp_path, left_open=left_open).cold("pass").fence
    for pid in (str(os.getpid()), "os.getppid()", "-1"):
        assert outcomes(tmp_path, f"import os\nos.kill({pid}, 0)", left_open) == ["PermissionError"] * 3
    beside = subprocess.Popen(["sleep", "60"])
    try:
        own = "child = os.fork() or time.sleep(60)\nos.kill(child, 9)\nprint(os.wait()[1])\nos.kill(0, 0)"
        source = f"import os, time\nos.kill({beside.pid}, 0)\n{own}"
        assert outcomes(tmp_path, source, left_open) == ["9"] * 3
    finally:
        beside.kill()
        beside.wait()


@pytest.mark.parametrize("forbidden", [(), fence.PARTS], ids=["the whole fence", "none of it"])
def test_shared_memory_of_others_is_not_seen(tmp_path: Path, forbidden: tuple[str, ...]) -> None:
    block = Path("/dev/shm", f"shrink-{os.getpid()}")
    block.write_text("theirs")
    try:
        unseen = not forbidden and held(private_memory.PART, tmp_path)
        source = f"import os\nprint(os.path.exists({str(block)!r}))\nopen({str(block)!r}, 'w').write('ours')"
        assert outcomes(tmp_path, source, forbidden) == [str(not unseen), str(not unseen), str(not unseen)]
        assert block.read_text() == ("theirs" if unseen else "ours")
    finally:
        block.unlink()


SYSTEM_V = """\
import ctypes
print(ctypes.CDLL(None).shmget({key}, 4096, 0o1600) >= 0)
"""


@pytest.mark.parametrize("forbidden", [(), fence.PARTS], ids=["the whole fence", "none of it"])
def test_shared_memory_of_system_v_is_gone_with_the_candidate(tmp_path: Path, forbidden: tuple[str, ...]) -> None:
    unseen, key = not forbidden and held(private_memory.PART, tmp_path), 0x5348 << 16 | os.getpid() & 0xFFFF
    try:
        assert outcomes(tmp_path, SYSTEM_V.format(key=key), forbidden) == ["True"] * 3
        left = [line.split()[0] for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
        assert (str(key) in left) != unseen
    finally:
        subprocess.run(["ipcrm", "-M", str(key)], capture_output=True)


def test_a_try_that_does_not_come_to_its_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fork server waits for it before it answers."""
    monkeypatch.setattr(private_memory, "PATIENCE", 0.1)
    monkeypatch.setattr(private_memory, "begin", lambda: os.kill(os.getpid(), signal.SIGSTOP))
    assert not private_memory.possible(())


def test_what_lies_in_shared_memory_is_seen_where_the_program_needs_it() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        run = pool(Path(folder)).cold(CANDIDATE.replace("results.html", "/dev/null"))
        assert run.exit == 0 and private_memory.PART not in run.fence


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr", "/proc/self/comm"])
def test_what_every_program_may_write_is_open(tmp_path: Path, name: str) -> None:
    assert outcomes(tmp_path, f"open({name!r}, 'w').close()") == [""] * 3


@fenced
@pytest.mark.parametrize("name", ["mem", "fd/1", "task/{tool}/mem"])
def test_what_others_have_in_proc_is_not_written(tmp_path: Path, name: str) -> None:
    """Landlock lets nobody look into a process outside, whatever may be written."""
    source = f"open('/proc/{os.getpid()}/{name.format(tool=os.getpid())}', 'r+b', 0)"
    assert outcomes(tmp_path, source) == ["PermissionError"] * 3


NAMED = """\
import os, threading
child = os.fork()
if not child:
    other = threading.Thread(target=threading.Event().wait, args=(5,), daemon=True)
    other.start()
    with open(f"/proc/self/task/{other.native_id}/comm", "w") as told:
        told.write("cuda-EvtHandlr")
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


def test_a_child_names_its_threads(tmp_path: Path) -> None:
    """As the driver does, which starts no context where it may not."""
    assert outcomes(tmp_path, NAMED) == ["0"] * 3


SETTINGS = """\
import errno, os
for name in ("sys/vm/drop_caches", "sysrq-trigger", "sys/kernel/core_pattern"):
    try:
        os.close(os.open("/proc/" + name, os.O_WRONLY))
        print(name)
    except OSError as error:
        assert error.errno in (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOENT), error
print("none")
"""


@fenced
def test_nobody_sets_what_is_the_kernel_s(tmp_path: Path) -> None:
    assert outcomes(tmp_path, SETTINGS) == ["none"] * 3


HALF = """\
for each in irq bus fs sysrq-trigger acpi; do
  if [ -e /proc/$each ]; then mount --bind /proc/$each /proc/$each && mount -o remount,bind,ro /proc/$each; fi
done
exec "$0" "$@"
"""
CHANGED_ROOT = """\
for each in /*; do
  name=$ROOT$each
  if [ -L "$each" ]; then cp -a "$each" "$name"
  elif [ -d "$each" ]; then mkdir "$name" && mount --rbind "$each" "$name"; fi
done
exec chroot "$ROOT" "$0" "$@"
"""
PROTECTED = """\
import os
from shrinkray_gpu.runner.inside.process import kernel_settings
print(kernel_settings.protect(), os.access("/proc/sys/kernel/core_pattern", os.W_OK))
print([path for path in kernel_settings.ALSO if os.access(path, os.W_OK)])
"""
as_root = pytest.mark.skipif(
    not os.access("/proc/sys/vm/overcommit_memory", os.W_OK)
    or shutil.which("unshare") is None
    or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="needs root, who may have mount namespaces",
)


@as_root
def test_the_kernel_s_settings_are_looked_at_themselves() -> None:
    """Root writes the files of /proc/sys, though the kernel says that nobody writes the folder; what lies beside it may
    be read-only."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", HALF, sys.executable, "-c", PROTECTED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True False\n[]\n"


@as_root
def test_a_root_that_is_no_mount_has_a_proc_that_is_one(tmp_path: Path) -> None:
    """As after chroot."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", CHANGED_ROOT, sys.executable, "-c", PROTECTED],
        env={**os.environ, "ROOT": str(tmp_path), "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True False\n[]\n"


@as_root
def test_without_mounts_proc_stays_closed() -> None:
    command = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sys.executable, "-c", PROTECTED]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("False True\n")


@as_root
@fenced
def test_what_is_the_kernel_s_is_written_where_the_user_says_so(tmp_path: Path) -> None:
    source = "import os\nfor name in ('vm/drop_caches', 'kernel/core_pattern'):\n    os.open('/proc/sys/' + name, 1)\n"
    with closing(pool(tmp_path, writable=(Path("/proc/sys/vm"),), mode="fork")) as lanes:
        runs = [lanes.run(source), lanes.cold(source)]
    texts = [run.failure.text for run in runs if run.failure]
    assert len(texts) == 2 and all("Read-only file system: '/proc/sys/kernel/core_pattern'" in text for text in texts)


AROUND = """\
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, done in (
    ("a copy of /proc", lambda: libc.syscall(428, -100, b"/proc", 1)),
    ("the host's name", lambda: libc.sethostname(b"theirs", 6)),
    ("a restart", lambda: libc.reboot(0)),
    ("a mount", lambda: libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)),
):
    assert done() < 0, name
try:
    os.mknod("disk", 0o60600, os.makedev(254, 0))
except PermissionError:
    print("none")
"""


@as_root
@fenced
def test_root_has_no_way_around_the_fence(tmp_path: Path) -> None:
    """Files in which root may set what is the kernel's, and disks of its own making, in a folder that it may write."""
    with closing(pool(tmp_path, writable=(tmp_path,), mode="fork")) as lanes:
        runs = [lanes.run(AROUND), lanes.cold(AROUND)]
    assert [(run.exit, run.stdout) for run in runs] == [(0, "none\n")] * 2, runs


LATER = """\
import os, subprocess, sys
from shrinkray_gpu.runner.inside.process import private_memory
(ours, theirs), (asked, asks) = os.pipe(), os.pipe()
if not os.fork():
    assert private_memory.begin()
    subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[2]], check=True)
    os.write(theirs, b".")
    os.read(asked, 1)
    print(os.path.exists(sys.argv[1] + "/mounted"), flush=True)
    os._exit(0)
os.read(ours, 1)
subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[1]], check=True)
open(sys.argv[1] + "/mounted", "w").close()
os.write(asks, b".")
os.wait()
print(os.path.ismount(sys.argv[2]))
"""


@as_root
def test_what_is_mounted_later_is_seen_and_nothing_is_mounted_for_others(tmp_path: Path) -> None:
    """An automounter mounts a folder when somebody looks into it."""
    places = [str(tmp_path / "theirs"), str(tmp_path / "ours")]
    for place in places:
        os.mkdir(place)
    command = ["unshare", "-m", "--propagation", "shared", sys.executable, "-c", LATER, *places]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\nFalse\n"


def test_processes_of_one_candidate_reach_each_other(tmp_path: Path) -> None:
    source = (
        "import os, signal, socket, sys\nfrom multiprocessing import shared_memory\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(f'\\0own-{os.getpid()}'); s.listen()\n"
        "if (child := os.fork()) == 0:\n"
        "    c = socket.socket(socket.AF_UNIX); c.connect(s.getsockname()); signal.pause()\n"
        "s.accept(); os.kill(child, signal.SIGTERM); os.waitpid(child, 0)\n"
        "block = shared_memory.SharedMemory(create=True, size=8); block.close(); block.unlink()\n"
        "print('done', flush=True)\n"
    )
    assert outcomes(tmp_path, source) == ["done"] * 3


OLDER = """\
import json, os, socket, sys
from shrinkray_gpu.runner.inside import fence
from shrinkray_gpu.runner.inside.process import landlock
landlock.level = lambda: int(sys.argv[1])
setup = {"scratch": sys.argv[2], "writable": [], "own": [], "cwd": os.getcwd(), "left_open": []}
held, refused = fence.hold(setup, private=fence.prepare(setup)), []
for name, tried in (
    ("inside", lambda: open(sys.argv[2] + "/x", "w").close()),
    ("write", lambda: open(sys.argv[3] + "/x", "w").close()),
    ("truncate", lambda: os.truncate(sys.argv[3] + "/old", 0)),
    ("port", lambda: socket.socket().bind(("127.0.0.1", 0))),
    ("parent", lambda: os.kill(os.getppid(), 0)),
):
    try:
        tried()
    except PermissionError:
        refused.append(name)
print(json.dumps([held, refused]))
"""
FIRST_REFUSED = {"write": 1, "truncate": 3, "port": 4, "parent": 0}
"""By the level of Landlock from which on it is. Signals to the parent the filter of calls refuses before Landlock."""


@pytest.mark.parametrize("level", range(8))
def test_what_an_older_kernel_is_asked_for(tmp_path: Path, level: int) -> None:
    """This kernel takes the requests for the levels before its own."""
    if landlock.level() < level:
        pytest.skip(f"this kernel has Landlock {landlock.level()}")
    for name in ("scratch", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "old").touch()
    command = [sys.executable, "-c", OLDER, str(level), str(tmp_path / "scratch"), str(tmp_path / "outside")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    held, refused = json.loads(done.stdout)
    signals = landlock.SIGNALS if level >= LEVELS[landlock.SIGNALS] else signal_filter.PART
    parts = [part for part, least in LEVELS.items() if level >= least and part != landlock.SIGNALS]
    assert [part for part in held if part != private_memory.PART] == [*parts, signals]
    assert refused == [name for name, least in FIRST_REFUSED.items() if level >= least]


NO_NAMESPACES = """\
echo 0 > /proc/sys/user/max_user_namespaces
exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$0" "$@"
"""


@as_root
@fenced
def test_without_namespaces_the_parts_that_need_none_hold(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "old").touch()
    words = [str(landlock.level()), str(tmp_path), str(tmp_path / "outside")]
    command = ["unshare", "-U", "--map-root-user", "sh", "-c", NO_NAMESPACES, sys.executable, "-c", OLDER, *words]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    held, refused = json.loads(done.stdout)
    assert private_memory.PART not in held and landlock.WRITES in held


def test_a_part_that_is_left_out_is_told() -> None:
    assert description(None, (), "watched", 0) == ""
    usual = tuple(part for part in fence.PARTS if part != signal_filter.PART)
    assert description(usual, (), "watched", 0) == (
        "fence around candidates: writes, TCP, signals, shared memory; host memory: watched"
    )
    assert description((landlock.WRITES,), (landlock.TCP,), "by a control group", 2) == (
        "fence around candidates: writes; not on this machine: signals, signals to what is above it, shared memory; "
        "open, since the fault needs it: TCP; host memory: by a control group, 2 runs ended for it"
    )


@fenced
def test_the_users_own_program_writes_where_it_likes_and_a_candidate_does_not(tmp_path: Path) -> None:
    runs = pool(tmp_path)
    own = runs.cold(ORIGINAL)
    assert own.failure is None and own.writes == (str(tmp_path.resolve() / "results.html"),)
    run = runs.cold(CANDIDATE)
    assert (tmp_path / "results.html").read_text() == "1"
    assert refused(run, tmp_path) == (tmp_path / "results.html",) and run.writes == ()
    assert f"--writable {tmp_path} allows it" in advice(refused(run, tmp_path))


@fenced
def test_a_candidate_writes_where_the_user_allows_it(tmp_path: Path) -> None:
    run = pool(tmp_path, writable=(tmp_path,)).cold(CANDIDATE)
    assert run.failure is None and (tmp_path / "results.html").read_text() == "2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_nobody_may_write_was_not_refused_by_the_fence(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o500)
    there = failing("PermissionError", f"[Errno 13] Permission denied: '{tmp_path}/theirs/x'")
    assert refused(there, tmp_path) == () and advice(()) == ""


def test_a_refusal_that_the_program_turns_into_another_error_is_told_too(tmp_path: Path) -> None:
    said = f"PermissionError: [Errno 13] Permission denied: '{tmp_path}/a/b'\n"
    assert refused(failing("RuntimeError", "no cache", stderr=said), tmp_path) == (tmp_path / "a" / "b",)


def test_the_first_of_the_folders_stays_that_of_the_caches(tmp_path: Path) -> None:
    setup: Setup = pool(tmp_path, writable=(tmp_path,)).setup
    assert setup.writable == (str(tmp_path / "work" / "cache"), str(tmp_path))


def test_no_cache_is_where_a_candidate_may_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the driver is in the home folder else: what it makes of PTX would be made anew in each process."""
    ours = {"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH"}
    for name in ours:  # Inductor sets two of them where it is imported
        monkeypatch.delenv(name, raising=False)
    setup = pool(tmp_path).setup
    caches = {name: path for name, path in setup.environment.items() if "_CACHE_" in name and name not in os.environ}
    assert ours <= set(caches)
    assert all(path.startswith(setup.writable[0]) for path in caches.values()), caches
