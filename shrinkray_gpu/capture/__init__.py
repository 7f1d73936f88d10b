"""The light hook for production, switched on by SHRINKRAY_GPU in the environment: capture, or record.

    python -m shrinkray_gpu.capture SCRIPT ARGS...     a program as it is
    import shrinkray_gpu.capture                       one line in it, that does nothing unless the variable is set

A launch that faults then leaves a capsule, `capsule_PID.json`, which `shrink capsule` reduces elsewhere. What is
imported here is the standard library; the work is in `runner/inside/capsule`.
"""

from __future__ import annotations

import os

from shrinkray_gpu.runner.inside.capsule import hook
from shrinkray_gpu.runner.inside.capsule.capsule_schema import VARIABLE

if os.environ.get(VARIABLE):
    hook.install(os.environ[VARIABLE])
