"""A script that runs with one of its modules edited, and nothing on disk changed.

Python takes the module's code from the edited text, and so does Triton, which reads the source of a kernel through
`linecache`. Modules of the same package that a lane has imported before are imported anew.
"""

from __future__ import annotations

import json
from pathlib import Path

_PRELUDE = """
def edit(path, text, package):
    import importlib.machinery, linecache, sys
    loader = importlib.machinery.SourceFileLoader
    own = loader.get_code
    loader.get_code = lambda self, name: compile(text, path, "exec") if self.path == path else own(self, name)
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    for name in [*sys.modules]:
        if name.partition(".")[0] == package:
            del sys.modules[name]
"""
_FUTURE = "from __future__ import"


def script(text: str, file: Path, edited: str) -> str:
    """The script `text`, whose module in `file` reads `edited`. What must stand before all other statements does."""
    call = f"edit({json.dumps(str(file))}, {json.dumps(edited)}, {json.dumps(package(file))})"
    line = f"exec({json.dumps(_PRELUDE + call)}, {{}})\n"
    lines = text.splitlines(True)
    at = max((number for number, each in enumerate(lines, 1) if each.startswith(_FUTURE)), default=0)
    return "".join([*lines[:at], line, *lines[at:]])


def package(file: Path) -> str:
    """The outermost package that a module is in, or the module itself."""
    while (file.parent / "__init__.py").is_file():
        file = file.parent
    return file.stem
