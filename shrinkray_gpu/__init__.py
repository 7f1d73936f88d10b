"""A failing GPU program goes in, the same fault comes out of the smallest standalone script.

from shrinkray_gpu import reduce
result = reduce("failing.py", oracle="misaligned address", arch="sm_90")
print(result.text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shrinkray_gpu import events
    from shrinkray_gpu.corpus.replay import replay
    from shrinkray_gpu.evidence.versions import __version__
    from shrinkray_gpu.job.reduce import check, reduce
    from shrinkray_gpu.options import Options
    from shrinkray_gpu.oracle import Fault, Oracle
    from shrinkray_gpu.questions.explanation import explain
    from shrinkray_gpu.result.summary import Result

__all__ = [
    "Fault",
    "Options",
    "Oracle",
    "Result",
    "__version__",
    "check",
    "events",
    "explain",
    "reduce",
    "replay",
]

_HOMES = {
    "Fault": "oracle",
    "Oracle": "oracle",
    "Options": "options",
    "Result": "result.summary",
    "__version__": "evidence.versions",
    "check": "job.reduce",
    "events": "events",
    "explain": "questions.explanation",
    "reduce": "job.reduce",
    "replay": "corpus.replay",
}


def __getattr__(name: str) -> Any:
    """The public API, imported when first asked for: `shrink --help` need not load libcst."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    home = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return home if name == "events" else getattr(home, name)


def __dir__() -> list[str]:
    """What `dir` and completion show, before any of it is imported."""
    return sorted({*globals(), *__all__})
