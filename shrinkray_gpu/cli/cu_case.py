"""`shrink FILE` and `shrink replay FILE` where FILE is a CUDA program: arguments in, words out."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.cli.compiler_case import (
    OF_CORPORA,
    OF_PROGRAMS,
    CaseReduction,
    Say,
    Shown,
    asked_words,
    kind_of,
    refuse,
)
from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import architecture, chosen_python, narrator, print_answer, settings
from shrinkray_gpu.cu.cu_replay import replay_cu
from shrinkray_gpu.cu.cu_result import issue
from shrinkray_gpu.cu.options import AskedWords, CuOptions
from shrinkray_gpu.cu.reduce_cu import CuResult, check_cu, reduce_cu
from shrinkray_gpu.device import toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.ptxas import version
from shrinkray_gpu.intermediate.search import IrTally
from shrinkray_gpu.oracle.words import plain_pattern
from shrinkray_gpu.runner import compiler

_FIT = ("skip", "cwd", "nvcc", "keep", "resume", "ray", "accelerator")
_UNFIT = tuple(each for each in OF_PROGRAMS if each not in _FIT)


def replay_case(file: Path, given: Mapping[str, Any]) -> int:
    """Build a result again, and run it if a run shows its fault. Returns 0 if it still does; of a program that tells
    no fault, if it shows none."""
    refuse((*OF_CORPORA, "tritons", "ptxas"), "corpora, IR and PTX", f"{file} is a CUDA program", given)
    say = narrator(given["as_json"])
    if len(given["pythons"]) > 1:
        raise UsageError("nvcc belongs to no interpreter: give --python once, or set CUDA_HOME for another nvcc")
    options = _options(next(iter(given["pythons"]), None), file, given, say)
    found = replay_cu(file, options)
    say.close()
    if given["as_json"]:
        print_answer({"told": found.told, "shows": found.shows, "outcome": found.outcome})
    else:
        echo(f"{file}: {found.outcome} ({found.shows})")
    return 0 if found.as_told else 1


def asked(file: Path, args: Sequence[str], given: Mapping[str, Any], say: Say) -> CaseReduction:
    """The reduction that was asked for."""
    refuse(_UNFIT, "programs in Python", f"{file} is a CUDA program", given)
    refuse(("passes", "ptxas"), "IR and PTX", f"{file} is a CUDA program", given)
    options = replace(
        _options(given["python"], file, given, say),
        flags=_flags(given["nvcc"]),
        words=tuple(map(_words, asked_words(given, "a .cu", say, of="words", kinds=("build:", "compile:", "regex:")))),
        argv=tuple(args),
        cwd=given["cwd"] or Path.cwd(),
        skip=frozenset(given["skip"]),
        keep=frozenset(given["keep"]),
        resume=given["resume"],
        restart=given["restart"],
        jobs=given["jobs"],
        ray=given["ray"],
        accelerator=given["accelerator"] or "",
        seed=given["seed"],
        **({} if given["max_time"] is None else {"max_time": given["max_time"]}),
    )
    output = (given["output"] or file.with_name(f"repro_{file.stem}.cu")).absolute()
    folder = output.with_name(f"{file.stem}.shrink")
    report = None if given["no_report"] else folder / "ISSUE.md"

    def reduce(say: Say, stop: Callable[[], bool], shown: Shown) -> CuResult:
        def shown_tokens(tokens: int, tries: int) -> None:
            shown(tokens, IrTally(tries=tries))

        result = reduce_cu(file, options, folder, output, say=say, stop=stop, shown=shown_tokens)
        if report and not result.refuted:
            arch = "the GPU of the machine" if options.arch is None else f"--arch {options.arch}"
            versions = [f"nvcc {version(options.nvcc)}", f"built for {arch}"]
            text = issue(result.text, result.fault, result.said, versions, result.before[0], result.after[0])
            report.write_text(text, encoding="utf-8")
        return result

    return CaseReduction(
        suffix=".cu",
        unit="tokens",
        begun=f"building {file} by {options.nvcc} ...",
        check=lambda: check_cu(file, options),
        reduce=reduce,
        tell=lambda result, place: _tell(result, file, place, report),
    )


def _tell(result: CuResult, file: Path, output: Path, report: Path | None) -> None:
    (lines, tokens), (fewer, left) = result.before, result.after
    place = os.path.relpath(output)
    echo(f"reduced: {file} from {lines} lines to {fewer}, {tokens} tokens to {left}\n\n{result.text}")
    echo(f"  fault: {result.fault}")
    if result.fault.sight is not None:
        echo(f"  same fault: {result.fault.witness} sees first, of the original and of this: {result.fault.sight}")
        if result.fault.room is not None:
            echo(f"  control: with {result.fault.room} it sees nothing wrong, in either")
        if result.fault.on_cpu:
            echo("  no GPU has run it: to see it there, replay it on a machine with one")
    elif result.fault.unseen:
        echo(f"  same fault: by the exit code and the last words alone ({result.fault.unseen})")
    echo(f"  {result.tries} tries in {result.seconds:.1f} s; seen again in a fresh process")
    if result.ended != "done":
        echo(f"  the search ended early: {result.ended}. The same command goes on with --resume")
    echo(f"  saved: {place}")
    if report:
        echo(f"  to attach: {os.path.relpath(report)}")
    echo(f"  shows the fault: {shlex.join(['shrink', 'replay', place])}")


def _options(python: str | None, file: Path, given: Mapping[str, Any], say: Say) -> CuOptions:
    if not file.is_file():
        raise UsageError(f"cannot read {file}: no such file")
    arch = architecture(given["arch"])
    environment = {**os.environ, **settings(given["env"])}
    found = chosen_python(python, file, say)
    compiler.check(found, environment, arch)
    nvcc = toolkit.find("nvcc", found, environment)
    assert nvcc is not None
    return CuOptions(nvcc=nvcc, arch=arch, environment=environment, seconds=given.get("timeout"))


def _flags(typed: str | None) -> tuple[str, ...] | None:
    try:
        return None if typed is None else tuple(shlex.split(typed))
    except ValueError as error:
        raise UsageError(f"--nvcc {typed}: {error}. Write the flags as in a shell") from error


def _words(spec: str) -> AskedWords:
    kind = kind_of(spec)
    pattern = re.compile(spec.removeprefix(kind), re.MULTILINE) if kind else plain_pattern(spec)
    return AskedWords(pattern, spec, builds=kind in ("build:", "compile:"))
