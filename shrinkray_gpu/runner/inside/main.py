"""Start of a worker: `python main.py [--cold] FD`. Makes this folder importable as `shrinkray_inside`; no more."""

import importlib
import importlib.util
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if entry != here]  # `python main.py` put it there
spec = importlib.util.spec_from_file_location(
    "shrinkray_inside", os.path.join(here, "__init__.py"), submodule_search_locations=[here]
)
assert spec is not None and spec.loader is not None
package = importlib.util.module_from_spec(spec)
sys.modules["shrinkray_inside"] = package
spec.loader.exec_module(package)

importlib.import_module("shrinkray_inside.worker").main()
