"""The form of a capsule, a JSON file, and its version: what writes it and what reads it hold it against these types."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict

VARIABLE = "SHRINKRAY_GPU"
"""In the environment: switches the hook on."""
VERSION = 1
"""One more whenever a reader of the one before would misread it."""


class CapsuleError(TypedDict):
    type: str
    text: str
    where: str
    """What raised it: `launch`, `synchronize`, `uncaught`, `exit`."""


class CapsuleLaunch(TypedDict):
    number: int
    """Which launch of the process it is, from 1."""
    times: int
    """How many of the launches that are known were of its kind."""
    needs_contents: List[str]
    """Its tensors of whole numbers, of which nobody knows what they held: addresses may hang on that."""
    record: Any
    """A `capture.schema.LaunchRecord`, looked at by itself."""


class CapsuleFile(TypedDict):
    capsule: int
    mode: Literal["capture", "record"]
    error: CapsuleError
    exact: bool
    """Whether the first launch is known to be the one that failed; else each of them may be."""
    launches_seen: int
    launches: List[CapsuleLaunch]
    """One of each kind, the likeliest first."""
    versions: Dict[str, Any]
    contents: Dict[str, Any]
    """Files that records name, by their names, in base64."""
    next: str
    """What a person does with it, in words."""
