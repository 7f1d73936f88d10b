"""What is the device's own, behind one seam: everybody else imports these names, and no vendor's module.

error_table          the driver's errors, by code and by the words that users paste
gpus                 whether there is one, which one, how much memory
coredump             how to get a core dump of the GPU, and what it says
disassembly          machine code, and what an opcode touches
sanitizer_records    what the vendor's sanitizer prints, read
toolkit              where the vendor's tools are
architectures        what `--arch` may be

`seam.py` says what each of them answers. Another vendor is a folder beside `nvidia/` whose modules answer the same, and
its name in the line below. What the answers are made of has no vendor: device_error, dump, instruction, record.
"""

from shrinkray_gpu.device.nvidia import NVIDIA

DEVICE = NVIDIA

error_table = DEVICE.error_table
gpus = DEVICE.gpus
coredump = DEVICE.coredump
disassembly = DEVICE.disassembly
sanitizer_records = DEVICE.sanitizer_records
toolkit = DEVICE.toolkit
architectures = DEVICE.architectures

__all__ = [
    "DEVICE",
    "architectures",
    "coredump",
    "disassembly",
    "error_table",
    "gpus",
    "sanitizer_records",
    "toolkit",
]
