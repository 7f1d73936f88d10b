"""Kernels that a script gives to NVRTC as text: `torch.cuda._compile_kernel`, CuPy's raw kernels, cuda-core's programs.

Where no GPU is each source is compiled by `nvcc -cubin`, and what the script calls is a kernel that is not launched.
Arrays that CuPy and cuda-core allocate themselves want a driver: such a script must take torch's. Standard library
only.
"""

from __future__ import annotations

import re
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import arrival
from .unlaunched import Kernel, StandIn

Compile = Callable[[str, str, Dict[str, Any]], Dict[str, Any]]
"""Name, source and options in, the outcome as it is written down out; raises RuntimeError where it fails."""


def watch(compiled: Compile, gpu: Callable[[], Any], arch: int) -> None:
    """Stand in for the three libraries as soon as the script has imported one. `gpu`: the virtual one, once there."""

    def kernel(name: str, source: str, build: Dict[str, Any]) -> Any:
        if not re.search(r"__global__[^;{}]*\b%s\s*\(" % re.escape(name.partition("<")[0]), source):
            raise RuntimeError("named symbol not found: %s" % name)
        return Kernel(name, build.setdefault("launched", []), gpu)

    def torch_kernel() -> None:
        module: Any = sys.modules["torch.cuda"]

        def compile_kernel(kernel_source: str, kernel_name: str, *rest: Any, **options: Any) -> Any:
            source = str(options.get("header_code") or "") + kernel_source
            build = compiled(kernel_name, source, {"extra_cuda_cflags": options.get("nvcc_options")})
            return kernel(kernel_name, source, build)

        if hasattr(module, "_compile_kernel"):
            module._compile_kernel = compile_kernel

    def cupy() -> None:
        module: Any = sys.modules["cupy"]

        def raw_kernel(code: str, name: str, options: Sequence[str] = (), *rest: Any, **others: Any) -> Any:
            return kernel(name, code, compiled(name, code, {"extra_cuda_cflags": _for_nvcc(options)}))

        def raw_module(
            code: Optional[str] = None, *, path: Optional[str] = None, options: Sequence[str] = (), **others: Any
        ) -> Any:
            if code is None:
                return StandIn()  # a binary
            build = compiled("module", code, {"extra_cuda_cflags": _for_nvcc(options)})
            return types.SimpleNamespace(get_function=lambda name: kernel(name, code, build), compile=StandIn())

        module.RawKernel, module.RawModule = raw_kernel, raw_module

    def cuda_core(name: str) -> Callable[[], None]:
        def stand_in() -> None:
            module: Any = sys.modules[name]

            class Program:
                def __init__(self, code: Any, code_type: Any, options: Any = None) -> None:
                    self.code, self.code_type, self.options = code, str(code_type), options

                def compile(self, target_type: Any, *rest: Any, **others: Any) -> Any:
                    if self.code_type.lower().rpartition(".")[2] not in ("c++", "cxx"):
                        return StandIn()
                    build = compiled("program", self.code, {"extra_cuda_cflags": _of_program(self.options)})
                    return types.SimpleNamespace(get_kernel=lambda name: kernel(str(name), self.code, build))

                def close(self) -> None:
                    pass

            class Device(StandIn):
                def __init__(self, device_id: int = 0) -> None:
                    self.device_id, self.arch, self.compute_capability = device_id, str(arch), divmod(arch, 10)

            def launch(stream: Any, config: Any, called: Any, *args: Any) -> None:
                called(*args)

            module.Program, module.Device, module.launch = Program, Device, launch
            module.ProgramOptions = types.SimpleNamespace  # the real one asks the driver

        return stand_in

    arrival.when_imported("torch.cuda", torch_kernel)
    arrival.when_imported("cupy", cupy)
    for name in ("cuda.core", "cuda.core.experimental"):
        arrival.when_imported(name, cuda_core(name))


def _for_nvcc(options: Any) -> List[str]:
    """What NVRTC alone knows is left out."""
    known = [options] if isinstance(options, str) else list(map(str, options or ()))
    return [flag for flag in known if not re.match(r"--?(default-device|device-as-default|dopt|builtin-)", flag)]


def _of_program(options: Any) -> List[str]:
    """`ProgramOptions`, as far as they say something of the text."""
    given = vars(options) if hasattr(options, "__dict__") else {}
    flags = ["-std=%s" % given["std"]] if given.get("std") else []
    for flag, name in (("-D", "define_macro"), ("-U", "undefine_macro"), ("-I", "include_path")):
        value = given.get(name)
        if isinstance(value, tuple) and flag == "-D":
            value = ["=".join(map(str, value))]
        flags += [flag + ("=".join(map(str, one)) if isinstance(one, tuple) else str(one)) for one in _several(value)]
    if given.get("use_fast_math"):
        flags.append("--use_fast_math")
    return flags


def _several(value: Any) -> Sequence[Any]:
    return () if value is None else [value] if isinstance(value, str) else list(value)
