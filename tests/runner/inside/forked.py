"""A forked child does some work and says what came of it, as in a lane: it leaves nothing behind in this process."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def forked(folder: Path, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returns in the child; a traceback of it fails the test here."""
    answer = folder / "answer.json"
    pid = os.fork()
    if pid == 0:
        try:
            answer.write_text(json.dumps(work()))
        except BaseException:
            answer.write_text(json.dumps(traceback.format_exc()))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    said = json.loads(answer.read_text())
    assert isinstance(said, dict), said
    return said
