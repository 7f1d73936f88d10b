"""A script's CUDA C++ as one .cu with a `main()`: its kernels, launched as the script launched them, without torch.

Of the sources stays what the launched kernels lead to, by name. `main()` allocates what their pointers point into,
fills it as the script had it (zeros, one value, or a few bytes one by one), launches, waits, and tells the error.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from shrinkray_gpu.errors import ShrinkError
from shrinkray_gpu.passes.cuda.cuda_layout import tidy
from shrinkray_gpu.reduction.native.literal import Literal
from shrinkray_gpu.runner.inside.cuda_cpp.host_code import plain_name, split_off
from shrinkray_gpu.source.cuda import Source, items_of, reached, words

_TORCH = re.compile(
    r"\b(?:torch|at|c10|pybind11|py)::|\b(?:TORCH_\w+|PYBIND11_MODULE|C10_\w+|AT_\w+)\b"
    r"|#\s*include\s*[<\"](?:torch|ATen|c10|pybind11)/"
)
_TAGS = {"float": "f", "double": "d"}
_WHOLE = {1: "b", 2: "h", 4: "i", 8: "q"}
FILL = """
static void* filled(size_t bytes, const char* item, size_t size) {
  char *host = new char[bytes], *device = nullptr;
  for (size_t i = 0; i < bytes; ++i) host[i] = item[i % size];
  cudaMalloc(&device, bytes);
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
  return device;
}
"""


class NotPlain(ShrinkError):
    """This program has no such form, and why."""


def cu_source(
    literals: Iterable[Literal], calls: Sequence[Mapping[str, Any]], command: str, *, repeated: bool = True
) -> str:
    """The text of the .cu. `repeated`: a launch made several times in a row is made so often, for a fault that hangs on
    what the one before left. Raises NotPlain where a launch hangs on something that is not written down."""
    if not calls:
        raise NotPlain("its host code launches no kernel")
    wanted = {plain_name(call["kernel"]) for call in calls}
    leading = wanted.union(*(words(callee(call["kernel"])) for call in calls))
    text = "\n".join(filter(None, (plain_source(Source(each), leading) for each in literals)))
    for name in wanted:
        if not re.search(rf"\b{name}\b", text):
            raise NotPlain(f"the source of its kernel {name} is not in the script, or needs torch")
    main = "\n".join(_main(calls, repeated=repeated))
    fill = FILL if "filled(" in main else ""
    return f"// {command}\n#include <cstdio>\n{tidy(text).strip()}\n{fill}\n{main}\n"


def plain_source(source: Source, wanted: set[str]) -> str:
    """The source without what needs torch, and without what these names (kernels, arguments of templates) do not lead
    to."""
    items = [item for item in items_of(source.tree.root) if not _TORCH.search(source.of(item))]
    roots = [item for item in items if source.declares(item) & wanted]
    roots += [item for item in items if roots and not source.declares(item)]  # includes, using
    live = reached(source, items, roots)
    gone = sorted((item for item in items_of(source.tree.root) if item not in live), key=lambda item: item.first)
    out, at = "", 0
    for item in gone:
        out += source.text[at : item.first]
        at = max(at, item.last)
    return out + source.text[at:] if live else ""


def callee(signature: str) -> str:
    """`fa::kernel<16>` of `void fa::kernel<16>(float*)`."""
    called = split_off(signature)[0].replace("(anonymous namespace)::", "")
    head, space, rest = called.partition(" ")  # the result's type, which instances of templates have
    return rest if space and "<" not in head and "::" not in head else called


def _main(calls: Sequence[Mapping[str, Any]], *, repeated: bool) -> Iterator[str]:
    yield "int main() {"
    buffers: dict[int, str] = {}
    lines: list[str] = []
    for call, alike in groupby(calls):
        times = len(list(alike)) if repeated else 1
        given = []
        for arg in call["args"]:
            if "tensor" not in arg:
                given.append(number(arg, call))
            elif not arg["tensor"]:
                given.append("nullptr")
            else:
                if arg["tensor"] not in buffers:
                    buffers[arg["tensor"]] = name = f"x{len(buffers)}"
                    yield from _allocated(name, arg)
                place = buffers[arg["tensor"]] + (f" + {arg['offset']}" if arg["offset"] else "")
                place = f"({place})" if arg["offset"] else place
                given.append(f"({arg['type']}){place}")
        called = callee(call["kernel"])
        if call["shared"] > 48 << 10:
            shared = f"cudaFuncAttributeMaxDynamicSharedMemorySize, {call['shared']}"
            lines.append(f"  cudaFuncSetAttribute({called}, {shared});")
        options = [_dim(call["grid"]), _dim(call["block"]), *([str(call["shared"])] if call["shared"] else [])]
        again = f"for (int i = 0; i < {times}; ++i) " if times > 1 else ""
        lines.append(f"  {again}{called}<<<{', '.join(options)}>>>({', '.join(given)});")
    yield from lines
    yield "  cudaError_t error = cudaDeviceSynchronize();"
    yield '  std::printf("CUDA error %d: %s\\n", (int)error, cudaGetErrorString(error));'
    yield "  return error != cudaSuccess;\n}"


def _allocated(name: str, arg: Mapping[str, Any]) -> Iterator[str]:
    content = bytes.fromhex(arg["content"])
    if not arg["whole"]:
        raise NotPlain(f"a tensor of {arg['size']} bytes holds values of all kinds: let it be of zeros or ones")
    if content:
        text = "".join(f"\\x{byte:02x}" for byte in content)
        yield f'  char* {name} = (char*)filled({arg["size"]}, "{text}", {len(content)});'
    else:
        yield f"  char* {name};"
        yield f"  cudaMalloc(&{name}, {max(1, arg['size'])});"
        yield f"  cudaMemset({name}, 0, {arg['size']});"


def number(arg: Mapping[str, Any], call: Mapping[str, Any]) -> str:
    content, kind = bytes.fromhex(arg["bytes"]), arg["type"]
    if not content:
        raise NotPlain(f"kernel {plain_name(call['kernel'])} takes a {kind} by value")
    if kind in _TAGS:
        (value,) = struct.unpack("<" + _TAGS[kind], content)
        if not math.isfinite(value):
            return f"({kind}){'NAN' if math.isnan(value) else 'INFINITY' if value > 0 else '-INFINITY'}"
        return f"({kind}){value!r}"
    if kind == "__half":
        return f"__half(__half_raw{{{int.from_bytes(content, 'little')}}})"
    if kind == "__nv_bfloat16":
        return f"__nv_bfloat16(__nv_bfloat16_raw{{{int.from_bytes(content, 'little')}}})"
    tag = _WHOLE[len(content)]
    if kind == "bool":
        return "false" if content == b"\0" else "true"
    (value,) = struct.unpack("<" + (tag.upper() if "unsigned" in kind else tag), content)
    return str(value) if kind == "int" else f"({kind}){value}"


def _dim(sizes: Sequence[int]) -> str:
    least = list(sizes)
    while len(least) > 1 and least[-1] == 1:
        least.pop()
    return str(least[0]) if len(least) == 1 else f"dim3({', '.join(map(str, least))})"
