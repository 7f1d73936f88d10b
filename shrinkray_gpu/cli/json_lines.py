"""What `--json` prints: events, one JSON object a line, each whole as soon as it is known."""

from __future__ import annotations

import json
import sys
import time

from shrinkray_gpu.events import Event

_BEGUN = time.monotonic()


def print_event(event: Event) -> None:
    """Print it. `at` is in seconds since the command began."""
    schema, name, *fields = event.to_json().items()
    line = dict([schema, name, ("at", round(time.monotonic() - _BEGUN, 3)), *fields])
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
