"""A case of the corpus: a folder with `case.toml`, the repro that it stands for, and the program it came from.

docs/corpus.md describes the format. What is not in it is refused, with the nearest key that is: a mistyped
`expct` would silently expect nothing.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault, parse

FILE = "case.toml"
EXPECTATIONS = ("faults", "fixed", "changed", "flaky")
_TEXT, _TEXTS, _TABLE, _TABLES = "a string", "a list of strings", "a table", "a list of tables"
_KEYS: Mapping[str, str] = {
    "title": _TEXT,
    "class": _TEXT,
    "mechanism": _TEXT,
    "oracle": _TEXTS,
    "upstream": _TEXTS,
    "argv": _TEXTS,
    "environment": _TABLE,
    "runs": "a whole number",
    "timeout": "a number",
    "needs": _TABLE,
    "fault": _TABLE,
    "seen": _TABLES,
    "expect": _TABLE,
    "artifacts": _TABLE,
}
_NEEDS: Mapping[str, str] = {
    "gpu": "true or false",
    "architecture": _TEXT,
    "memory": "a number",
    "packages": _TEXTS,
}
_SEEN = dict.fromkeys(("gpu", "driver", "cuda", "triton", "torch", "helion", "python", "arch", "date"), _TEXT)
_TYPES: Mapping[str, tuple[type, ...]] = {
    _TEXT: (str,),
    _TEXTS: (list,),
    _TABLE: (dict,),
    _TABLES: (list,),
    "a whole number": (int,),
    "a number": (int, float),
    "true or false": (bool,),
}
_REQUIRED = ("title", "class", "mechanism", "oracle")


@dataclass(frozen=True)
class Needs:
    """What a machine must have for the case to say anything."""

    gpu: bool = False
    """A real one: the fault is not decided by the compiled code."""
    architecture: int = 0
    """The lowest compute capability times ten (90: Hopper); 0: any."""
    memory: float = 0.0
    """GiB of device memory."""
    packages: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class Case:
    folder: Path
    title: str
    klass: str
    """`misaligned address`, `compiler crash`, `hang`, ..."""
    mechanism: str
    oracle: tuple[str, ...]
    fault: Fault | None = None
    """As it was when the case was added. None: the oracle says all (an IR pattern)."""
    needs: Needs = Needs()
    expect: tuple[tuple[SpecifierSet, str], ...] = ()
    """By range of Triton versions: `faults`, `fixed`, `changed` or `flaky`."""
    seen: tuple[Mapping[str, str], ...] = ()
    upstream: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0
    """Clean runs that it takes to tell; 0: as the tool thinks fit."""
    timeout: float = 0.0
    """Seconds that a run may take; 0: as the tool thinks fit."""
    artifacts: Mapping[str, str] = field(default_factory=dict)
    """Files below the folder, with their sha256."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def repro(self) -> Path:
        return self.folder / f"repro_{self.name}.py"

    @property
    def original(self) -> Path:
        return self.folder / "failing.py"


def load(folder: Path) -> Case:
    """The case in this folder. Raises UsageError, with the place, for anything that is wrong with it."""
    path = folder / FILE
    try:
        # Plain values: tomlkit's own remember the layout, and are not what isinstance expects.
        data = tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()
    except FileNotFoundError as error:
        raise UsageError(f"{folder} is no case: it has no {FILE}") from error
    except (OSError, UnicodeDecodeError, tomlkit.exceptions.TOMLKitError) as error:
        raise UsageError(f"{path}: {error}") from error
    case = _case(folder, path, data)
    if not case.repro.is_file():
        raise UsageError(f"{path}: there is no {case.repro.name} beside it, which is the case")
    for name, digest in case.artifacts.items():
        if not (folder / name).is_file():
            raise UsageError(f"{path}: artifact {name} is not there")
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest.removeprefix("sha256:"):
            raise UsageError(f"{path}: artifact {name} is not the file that the case was made with (sha256)")
    return case


def cases(corpus: Path, names: Sequence[str] = ()) -> list[Case]:
    """All cases of a corpus (or the one case that the folder is), by name; `names` chooses among them."""
    if not corpus.is_dir():
        raise UsageError(f"{corpus} is not a folder: name a corpus, or one case of it")
    if (corpus / FILE).exists():
        return [load(corpus)]
    folders = {folder.name: folder for folder in sorted(corpus.iterdir()) if (folder / FILE).exists()}
    if not folders:
        raise UsageError(f"{corpus} holds no cases: a case is a folder with a {FILE}")
    for name in names:
        if name not in folders:
            raise UsageError(f"there is no case {name!r} in {corpus}{_nearest(name, folders)}")
    return [load(folder) for name, folder in folders.items() if not names or name in names]


def _case(folder: Path, path: Path, data: Mapping[str, Any]) -> Case:
    _check(path, "", data, _KEYS)
    for name in _REQUIRED:
        if not data.get(name):
            raise UsageError(f"{path}: it does not say {name!r}")
    for spec in data["oracle"]:
        try:
            parse(spec, folder=folder)
        except UsageError as error:
            raise UsageError(f"{path}: oracle: {error}") from error
    for index, seen in enumerate(data.get("seen", ())):
        _check(path, f"seen[{index}].", seen, _SEEN)
    needs, fault = data.get("needs", {}), data.get("fault")
    _check(path, "needs.", needs, _NEEDS)
    if fault is not None:
        known = {each.name: "a whole number" if each.type == "int" else _TEXT for each in fields(Fault)}
        _check(path, "fault.", fault, known)
        if "phase" not in fault or "klass" not in fault:
            raise UsageError(f"{path}: fault: it needs phase and klass at least")
    _check(path, "environment.", data.get("environment", {}), dict.fromkeys(data.get("environment", {}), _TEXT))
    return Case(
        folder=folder,
        title=data["title"],
        klass=data["class"],
        mechanism=data["mechanism"],
        oracle=tuple(data["oracle"]),
        fault=Fault(**fault) if fault else None,
        needs=_needs(path, needs),
        expect=tuple(_expected(path, given, what) for given, what in data.get("expect", {}).items()),
        seen=tuple(data.get("seen", ())),
        upstream=tuple(data.get("upstream", ())),
        argv=tuple(data.get("argv", ())),
        environment=dict(data.get("environment", {})),
        runs=int(data.get("runs", 0)),
        timeout=float(data.get("timeout", 0)),
        artifacts=dict(data.get("artifacts", {})),
    )


def _needs(path: Path, data: Mapping[str, Any]) -> Needs:
    architecture = str(data.get("architecture", "sm_0"))
    if not architecture.removeprefix("sm_").isdigit():
        raise UsageError(f"{path}: needs.architecture {architecture!r}: write it as sm_90")
    packages = []
    for text in data.get("packages", ()):
        try:
            packages.append(Requirement(text))
        except InvalidRequirement as error:
            raise UsageError(f"{path}: needs.packages {text!r}: {error}") from error
    return Needs(
        gpu=bool(data.get("gpu", False)),
        architecture=int(architecture.removeprefix("sm_")),
        memory=float(data.get("memory", 0)),
        packages=tuple(packages),
    )


def _expected(path: Path, given: str, what: Any) -> tuple[SpecifierSet, str]:
    if what not in EXPECTATIONS:
        raise UsageError(
            f"{path}: expect.{given!r} = {what!r}: it is one of {', '.join(EXPECTATIONS)}{_nearest(what, EXPECTATIONS)}"
        )
    try:
        return SpecifierSet(given), what
    except InvalidSpecifier as error:
        raise UsageError(f"{path}: expect.{given!r} is no range of Triton versions: write '>=3.4,<3.9'") from error


def _check(path: Path, prefix: str, data: Mapping[str, Any], known: Mapping[str, str]) -> None:
    """Unknown keys and values of a wrong type."""
    for key, value in data.items():
        if key not in known:
            raise UsageError(f"{path}: unknown key {prefix}{key}{_nearest(key, known)}")
        wanted = known[key]
        good = isinstance(value, _TYPES[wanted]) and (isinstance(value, bool) == (wanted == "true or false"))
        inner = str if wanted == _TEXTS else dict if wanted == _TABLES else object
        if not good or (isinstance(value, list) and not all(isinstance(one, inner) for one in value)):
            raise UsageError(f"{path}: {prefix}{key} is {value!r}, and must be {wanted}")


def _nearest(word: Any, known: Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(str(word), list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
