"""AMD's GPUs: figures of a kernel, from the text of its assembly."""

from shrinkray_gpu.device.amd import code_figures as code_figures
