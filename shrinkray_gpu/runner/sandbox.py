"""A sandbox for programs of others: the whole command runs once more in it, by bubblewrap or in a container of docker.

The machine's own system is all there, and can only be read. There is no network but the sandbox's own loopback, /tmp
and /dev/shm are its own, no process outside is seen, and of devices there are the GPUs.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.inside.process import kernel_settings, landlock

MARK = "SHRINKRAY_GPU_SANDBOX"
"""In the environment of what runs in one: its name."""
IMAGE = "busybox"
"""Of docker, where none is named: all that is run comes from this machine."""
OWN = frozenset({"dev", "proc", "sys", "tmp", "run", "lost+found"})
"""Folders that a container has of its own."""


@dataclass(frozen=True)
class SandboxPlaces:
    """What a command needs beside the system itself."""

    writable: tuple[Path, ...] = ()
    """Folders that it writes in."""
    seen: tuple[Path, ...] = ()
    """Files and folders that it reads, wherever they are."""
    kept: tuple[Path, ...] = ()
    """Files in its writable folders that it only reads."""

    @property
    def hidden(self) -> list[str]:
        """Those of `seen` that the sandbox's own /tmp would hide, and what this interpreter itself needs of there."""
        ours = (*filter(None, sys.path), sys.prefix, sys.base_prefix, os.getcwd(), Path(__file__).parents[2])
        paths = dict.fromkeys(os.path.abspath(path) for path in map(str, (*self.seen, *ours)))
        # The folder itself would be all of what others have there.
        return [path for path in paths if path.startswith("/tmp/") and os.path.exists(path)]


def inside() -> str:
    """The sandbox that this process is in, `bwrap` or `docker`; empty where it is in none. Raises UsageError where the
    environment says that it is in one, and it is not."""
    name = os.environ.get(MARK, "")
    if name and not os.statvfs("/").f_flag & os.ST_RDONLY:
        raise UsageError(f"{MARK}={name} is set, and this is no sandbox: unset it")
    return name


def enter(kind: str, words: Sequence[str], places: SandboxPlaces) -> int | None:
    """Run `shrink WORDS...` in a sandbox of this kind, `bwrap`, `docker` or `docker:IMAGE`. Returns its exit code; None
    where this process is in one already. Raises UsageError where no sandbox can be made."""
    if inside():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by who waits for us, and so by us
        return None
    name, _, image = kind.partition(":")
    if name not in KINDS or (image and name != "docker"):
        raise UsageError(f"--sandbox {kind}: there are bwrap, docker and docker:IMAGE")
    _check_places(places)
    command = [sys.executable, "-m", "shrinkray_gpu", *words]
    made, probe = KINDS[name](command, places, image or IMAGE)
    _probe(kind, probe)
    waiting = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        return subprocess.run(made, env=_environment(name)).returncode
    finally:
        for number, handler in waiting.items():
            signal.signal(number, handler)


def bwrap_command(command: Sequence[str], places: SandboxPlaces, image: str = "") -> tuple[list[str], list[str]]:
    """The command in a sandbox of bubblewrap, and another one that tells whether there can be one."""
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for unshared in ("user", "pid", "ipc", "uts", "net", "cgroup-try"):
        words.append(f"--unshare-{unshared}")
    words += ["--die-with-parent", "--cap-drop", "ALL"]
    for path in filter(os.path.exists, kernel_settings.KERNEL):  # root writes there without capabilities too
        words += ["--ro-bind", path, path]
    for device in devices():
        words += ["--dev-bind", device, device]
    for path in places.hidden:
        words += ["--ro-bind", path, path]
    for folder in map(os.path.abspath, places.writable):
        words += ["--bind", folder, folder]
    for file in map(os.path.abspath, places.kept):
        words += ["--ro-bind", file, file]
    words += ["--chdir", os.getcwd(), "--"]
    return [*words, *command], [*words, "true"]


def docker_command(command: Sequence[str], places: SandboxPlaces, image: str) -> tuple[list[str], list[str]]:
    """The command in a container of docker, and another one that tells whether there can be one. The image gives it a
    root folder and no more: this machine's own folders are mounted over it."""
    terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    words = ["docker", "run", "--rm", "--init", "--interactive", *terminal, "--pull", "never", "--network", "none"]
    words += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    words += ["--user", f"{os.geteuid()}:{os.getegid()}"]
    for group in os.getgroups():
        words += ["--group-add", str(group)]
    memory = os.statvfs(landlock.SHARED_MEMORY)
    words += ["--tmpfs", "/tmp:exec,mode=1777", "--shm-size", str(memory.f_blocks * memory.f_frsize)]
    for device in devices():
        words += ["--device", device]
    for folder in sorted(entry.path for entry in os.scandir("/") if entry.is_dir() and entry.name not in OWN):
        words += ["--volume", f"{folder}:{folder}:ro"]
    for path in places.hidden:
        words += ["--volume", f"{path}:{path}:ro"]
    for folder in map(os.path.abspath, places.writable):
        words += ["--volume", f"{folder}:{folder}"]
    for file in map(os.path.abspath, places.kept):
        words += ["--volume", f"{file}:{file}:ro"]
    for variable in sorted(_environment("docker")):
        words += ["--env", variable]
    words += ["--workdir", os.getcwd()]
    return [*words, image, *command], [*words, image, "true"]


KINDS: Mapping[str, Callable[[Sequence[str], SandboxPlaces, str], tuple[list[str], list[str]]]] = {
    "bwrap": bwrap_command,
    "docker": docker_command,
}


def devices() -> list[str]:
    """GPUs of this machine, and what belongs to them."""
    return [path for path in landlock.always() if path.startswith("/dev/nvidia") or path in landlock.DEVICES]


def _environment(name: str) -> dict[str, str]:
    return {**os.environ, MARK: name, "TMPDIR": "/tmp"}


def _check_places(places: SandboxPlaces) -> None:
    """Raises UsageError where all of the user's files could be written."""
    home = os.path.realpath(os.path.expanduser("~"))
    for folder in map(os.path.realpath, places.writable):
        if folder == tempfile.gettempdir() or home == folder or home.startswith(folder.rstrip("/") + "/"):
            raise UsageError(
                f"--sandbox: {folder} would be open to the program, with all that is in it. Choose a folder of its own "
                "with --output"
            )


def _probe(kind: str, command: Sequence[str]) -> None:
    tool = command[0]
    if shutil.which(tool) is None:
        install = {"bwrap": "Install bubblewrap", "docker": "Install docker"}[tool]
        raise UsageError(f"--sandbox {kind}: there is no {tool} here. {install}, or choose another sandbox")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = _first(done.stderr.splitlines()) or f"exit code {done.returncode}"
        raise UsageError(f"--sandbox {kind}: {tool} cannot make one here: {said}")


def _first(lines: Iterable[str]) -> str:
    return next((line.strip() for line in lines if line.strip()), "")
