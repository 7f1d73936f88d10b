"""What is the device's own, behind one seam: everybody else imports these names, and no vendor's module.

error_table          the driver's errors, by code and by the words that users paste
gpus                 whether there is one, which one, how much memory
coredump             how to get a core dump of the GPU, and what it says
disassembly          machine code, and what an opcode touches
sanitizer_records    what the vendor's sanitizer prints, read
toolkit              where the vendor's tools are
amdgcn               what the text of AMD's machine code says of registers and spills
architectures        what `--arch` may be
code_figures         registers, spills, instructions and shared memory of a compiled kernel, of any vendor

`seam.py` says what each of them answers. A vendor is a folder whose modules answer the same, and its name in VENDORS.
All of them are asked for architectures, errors of a log and figures of code. `gpus`, `coredump` and `toolkit` are those
of the machine's own vendor: AMD's where there is a GPU of AMD's and no driver of NVIDIA's. That has never been run.
What the answers are made of has no vendor: device_error, dump, figures, instruction, record. Nor has own_commands: how
tools are run that must end with ours.
"""

from shrinkray_gpu.device import amd, nvidia, seam
from shrinkray_gpu.device.vendors import AllArchitectures, AllErrors, AllFigures

VENDORS = (nvidia, amd)
OF_AMD = amd.gpus.present() and not nvidia.gpus.driver()
"""Whether this machine's GPU is AMD's."""
error_table: seam.ErrorTable = AllErrors([each.error_table for each in VENDORS])
architectures = AllArchitectures([each.architectures for each in VENDORS])
gpus: seam.Gpus = amd.gpus if OF_AMD else nvidia.gpus
coredump: seam.CoreDumps = amd.coredump if OF_AMD else nvidia.coredump
disassembly: seam.Disassembler = nvidia.disassembly
sanitizer_records: seam.SanitizerRecords = nvidia.sanitizer_records
toolkit: seam.Toolkit = amd.toolkit if OF_AMD else nvidia.toolkit
amdgcn: seam.AssemblyText = amd.amdgcn
code_figures: seam.CodeFigures = AllFigures([each.code_figures for each in VENDORS])
