"""What the kernel's driver says of AMD's GPUs, by the files of its topology. Written by AMD's documents, never run.

A node of the topology is a GPU if it has SIMDs. HIP numbers the GPUs in the order of the nodes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from shrinkray_gpu.device.amd import architectures
from shrinkray_gpu.device.own_commands import answer_of

DEVICES = Path("/dev")
TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
KEEPS_ERRORS = False
NOTE = (
    "a GPU of AMD's: a process for each run, since a fault ends it. This was written by AMD's documents and never run "
    "on such a GPU: tell us what goes wrong. --arch gfx942 needs none"
)
HIDING = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""HIP regards the last one as CUDA does."""
_OF_THE_CARD = ("1", "2")
"""`heap_type` of memory that the host can reach, and of memory that it cannot."""
_PROBE = """
import ctypes
hip, memory, host = ctypes.CDLL("libamdhip64.so"), ctypes.c_void_p(), (ctypes.c_ubyte * 4096)()
for step, code in (
    ("hipInit", lambda: hip.hipInit(0)),
    ("hipMalloc", lambda: hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(4096))),
    ("hipMemset", lambda: hip.hipMemset(memory, 7, ctypes.c_size_t(4096))),
    ("hipMemcpy", lambda: hip.hipMemcpy(host, memory, ctypes.c_size_t(4096), 2)),
):
    error = code()
    if error:
        print("well" if error == 2 else f"{step} gives error {error}")  # it is full
        break
else:
    print("well" if bytes(host) == bytes([7]) * 4096 else "memory does not hold what is written to it")
"""


def present() -> bool:
    """Whether this process has a GPU of AMD's that Triton compiles for. That of many a processor is none."""
    hidden = any(os.environ.get(name) in ("", "-1") for name in HIDING)
    return driver() and not hidden and capability() is not None


def driver() -> bool:
    """Whether AMD's driver for computing is here, be it that no GPU is visible."""
    return DEVICES.joinpath("kfd").exists()


def sharing(environment: Mapping[str, str]) -> str:
    """Empty: AMD has no server that has several processes share one context."""
    return ""


def capability() -> int | None:
    """The number of the first GPU's architecture, 0x942 for `gfx942`; None for one that no `--arch` names."""
    return next((architectures.number(_architecture(node)) for node in _nodes()), None)


def memory() -> float:
    """Of the first GPU, in GiB; 0 where the topology does not tell."""
    for node in _nodes():
        banks = [_properties(bank) for bank in node.glob("mem_banks/*")]
        own = [bank for bank in banks if bank.get("heap_type") in _OF_THE_CARD]
        return sum(int(bank.get("size_in_bytes", "0")) for bank in own) / (1 << 30)
    return 0.0


def visible(environment: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """Each GPU by its number and its architecture. Empty where there is one, or where variables of the user's choose
    among them: the numbers would be those of the chosen ones."""
    nodes = _nodes()
    if len(nodes) < 2 or any(name in environment for name in HIDING):
        return []
    return [(str(number), _architecture(node)) for number, node in enumerate(nodes)]


def trouble(device: str = "") -> str:
    """Why a program that sets 4 KiB of memory fails on a GPU, in a process of its own; empty: it does well, or HIP is
    not where the linker looks, which says nothing of the GPU."""
    try:
        said = answer_of(_PROBE, {**os.environ, "CUDA_VISIBLE_DEVICES": device} if device else os.environ).strip()
    except TimeoutError as error:
        return f"the driver gives {error}"
    return "" if said == "well" else said


def _nodes() -> list[Path]:
    """Those that are GPUs, in their order."""
    found = [node for node in TOPOLOGY.glob("*") if node.name.isdigit()]
    return sorted((node for node in found if _properties(node).get("simd_count", "0") != "0"), key=_number)


def _architecture(node: Path) -> str:
    """The topology has 90402 for `gfx942`, and 90010 for `gfx90a`."""
    version = int(_properties(node).get("gfx_target_version", "0"))
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _number(node: Path) -> int:
    return int(node.name)


def _properties(node: Path) -> dict[str, str]:
    try:
        lines = (node / "properties").read_text().splitlines()
    except OSError:  # a container shows nodes that it may not read: those are not its own
        return {}
    pairs = (line.split(None, 1) for line in lines)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
