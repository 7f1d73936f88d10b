"""`python -m tests.capture.on_virtual_gpu COMMAND...`: `python COMMAND...` in this process, which sees an H100.

As the program of a machine with a GPU is, it is started by nobody of ours: no worker, no watcher.
"""

from __future__ import annotations

import runpy
import sys

from shrinkray_gpu.runner.inside import vgpu
from shrinkray_gpu.runner.inside.launches.launch_log import LaunchLog


def main() -> None:
    words = sys.argv[1:]
    log = LaunchLog(frozenset({"static:alignment"}))  # which a device raises unasked
    log.install()
    with vgpu.virtual(90, log):
        try:
            if words[0] == "-m":
                sys.argv[:] = words[1:]
                runpy.run_module(words[1], run_name="__main__", alter_sys=True)
            else:
                sys.argv[:] = words
                runpy.run_path(words[0], run_name="__main__")
        except Exception as error:  # as the interpreter does, while the GPU is still there
            sys.excepthook(type(error), error, error.__traceback__)
            sys.exit(1)


if __name__ == "__main__":
    main()
