"""A case of the corpus: a folder with `case.toml`, the repro that it stands for, and the program it came from. Of a
fault in a pass the repro may be Triton's IR.

docs/corpus.md describes the format, `schema.py` checks its keys.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from shrinkray_gpu import device
from shrinkray_gpu.corpus import schema
from shrinkray_gpu.device import toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate import lit_test
from shrinkray_gpu.intermediate.ir_file import ir_in, read_text
from shrinkray_gpu.oracle import Fault, Oracle, all_of, parse
from shrinkray_gpu.oracle.hang import DEVICE, HOST, HangOracle
from shrinkray_gpu.oracle.words import compiler_pattern
from shrinkray_gpu.reduction.comment_above import one_line
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner.plain_file import open_plain

FILE = "case.toml"
LARGEST = 1 << 20
"""Bytes of a `case.toml`."""

AMD = "gfx"
"""How the names of AMD's architectures begin."""
OF_PROGRAMS = ("reject", "fault", "argv", "runs", "timeout", "cold")
"""Keys that say nothing of IR: it goes through its passes once, and its repro tells the fault."""


@dataclass(frozen=True)
class MachineNeeds:
    """What a machine must have for the case to say anything."""

    gpu: bool = False
    """A real one: the fault is not decided by the compiled code."""
    architecture: str = ""
    """`sm_90`, which means this one or later, or a range: `>=sm_80,<sm_100`. AMD's are named one by one:
    `gfx942,gfx950`, also beside the others: `sm_90,gfx942`. Empty: any."""
    memory: float = 0.0
    """GiB of device memory."""
    packages: tuple[Requirement, ...] = ()
    tools: tuple[str, ...] = ()
    """Of NVIDIA's: `nvcc`, `compute-sanitizer`, ..."""

    def runs_on(self, architecture: int) -> bool:
        """Whether the architecture of this number will do."""
        name, (of_amd, others) = device.architectures.name(architecture), _vendors(self.architecture)
        if name.startswith(AMD):
            return not self.architecture or name in of_amd
        return (not of_amd or bool(others)) and Version(str(architecture)) in architectures(self.architecture)


@dataclass(frozen=True)
class Case:
    folder: Path
    title: str
    klass: str
    """`misaligned address`, `compiler crash`, `hang`, ..."""
    mechanism: str
    oracle: tuple[str, ...]
    reject: tuple[str, ...] = ()
    fault: Fault | None = None
    """As it was when the case was added. None: the oracle says all (an IR pattern)."""
    needs: MachineNeeds = MachineNeeds()
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
    cold: bool = False
    """Whether each run needs a process of its own, in which nothing was imported or compiled before."""
    artifacts: Mapping[str, str] = field(default_factory=dict)
    """Files below the folder, with their sha256."""
    broken: str = ""
    """Why it cannot be read; then no more is known of it than its folder."""

    @property
    def name(self) -> str:
        return os.path.basename(os.path.abspath(self.folder))  # the folder may be `.`

    @property
    def repro(self) -> Path:
        ir = self.folder / f"repro_{self.name}.mlir"
        return ir if ir.is_file() else ir.with_suffix(".py")

    @property
    def is_ir(self) -> bool:
        """Whether passes of the compiler run on it, and no program."""
        return self.repro.suffix == ".mlir"

    @property
    def original(self) -> Path:
        return self.folder / "failing.py"

    def question(self) -> Oracle:
        """The oracle that judges a run of it."""
        return all_of(
            [self._bound(parse(spec, folder=self.folder)) for spec in self.oracle],
            [parse(spec, folder=self.folder) for spec in self.reject],
        )

    def _bound(self, oracle: Oracle) -> Oracle:
        """A hang is one in a kernel if the case needs a GPU: a script that never gets there hangs otherwise."""
        return replace(oracle, place=DEVICE if self.needs.gpu else HOST) if isinstance(oracle, HangOracle) else oracle


def load(folder: Path) -> Case:
    """The case in this folder. Raises UsageError, with the place, for anything that is wrong with it."""
    case, path = told(folder), folder / FILE
    if not case.repro.is_file():
        raise UsageError(f"{path}: there is no {case.repro.name} beside it, which is what replay runs")
    # What is wrong with a repro is said before anything is run, not after all the others were.
    if case.is_ir:
        case = replace(case, fault=fault_of_ir(case.repro))
    else:
        read_program(case.repro)
    _check_artifacts(path, case)
    return case


def told(folder: Path) -> Case:
    """What `case.toml` in this folder tells, whatever is beside it. Raises UsageError, with the place."""
    path = folder / FILE
    try:
        # Plain values: tomlkit's own remember the layout, and are not what isinstance expects.
        if (size := path.stat().st_size) > LARGEST:
            raise UsageError(f"{path}: it has {size:,} bytes, and may have {LARGEST:,}: keep large things beside it")
        with open(path, encoding="utf-8", opener=open_plain) as file:
            data = tomlkit.parse(file.read()).unwrap()
    except FileNotFoundError as error:
        raise UsageError(f"{folder} is no case: it has no {FILE}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except RecursionError as error:
        raise UsageError(f"{path}: its tables are nested too deep") from error
    except (ValueError, tomlkit.exceptions.TOMLKitError) as error:
        raise UsageError(f"{path}: this is not TOML: {one_line(str(error))}") from error
    schema.check(path, data)
    return _case(folder, path, data)


def load_or_broken(folder: Path) -> Case:
    """The case, or why it is none: one that is damaged does not keep the others from being replayed."""
    try:
        return load(folder)
    except UsageError as error:
        return Case(folder, title="it cannot be read", klass="", mechanism="", oracle=(), broken=str(error))


def cases(corpus: Path, names: Sequence[str] = ()) -> list[Case]:
    """All cases of a corpus (or the one case that the folder is), by name; `names` chooses among them. Those that
    cannot be read are `broken`. Raises UsageError where none can."""
    if not corpus.is_dir():
        raise UsageError(f"{corpus} is not a folder: name a corpus, or one case of it")
    if (corpus / FILE).exists():
        folders = {load(corpus).name: corpus}
    else:
        folders = {folder.name: folder for folder in sorted(corpus.iterdir()) if (folder / FILE).exists()}
    if not folders:
        raise UsageError(f"{corpus} holds no cases: a case is a folder in it with a {FILE}")
    for name in names:
        if name not in folders:
            raise UsageError(f"there is no case {name!r} in {corpus}{schema.nearest(name, folders)}")
    found = [load_or_broken(folder) for name, folder in folders.items() if not names or name in names]
    if all(case.broken for case in found):
        raise UsageError(found[0].broken)
    return found


def _vendors(text: str) -> tuple[list[str], str]:
    """AMD's architectures by their names, and what stands beside them."""
    parts = [part for part in text.replace(" ", "").split(",") if part]
    return [part for part in parts if part.startswith(AMD)], ",".join(p for p in parts if not p.startswith(AMD))


def architectures(text: str) -> SpecifierSet:
    """`sm_90` (or later) and `>=sm_80,<sm_100` as a range of numbers; nothing for AMD's, which make no range. Raises
    ValueError (InvalidSpecifier is one)."""
    names, text = _vendors(text)
    if any(device.architectures.number(name) is None for name in names):
        raise ValueError(", ".join(names))
    if re.search(r"sm_(?!\d{2,3}[af]?\b)", text):
        raise ValueError(text)
    plain = re.sub(r"sm_(\d+)[af]?", r"\1", text)
    return SpecifierSet(f">={plain}" if plain.isdigit() else plain)


def _case(folder: Path, path: Path, data: Mapping[str, Any]) -> Case:
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key != "class"}
    read = {
        "title": " ".join(data["title"].split()),
        "mechanism": data["mechanism"].strip(),
        "fault": Fault(**data["fault"]) if data.get("fault") else None,
        "needs": _needs(path, data.get("needs", {})),
        "expect": tuple((_range(path, given), what) for given, what in data.get("expect", {}).items()),
    }
    case = Case(folder=folder, klass=data["class"], **{"oracle": (), **plain, **read})
    if case.is_ir:
        _check_ir(path, case, data)
    elif not case.oracle:
        raise UsageError(f"{path}: it does not say 'oracle', which every case must")
    for key, specs in (("oracle", case.oracle), ("reject", case.reject)):
        for spec in specs:
            _check_oracle(path, key, spec, case)
    return case


def fault_of_ir(repro: Path) -> Fault:
    """What the head of this IR says of its fault. Raises UsageError where `shrink replay` would have nothing to run, or
    nothing to compare."""
    text = read_text(repro)
    told = lit_test.fault_of(text)
    if not ir_in(text, repro).passes or not told:
        raise UsageError(f"{repro}: it has no // RUN: and // Fault: line: shrink {repro.name} makes a file that has")
    return fault_told(told)


def fault_told(line: str) -> Fault:
    """What the `Fault:` line of IR tells."""
    name, _, words = line.partition(": ")
    return Fault(phase="compile", klass=name, text=words)


def _check_ir(path: Path, case: Case, data: Mapping[str, Any]) -> None:
    unfit = [key for key in OF_PROGRAMS if key in data]
    unfit += [f"needs.{key}" for key in ("gpu", "memory", "tools") if key in data.get("needs", {})]
    if unfit:
        raise UsageError(f"{path}: {unfit[0]} says nothing of IR ({case.repro.name}): leave it out")
    if case.repro.with_suffix(".py").is_file():
        raise UsageError(f"{path}: both {case.repro.name} and a program are beside it: make two cases of them")
    for spec in case.oracle:
        try:
            compiler_pattern(spec)
        except UsageError as error:
            raise UsageError(f"{path}: oracle: {error}") from error


def _check_oracle(path: Path, key: str, spec: str, case: Case) -> None:
    try:
        oracle = parse(spec, folder=case.folder)
    except UsageError as error:
        raise UsageError(f"{path}: {key}: {error}") from error
    if oracle.needs.text:
        raise UsageError(
            f"{path}: {key} {spec!r}: a test of your own cannot know which interpreter a replay is for. Say what the "
            "fault is, as `shrink explain` tells it"
        )
    if oracle.needs.elsewhere:
        raise UsageError(f"{path}: {key} {spec!r} compares two releases by itself, and a replay runs one at a time")
    if oracle.needs.unlimited and not case.timeout:
        raise UsageError(f"{path}: {key} {spec!r} asks for a program that does not end in time: say timeout = SECONDS")


def _needs(path: Path, data: Mapping[str, Any]) -> MachineNeeds:
    architecture = data.get("architecture", "")
    try:
        architectures(architecture)
    except ValueError as error:
        raise UsageError(
            f"{path}: needs.architecture is {architecture!r}: write 'sm_90', which means that one or later, a range "
            "such as '>=sm_80,<sm_100', or AMD's by name, such as 'gfx942,gfx950'"
        ) from error
    packages = []
    for text in data.get("packages", ()):
        try:
            packages.append(Requirement(text))
        except InvalidRequirement as error:
            reason = str(error).splitlines()[0]
            raise UsageError(f"{path}: needs.packages {text!r}: {reason}; write 'helion>=0.3'") from error
    for tool in data.get("tools", ()):
        if tool not in toolkit.HOW:
            raise UsageError(f"{path}: needs.tools names {tool!r}{schema.nearest(tool, toolkit.HOW)}")
    tools = tuple(data.get("tools", ()))
    return MachineNeeds(data.get("gpu", False), architecture, float(data.get("memory", 0)), tuple(packages), tools)


def _range(path: Path, given: str) -> SpecifierSet:
    try:
        return SpecifierSet(given)
    except InvalidSpecifier as error:
        raise UsageError(f"{path}: expect.{given!r} is no range of Triton versions: write '>=3.4,<3.9'") from error


def _check_artifacts(path: Path, case: Case) -> None:
    for name, digest in case.artifacts.items():
        file = case.folder / name
        try:
            inside = file.resolve().is_relative_to(case.folder.resolve())
            there = inside and file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{path}: artifact {name}: {error.strerror}") from error
        if not inside:
            raise UsageError(f"{path}: artifact {name} is outside of the case: copy it into the folder")
        if not there:
            raise UsageError(f"{path}: artifact {name} is not there")
        if there != digest.removeprefix("sha256:"):
            raise UsageError(f"{path}: artifact {name} is not the file that the case was made with (sha256)")
