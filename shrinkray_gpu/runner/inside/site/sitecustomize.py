"""Python runs this at its start in processes that no worker of ours is in; then the user's own, which it stands before.

Under compute-sanitizer and cuda-gdb, builds of CUDA C++ are answered from the reduction's cache: see builds.py. A child
process of a candidate is captured: see child_processes.py.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def _begin(capture: str, cache: str) -> None:
    inside = os.path.dirname(HERE)
    spec = importlib.util.spec_from_file_location(
        "shrinkray_inside", os.path.join(inside, "__init__.py"), submodule_search_locations=[inside]
    )
    assert spec is not None and spec.loader is not None
    package = sys.modules["shrinkray_inside"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    if cache:
        importlib.import_module("shrinkray_inside.cuda_cpp.builds").Builds(cache, None).watch()
    if capture:
        importlib.import_module("shrinkray_inside.child_processes").begin(json.loads(capture))


def _note(error: Exception, capture: str) -> None:
    """For the black box: the child is the user's, and must start."""
    try:
        with open(os.path.join(json.loads(capture)["folder"], "trouble.%d" % os.getpid()), "w") as f:
            f.write("%s: %s" % (type(error).__name__, error))
    except OSError:
        pass


def _next() -> None:
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
_told = os.environ.get("SHRINKRAY_CAPTURE", ""), os.environ.get("SHRINKRAY_GPU_CACHE", "")
if any(_told) and sys.version_info >= (3, 9):
    try:
        _begin(*_told)
    except Exception as error:
        if not _told[0]:
            raise
        _note(error, _told[0])
_next()
