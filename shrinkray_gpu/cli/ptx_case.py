"""`shrink FILE` and `shrink replay FILE` where FILE is PTX: arguments in, words out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu.cli import project_settings
from shrinkray_gpu.cli.compiler_case import (
    OF_CORPORA,
    OF_PROGRAMS,
    CaseReduction,
    Say,
    asked_words,
    refuse,
    tell,
)
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import chosen_python, narrator, print_answer, ptxas_releases, settings
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.ptxas import own_ptxas
from shrinkray_gpu.ptx.options import PtxOptions
from shrinkray_gpu.ptx.ptx_file import gpu_name, read_ptx
from shrinkray_gpu.ptx.ptx_replay import SECONDS, replay_ptx
from shrinkray_gpu.ptx.ptxas_fault import PtxasFault
from shrinkray_gpu.ptx.reduce_ptx import PtxResult, PtxTrial, check_ptx, reduce_ptx
from shrinkray_gpu.ptx.release_table import difference, head_lines, table
from shrinkray_gpu.runner import cores

OWN = "own"
"""How the ptxas at hand is called among releases."""


def replay_case(file: Path, given: Mapping[str, Any]) -> int:
    """Give a file to each ptxas. Returns 0 if all show its fault; of a file that tells none, if none fails."""
    refuse((*OF_CORPORA, "tritons"), "corpora and IR", f"{file} is PTX", given)
    say = narrator(given["as_json"])
    if len(given["pythons"]) > 1:
        raise UsageError("a ptxas belongs to one interpreter: give --python once, and releases by --ptxas")
    python = chosen_python(next(iter(given["pythons"]), None), file, say)
    arch = _arch(file, given)
    tools = _tools(given["ptxas"], python, {**os.environ, **settings(given["env"])}, arch, say)
    found = replay_ptx(file, tools, arch=arch, seconds=SECONDS)
    say.close()
    if given["as_json"]:
        print_answer([each.to_json() for each in found.rows])
    else:
        echo(table(found.rows))
        if said := difference(found.rows):
            echo(said)
    return 0 if found.as_told else 1


def asked(file: Path, args: Sequence[str], given: Mapping[str, Any], say: Say) -> CaseReduction:
    """The reduction that was asked for."""
    refuse((*OF_PROGRAMS, "passes"), "programs and IR", f"{file} is PTX", given)
    if wrong := next((word for word in args if not word.startswith("-")), ""):
        raise UsageError(f"{wrong}: behind PTX stand options of ptxas only, as `-- -O1 -maxrregcount=64`")
    python = chosen_python(given["python"], file, say)
    arch = _arch(file, given)
    tools = _tools(given["ptxas"], python, {**os.environ, **settings(given["env"])}, arch, say)
    first = next(iter(tools.values()))
    options = PtxOptions(
        ptxas=first,
        arch=arch,
        flags=tuple(args),
        oracle=asked_words(given, "PTX", say),
        jobs=given["jobs"] or cores.usable(),
        seed=given["seed"],
        **({} if given["timeout"] is None else {"seconds": given["timeout"]}),
        **({} if given["max_time"] is None else {"max_time": given["max_time"]}),
    )

    def releases(text: str, trial: PtxTrial, fault: PtxasFault) -> list[str]:
        found, seconds = [*tools.values()], options.seconds
        return head_lines(found, text, trial.all_flags, seconds=seconds, wanted=fault, words=trial.words)

    return CaseReduction(
        suffix=".ptx",
        unit=PtxResult.unit,
        begun=f"running {first} on {file} ...",
        check=lambda: check_ptx(file, options),
        reduce=lambda say, stop, shown: reduce_ptx(file, options, say=say, stop=stop, shown=shown, releases=releases),
        tell=lambda result, output: tell(result, file, output, healthy="have no error of their own"),
    )


def _arch(file: Path, given: Mapping[str, Any]) -> str:
    """`--arch`. What the environment or the project says counts where the file names none, and can be assembled so."""
    arch = given["arch"] or ""
    if not arch or "arch" in project_settings.typed():
        return arch
    try:
        ptx = read_ptx(file)
        gpu_name(ptx, arch, file)
    except UsageError:
        return ""
    return "" if ptx.arch else arch


def _tools(asked: str | None, python: str, environment: Mapping[str, str], arch: str, say: Say) -> dict[str, Path]:
    """The ptxas that are asked for, by a path or by releases, which are installed aside; else the one at hand."""
    if asked and (os.sep in asked or Path(asked).is_file()):
        if not os.access(asked, os.X_OK) or Path(asked).is_dir():
            raise UsageError(
                f"--ptxas {asked}: that is no program that can be run. Give its path, or a release as 12.8"
            )
        return {OWN: Path(asked).absolute()}
    if asked:
        wanted = _each_minor(environments.ptxas_releases(python)) if asked == "all" else ptxas_releases(asked)
        wanted = sorted(wanted, key=asked.find)  # as typed, for the first one reduces
        return {each: environments.with_ptxas(each, python=python, say=say) for each in wanted}
    found = own_ptxas(python, environment, architectures.number(arch) if arch else None)
    if found is None:
        raise UsageError(f"{python} has no ptxas: name one by --ptxas PATH, or a release as --ptxas 12.8")
    return {OWN: found}


def _each_minor(releases: Sequence[str]) -> list[str]:
    """The last of each minor release from 12.4 on, of those that are offered oldest first."""
    last = {each.rpartition(".")[0]: each for each in releases}
    return [each for each in last.values() if tuple(map(int, each.split(".")[:2])) >= (12, 4)]
