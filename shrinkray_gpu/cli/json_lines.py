"""What `--json` prints: events, one JSON object a line, each whole as soon as it is known."""

from __future__ import annotations

import json
import time

from shrinkray_gpu.cli.output import print_data
from shrinkray_gpu.events import Event

_BEGUN = time.monotonic()


def print_event(event: Event) -> None:
    """Print it. `at` is in seconds since the command began."""
    schema, name, *fields = event.to_json().items()
    line = dict([schema, name, ("at", round(time.monotonic() - _BEGUN, 3)), *fields])
    print_data(json.dumps(line))
