"""nvcc at work for one reduction: each source once for all candidates that hold it, outcomes kept on disk.

They lie under the digest of text, flags and compiler. Kernels alone become a cubin in two steps: where it was the first
one, before ptxas, that said what is looked for in the original, a candidate in which it does not is not taken further.
The headers are some that stand in for torch's (a second instead of half a minute), and torch's own
where the original needs these. Standard library only.
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
import sysconfig
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from . import plain_library

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")
SECONDS = 240
WITHOUT = "SHRINKRAY_GPU_WITHOUT"
"""In the environment: a flag that is left out, as a control."""
EARLY = "said-before-ptxas"
"""The file that names those of the patterns looked for which the original's build had said before ptxas began."""
_ARCHITECTURE = re.compile(r"(--?gencode|--generate-code|--?arch|--gpu-architecture|--?code|--gpu-code)(=.*)?\Z")
_ENTRY = re.compile(r"^\.visible\s+\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?", re.MULTILINE)
_PARAMETER = re.compile(r"\.param\s[^,]*?\.[busf](8|16|32|64|128)\b[^,\[]*(?:\[(\d+)\])?")
_NOT_ALONE = frozenset({"-shared", "--shared", "-fPIC", "-c", "--compile", "-dc", "--device-c"})
"""Flags that say what is to come of a build, which we say ourselves."""

_KILLED = re.compile(
    r"^(?:\S*sh: (?:line )?\d+: +(?:\d+ )?)?Killed(?: {2}.*)?$"  # the shell that nvcc has run its steps
    r"|Killed signal terminated program|terminated (?:with|by) signal 9\b|died due to signal 9\b",
    re.MULTILINE,
)
_STATUSES = (-9, 128 + 9)
_FULL = "No space left on device"

BuildOutcome = Dict[str, Any]
"""`name`, `printed` and `failed`, as in `run.Build`."""


class Nvcc:
    """The compiler, with the folder of its outcomes. `arch`: compile for this one; None: for the GPU that is there."""

    def __init__(self, folder: str, arch: Optional[int], looked_for: Sequence[str] = ()) -> None:
        self.folder, self.arch, self.looked_for = folder, arch, looked_for
        self.ptx: Dict[str, str] = {}
        """Where the PTX of each source's kernels is, by the name given; absent where it was not made."""

    def cubin(self, name: str, text: str, options: Dict[str, Any]) -> BuildOutcome:
        """Of the kernels of a source. What `looked_for` finds nothing in may have stopped before ptxas."""
        command = self._command(options)

        def make(place: str) -> Tuple[str, bool]:
            ptx = os.path.join(place, "cuda.ptx")
            said, failed = self._with_headers(place, name, text, [*command, "-ptx", "-o", ptx])
            if failed or self._is_less(said):
                return said, failed
            more, failed = _ran([*command, "-cubin", "-Xptxas", "-v", "-o", os.path.join(place, "cuda.cubin"), ptx])
            self._learn(said, said + more)
            return said + more, failed

        known, place = self._once("", name, [*command, text], make)
        self.ptx[name] = os.path.join(place, "cuda.ptx")
        return known

    def parameters(self, name: str) -> Dict[str, List[int]]:
        """Bytes of each parameter of each kernel, by its mangled name: what a struct takes only the compiler knows."""
        try:
            with open(self.ptx[name], encoding="utf-8", errors="replace") as file:
                return parameters_of(file.read())
        except (KeyError, OSError):
            return {}

    def library(
        self, kind: str, name: str, text: str, options: Dict[str, Any], more: Sequence[str]
    ) -> Tuple[BuildOutcome, str]:
        """Of host code and kernels, for `plain_library.PlainModule`, and where it is."""
        own = ["-shared", "-Xptxas", "-v", "-Xcompiler", "-fPIC", *plain_library.host_flags(self.folder)]
        command = [*self._command(options, *own), *more, "-I" + HEADERS]

        def make(place: str) -> Tuple[str, bool]:
            return _ran([*command, *_standard(text), "-o", os.path.join(place, "light.so"), _written(place, text)])

        known, place = self._once(kind, name, [*command, text], make)
        return known, os.path.join(place, "light.so")

    def _command(self, options: Dict[str, Any], *own: str) -> List[str]:
        flags, paths = self.flags(options), as_list(options.get("extra_include_paths"))
        return [executable(), *own, *_standard_of(flags), *_common_flags(), *flags, *("-I%s" % path for path in paths)]

    def flags(self, options: Dict[str, Any]) -> List[str]:
        """The script's own for nvcc, with the architecture where they say none."""
        flags = [str(flag) for flag in as_list(options.get("extra_cuda_cflags"))]
        if self.arch is not None:
            specific = self.arch in (90, 100, 103, 120) and "_%da" % self.arch in repr(options)
            named = "-arch=sm_%d%s" % (self.arch, "a" if specific else "")
            return [named, *for_any_architecture(flags)]
        if not any(map(_ARCHITECTURE.match, flags)):
            torch: Any = sys.modules["torch"]
            major, minor = torch.cuda.get_device_capability() if torch.cuda.is_available() else (9, 0)
            flags.append("-arch=sm_%d%d" % (major, minor))
        return flags

    def did(self, what: str, name: str, *, now: bool = False) -> bool:
        """Whether something has ever worked for this extension; a reduction begins with the original."""
        place = os.path.join(self.folder, "%s.%s" % (what, re.sub(r"\W", "_", name)[:80]))
        if now:
            open(place, "a").close()
        return now or os.path.exists(place)

    def _once(
        self, kind: str, name: str, parts: Sequence[str], make: Callable[[str], Tuple[str, bool]]
    ) -> Tuple[BuildOutcome, str]:
        place = os.path.join(self.folder, kind + _digest(parts)[:24])
        with file_lock(place + ".lock"):
            known = stored_outcome(place)
            if known is None:
                os.makedirs(place, exist_ok=True)
                known = keep(place, name, *make(place))
        return dict(known, name=name), place

    def _with_headers(self, place: str, name: str, text: str, command: Sequence[str]) -> Tuple[str, bool]:
        """With those that stand in; with torch's own where the original does with these only."""
        source = _written(place, text)
        ours, theirs = ["-I" + HEADERS, *_standard(text)], _of_torch(name) if "torch" in text else []
        if self.did("torch-headers", name):
            return _ran([*command, *theirs, source])
        said, failed = _ran([*command, *ours, source])
        if failed and theirs and not self.did("stand-ins", name) and not self._says(said):
            other, fails_too = _ran([*command, *theirs, source])
            if not fails_too or self._says(other):
                self.did("torch-headers", name, now=True)
                return other, fails_too
        self.did("stand-ins", name, now=True)
        return said, failed

    def _says(self, printed: str) -> List[str]:
        return [each for each in self.looked_for if re.search(each, printed, re.MULTILINE)]

    def _is_less(self, said: str) -> bool:
        """Whether the first step lacks what it said of the original."""
        try:
            with open(self._early(), encoding="utf-8") as file:
                early = json.load(file)
        except (OSError, ValueError):
            return False
        return not set(early) <= set(self._says(said))

    def _early(self) -> str:
        """A replay of many cases has one folder."""
        return os.path.join(self.folder, "%s.%s" % (EARLY, _digest(self.looked_for)[:16]))

    def _learn(self, said: str, printed: str) -> None:
        """What the first step says of that which is looked for, in the first build that says any: the original's."""
        place = self._early()
        if not os.path.exists(place) and self._says(printed):
            with open(place + ".new%d" % os.getpid(), "w", encoding="utf-8") as file:
                json.dump(self._says(said), file)
            os.replace(file.name, place)


def parameters_of(ptx: str) -> Dict[str, List[int]]:
    """`.entry fill(.param .u64 p_0, .param .align 8 .b8 p_1[24])` takes 8 bytes and 24."""
    found = {}
    for entry in _ENTRY.finditer(ptx):
        sizes = [(int(bits) // 8, int(many or 1)) for bits, many in _PARAMETER.findall(entry[2] or "")]
        found[entry[1]] = [size * many for size, many in sizes]
    return found


def for_any_architecture(flags: Sequence[str]) -> Iterator[str]:
    """`-gencode arch=compute_90,code=sm_90` may be one flag or two."""
    value_follows = False
    for flag in flags:
        said = _ARCHITECTURE.match(flag)
        if not said and not value_follows and flag not in _NOT_ALONE:
            yield flag
        value_follows = said is not None and said[2] is None


def executable() -> str:
    """The one that torch would take. Raises RuntimeError where there is none."""
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    named = [os.path.join(home, "bin", "nvcc") for home in homes]
    for path in (*named, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if path and os.access(path, os.X_OK):
            return path
    raise RuntimeError("CUDA C++ cannot be compiled here: no nvcc on PATH, in CUDA_HOME or /usr/local/cuda")


def as_list(value: Any) -> List[Any]:
    """As torch takes sources and flags: one, several, or None."""
    if value is None:
        return []
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)


def leave_out(options: Dict[str, Any], name: str) -> None:
    """Without the flag that a control leaves out, in the option of this name."""
    flag = os.environ.get(WITHOUT)
    if flag and options.get(name):
        options[name] = [each for each in as_list(options[name]) if str(each) != flag]


def stored_outcome(place: str) -> Optional[BuildOutcome]:
    """The outcome that is kept in this folder."""
    try:
        with open(os.path.join(place, "outcome.json"), encoding="utf-8") as file:
            known: BuildOutcome = json.load(file)
            return known
    except (OSError, ValueError):
        return None


def keep(place: str, name: str, printed: str, failed: bool) -> BuildOutcome:
    """Remember what came of a build, unless a full disk may have to do with it."""
    known = {"name": name, "printed": printed[-65536:], "failed": failed}
    if failed and _FULL in printed:
        return known
    with open(place + ".new", "w", encoding="utf-8") as file:
        json.dump(known, file)
    os.replace(place + ".new", os.path.join(place, "outcome.json"))
    return known


@contextlib.contextmanager
def file_lock(path: str) -> Iterator[None]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def was_killed(printed: str) -> bool:
    """Whether a step of a build that failed was killed: by the kernel for its memory, as far as anybody can tell."""
    return bool(_KILLED.search(printed))


def out_of_memory(printed: str) -> MemoryError:
    """For a build that was killed beside others. It says nothing of the text, so it is not remembered, and the oracle
    takes the error for one that asks for another try, alone."""
    return MemoryError("the compiler was killed (by the kernel for its memory?): %s" % printed[-4096:])


def _ran(command: Sequence[str]) -> Tuple[str, bool]:
    """What was printed, and whether it failed. Raises MemoryError where it was killed."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS
    )
    printed = done.stdout.decode("utf-8", "replace")
    if done.returncode in _STATUSES or done.returncode and was_killed(printed):
        raise out_of_memory(printed)
    return printed, done.returncode != 0


def _written(place: str, text: str) -> str:
    path = os.path.join(place, "cuda.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _standard(text: str) -> List[str]:
    return ["-DSHRINK_STD"] if re.search(r"\bstd\b", text) else []


def _standard_of(flags: Sequence[str]) -> List[str]:
    """C++17, as torch does, where the script says nothing else: older releases of nvcc refuse to be told twice."""
    return [] if any(re.match("--?std", flag) for flag in flags) else ["-std=c++17"]


def _common_flags() -> List[str]:
    """What torch gives nvcc for every extension."""
    module: Any = sys.modules.get("torch.utils.cpp_extension")
    return list(getattr(module, "COMMON_NVCC_FLAGS", ()))


def _of_torch(name: str) -> List[str]:
    """Where torch's own headers are, with what they want; nothing where torch has none."""
    module: Any = sys.modules.get("torch.utils.cpp_extension")
    try:
        paths = [*module.include_paths(), sysconfig.get_paths()["include"]]  # nvcc knows CUDA's own
    except (AttributeError, KeyError, OSError):
        return []
    defined = ["-DTORCH_API_INCLUDE_EXTENSION_H", "-DTORCH_EXTENSION_NAME=%s" % name]
    return [*("-I" + path for path in paths), *defined]
