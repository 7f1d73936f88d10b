"""Start of a process that the tool talks with. Makes this folder importable as `shrinkray_inside`; no more.

main.py FD             a worker
main.py --cold FD      a lane that nothing was imported in
main.py --ir FD          a worker for questions about IR
main.py --keeper MEMORY FD    the keeper
main.py --zygote FD      a keeper whose commands are forks of it
main.py --fenced SETUP COMMAND...    the command, in a fence
"""

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

roles = {"--cold": "lane", "--keeper": "keeper", "--zygote": "zygote", "--fenced": "fence"}
roles["--ir"] = "intermediate.worker"
role = roles.get(sys.argv[1], "worker")
importlib.import_module("shrinkray_inside." + role).main()
