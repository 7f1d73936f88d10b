"""Takes out of a text, or of a cubin, what tells who made it and where: paths, the user's name, the host's, secrets.

An attachment is published. Compilers write absolute paths into all that they make, so nothing leaves the folder without
passing here.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from shrinkray_gpu.evidence.secrets_found import SECRET, SHOWN, secrets_in, without_secrets

SHORTEST = 3
"""Names of fewer letters are parts of words, and tell nobody."""
_COMMON = frozenset({"root", "user", "ubuntu", "admin", "localhost", "runner", "home", "python", "kernel", "main"})
"""Names that tell nobody either, and stand in texts for other things."""
SECRETS = 6
"""A secret of fewer letters is a switch or a number, and a repro has such words of its own."""
_SITE = re.compile(r"(?:/[\w.+@-]+)+/(?:site|dist)-packages(?=/|\b)")
_UNDECODED = re.compile("[\udc80-\udcff]+")
"""Bytes of a name that Python's locale has no letters for."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_HOME = re.compile(r"/(?:home|Users)/[\w.@-]+")


@dataclass(frozen=True)
class Scrubber:
    """What is put in the place of what. Longer things go first."""

    folders: Mapping[str, str]
    names: Mapping[str, str]

    def text(self, text: str) -> str:
        """The text without them, as UTF-8 can say it: a file's name may be in another encoding."""
        text = _UNDECODED.sub(lambda found: os.fsencode(found.group()).decode("utf-8", "replace"), text)
        text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
        for folder, shown in self.folders.items():
            text = re.sub(rf"{re.escape(folder)}(?=/|[^\w.-]|$)", shown, text)
        text = _HOME.sub("<home>", _SITE.sub("<site-packages>", text))
        for name, shown in self.names.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", shown, text)
        return without_secrets(text)

    def data(self, data: bytes) -> bytes:
        """The bytes with each of them blotted out, none moved: a cubin has offsets to what comes after."""
        for word in (*self.folders, *self.names):
            old = word.encode()
            data = data.replace(old, re.sub(rb"[^/]", b"_", old))
        for pattern in (_SITE, _HOME):
            data = re.sub(pattern.pattern.encode(), lambda found: re.sub(rb"[^/]", b"_", found.group()), data)
        return data


def scrubber(
    folders: Iterable[Path | str],
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] = MappingProxyType({}),
    texts: Iterable[str] = (),
) -> Scrubber:
    """For this machine and user; `folders` are those of the program, which shrink to nothing: a file beside it is known
    by its name. Of the variables that the user set for it, secrets become their names; a secret in one of `texts` is
    replaced in all others too, which may tell it without its name."""
    found: dict[str, str] = {}
    for folder in folders:
        for place in {os.path.abspath(folder), os.path.realpath(folder)}:
            found[place] = "."
    others = {str(Path.home()): "<home>", tempfile.gettempdir(): "<tmp>", str(Path(python).parent): "<bin>"}
    found = {**others, **found}
    plain = {place: shown for place, shown in found.items() if place.count("/") >= 1 and len(place) > 1}
    names = {_user(): "<user>", socket.gethostname(): "<host>"}
    names |= {secret: SHOWN for text in texts for secret in secrets_in(text) if len(secret) >= SECRETS}
    names |= {value: f"<{name}>" for name, value in environment.items() if _secret(name, value)}
    told = {name: shown for name, shown in names.items() if len(name) >= SHORTEST and name.lower() not in _COMMON}
    return Scrubber(dict(sorted(plain.items(), key=lambda each: -len(each[0]))), told)


def _secret(name: str, value: str) -> bool:
    return len(value) >= SECRETS and SECRET.search(name) is not None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
