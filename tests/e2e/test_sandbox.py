"""`--sandbox`: programs of others see the machine's files, and reach and change nothing of it."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.runner import sandbox
from shrinkray_gpu.runner.sandbox import SandboxPlaces
from tests.corpus.making import LOOKUP, write
from tests.e2e.command import SHRINK, environment, refused, shrink
from tests.hostile.test_hostile import carriers, not_gone
from tests.lift.test_from_capsule import WHOLE

WORKS = shutil.which("bwrap") is not None and not subprocess.run(
    [*sandbox.bwrap_command([], SandboxPlaces())[1]], capture_output=True
).returncode
needs_bwrap = pytest.mark.skipif(not WORKS, reason="no sandbox of bubblewrap can be made here")
TRIES = """
import json, os, socket
tried = {{}}
def attempt(name, what):
    try:
        tried[name] = str(what())
    except OSError as error:
        tried[name] = type(error).__name__
attempt("write", lambda: open({outside!r}, "w").write("theirs"))
attempt("mode", lambda: os.chmod({outside!r}, 0o600))
attempt("program", lambda: open(os.path.abspath("failing.py"), "a"))
attempt("read", lambda: open({outside!r}).read())
attempt("kill", lambda: os.kill({tool}, 0))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", {port}), 5))
attempt("shared memory", lambda: os.listdir("/dev/shm"))
attempt("devices", lambda: [name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "nvme", "tty1"))])
attempt("kernel", lambda: os.close(os.open("/proc/sys/vm/overcommit_memory", os.O_WRONLY)))
attempt("result", lambda: open("tried.json", "w").write(json.dumps(tried)))
"""
REFUSED = {
    "write": "OSError",  # a read-only file system
    "mode": "OSError",
    "program": "OSError",
    "read": "mine",
    "kill": "ProcessLookupError",
    "connect": "ConnectionRefusedError",
    "shared memory": "[]",
    "devices": "[]",
    "kernel": "OSError" if os.geteuid() == 0 else "PermissionError",
}
FAULT = "print('one')\nprint('two')\nrows = [1, 2, 3]\nrows[7]\n"


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is not in /tmp, of which a sandbox has its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@needs_bwrap
@pytest.mark.slow
def test_a_capsule_is_reduced_in_one(tmp_path: Path) -> None:
    """What a function of its kernel writes on the host, it writes to a /tmp of its own."""
    outside = Path(tempfile.gettempdir()) / f"theirs_{uuid.uuid4().hex}"
    body = f"    __import__('pathlib').Path({str(outside)!r}).touch()\n    return 4\n"
    head = "@triton.jit\ndef add(x, i, n, mode, BLOCK: tl.constexpr):\n"
    made = copy.deepcopy(WHOLE)
    made["error"] = {"type": "triton.compiler.errors.CompilationError", "text": "", "where": "launch"}
    record = made["launches"][0]["record"]
    record["definitions"][-1:] = [
        {"kind": "function", "name": "size", "text": f"@triton.constexpr_function\ndef size():\n{body}"},
        {"kind": "function", "name": "add", "text": f"{head}    tl.store(x + tl.arange(0, size() - 1), 1.0)\n"},
    ]
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "capsule.json").write_text(json.dumps(made))
    words = "capsule theirs/capsule.json --sandbox bwrap --arch sm_90 --jobs 1 --max-time 3 --no-report"
    done = subprocess.run([*SHRINK, *words.split()], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "theirs" / "repro_capsule_launch12.py").is_file() and not outside.exists()


@needs_bwrap
def test_what_a_program_of_others_reaches(tmp_path: Path, elsewhere: Path) -> None:
    folder, outside = tmp_path / "foreign", elsewhere / "outside.txt"
    folder.mkdir()
    outside.write_text("mine")
    with socket.create_server(("127.0.0.1", 0)) as ours:
        tries = TRIES.format(outside=str(outside), tool=os.getpid(), port=ours.getsockname()[1])
        (folder / "failing.py").write_text(tries + FAULT)
        said = shrink("failing.py", "--oracle", "exception:IndexError", "--sandbox", "bwrap", "-v", cwd=folder)
    assert said.code == 0, said
    assert "  all of it in a sandbox: bwrap; fence around candidates: " in said.out
    assert json.loads((folder / "tried.json").read_text()) == REFUSED
    assert outside.read_text() == "mine" and (folder / "failing.py").read_text() == tries + FAULT
    assert len((folder / "repro_failing.py").read_text().splitlines()) <= 2


@needs_bwrap
def test_a_foreign_corpus_is_replayed_in_one(tmp_path: Path, elsewhere: Path) -> None:
    mark = elsewhere / "mark"
    asks = f"import os\ntry: os.chmod({str(mark)!r}, 0o600)\nexcept OSError: pass\n"  # no part of a fence forbids that
    write(tmp_path / "corpus", "lookup", asks + LOOKUP)
    page = tmp_path / "told" / "page.html"
    page.parent.mkdir()
    for words, mode in (((), 0o600), (("--sandbox", "bwrap", "--html", str(page)), 0o640)):
        mark.touch()
        mark.chmod(0o640)
        said = shrink("replay", "corpus", "--arch", "sm_90", *words, cwd=tmp_path)
        assert (said.code, "all is as expected" in said.out) == (0, True), said
        assert mark.stat().st_mode & 0o777 == mode
    assert page.exists()


@needs_bwrap
def test_ctrl_c_ends_the_search_and_not_the_check(tmp_path: Path) -> None:
    lines = "".join(f"print({n})\n" for n in range(200))
    slow = "import time\ntime.sleep(0.5)  # shrink: keep\n"  # each try, so that the search goes on after its first step
    (tmp_path / "failing.py").write_text(f"{slow}n = 0\n{lines}[0][n > -1]\n")
    words = ["failing.py", "--oracle", "exception:IndexError", "--sandbox", "bwrap", "--no-report"]
    process = subprocess.Popen(
        [*SHRINK, *words], cwd=tmp_path, env=environment(), start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    best, limit = tmp_path / "failing.shrink" / "best.py", time.monotonic() + 200
    while not (best.exists() and len(best.read_text()) < len(lines)) and time.monotonic() < limit:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130 and "interrupted, the best so far" in out, err
    assert "stopping after the tries under way" in err and (tmp_path / "repro_failing.py").exists()


@needs_bwrap
def test_nothing_is_left_of_one_that_is_killed(tmp_path: Path) -> None:
    word = uuid.uuid4().hex
    (tmp_path / "failing.py").write_text("open('begun', 'w')\nimport time\ntime.sleep(600)\n")
    process = subprocess.Popen(
        [*SHRINK, "failing.py", "--sandbox", "bwrap"], cwd=tmp_path, env={**environment(), "HOSTILE": word}
    )
    while not (tmp_path / "begun").exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.kill()
    process.wait()
    assert not_gone(lambda: carriers(word)) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("failing.py", "--sandbox", "bwrap"), "--sandbox bwrap: there is no bwrap here. Install bubblewrap"),
        (("failing.py", "--sandbox", "docker"), "--sandbox docker: there is no docker here. Install docker"),
        (("replay", "corpus", "--sandbox", "bwrap"), "--sandbox bwrap: there is no bwrap here. Install bubblewrap"),
        (("failing.py", "--sandbox", "jail"), "--sandbox jail: there are bwrap, docker and docker:IMAGE"),
        (("failing.py", "--sandbox", "bwrap:x"), "--sandbox bwrap:x: there are bwrap, docker and docker:IMAGE"),
        (("failing.py", "--sandbox", "bwrap", "-o", str(Path.home() / "x.py")), "would be open to the program"),
        (("failing.py", "--sandbox", "docker", "-o", "/x.py"), "would be open to the program"),
        (("replay", "corpus", "--sandbox", "bwrap", "--bisect", "x"), "--sandbox has no network"),
    ],
)
def test_where_there_can_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "failing.py").write_text(FAULT)
    write(tmp_path / "corpus", "lookup")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refused(*words, cwd=tmp_path)
    assert said.code == 2 and message in said.message and "\n" not in said.message, said
    assert not (tmp_path / "failing.shrink").exists()


@pytest.mark.parametrize("tool", ["bwrap", "docker"])
def test_one_that_cannot_run_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    (tmp_path / "failing.py").write_text(FAULT)
    (tmp_path / tool).write_text("#!/bin/sh\necho >&2; echo 'no namespaces for you' >&2; echo more >&2; exit 1\n")
    (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    said = refused("failing.py", "--sandbox", tool, cwd=tmp_path)
    assert (said.code, said.message) == (
        2, f"shrink: --sandbox {tool}: {tool} cannot make one here: no namespaces for you"
    )  # fmt: skip


def test_a_mark_without_a_sandbox_is_no_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing.py").write_text(FAULT)
    monkeypatch.setenv(sandbox.MARK, "bwrap")
    said = refused("failing.py", "--sandbox", "bwrap", cwd=tmp_path)
    assert said.code == 2 and "this is no sandbox" in said.message


@pytest.mark.parametrize("kind", ["bwrap", "docker"])
def test_what_a_sandbox_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    gpus = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]
    monkeypatch.setattr(sandbox, "devices", lambda: gpus)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing.py").touch()
    places = SandboxPlaces((tmp_path,), (Path(sys.prefix),), (tmp_path / "failing.py",))
    made, probe = sandbox.KINDS[kind](["python", "failing.py"], places, "image")
    given = " ".join(made)
    assert made[-2:] == ["python", "failing.py"] and probe == [*made[:-2], "true"]
    folder, file = str(tmp_path), str(tmp_path / "failing.py")
    if kind == "bwrap":
        assert all(f"--dev-bind {gpu} {gpu}" in given for gpu in gpus)
        assert given.index("--tmpfs /tmp") < given.index(f"--bind {folder} {folder}")
        assert given.index(f"--bind {folder} {folder}") < given.index(f"--ro-bind {file} {file}")
        assert "--ro-bind / /" in given and "--unshare-net" in made and f"--chdir {folder}" in given
    else:
        assert all(f"--device {gpu}" in given for gpu in gpus) and made[-3] == "image"
        assert f"--volume {folder}:{folder} " in given and f"--volume {file}:{file}:ro" in given
        assert "--volume /usr:/usr:ro" in given and f"--workdir {folder}" in given
        assert "--network none" in given and "--pull never" in given and "--read-only" in made
        assert "/proc:/proc" not in given and "/dev:/dev" not in given and f"--env {sandbox.MARK}" in given
