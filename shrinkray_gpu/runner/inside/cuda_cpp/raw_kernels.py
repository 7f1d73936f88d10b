"""Kernels that a script gives to NVRTC as text: `torch.cuda._compile_kernel`, CuPy's raw kernels, cuda-core's programs.

Where no GPU is each source is compiled by `nvcc -cubin`, and what the script calls is a kernel that is not launched.
Arrays that CuPy and cuda-core allocate themselves want a driver: such a script must take torch's. Standard library
only.
"""

from __future__ import annotations

import re
import struct
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..process import import_hook
from . import host_calls as words
from . import nvcc, nvrtc
from .stand_ins import Kernel, StandIn

LARGEST_SHARED = 232448
FREE_SHARED = 48 << 10
"""Bytes a block, on sm_90, with and without asking for more."""
KernelCompiler = Callable[[str, str, Dict[str, Any]], Dict[str, Any]]
"""Name, source and options in, the outcome as it is written down out; raises RuntimeError where it fails."""
_INSTANCE = "\nstatic __attribute__((used)) const void* shrink_instance = (const void*)&%s;\n"
"""NVRTC makes the instance of a template that it is asked for, nvcc the one that is used."""


def watch(
    compiled: KernelCompiler, gpu: Callable[[], Any], arch: int, of_torch: "TorchCompiler"
) -> None:
    """Stand in for the three libraries as soon as the script has imported one. `gpu`: the virtual one, once there."""

    def kernel(name: str, source: str, build: Dict[str, Any]) -> Any:
        _check(name, source)
        return Kernel(name, build.setdefault("launched", []), gpu)

    def torch_kernel() -> None:
        module: Any = sys.modules["torch.cuda"]

        def compile_kernel(kernel_source: str, kernel_name: str, *rest: Any, **options: Any) -> Any:
            options.update(zip(("compute_capability", "cuda_include_dirs", "nvcc_options"), rest))
            source = str(options.pop("header_code", None) or "") + kernel_source
            nvcc.leave_out(options, "nvcc_options")
            _check(kernel_name, source)
            build, name = of_torch.build(source, kernel_name, options)
            return TorchKernel(kernel_name, build, gpu, name, of_torch.calls is not None)

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

    import_hook.when_imported("torch.cuda", torch_kernel)
    import_hook.when_imported("cupy", cupy)
    for name in ("cuda.core", "cuda.core.experimental"):
        import_hook.when_imported(name, cuda_core(name))


def _check(name: str, source: str) -> None:
    word = name.partition("<")[0].rpartition("::")[2]
    if not word or not re.search(r"__global__[^;{}]*\b%s\s*\(" % re.escape(word), source):
        raise RuntimeError("named symbol not found: %s" % name)


class TorchCompiler:
    """What `torch.cuda._compile_kernel` compiles: by NVRTC, if that is here and nobody asks what nvcc says, else by
    nvcc. `symbols(name)`: the kernels of the source that nvcc compiled under this name. `calls`: launches are written
    down, with the flags that it tells of nvcc's options."""

    def __init__(
        self,
        compiled: KernelCompiler,
        symbols: Callable[[str], Dict[str, List[int]]],
        own: Optional[nvrtc.Nvrtc] = None,
        calls: Optional[Callable[[Dict[str, Any]], List[str]]] = None,
    ) -> None:
        self.compiled, self.symbols, self.nvrtc, self.calls = compiled, symbols, own, calls

    def build(self, source: str, name: str, options: Dict[str, Any]) -> Tuple[Dict[str, Any], str]:
        """The outcome, and the kernel's mangled name; empty where it is not known."""
        if self.nvrtc is not None and nvrtc.usable():
            utils: Any = sys.modules["torch.cuda._utils"]
            given = [options.get(each) for each in ("compute_capability", "cuda_include_dirs", "nvcc_options")]
            made = self.nvrtc.compiler(utils._nvrtc_compile)(source, name, *given)
            return self.nvrtc.seen[-1], str(made[1]) if isinstance(made, tuple) else ""
        flags = {
            "extra_cuda_cflags": options.get("nvcc_options"),
            "extra_include_paths": options.get("cuda_include_dirs"),
        }
        if "<" in name:
            source += _INSTANCE % name
        build = self.compiled(name, source, flags)
        word = name.partition("<")[0].rpartition("::")[2]
        if self.calls is not None:
            build["flags"] = self.calls(flags)
        known = [each for each in self.symbols(name) if each == word or "%d%s" % (len(word), word) in each]
        return build, known[0] if len(known) == 1 else ""


class TorchKernel(Kernel):
    """A kernel of torch's that is not launched, with what torch and the driver refuse."""

    def __init__(
        self, name: str, build: Dict[str, Any], gpu: Callable[[], Any], mangled: str, calls: bool = False
    ) -> None:
        super().__init__(name, build.setdefault("launched", []), gpu)
        self._build, self._mangled, self._calls = build, mangled, calls
        self._types = nvrtc.parameters(mangled) if mangled else None
        self._most = 0

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        if shared_mem_bytes > LARGEST_SHARED:
            raise RuntimeError("Requested shared memory (%d bytes) exceeds device limit" % shared_mem_bytes)
        self._most = shared_mem_bytes

    def __call__(
        self,
        grid: Sequence[int] = (1, 1, 1),
        block: Sequence[int] = (1, 1, 1),
        args: Optional[Sequence[Any]] = None,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        given = args or ()
        for value in given:
            if not hasattr(value, "data_ptr") and not isinstance(value, (int, float)):
                raise TypeError("Unsupported argument type: %s" % type(value))
        if self._types is not None:
            nvrtc.check(self._types, given)
        if shared_mem >= FREE_SHARED and shared_mem > self._most:
            raise RuntimeError("Kernel requires %d bytes of shared memory: set_shared_memory_config" % shared_mem)
        threads = block[0] * block[1] * block[2]
        if min(*grid, *block) < 1 or threads > 1024 or max(grid[1], grid[2]) > 65535 or block[2] > 64:
            raise RuntimeError("CUDA error: invalid argument")
        if self._calls and self._types is not None:
            self._build.setdefault("calls", []).append(self._written(grid, block, given, shared_mem))
        super().__call__(grid, block, given)

    def _written(self, grid: Sequence[int], block: Sequence[int], given: Sequence[Any], shared: int) -> Dict[str, Any]:
        from . import host_code

        args = []
        for kind, value in zip(self._types or (), given):
            if hasattr(value, "data_ptr"):
                data, tensors = int(value.data_ptr()).to_bytes(8, "little"), [value]
            else:
                data, tensors = (int(value) & (1 << 64) - 1).to_bytes(8, "little"), []
                if isinstance(value, float):
                    data = struct.pack("<d", value)
            args.append(words.argument(kind, data, tensors))
        name = host_code.demangle(self._mangled.encode())
        return {"kernel": name, "grid": list(grid), "block": list(block), "shared": shared, "args": args}


def _for_nvcc(options: Any) -> List[str]:
    """What NVRTC alone knows is left out."""
    known = map(str, nvcc.as_list(options))
    return [flag for flag in known if not re.match(r"--?(default-device|device-as-default|dopt|builtin-)", flag)]


def _of_program(options: Any) -> List[str]:
    """`ProgramOptions`, as far as they say something of the text."""
    given = vars(options) if hasattr(options, "__dict__") else {}
    flags = ["-std=%s" % given["std"]] if given.get("std") else []
    for flag, name in (("-D", "define_macro"), ("-U", "undefine_macro"), ("-I", "include_path")):
        value = given.get(name)
        if isinstance(value, tuple) and flag == "-D":
            value = ["=".join(map(str, value))]
        words = ("=".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in nvcc.as_list(value))
        flags += [flag + word for word in words]
    if given.get("use_fast_math"):
        flags.append("--use_fast_math")
    return flags
