"""Whether torch can build extensions in the user's interpreter: it needs ninja on PATH and Python's own headers."""

from __future__ import annotations

from collections.abc import Mapping

from shrinkray_gpu.device.own_commands import printed_by

_ASK = (
    "import os, shutil, sysconfig; head = os.path.join(sysconfig.get_paths()['include'], 'Python.h'); "
    "print(', '.join(word for word, there in (('ninja', shutil.which('ninja')), ('Python.h', os.path.exists(head))) "
    "if not there))"
)
SECONDS = 20


def lacking(python: str, environment: Mapping[str, str]) -> str:
    """What it would need and is not there: `ninja, Python.h`; empty where nothing is missing, or it cannot be told."""
    return printed_by([python, "-c", _ASK], seconds=SECONDS, env=environment).strip()
