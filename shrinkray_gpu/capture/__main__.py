"""`python -m shrinkray_gpu.capture SCRIPT ARGS...`, or `-m MODULE ARGS...`: the program, with the hook in place."""

from __future__ import annotations

import os
import runpy
import sys

from shrinkray_gpu.runner.inside.capsule import hook
from shrinkray_gpu.runner.inside.capsule.capsule_schema import VARIABLE

USAGE = "python -m shrinkray_gpu.capture SCRIPT [ARGS...], or python -m shrinkray_gpu.capture -m MODULE [ARGS...]"


def main() -> None:
    words = sys.argv[1:]
    module = words[1] if words[:1] == ["-m"] and len(words) > 1 else ""
    if not words or words[0].startswith("-") and not module:
        sys.exit(_refused(f"which program? Usage: {USAGE}"))
    if not module and not os.path.isfile(words[0]):
        sys.exit(_refused(f"there is no script {words[0]}. Usage: {USAGE}"))
    hook.install(os.environ.get(VARIABLE) or hook.CAPTURE)
    if module:
        sys.argv[:] = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


def _refused(text: str) -> int:
    sys.stderr.write(f"shrinkray_gpu.capture: {text}\n")
    return 2


if __name__ == "__main__":
    main()
