"""A machine with ROCm as its documents describe it: files of the topology, and a `shrink` that takes them for its own.

Faults are told by a module that stands in for HIP: what it prints is our own text, in the form that AMD documents.
"""

from __future__ import annotations

import sys
from pathlib import Path

SHRINK = """
import pathlib, sys
import shrinkray_gpu.device as device
from shrinkray_gpu.device import amd
host = pathlib.Path(sys.argv.pop(1))
amd.gpus.DEVICES, amd.gpus.TOPOLOGY, amd.toolkit.ROCM = host / "dev", host / "nodes", host
amd.gpus._PROBE = 'print("well")'
device.gpus, device.coredump, device.toolkit, device.OF_AMD = amd.gpus, amd.coredump, amd.toolkit, True
from shrinkray_gpu.__main__ import main
sys.exit(main())
"""
HIP = '''
import os, random, re, sys

REPORT = """System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present or supervisor privilege)
Faulting page: 0x7f10aa001000

--------------------------------------------------------
wave_2: pc=0x7f10bb001148 (kernel_code_entry=0x7f10bb001000 <{0}>) (stopped, reason: MEMORY_VIOLATION)

Disassembly for function {0}:
    code object: memory://4242#offset=0x7f10cc000040&size=9216
    loaded at: [0x7f10bb000000-0x7f10bb003000]

 => 0x7f10bb001148 <+328>:    s_waitcnt vmcnt(0)
End of disassembly.
"""


def launch(kernel, held, touched):
    """As a kernel that touches so many bytes of a buffer that holds fewer."""
    if touched <= held:
        return
    if output := re.search("--output=(.+)", os.environ.get("ROCM_DEBUG_AGENT_OPTIONS", "")):
        with open(output[1], "w") as file:
            file.write(REPORT.format(kernel))
    node, address = random.randint(1, 8), random.randrange(1 << 46, 1 << 47) & ~0xFFF
    sys.stderr.write(
        "Memory access fault by GPU node-%d (Agent handle: 0x%x) on address 0x%x. "
        "Reason: Page not present or supervisor privilege.\\n" % (node, random.randrange(1 << 40), address)
    )
    sys.stderr.flush()
    os.abort()
'''


def made_host(folder: Path) -> None:
    """A processor and two GPUs of different architectures, the first with 192 GiB."""
    (folder / "dev").mkdir()
    (folder / "dev" / "kfd").touch()
    for number, (simds, version, size) in enumerate([(0, 0, 0), (1216, 90402, 192), (416, 90010, 64)]):
        bank = folder / "nodes" / str(number) / "mem_banks" / "0"
        bank.mkdir(parents=True)
        (bank / "properties").write_text(f"heap_type 1\nsize_in_bytes {size << 30}\nflags 0\n")
        told = f"cpu_cores_count 0\nsimd_count {simds}\ngfx_target_version {version}\nvendor_id 4098\n"
        (folder / "nodes" / str(number) / "properties").write_text(told)
    (folder / "lib").mkdir()
    (folder / "lib" / "librocm-debug-agent.so.2").touch()
    (folder / "packages").mkdir()
    (folder / "packages" / "hip.py").write_text(HIP)


def shrink_on(folder: Path) -> list[str]:
    """The command that takes this folder for a machine with ROCm."""
    return [sys.executable, "-c", SHRINK, str(folder)]
