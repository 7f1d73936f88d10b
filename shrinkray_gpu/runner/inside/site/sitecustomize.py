"""Python runs this at its start: builds of CUDA C++ are answered from the reduction's cache, here too. See builds.py.

For processes that no worker of ours is in (under compute-sanitizer, cuda-gdb). The user's own sitecustomize, which this
one stands before, is run as well.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _watch(cache: str) -> None:
    inside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location(
        "shrinkray_site", os.path.join(inside, "__init__.py"), submodule_search_locations=[inside]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["shrinkray_site"] = package
    spec.loader.exec_module(package)
    importlib.import_module("shrinkray_site.cuda_cpp.builds").Builds(cache, None).watch()


def _next() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    places = [place for place in sys.path if os.path.abspath(place or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("SHRINKRAY_GPU_CACHE"):
    _watch(os.environ["SHRINKRAY_GPU_CACHE"])
_next()
