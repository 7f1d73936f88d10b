"""What of a pytest command decides how each test of it is collected: the same is asked for where one is run alone."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PytestSettings:
    """Settings and plugins. Paths are as they were given."""

    rootdir: str = ""
    """Empty where pytest finds it by itself, and so for `file`."""
    file: str = ""
    plugins: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()

    @classmethod
    def of(cls, args: Sequence[str]) -> PytestSettings:
        """Those of a command line. A word that is none of these is left to pytest, also where it is wrong."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        parser.add_argument("--rootdir", default="")
        parser.add_argument("-c", "--config-file", default="", dest="file")
        parser.add_argument("-p", action="append", default=[], dest="plugins")
        parser.add_argument("-o", "--override-ini", action="append", default=[], dest="overrides")
        try:
            found, _ = parser.parse_known_args(list(args))
        except argparse.ArgumentError:  # an option without its value
            return cls()
        return cls(found.rootdir, found.file, tuple(found.plugins), tuple(found.overrides))

    @property
    def words(self) -> list[str]:
        """As arguments of pytest."""
        words = [f"--rootdir={self.rootdir}"] if self.rootdir else []
        words += ["-c", self.file] if self.file else []
        words += [word for name in self.plugins for word in ("-p", name)]
        return words + [word for setting in self.overrides for word in ("-o", setting)]

    def root(self, cwd: Path) -> Path | None:
        """Where node ids begin, as far as the command says so."""
        if self.rootdir:
            return cwd / self.rootdir
        return (cwd / self.file).parent if self.file else None


def seen_from(cwd: Path, node: str, root: Path | None = None) -> str:
    """A node id, which begins at the root, as pytest takes it in the folder `cwd`. Where no root is known, it is the
    nearest folder from `cwd` upwards that has the file."""
    file, colons, rest = node.partition("::")
    places = [root] if root is not None else [cwd, *cwd.parents]
    base = next((place for place in places if (place / file).is_file()), None)
    return node if base is None else os.path.relpath(base / file, cwd) + colons + rest
