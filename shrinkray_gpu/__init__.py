"""A failing GPU program goes in, the same fault comes out of the smallest standalone script.

from shrinkray_gpu import Options, reduce
result = reduce(Path("failing.py"), Options(oracle=("misaligned address",)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shrinkray_gpu.evidence.versions import __version__
    from shrinkray_gpu.job.reduce import reduce
    from shrinkray_gpu.options import Options
    from shrinkray_gpu.oracle import Fault, Oracle
    from shrinkray_gpu.result.summary import Result

__all__ = ["Fault", "Options", "Oracle", "Result", "__version__", "reduce"]

_HOMES = {
    "Fault": "oracle",
    "Oracle": "oracle",
    "Options": "options",
    "Result": "result.summary",
    "__version__": "evidence.versions",
    "reduce": "job.reduce",
}


def __getattr__(name: str) -> Any:
    """The public API, imported when first asked for: `shrink --help` need not load libcst."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
