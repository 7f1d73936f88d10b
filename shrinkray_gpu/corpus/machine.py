"""Where cases are replayed, and why a case cannot be replayed there."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.version import InvalidVersion, Version

from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.device import architectures, gpus, toolkit
from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.inside.gpu_target import gpu_target

_ASK = (
    "import importlib.metadata as m, json, sys\n"
    "found = {}\n"
    "for name in sys.argv[1:]:\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)


@dataclass(frozen=True)
class ReplayEnvironment:
    """One interpreter, on one GPU or on the virtual one."""

    python: str
    arch: int | None
    gpu: bool
    versions: Mapping[str, str]

    @classmethod
    def of(cls, python: str, arch: int | None, environment: Mapping[str, str]) -> ReplayEnvironment:
        gpu = arch is None and gpus.present()
        found = versions(python, {**os.environ, **environment}, gpu=gpu)
        return cls(python, arch, gpu, {**found, "arch": architectures.name(arch)} if arch else found)

    @property
    def name(self) -> str:
        """`triton 3.7.1`; compiled for AMD, `triton 3.7.1, gfx942`."""
        on = f", {architectures.name(self.arch)}" if self.arch and gpu_target(self.arch).is_amd else ""
        return f"triton {self.versions.get('triton', 'missing')}{on}"

    @cached_property
    def architecture(self) -> int:
        """Compute capability times ten; 0 where nobody tells."""
        return self.arch or (gpus.capability() if self.gpu else 0) or 0

    def package_versions(self, names: Sequence[str]) -> Mapping[str, str]:
        """Versions of the packages among these that the interpreter has."""
        try:
            done = run_command([self.python, "-c", _ASK, *names], capture_output=True, text=True, timeout=60)
            found: Mapping[str, str] = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise UsageError(f"cannot ask {self.python} what is installed there: {error}") from error
        return found


def lacking(case: Case, oracle: Oracle, place: ReplayEnvironment) -> str:
    """Why a case cannot run there; empty if it can."""
    return _interpreter(case, place) or _device(case, oracle, place)


def lacking_for_ir(case: Case, place: ReplayEnvironment) -> str:
    """The same of IR, which runs on no device. A column of another architecture is not its own."""
    if place.arch and not case.needs.runs_on(place.arch):
        return f"it is of {case.needs.architecture}, and this is {architectures.name(place.arch)}"
    return _interpreter(case, place)


def _interpreter(case: Case, place: ReplayEnvironment) -> str:
    if "triton" not in place.versions:
        return f"{place.python} has no Triton: name an interpreter that has, by --python"
    packages = case.needs.packages
    found = place.package_versions([package.name for package in packages]) if packages else {}
    for package in packages:
        if package.name not in found:
            return f"it needs {package}, which {place.python} does not have"
        try:
            fits = package.specifier.contains(Version(found[package.name]), prereleases=True)
        except InvalidVersion:
            continue
        if not fits:
            return f"it needs {package}, and there is {found[package.name]}"
    return ""


def _device(case: Case, oracle: Oracle, place: ReplayEnvironment) -> str:
    needs, here = case.needs, place.architecture
    if needs.gpu and not place.gpu:
        return "it needs a real GPU" + (", and --arch launches nothing" if place.arch else "")
    if oracle.needs.sanitizer:
        if not place.gpu:
            return "it needs a real GPU, for compute-sanitizer"
        try:
            sanitizer.require(oracle.needs.sanitizer, place.python, os.environ)
        except UsageError as error:
            return str(error)
    builds = ("nvcc",) if oracle.needs.builds else ()
    for tool in dict.fromkeys((*needs.tools, *builds)):
        if toolkit.find(tool, place.python, os.environ) is None:
            return toolkit.missing(tool)
    if here and not needs.runs_on(here):
        return f"it needs {needs.architecture}, and this is {architectures.name(here)}"
    if place.gpu and needs.memory and 0 < gpus.memory() < needs.memory:
        return f"it needs {needs.memory:g} GiB of device memory, and there are {gpus.memory():.0f}"
    # What was seen neither on a GPU nor compiled for one asks for none: in the interpreter, or by `triton.compile`.
    without = case.environment.get("TRITON_INTERPRET") == "1" or any(
        not {"gpu", "arch"} & {*seen} for seen in case.seen
    )
    if not place.gpu and not place.arch and not without:
        return "there is no GPU; --arch sm_90 compiles for one without it"
    return ""
