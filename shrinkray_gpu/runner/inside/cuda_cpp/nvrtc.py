"""NVRTC at work for one reduction, through torch's own functions: each text once for all candidates that hold it.

What comes of it is kept on disk: the dry run compiles beside the lanes, and a lane of the GPU loads what it made; an
edit of the Python compiles nothing, nor does a flaky candidate's next run. A binary is one for all texts that differ in
blanks and comments only (see `strip_comments`), a failure for its very text, which it quotes. The preprocessed text
would be one for more of them, but NVRTC gives none. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import nvcc, zeroing

_BLANK = re.compile(r"""(?P<blank>(?:[ \t]|//[^\n]*|/\*.*?\*/)+)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_ODD = re.compile(r"""\\\r?\n|\?\?|R"|\w'|[^\S \t\n]|#\s*line""")
"""Lines that go on, trigraphs, raw strings, `1'000`, other blanks: what `_BLANK` may take for something else."""
_LINES = re.compile(r"LINE|assert|include|source_location")
"""What may put the number of a line into the binary; of a header's macros nobody knows."""
_DEBUG = re.compile(r"lineinfo|line-info|device-debug|'-G'|\"-G\"")
_FURTHER = "\x01"
"""For a line's end in a comment, which ends no directive."""

Seen = List[Dict[str, Any]]
Compiler = Callable[..., Any]


class Nvrtc:
    """The compiler, with the folder of its outcomes. `arch`: compile for this one; None: for the GPU that is there.
    Each compilation is added to `seen`, as a build."""

    def __init__(self, folder: str, arch: Optional[int], seen: Seen) -> None:
        self.folder, self.arch, self.seen = folder, arch, seen

    def compiler(self, plain: Compiler) -> Compiler:
        """The same as torch's `_nvrtc_compile`, which is `plain`. What raised raises again.

        Of one that remembers already, as a process has it whose site is ours, the plain one is taken: it would wait for
        the lock that this one holds.
        """
        plain = getattr(plain, "_plain", plain)

        def compiled(kernel_source: str, kernel_name: str, capability: Any = None, *rest: Any, **options: Any) -> Any:
            options, kernel_source = dict(options), zeroing.zero_shared_memory(kernel_source)
            capability = options.pop("compute_capability", capability) or self._capability()
            torch: Any = sys.modules["torch"]
            given = repr((kernel_name, capability, rest, sorted(options.items())))
            text = kernel_source if _DEBUG.search(given) else strip_comments(kernel_source)
            place = os.path.join(self.folder, "n" + _digest(torch.version.cuda, text, given))
            failure = os.path.join(self.folder, "f" + _digest(torch.version.cuda, kernel_source, given))
            binary = os.path.join(place, "binary")
            with nvcc.file_lock(place + ".lock"):
                known = nvcc.stored_outcome(place) or nvcc.stored_outcome(failure)
                if known is None:
                    os.makedirs(place, exist_ok=True)
                    printed = ""
                    try:
                        made = plain(kernel_source, kernel_name, capability, *rest, **options)
                    except RuntimeError as error:
                        printed = str(error)
                        if "NVRTC_ERROR_OUT_OF_MEMORY" in printed:  # beside others, and not of this text
                            raise MemoryError(printed) from error
                        os.makedirs(failure, exist_ok=True)
                    else:
                        with open(binary, "wb") as file:
                            pickle.dump(made, file)
                    known = nvcc.keep(failure if printed else place, kernel_name, printed, bool(printed))
            self.seen.append(known)
            if known["failed"]:
                raise RuntimeError(known["printed"])
            with open(binary, "rb") as file:
                return pickle.load(file)

        return compiled

    def _capability(self) -> str:
        if self.arch is not None:
            return str(self.arch)
        torch: Any = sys.modules["torch"]
        return "%d%d" % torch.cuda.get_device_capability()

    def watch(self) -> None:
        """Where a GPU is: compile each text once, and refuse what a kernel does not take."""
        utils: Any = sys.modules.get("torch.cuda._utils")
        module: Any = sys.modules["torch.cuda"]
        if not hasattr(utils, "_nvrtc_compile") or not hasattr(module, "_compile_kernel"):
            return
        # One process may run many candidates, each with a list of its own.
        compiler = getattr(utils._nvrtc_compile, "_plain", utils._nvrtc_compile)
        compiled, plain = self.compiler(compiler), getattr(module._compile_kernel, "_plain", module._compile_kernel)
        names: List[str] = []

        def remembered(*args: Any, **options: Any) -> Any:
            made = compiled(*args, **options)
            names[:] = [made[1]] if isinstance(made, tuple) else []
            return made

        def compile_kernel(*args: Any, **options: Any) -> Any:
            nvcc.leave_out(options, "nvcc_options")
            kernel = plain(*args, **options)
            return CheckedKernel(kernel, parameters(names[0]) if names else None)

        remembered._plain, compile_kernel._plain = compiler, plain  # type: ignore[attr-defined]
        utils._nvrtc_compile, module._compile_kernel = remembered, compile_kernel


def strip_comments(text: str) -> str:
    """The text with one blank for each comment and each run of blanks, as the compiler itself reads it; so `#x` of a
    macro says the same. The lines stay where they are, unless nothing can tell where they are. Two texts that come to
    the same are one program; a text with anything odd in it stays as it is."""
    if _ODD.search(text):
        return text
    plain = _BLANK.sub(_plainly, text)
    counted = _LINES.search(plain)
    plain = re.sub(" *\n *", "\n", plain if counted else plain.replace(_FURTHER, "")).strip(" ")
    return plain if counted else re.sub("\n+", "\n", plain).strip()


def _plainly(found: "re.Match[str]") -> str:
    blank = found["blank"]
    return found[0] if blank is None else " " + _FURTHER * blank.count("\n")


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:24]


def usable() -> bool:
    """Whether torch finds NVRTC here; one that was built without CUDA looks for none."""
    torch: Any = sys.modules.get("torch")
    utils: Any = sys.modules.get("torch.cuda._utils")
    if torch is None or utils is None or torch.version.cuda is None or not hasattr(utils, "_nvrtc_compile"):
        return False
    try:
        find = getattr(utils, "_get_gpu_rtc_library", None) or utils._get_nvrtc_library
        return find() is not None
    except (AttributeError, OSError):
        return False


def parameters(mangled: str) -> Optional[List[str]]:
    """The types that a kernel takes, by its name; None for one of C, which tells nothing."""
    from . import host_code

    signature = host_code.demangle(mangled.encode())
    return host_code.parameters(signature) if signature.endswith(")") else None


class CheckedKernel:
    """A kernel of torch's that is given what it takes. The driver is told no number of arguments: it reads on behind
    the last one, and a candidate that lost one would fault by what lies there."""

    def __init__(self, kernel: Any, types: Optional[Sequence[str]]) -> None:
        self._kernel, self._types = kernel, types

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        given = options.get("args", args[2] if len(args) > 2 else None) or ()
        if self._types is not None:
            check(self._types, given)
        return self._kernel(*args, **options)


def check(types: Sequence[str], given: Sequence[Any]) -> None:
    """Raises TypeError where a kernel of these parameters takes other arguments."""
    if len(types) != len(given):
        raise TypeError("the kernel takes %d arguments, %d were given" % (len(types), len(given)))
    for kind, value in zip(types, given):
        if kind.endswith("*") != hasattr(value, "data_ptr"):
            raise TypeError("the kernel takes %s, %s was given" % (kind, type(value).__name__))
