"""Launches of torch.compile: Inductor compiles and launches its kernels past `JITFunction.run`.

Each of its launches, also of a user's own kernel inside the compiled function and each trial of its autotuner, goes
through a small launcher whose text Inductor makes for one config. The last thing that launcher calls is `runner`, with
the grid worked out and all arguments in order: that is where the launch is written down. The runner sits in the
launcher's globals in all of torch 2.4 to 2.13; `make_launcher` (since 2.7) and `_precompile_config` (before) make
launchers.

Inductor tells the compiler itself what arguments are divisible by 16, or 1, or of what type. Triton would infer that
from the arguments of a plain launch; where the two differ, the record says how to make Triton see it as Inductor did.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, Dict, List

from ..process import environment
from ..process.patches import Patches
from ..process.trouble import note_trouble
from . import description, tuning
from .specialisation import (
    TYPES,
    arguments_by_name,
    constants_of,
    divisible_of,
    is_usual,
    options,
    signature_of,
    specialisation,
)

Record = Dict[str, Any]

_MODULE = "torch._inductor.runtime.triton_heuristics"
SETTINGS = {
    # The static launcher takes the machine code alone: the kernel behind it is no longer known.
    "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": ("0", "torch._inductor.config", "use_static_cuda_launcher", False),
    # Compiled in this process, a kernel keeps its source, and the watch sees it fail.
    "TORCHINDUCTOR_COMPILE_THREADS": ("1", "torch._inductor.config", "compile_threads", 1),
    "TORCHINDUCTOR_UNIQUE_KERNEL_NAMES": ("1", "torch._inductor.config", "triton.unique_kernel_names", True),
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": ("1", "torch._inductor.config", "force_disable_caches", True),
}
"""What Inductor reads from the environment when it is imported, and where that goes if it is imported already."""


def install(capture: Any) -> None:
    """Have Inductor's launches told to `capture`, once the script has imported Inductor."""
    _settle(capture.patches, os.path.join(capture.box.folder, "inductor"))
    capture.patches.on_import(_MODULE, lambda module: _wrap(capture, module))


def _settle(patches: Patches, cache: str) -> None:
    """`cache`: a folder of its own for what Inductor generates; the user's may lie where a run cannot write."""
    patches.on_undo(environment.restorer((*SETTINGS, "TORCHINDUCTOR_CACHE_DIR")))
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    for name, (text, module, place, value) in SETTINGS.items():
        os.environ[name] = text
        if module in sys.modules:
            *path, leaf = place.split(".")
            owner: Any = functools.reduce(getattr, path, sys.modules[module])
            if hasattr(owner, leaf) and getattr(owner, leaf) != value:
                patches.set(owner, leaf, value)


def _wrap(capture: Any, heuristics: Any) -> None:
    tuner: Any = heuristics.CachingAutotuner
    tuning.mark(tuner, "bench", capture.patches)
    capture.patches.wrap(tuner, "run", _run)
    capture.patches.wrap(tuner, "_precompile_config", lambda original: _precompile_config(capture, original))
    result: Any = getattr(heuristics, "TritonCompileResult", None)
    if result is not None:
        capture.patches.wrap(result, "make_launcher", lambda original: _make_launcher(capture, original))
    static: Any = getattr(heuristics, "StaticTritonCompileResult", None)
    static = static or getattr(heuristics, "StaticallyLaunchedCudaKernel", None)
    if static is not None and "can_statically_launch" in vars(static):
        capture.patches.set(static, "can_statically_launch", staticmethod(lambda *args, **kwargs: None))


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    """Templates are measured against each other (max-autotune) through the door of real launches."""
    trial = tuning.trial(original)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (trial if kwargs.get("benchmark_run") else original)(self, *args, **kwargs)

    return run


def _precompile_config(capture: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that does not compile has no arguments yet: the launch that it would have had is made up."""

    def precompile(self: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
        if not capture.at_work:
            return original(self, config, *args, **kwargs)
        record = capture.record(self.fn, "inductor")
        record["grid"] = [1]
        meta = compile_meta(self, config)
        with note_trouble(record):
            _make_up(record, self.fn, meta, options(options_asked(config, meta)))
        found = capture.compile(record, lambda: original(self, config, *args, **kwargs))
        if isinstance(found, tuple) and len(found) == 2 and callable(found[1]):  # up to torch 2.6
            _listen(capture, found[1], self.fn, found[0], meta, config)
        return found

    return precompile


def _make_launcher(capture: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    def make_launcher(self: Any) -> Any:
        launcher = original(self)
        if capture.at_work:
            _listen(capture, launcher, self.kernel.src.fn, self.kernel, self.compile_meta, self.config)
        return launcher

    return make_launcher


def compile_meta(tuner: Any, config: Any) -> Record:
    """What Inductor tells the compiler for this configuration: signature, constants, what is divisible."""
    make = getattr(tuner, "_create_compile_meta", None)
    if make is not None:
        return dict(make(config))
    return {**tuner.triton_meta, "constants": {**tuner.triton_meta.get("constants", {}), **config.kwargs}}


def _listen(capture: Any, launcher: Any, fn: Any, binary: Any, meta: Record, config: Any) -> None:
    """Have the launcher's last call pass by us."""
    scope: Dict[str, Any] = launcher.__globals__
    runner = scope["runner"]

    def run(x: int, y: int, z: int, stream: Any, function: Any, packed: Any, about: Any, *rest: Any) -> Any:
        # Its metadata were asked for, or not: that depends on hooks and versions.
        is_logged = capture.is_unclaimed(binary)

        def go() -> Any:
            if not is_logged:
                capture.log.launching(binary, (x, y, z), rest[2:])
            runner(x, y, z, stream, function, packed, about, *rest)
            return binary

        if not capture.at_work:
            return runner(x, y, z, stream, function, packed, about, *rest)
        record = capture.record(fn, "inductor")
        record["grid"] = [int(n) for n in (x, y, z)]
        with note_trouble(record):
            values = arguments_by_name(fn, meta, rest[2:])
            description.describe(record, values, options(options_asked(config, meta), capture.log.compiles, binary))
            record["specialised"] = specialisation(fn, meta, values)
        capture.launch(record, go, lambda: record["grid"], is_logged)
        return None

    scope["runner"] = run


def options_asked(config: Any, meta: Record) -> Record:
    """Launch options of the configuration."""
    return {"num_warps": config.num_warps, "num_stages": config.num_stages, "debug": bool(meta.get("debug", False))}


def _make_up(record: Record, fn: Any, meta: Record, usual: Record) -> None:
    """Arguments that the compiler cannot tell from the real ones, of which nothing is known yet."""
    divisible, constants, signature = divisible_of(fn, meta), constants_of(fn, meta), signature_of(fn, meta)
    types: Dict[str, str] = {}
    arguments: List[Record] = []
    for number, parameter in enumerate(fn.params):
        name = parameter.name
        kind = signature.get(name, "constexpr")
        about: Record = {"name": name, "constexpr": bool(parameter.is_constexpr)}
        if name in constants or kind == "constexpr":
            if not parameter.is_constexpr and constants.get(name) not in (None, 1):
                types[name] = "tl.constexpr"
            about.update(kind="value", value=constants.get(name))
        elif kind.startswith("*") and kind[1:] in TYPES:
            about.update(description.pointer(TYPES[kind[1:]], number, aligned=name in divisible))
        elif kind.startswith("fp"):
            about.update(kind="value", value=2.0)
            if kind == "fp64":
                types[name] = "tl.float64"
        elif kind in TYPES:
            about.update(kind="value", value=16 if name in divisible else 2)
            if kind != "i32":
                types[name] = "tl." + TYPES[kind]
        else:
            raise ValueError("%s has the type %s, of which no argument can be made up" % (name, kind))
        arguments.append(about)
    record["arguments"] = arguments
    record["options"] = [
        {"name": name, "kind": "value", "value": value} for name, value in usual.items() if not is_usual(name, value)
    ]
    record["specialised"] = {"types": types} if types else {}


def without_checks(every: List[Record], text: str) -> List[Record]:
    """Inductor compiles all kernels with `debug`, for its checks of indices: say so only where there are some."""
    if "device_assert" in text:
        return every
    return [option for option in every if option["name"] not in ("debug", "sanitize_overflow")]
