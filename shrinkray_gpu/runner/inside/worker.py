"""The worker: a process in the user's interpreter that imports what the script imports, once, and forks lanes.

    main.py FD           fork server: one child a `spawn` message; children answer on sockets of their own
    main.py --cold FD    no fork: this very process is the lane, and runs one candidate

Standard library only, until the first message says what to import. The parent never touches CUDA: a forked child of a
process that did cannot use the GPU.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import importlib.util
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any

from .process import device, landlock, script, temporary, wire

DIE_WITH_PARENT = 1


def main() -> None:
    cold = sys.argv[1] == "--cold"
    control = socket.socket(fileno=int(sys.argv[-1]))
    control.set_inheritable(False)
    _die_with_parent(os.getppid())
    setup, _ = wire.receive(control)
    if cold:
        _serve(control, setup)
        return
    started = time.monotonic()
    if setup["arch"]:
        from . import vgpu

        vgpu.before_imports()
    report = _import(setup)
    report["touched"] = device.touched()
    if setup["arch"] or (setup["warm"] and setup["prepare"]):
        from . import vgpu

        # On a real GPU too: each child's first compile would cost 0.6 s more.
        vgpu.prepare(setup["arch"] or _capability(), operations=bool(setup["arch"]))
    elif setup["prepare"]:
        _name_triton()
    report["spoilt"] = device.touched()
    report.update(seconds=time.monotonic() - started, **_versions())
    wire.send(control, {"ready": report})
    _ForkServer(control, setup).serve()


def _die_with_parent(parent: int) -> None:
    """At once, if it is gone already."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _import(setup: dict[str, Any]) -> dict[str, Any]:
    """Import what the script imports at its top, if it is installed software and not a module of the script's own."""
    missing, failed = [], {}
    own = tuple(os.path.join(folder, "") for folder in setup["own"])
    for name in setup["imports"]:
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            found = None
        if found is None:
            missing.append(name)
            continue
        if found.origin and found.origin.startswith(own) and "site-packages" not in found.origin:
            continue
        try:
            importlib.import_module(name)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # after one parallel operation here, a child's first would hang
    return {"missing": missing, "failed": failed}


def _name_triton() -> None:
    """Have Triton compute the name of its build, by which it finds kernels on disk: it reads 100s of MB for that (0.3
    s) and then remembers it, here for all children. For scripts that compile and have no GPU; asks no driver."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):  # the latter before Triton 3.5
        key: Any = getattr(sys.modules.get(name), "triton_key", None)
        if hasattr(key, "cache_info"):
            try:
                key()
            except Exception:  # a build that cannot be read: the first compile will say so
                pass
            return


def _capability() -> int:
    """The GPU's compute capability times ten, asked in a child: the parent must not touch CUDA. 0 if there is none."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, str(device.warm()["arch"]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        told = answer.read()
    os.waitpid(pid, 0)
    return int(told or 0)


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": sys.version.split()[0]}
    for name in ("torch", "triton", "helion"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", "?"))
    torch = sys.modules.get("torch")
    found["torch_cuda"] = str(torch.version.cuda) if torch is not None else ""
    return {"versions": found}


class _ForkServer:
    """Forks a lane a message, and reports how each one ended."""

    def __init__(self, control: socket.socket, setup: dict[str, Any]) -> None:
        self.control, self.setup = control, setup
        self.lanes: dict[int, int] = {}
        self.wake, alarm = os.pipe()
        os.set_blocking(alarm, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        try:
            while True:
                waiting: list[Any] = [self.control, self.wake]
                ready, _, _ = select.select(waiting, [], [])
                if self.wake in ready:
                    self._reap()
                if self.control in ready:
                    message, fds = wire.receive(self.control)
                    self._fork(message["spawn"], fds[0])
        except (wire.Closed, OSError):
            for pid in self.lanes:  # the tool is gone
                _kill_group(pid)
            os._exit(0)

    def _fork(self, name: int, fd: int) -> None:
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self.control.close()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            _die_with_parent(server)
            try:
                _serve(socket.socket(fileno=fd), self.setup)
            finally:
                os._exit(0)
        os.close(fd)
        self.lanes[pid] = name

    def _reap(self) -> None:
        os.read(self.wake, 4096)
        while self.lanes:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            name = self.lanes.pop(pid, None)
            if name is not None:
                wire.send(self.control, {"exited": name, "status": os.waitstatus_to_exitcode(status)})


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _serve(link: socket.socket, setup: dict[str, Any]) -> None:
    """Be a lane. A fault of our own is told as such, never taken for the candidate's."""
    try:
        _Lane(link, setup).serve()
    except BaseException:
        wire.send(link, {"broken": traceback.format_exc()})


class _Lane:
    """One process that runs candidates: one and no more, unless it holds a context that came out clean."""

    def __init__(self, link: socket.socket, setup: dict[str, Any]) -> None:
        self.link, self.setup = link, setup
        self.confined = False

    def serve(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        atexit._clear()  # what the parent's imports registered is not the candidate's
        baseline = None
        if self.setup["confine"]:
            self.confined = landlock.confine([self.setup["scratch"], *self.setup["writable"]])
        about = {}
        if self.setup["warm"]:
            about = device.warm()
        if self.setup["reuse"]:
            from .launches import launch_log
            from .process import restore

            launch_log.Watch(frozenset()).install()  # our own wrappers are no leftovers of a candidate

            baseline = restore.Baseline()
        wire.send(self.link, {"hello": os.getpid(), "confined": self.confined, "device": about})
        fresh = True
        while True:
            try:
                request, fds = wire.receive(self.link)
            except wire.Closed:
                return
            for fd, target in zip(fds, (1, 2)):
                os.dup2(fd, target)
                os.close(fd)
            report = self._run(request)
            report["fresh"] = fresh
            fresh = False
            if baseline is None:
                report["over"] = "one candidate a process"
            elif report["driver_error"]:
                report["over"] = "a sticky error"
            else:
                report["over"] = baseline.restore()
            wire.send(self.link, report)
            if report["over"]:
                os._exit(0)

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        os.chdir(request["cwd"])
        temporary.use(request["temporary"])
        arch, watching = self.setup["arch"], request["watch"]
        places = (self.setup["scratch"], *self.setup["writable"])
        ours = {*places, *map(os.path.realpath, places), os.path.basename(request["temporary"])}
        saw = _Saw(frozenset(ours))
        if request["values"]:
            import builtins

            from .process import import_hook

            builtins.__shrink_saw__ = saw  # type: ignore[attr-defined]
            os.environ["TRITON_ALWAYS_COMPILE"] = "1"  # what comes from a cache shows no types
            import_hook.when_imported("triton.compiler.code_generator", saw.in_kernels)
        log = None
        if watching:
            from .launches import launch_log
            from .process import compiler_output

            compiler_output.hold = self.link.fileno()
            log = launch_log.Watch(frozenset(request["wants"]))
            log.install()
        camera = left = None
        if log is not None and request["capture"]:
            from . import child_processes
            from .capture import blackbox, capture

            place = os.path.join(request["temporary"], blackbox.FOLDER)
            camera = capture.begin(log, request["capture"], place)
            camera.undo.append(child_processes.expect(place, request["capture"], arch))
        elif arch:
            from . import child_processes

            left = child_processes.expect(os.path.join(request["temporary"], child_processes.FOLDER), "", arch)
        turned = observer = watchdog = None
        if log is not None and request["knobs"]:
            from .knobs import knobs

            turned = knobs.turn(request["knobs"], log)
        if log is not None and (request["observe"] or request["against"]):
            from .compare import launch_outputs

            observer = launch_outputs.begin(log, request["observe"], request["against"], request["knobs"])
        if log is not None and request["tell"]:
            from .process import watchdog as guardian

            watchdog = guardian.begin(self.link, log, request["limit"])
        built = None
        if watching and self.setup["writable"]:
            from .cuda_cpp import builds

            built = builds.Builds(self.setup["writable"][0], arch, request["wants"])
            built.watch()
        arguments = (request["source"], request["path"], request["argv"])
        if arch:
            from . import vgpu

            with vgpu.virtual(arch, log, machine_code=request["machine_code"]) as gpu:
                if built is not None:
                    built.gpu = gpu
                status, failure = script.perform(*arguments, asserts=request["asserts"])
            code = vgpu.sticky()
        else:
            status, failure = script.perform(*arguments, asserts=request["asserts"])
            if watchdog is not None:
                watchdog.ended = True
            code = device.sticky()
            if device.dumping():
                code = device.dumped(code)
        if left is not None:
            left()
        if watchdog is not None:
            watchdog.end()
        if built is not None:
            built.end()
        seen = observer.end() if observer is not None else {}
        counts = turned.end() if turned is not None else {}
        return {
            "exit": status,
            "failure": failure,
            "driver_error": code,
            "virtual": bool(arch),
            "compiles": log.compiles if log else [],
            "launches": log.launches if log else [],
            "builds": built.seen if built else [],
            "values": saw.found(),
            "captured": camera.end() if camera else None,
            "turned": counts,
            "differences": seen.get("differences", []),
            "incomparable": seen.get("incomparable", ""),
            "peak": device.peak_bytes(),
        }


class _Saw:
    """The function behind `__shrink_saw__(i, value)`: remembers the one simple value that each expression took.

    Text with a part of `ours`, folders that are there for this reduction only, is no constant of the program.
    """

    SIMPLE = (bool, int, float, str)

    def __init__(self, ours: frozenset[str]) -> None:
        self.ours = ours
        self.seen: dict[int, str | None] = {}

    def __call__(self, index: int, value: Any) -> Any:
        text = self._text(value)
        self.seen[index] = text if self.seen.get(index, text) == text else None
        return value

    def in_kernels(self) -> None:
        """Let Triton take it for one of the builtins of Python that it knows: they get plain numbers for constexprs.
        What they return is a constexpr again in newer releases only, and would become a tensor in older ones."""
        generator = sys.modules["triton.compiler.code_generator"].CodeGenerator  # type: ignore[attr-defined]
        constexpr = sys.modules["triton.language"].constexpr  # type: ignore[attr-defined]

        def saw(index: int, value: Any) -> Any:
            self(index, value)
            return constexpr(value) if value is None or type(value) in self.SIMPLE else value

        generator.builtin_namespace["__shrink_saw__"] = saw

    def found(self) -> dict[int, str]:
        return {index: text for index, text in self.seen.items() if text is not None}

    def _text(self, value: Any) -> str | None:
        if type(value) is str and any(place in value for place in self.ours):
            return None
        if value is None or type(value) in self.SIMPLE:
            text = repr(value)
            return text if len(text) <= 80 and value == value and text not in ("inf", "-inf") else None
        if type(value) in (tuple, list) and len(value) <= 8:
            parts = [self._text(item) for item in value]
            if None in parts:
                return None
            inner = ", ".join(part for part in parts if part is not None)
            if type(value) is list:
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if type(value).__module__.startswith("triton.language") and hasattr(value, "dtype"):
            return _type_of(value)
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return str(value)
        return None


def _type_of(value: Any) -> str | None:
    """`<fp32 [2, 32]>` of a value in a kernel."""
    kind = value.type
    scalar = getattr(kind, "scalar", None)
    if scalar is None:
        return None
    shape = [int(getattr(extent, "value", extent)) for extent in getattr(kind, "shape", None) or ()]
    return f"<{scalar} {shape}>"
