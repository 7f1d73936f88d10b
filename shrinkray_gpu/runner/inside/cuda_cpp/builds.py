"""Watches a script build CUDA C++ by torch: `load_inline`, `load`. Standard library only.

Each source is compiled once, whatever the number of candidates that hold it (`nvcc`); an edit of the script never
builds again. Without a GPU the kernels alone are compiled. Where that says what is looked for, the host code is built
and run too, and its launches are written down (`host_code`); otherwise what the script gets answers every call
(`stand_ins`). On a GPU kernels and host code become a `plain_library`, or the real builder does it, once for each
source, with its words kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from ..process import import_hook
from . import nvcc, nvrtc, zeroing
from .nvcc import as_list
from .stand_ins import LazyModule, StandIn

SWITCH = "SHRINKRAY_GPU_BUILDS"
"""In the environment, `torch`: build extensions as torch does, and never against the stand-in."""
WANTED = "build:"
"""In what is wanted of a run: before the regular expression (with `^` at each line) that a build must say."""
CALLS = "calls"
"""In what is wanted of a run: launches with their arguments, and flags of the build."""
IMPLICIT = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
_WATCHED = (
    ("torch.utils.cpp_extension", "load"),
    ("torch.utils.cpp_extension", "load_inline"),
    ("torch.cuda._utils", "_nvrtc_compile"),
    ("torch.cuda", "_compile_kernel"),
)
"""Functions that get one of ours in front."""
_OPTIMISES = re.compile(r"(-O\d|--optimize.*|-lineinfo|--generate-line-info|-G)\Z")
_SETTLED = re.compile(r"\s+")


class Builds:
    """The builds of one candidate, as plain dicts with the fields of `run.Build`."""

    def __init__(
        self, folder: str, arch: Optional[int], wants: Iterable[str] = (), *, gpu: Callable[[], Any] = lambda: None
    ) -> None:
        """`gpu`: the virtual one, once it is there."""
        self.folder, self.arch = os.path.join(folder, "builds"), arch
        self.writes = CALLS in wants
        self.looked_for = [want[len(WANTED) :] for want in wants if want.startswith(WANTED)]
        self.nvcc = nvcc.Nvcc(self.folder, arch, self.looked_for)
        self.gpu = gpu
        self.seen: List[Dict[str, Any]] = []

    def watch(self) -> None:
        import_hook.when_imported("torch.utils.cpp_extension", self._torch_extension)
        own = nvrtc.Nvrtc(self.folder, self.arch, self.seen)
        if self.arch is not None:
            from . import raw_kernels

            flags = self.nvcc.flags if self.writes else None
            of_torch = raw_kernels.TorchCompiler(
                self._compiled, self.nvcc.parameters, None if self.looked_for else own, flags
            )
            raw_kernels.watch(self._compiled, self.gpu, self.arch, of_torch)
        elif os.environ.get(SWITCH) != "torch":
            import_hook.when_imported("torch.cuda", own.watch)

    def end(self) -> None:
        """Put torch's own functions back: a process in which any is replaced runs no other candidate."""
        self.gpu = lambda: None  # `import_hook` holds this object for as long as nobody imports what it waits for
        for name, function in _WATCHED:
            module: Any = sys.modules.get(name)
            if module is not None and hasattr(module, function):
                setattr(module, function, _plain(getattr(module, function)))

    # What each library calls a build

    def _torch_extension(self) -> None:
        module: Any = sys.modules["torch.utils.cpp_extension"]
        load, load_inline = _plain(module.load), _plain(module.load_inline)

        def inline(name: Any, cpp_sources: Any, cuda_sources: Any = None, *rest: Any, **options: Any) -> Any:
            if rest:  # by name they are the same in every release
                names = load_inline.__code__.co_varnames[3 : load_inline.__code__.co_argcount]
                options.update(zip(names, rest))
            _check(name, cpp_sources, cuda_sources, options.get("functions"))
            nvcc.leave_out(options, "extra_cuda_cflags")
            if self.arch is None:
                cuda_sources = [zeroing.zero_shared_memory(text) for text in as_list(cuda_sources)]
                made = self._light(str(name), as_list(cpp_sources), cuda_sources, options)
                if made is not None:
                    return made
                kept = (cpp_sources, cuda_sources, options)
                return self._built(load_inline, name, kept, cpp_sources, cuda_sources, **options)
            text = "\n".join(as_list(cuda_sources))
            if text.strip():
                head = "" if options.get("no_implicit_headers") else IMPLICIT
                known = self._compiled(str(name), head + text, options)
                if any(re.search(each, known["printed"], re.MULTILINE) for each in self.looked_for):
                    build = self.seen[-1] = dict(known, launched=[])
                    return LazyModule(
                        lambda: self._hosted(build, as_list(cpp_sources), as_list(cuda_sources), options) or StandIn()
                    )
            return StandIn()

        def files(name: Any, sources: Any, *rest: Any, **options: Any) -> Any:
            if rest:
                names = load.__code__.co_varnames[2 : load.__code__.co_argcount]
                options.update(zip(names, rest))
            nvcc.leave_out(options, "extra_cuda_cflags")
            texts = [_read(path) for path in as_list(sources)]
            if self.arch is None:
                return self._built(load, name, (texts, options), sources, **options)
            for path, text in zip(as_list(sources), texts):
                if path.endswith((".cu", ".cuh")):
                    folder = os.path.dirname(os.path.abspath(path))
                    options["extra_include_paths"] = [*as_list(options.get("extra_include_paths")), folder]
                    self._compiled(str(name), text, options)
            return StandIn()

        inline._plain, files._plain = load_inline, load  # type: ignore[attr-defined]
        module.load_inline, module.load = inline, files

    # Building

    def _built(self, build: Any, name: Any, what: Any, *args: Any, **options: Any) -> Any:
        """By the real builder, once for all candidates that ask for the same."""
        digest = hashlib.sha256(_SETTLED.sub(" ", repr((build.__name__, what))).encode("utf-8", "replace")).hexdigest()
        own = "shrink_%s" % digest[:16]
        place = os.path.join(self.folder, own)
        os.makedirs(place, exist_ok=True)
        # A kept build is imported as it is; the builder would ask ninja, which costs a second.
        with nvcc.file_lock(place + ".lock"):
            known = nvcc.stored_outcome(place)
            library = os.path.join(place, own + ".so")
            if known is not None and (known["failed"] or os.path.exists(library)):
                self.seen.append(dict(known, name=str(name)))
                if known["failed"]:
                    raise RuntimeError("Error building extension %r: %s" % (str(name), known["printed"]))
                module: Any = sys.modules["torch.utils.cpp_extension"]
                return module._import_module_from_library(own, place, options.get("is_python_module", True))
            options = dict(options, build_directory=place, verbose=True)
            failure: Optional[BaseException] = None
            made = None
            with _heard() as heard:
                try:
                    made = build(own, *args, **options)
                except BaseException as error:
                    failure = error
            printed = heard.text + ("" if failure is None else str(failure))
            if failure is not None and nvcc.was_killed(printed):
                raise nvcc.out_of_memory(printed) from failure
            self.seen.append(nvcc.keep(place, str(name), printed, failure is not None))
            if failure is not None:
                raise failure
            return made

    def _light(self, name: str, cpp: List[str], cuda: List[str], options: Dict[str, Any]) -> Any:
        """As a plain library, against headers that stand in for torch's; None where these do not do."""
        if os.environ.get(SWITCH) == "torch" or not options.get("is_python_module", True):
            return None
        linked = map(str, as_list(options.get("extra_ldflags")))
        known, library = self.nvcc.library("l", name, _bound(cpp, cuda, options), options, [*linked])
        self.seen.append(known)
        if known["failed"]:
            if not self.nvcc.did("light", name):  # it has never done: the stand-in is to blame
                self.seen.pop()
                return None
            raise RuntimeError("Error building extension %r: %s" % (name, known["printed"]))
        from . import plain_library

        try:
            made = plain_library.PlainModule(library)
        except OSError:
            self.seen.pop()
            return None
        self.nvcc.did("light", name, now=True)
        return made

    def _hosted(self, build: Dict[str, Any], cpp: List[str], cuda: List[str], options: Dict[str, Any]) -> Any:
        """The host code of a build against a runtime that launches nothing; None where the stand-ins do not do."""
        launched, build["launched"] = build["launched"], None
        if not options.get("is_python_module", True) or os.environ.get(SWITCH) == "torch":
            return None
        from . import host_code, host_source

        name = build["name"]
        with nvcc.file_lock(os.path.join(self.folder, host_code.LIBRARY + ".lock")):
            runtime = host_code.runtime(self.folder, nvcc.executable())
        if runtime is None:
            return None
        plain = dict(options, extra_cuda_cflags=[f for f in self.nvcc.flags(options) if not _OPTIMISES.match(f)])
        for left in (host_source.host_side, str):  # the second, where the first took away too much
            text = _bound([left(each) for each in cpp], [left(each) for each in cuda], options)
            known, library = self.nvcc.library("h", name, text, plain, [*host_code.FLAGS, runtime])
            if not known["failed"]:
                break
        else:
            if not self.nvcc.did("hosted", name):
                return None
            build.update(known)
            raise RuntimeError("Error building extension %r: %s" % (name, known["printed"]))
        try:
            calls: Optional[List[Dict[str, Any]]] = [] if self.writes else None
            sizes = self.nvcc.parameters(name) if self.writes else None
            made = host_code.HostModule(library, runtime, launched, self.gpu(), calls, sizes)
        except OSError:
            return None
        self.nvcc.did("hosted", name, now=True)
        build["launched"] = launched
        if calls is not None:
            build.update(calls=calls, flags=self.nvcc.flags(options))
        return made

    def _compiled(self, name: str, text: str, options: Dict[str, Any]) -> Dict[str, Any]:
        """The kernels alone; a build that fails raises what torch raises."""
        known = self.nvcc.cubin(name, zeroing.zero_shared_memory(text), options)
        self.seen.append(known)
        if known["failed"]:
            raise RuntimeError("Error building extension %r: %s" % (name, known["printed"]))
        return known


def _bound(cpp: List[str], cuda: List[str], options: Dict[str, Any]) -> str:
    """All sources as one, with what makes the functions callable that the script asked for."""
    exports = ["\nSHRINK_EXPORT(%s);" % name for name in as_list(options.get("functions"))]
    return "\n".join([IMPLICIT, *cuda, *cpp, "".join(exports) + "\n"])


def _check(name: Any, cpp: Any, cuda: Any, functions: Any) -> None:
    """What torch would stumble over, and a compiler of the kernels alone would not see."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError("an extension is a module: %r is no name of one" % (name,))
    for text in (*as_list(cpp), *as_list(cuda)):
        if not isinstance(text, str):
            raise TypeError("sources are texts, not %s" % type(text).__name__)
    declared = " ".join(as_list(cpp))
    for function in as_list(functions):
        if not re.search(r"\b%s\b" % re.escape(function), declared):
            raise RuntimeError("Error building extension %r: cpp_sources declare no %s" % (name, function))


def _plain(function: Any) -> Any:
    return getattr(function, "_plain", function)


def _read(path: Any) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class _CapturedOutput:
    text = ""


@contextlib.contextmanager
def _heard() -> Iterator[_CapturedOutput]:
    """What is written to file descriptors 1 and 2 meanwhile; it is passed on afterwards."""
    heard = _CapturedOutput()
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
