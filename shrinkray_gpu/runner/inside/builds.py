"""Watches a script build CUDA C++: `load_inline`, `load`, `_compile_kernel`, CuPy's raw kernels. Standard library only.

Each source is compiled once, whatever the number of candidates that hold it: the outcome is kept on disk under the
digest of the source without layout, flags and compiler, so that an edit of the host never builds again. Without a GPU
`nvcc -cubin` does it, against headers that stand in for torch's (a second instead of half a minute) and, where these
do not do, against torch's own. Where that says what is looked for, the host code is built and run too, and its launches
are written down (`hosted`); otherwise what the script gets answers every call. On a GPU the real builder does it, in a
folder of that name, with its words kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence

from . import arrival

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")
SECONDS = 240
SWITCH = "SHRINKRAY_GPU_BUILDS"
"""In the environment, `torch`: build extensions as torch does, and never against the stand-in."""
WITHOUT = "SHRINKRAY_GPU_WITHOUT"
"""In the environment: a flag that is left out, as a control."""
WANTED = "build:"
"""In what is wanted of a run: before the regular expression (with `^` at each line) that a build must say."""
CALLS = "calls"
"""In what is wanted of a run: launches with their arguments, and flags of the build."""
IMPLICIT = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
_NOT_FOR_CUBIN = re.compile(r"(-gencode.*|-arch.*|--generate-code.*|-code.*|-shared|-fPIC|-c|--compile)\Z")
_OPTIMISES = re.compile(r"(-O\d|--optimize.*|-lineinfo|--generate-line-info|-G)\Z")
_SETTLED = re.compile(r"\s+")


class Builds:
    """The builds of one candidate, as plain dicts with the fields of `run.Build`."""

    def __init__(self, folder: str, arch: Optional[int], wants: Iterable[str] = ()) -> None:
        self.folder, self.arch = os.path.join(folder, "builds"), arch
        self.writes = CALLS in wants
        self.looked_for = [want[len(WANTED) :] for want in wants if want.startswith(WANTED)]
        self.gpu: Any = None
        """The virtual one, once it is there."""
        self.seen: List[Dict[str, Any]] = []

    def watch(self) -> None:
        arrival.when_imported("torch.utils.cpp_extension", self._torch_extension)
        arrival.when_imported("torch.cuda", self._torch_kernel)
        if self.arch is not None:
            arrival.when_imported("cupy", self._cupy)

    # What each library calls a build

    def _torch_extension(self) -> None:
        module: Any = sys.modules["torch.utils.cpp_extension"]
        load, load_inline = _plain(module.load), _plain(module.load_inline)

        def inline(name: Any, cpp_sources: Any, cuda_sources: Any = None, *rest: Any, **options: Any) -> Any:
            if rest:  # by name they are the same in every release
                names = load_inline.__code__.co_varnames[3 : load_inline.__code__.co_argcount]
                options.update(zip(names, rest))
            _check(name, cpp_sources, cuda_sources, options.get("functions"))
            _leave_out(options)
            if self.arch is None:
                made = self._light(str(name), _listed(cpp_sources), _listed(cuda_sources), options)
                if made is not None:
                    return made
                kept = (cpp_sources, cuda_sources, options)
                return self._built(load_inline, name, kept, cpp_sources, cuda_sources, **options)
            text = "\n".join(_listed(cuda_sources))
            if text.strip():
                head = "" if options.get("no_implicit_headers") else IMPLICIT
                known = self._compiled(str(name), head + text, options.get("extra_cuda_cflags"), options)
                if any(re.search(each, known["printed"], re.MULTILINE) for each in self.looked_for):
                    build = self.seen[-1] = dict(known, launched=[])
                    return OnDemand(
                        lambda: self._hosted(build, _listed(cpp_sources), _listed(cuda_sources), options) or StandIn()
                    )
            return StandIn()

        def files(name: Any, sources: Any, *rest: Any, **options: Any) -> Any:
            if rest:
                names = load.__code__.co_varnames[2 : load.__code__.co_argcount]
                options.update(zip(names, rest))
            _leave_out(options)
            texts = [_read(path) for path in _listed(sources)]
            if self.arch is None:
                return self._built(load, name, (texts, options), sources, **options)
            for path, text in zip(_listed(sources), texts):
                if path.endswith((".cu", ".cuh")):
                    folder = os.path.dirname(os.path.abspath(path))
                    options["extra_include_paths"] = [*_listed(options.get("extra_include_paths")), folder]
                    self._compiled(str(name), text, options.get("extra_cuda_cflags"), options)
            return StandIn()

        inline._plain, files._plain = load_inline, load  # type: ignore[attr-defined]
        module.load_inline, module.load = inline, files

    def _torch_kernel(self) -> None:
        module: Any = sys.modules["torch.cuda"]
        if self.arch is None or not hasattr(module, "_compile_kernel"):
            return

        def kernel(kernel_source: str, kernel_name: str, *rest: Any, **options: Any) -> Any:
            self._compiled(kernel_name, kernel_source, options.get("nvcc_options"), options)
            return self._kernel(kernel_name, kernel_source)

        module._compile_kernel = kernel

    def _cupy(self) -> None:
        module: Any = sys.modules["cupy"]

        def raw_kernel(code: str, name: str, options: Sequence[str] = (), **others: Any) -> Any:
            self._compiled(name, code, options, {})
            return self._kernel(name, code)

        def raw_module(*, code: str = "", options: Sequence[str] = (), **others: Any) -> Any:
            self._compiled("module", code, options, {})
            build = self.seen[-1]
            return types.SimpleNamespace(get_function=lambda name: self._kernel(name, code, build), compile=StandIn())

        module.RawKernel, module.RawModule = raw_kernel, raw_module

    def _kernel(self, name: str, source: str, build: Optional[Dict[str, Any]] = None) -> Any:
        """A kernel of the last build, or of this one, as what the script calls. Raises RuntimeError where the source
        has none of that name, as NVRTC's users are told."""
        if not re.search(r"__global__[^;{}]*\b%s\s*\(" % re.escape(name.partition("<")[0]), source):
            raise RuntimeError("named symbol not found: %s" % name)
        build = self.seen[-1] if build is None else build
        return Kernel(name, build.setdefault("launched", []), self)

    # Building

    def _built(self, build: Any, name: Any, what: Any, *args: Any, **options: Any) -> Any:
        """By the real builder, once for all candidates that ask for the same."""
        digest = hashlib.sha256(_SETTLED.sub(" ", repr((build.__name__, what))).encode("utf-8", "replace")).hexdigest()
        own = "shrink_%s" % digest[:16]
        place = os.path.join(self.folder, own)
        os.makedirs(place, exist_ok=True)
        # A kept build is imported as it is; the builder would ask ninja, which costs a second.
        with _locked(place + ".lock"):
            known = _recalled(place)
            library = os.path.join(place, own + ".so")
            if known is not None and not known["failed"] and os.path.exists(library):
                self.seen.append(dict(known, name=str(name)))
                module: Any = sys.modules["torch.utils.cpp_extension"]
                return module._import_module_from_library(own, place, options.get("is_python_module", True))
            if known is not None and known["failed"]:
                self.seen.append(dict(known, name=str(name)))
                raise RuntimeError("Error building extension %r: %s" % (str(name), known["printed"]))
            options = dict(options, build_directory=place, verbose=True)
            failure: Optional[BaseException] = None
            made = None
            with _heard() as heard:
                try:
                    made = build(own, *args, **options)
                except BaseException as error:
                    failure = error
            printed = heard.text + ("" if failure is None else str(failure))
            code = hashlib.sha256(printed.encode()).hexdigest()
            self.seen.append(self._keep(place, str(name), printed, failure is not None, code))
            if failure is not None:
                raise failure
            return made

    def _light(self, name: str, cpp: List[str], cuda: List[str], options: Dict[str, Any]) -> Any:
        """As a plain library, against headers that stand in for torch's; None where these do not do."""
        if os.environ.get(SWITCH) == "torch" or not options.get("is_python_module", True):
            return None
        command = [*self._command(options), *map(str, _listed(options.get("extra_ldflags")))]
        known, library = self._library("l", name, _bound(cpp, cuda, options), command)
        self.seen.append(known)
        if known["failed"]:
            if not self._did("light"):  # it has never done: the stand-in is to blame
                self.seen.pop()
                return None
            raise RuntimeError("Error building extension %r: %s" % (name, known["printed"]))
        from . import light

        try:
            made = light.Module(library)
        except OSError:
            self.seen.pop()
            return None
        self._did("light", now=True)
        return made

    def _hosted(self, build: Dict[str, Any], cpp: List[str], cuda: List[str], options: Dict[str, Any]) -> Any:
        """The host code of a build against a runtime that launches nothing; None where the stand-ins do not do."""
        launched, build["launched"] = build["launched"], None
        if not options.get("is_python_module", True) or os.environ.get(SWITCH) == "torch":
            return None
        from . import hosted

        with _locked(os.path.join(self.folder, hosted.LIBRARY + ".lock")):
            runtime = hosted.runtime(self.folder, _nvcc())
        if runtime is None:
            return None
        optional = dict(options, extra_cuda_cflags=[f for f in self._flags(options) if not _OPTIMISES.match(f)])
        command = [*self._command(optional), *hosted.FLAGS, runtime]
        known, library = self._library("h", build["name"], _bound(cpp, cuda, options), command)
        if known["failed"]:
            if not self._did("hosted"):
                return None
            build.update(known)
            raise RuntimeError("Error building extension %r: %s" % (build["name"], known["printed"]))
        try:
            calls: Optional[List[Dict[str, Any]]] = [] if self.writes else None
            made = hosted.Module(library, runtime, launched, self.gpu, calls)
        except OSError:
            return None
        self._did("hosted", now=True)
        build["launched"] = launched
        if calls is not None:
            build.update(calls=calls, flags=self._flags(options))
        return made

    def _did(self, what: str, *, now: bool = False) -> bool:
        """Whether this way of building has ever done in this reduction, which begins with the original."""
        place = os.path.join(self.folder, what)
        if now:
            open(place, "a").close()
        return now or os.path.exists(place)

    def _flags(self, options: Dict[str, Any]) -> List[str]:
        """The script's own for nvcc, with the architecture where they say none."""
        flags = [str(flag) for flag in _listed(options.get("extra_cuda_cflags"))]
        if self.arch is not None:
            return [self._architecture(options), *(flag for flag in flags if not _NOT_FOR_CUBIN.match(flag))]
        if not any(re.match("-gencode|-arch|--generate-code", flag) for flag in flags):
            torch: Any = sys.modules["torch"]
            major, minor = torch.cuda.get_device_capability() if torch.cuda.is_available() else (9, 0)
            flags.append("-arch=sm_%d%d" % (major, minor))
        return flags

    def _architecture(self, options: Dict[str, Any]) -> str:
        specific = self.arch in (90, 100, 103, 120) and "_90a" in repr(options)
        return "-arch=sm_%d%s" % (self.arch or 0, "a" if specific else "")

    def _command(self, options: Dict[str, Any]) -> List[str]:
        """nvcc for a plain library."""
        paths = ["-I%s" % path for path in _listed(options.get("extra_include_paths"))]
        own = ["-shared", "-Xptxas", "-v", "-Xcompiler", "-fPIC", "-std=c++17", "-I" + HEADERS]
        from . import light

        return [_nvcc(), *own, *light.host_flags(self.folder), *_common_flags(), *self._flags(options), *paths]

    def _library(self, kind: str, name: str, text: str, command: List[str]) -> "tuple[Dict[str, Any], str]":
        """The outcome of that command for this source, and where the library is; made once."""
        digest = hashlib.sha256("\0".join([*command, text]).encode("utf-8", "replace")).hexdigest()
        place = os.path.join(self.folder, kind + digest[:24])
        library = os.path.join(place, "light.so")
        with _locked(place + ".lock"):
            known = _recalled(place)
            if known is None:
                os.makedirs(place, exist_ok=True)
                known = self._compile(place, name, text, command, target=library)
        return dict(known, name=name), library

    def _compiled(self, name: str, text: str, flags: Any, options: Dict[str, Any]) -> Dict[str, Any]:
        """By `nvcc -cubin`; a build that fails raises what torch raises."""
        wanted = self._flags(dict(options, extra_cuda_cflags=flags))
        paths = ["-I%s" % path for path in _listed(options.get("extra_include_paths"))]
        command = [_nvcc(), "-cubin", "-std=c++17", "-Xptxas", "-v", *_common_flags(), *wanted, *paths]
        digest = hashlib.sha256("\0".join([*command, text]).encode("utf-8", "replace")).hexdigest()
        place = os.path.join(self.folder, digest[:24])
        with _locked(place + ".lock"):
            known = _recalled(place)
            if known is None:
                os.makedirs(place, exist_ok=True)
                known = self._compile(place, name, text, command)
        self.seen.append(dict(known, name=name))
        if known["failed"]:
            raise RuntimeError("Error building extension %r: %s" % (name, known["printed"]))
        return known

    def _compile(self, place: str, name: str, text: str, command: List[str], *, target: str = "") -> Dict[str, Any]:
        source, target = os.path.join(place, "cuda.cu"), target or os.path.join(place, "cuda.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        printed, failed = "", True
        for headers in self._headers(text):
            done = subprocess.run(
                [*command, *("-I" + path for path in headers), "-o", target, source],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
            )
            printed, failed = done.stdout.decode("utf-8", "replace"), done.returncode != 0
            if not failed or "torch" not in text:
                break
        code = b""
        if not failed:
            with open(target, "rb") as binary:
                code = binary.read()
        return self._keep(place, name, printed, failed, hashlib.sha256(code).hexdigest())

    def _headers(self, text: str) -> Iterator[List[str]]:
        """Those that stand in; torch's own only where the reduction has seen these not to do for its original."""
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, exist_ok=True)
        own = os.path.join(self.folder, "torch-headers")
        if os.path.exists(own):
            module: Any = sys.modules.get("torch.utils.cpp_extension")
            yield list(module.include_paths("cuda")) if module is not None else []
            return
        yield [HEADERS]

    def _keep(self, place: str, name: str, printed: str, failed: bool, code: str) -> Dict[str, Any]:
        known = {"name": name, "printed": printed[-65536:], "failed": failed, "code": code}
        with open(place + ".new", "w", encoding="utf-8") as file:
            json.dump(known, file)
        os.replace(place + ".new", os.path.join(place, "outcome.json"))
        return known


class OnDemand:
    """A module that is made when one of its functions is called: a script that calls none need not wait for it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any, **options: Any) -> Any:
            if self._made is None:
                self._made = self._make()
            return getattr(self._made, name)(*args, **options)

        return call


class Kernel:
    """A kernel that is not launched: each call is written down, and what its tensors hold is unknown from then on."""

    def __init__(self, name: str, launched: List[str], builds: Builds) -> None:
        self._name, self._launched, self._builds = name, launched, builds

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *args: Any, **options: Any) -> None:
        if self._name not in self._launched:
            self._launched.append(self._name)
        gpu, torch = self._builds.gpu, sys.modules.get("torch")
        if gpu is None or gpu.claims is None or torch is None:
            return
        gpu.launched = True
        for value in _flat([*args, *options.values()]):
            if isinstance(value, torch.Tensor):
                gpu.claims.doubt(value)


class StandIn:
    """A built module or kernel where nothing is launched: every call gives its first tensor's like, or nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __getitem__(self, key: Any) -> Any:
        return StandIn()

    def __call__(self, *args: Any, **options: Any) -> Any:
        torch: Any = sys.modules.get("torch")
        for value in args:
            if torch is not None and isinstance(value, torch.Tensor):
                return torch.empty_like(value)
        return None


def _bound(cpp: List[str], cuda: List[str], options: Dict[str, Any]) -> str:
    """All sources as one, with what makes the functions callable that the script asked for."""
    from . import light

    functions = options.get("functions") or []
    names = [functions] if isinstance(functions, str) else list(functions)
    return "\n".join([IMPLICIT, *cuda, *cpp, light.exports(names)])


def _common_flags() -> List[str]:
    """What torch gives nvcc for every extension."""
    module: Any = sys.modules.get("torch.utils.cpp_extension")
    return list(getattr(module, "COMMON_NVCC_FLAGS", ()))


def _check(name: Any, cpp: Any, cuda: Any, functions: Any) -> None:
    """What torch would stumble over, and a compiler of the kernels alone would not see."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError("an extension is a module: %r is no name of one" % (name,))
    for text in (*_listed(cpp), *_listed(cuda)):
        if not isinstance(text, str):
            raise TypeError("sources are texts, not %s" % type(text).__name__)
    declared = " ".join(_listed(cpp))
    for function in _listed(functions):
        if not re.search(r"\b%s\b" % re.escape(function), declared):
            raise RuntimeError("Error building extension %r: cpp_sources declare no %s" % (name, function))


def _leave_out(options: Dict[str, Any]) -> None:
    flag = os.environ.get(WITHOUT)
    if flag and options.get("extra_cuda_cflags"):
        options["extra_cuda_cflags"] = [each for each in _listed(options["extra_cuda_cflags"]) if str(each) != flag]


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _plain(function: Any) -> Any:
    return getattr(function, "_plain", function)


def _listed(value: Any) -> List[Any]:
    if value is None:
        return []
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)


def _read(path: Any) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _recalled(place: str) -> Optional[Dict[str, Any]]:
    try:
        with open(os.path.join(place, "outcome.json"), encoding="utf-8") as file:
            known: Dict[str, Any] = json.load(file)
            return known
    except (OSError, ValueError):
        return None


def _nvcc() -> str:
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home and os.access(os.path.join(home, "bin", "nvcc"), os.X_OK):
            return os.path.join(home, "bin", "nvcc")
    found = shutil.which("nvcc")
    if found is None:
        raise RuntimeError("CUDA C++ cannot be compiled here: no nvcc on PATH, in CUDA_HOME or /usr/local/cuda")
    return found


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Heard:
    text = ""


@contextlib.contextmanager
def _heard() -> Iterator[_Heard]:
    """What is written to file descriptors 1 and 2 meanwhile; it is passed on afterwards."""
    heard = _Heard()
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        sys.stderr.flush()
        kept = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield heard
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, old in zip((1, 2), kept):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            data = file.read()
            heard.text = data.decode("utf-8", "replace")
            os.write(2, data[-65536:])
