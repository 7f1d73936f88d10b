"""`shrink FILE` and `shrink replay FILE` where FILE is Triton's IR: arguments in, words out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from shrinkray_gpu.cli.words import chosen_python, narrator, print_answer, releases, settings
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate.ir_replay import ReplayedIr, replay_ir
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.intermediate.pass_table import read_pass
from shrinkray_gpu.intermediate.reduce_ir import IrResult, check_ir, reduce_ir
from shrinkray_gpu.oracle.words import compiler_pattern
from shrinkray_gpu.runner.interpreter import check_python, interpreter_path

_SETTING = re.compile(r"(\w+)=(-?\d+|true|false)")
_VALUES = {"true": True, "false": False}


def replay_case(file: Path, given: Mapping[str, Any]) -> int:
    """Run the passes of a result again with each interpreter. Returns 0 if the fault is still there everywhere."""
    refuse(OF_CORPORA, "corpora", f"{file} is IR", given)
    refuse(("ptxas",), "PTX", f"{file} is IR", given)
    say = narrator(given["as_json"])
    pythons = [interpreter_path(python) for python in dict.fromkeys(given["pythons"])]
    pythons = pythons or [chosen_python(None, file, say)]
    if tritons := releases(given["tritons"]):
        if len(pythons) > 1:
            raise UsageError("another Triton is installed beside one interpreter: give --python once")
        pythons = [environments.with_triton(version, python=pythons[0], say=say) for version in tritons]
    found: list[ReplayedIr] = []
    for python in pythons:
        check_python(python)
        environment = {**os.environ, **settings(given["env"])}
        found.append(replay_ir(file, IrOptions(python=python, environment=environment, arch=given["arch"] or "")))
    say.close()
    if given["as_json"]:
        print_answer([each.to_json() for each in found])
    else:
        for each in found:
            echo(f"Triton {each.release}: {each}")
    return 0 if all(each.outcome == "still faults" for each in found) else 1


def asked(file: Path, args: Sequence[str], given: Mapping[str, Any], say: Say) -> CaseReduction:
    """The reduction that was asked for."""
    refuse(OF_PROGRAMS, "programs", f"{file} is IR", given)
    refuse(("jobs", "timeout", "ptxas"), "programs and PTX", f"{file} is IR", given)
    python = chosen_python(given["python"], file, say)
    check_python(python)
    options = IrOptions(
        python=python,
        environment={**os.environ, **settings(given["env"])},
        arch=given["arch"] or "",
        words=tuple(map(compiler_pattern, asked_words(given, "IR", say))),
        passes=tuple(call for word in given["passes"] for call in read_pass(word)),
        settings=dict(map(_setting, args)),
        seed=given["seed"],
        **({} if given["max_time"] is None else {"max_time": given["max_time"]}),
    )
    return CaseReduction(
        suffix=".mlir",
        unit=IrResult.unit,
        begun=f"running the passes on {file} ...",
        check=lambda: check_ir(file, options),
        reduce=lambda say, stop, shown: reduce_ir(file, options, say=say, stop=stop, shown=shown),
        tell=lambda result, output: tell(result, file, output, healthy="parse"),
    )


def _setting(word: str) -> tuple[str, Any]:
    found = _SETTING.fullmatch(word)
    if found is None:
        raise UsageError(f"{word}: behind IR stand options of the compiler only, as num_warps=8 or num_stages=4")
    return found[1], _VALUES[found[2]] if found[2] in _VALUES else int(found[2])
