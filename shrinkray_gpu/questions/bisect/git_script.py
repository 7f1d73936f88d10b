"""A script for `git bisect run`, which builds each commit and asks `shrink check` whether it shows the fault."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.script import ScriptOracle
from shrinkray_gpu.oracle.statistics import clean_runs

USUAL_STEPS = 12
"""Commits that a bisection tries, of 4,096."""
_TEXT = """\
#!/bin/sh
# For git bisect run, in the repository whose commits are searched:
#     git bisect start BAD GOOD && git bisect run sh THIS_SCRIPT
# A commit that does not build, or with which {name} cannot be judged, is skipped (125).
# A commit is good if {runs} run{s} of {name} do not show the fault, and one more shows no other.
{build}
case $? in
    0) ;;
    126 | 127 | 130) exit 255 ;; # no such command, or Ctrl-C: ends the bisection
    *) exit 125 ;;
esac
run=0
while [ "$run" -lt {runs} ]; do
    {check}
    code=$?
    case $code in
        0) exit 1 ;; # it shows the fault: bad
        3) ;;
        130) exit 255 ;; # Ctrl-C: ends the bisection
        *) exit 125 ;;
    esac
    run=$((run + 1))
done
{check_any}
case $? in
    3) exit 0 ;; # it shows no fault at all: good
    130) exit 255 ;;
    *) exit 125 ;; # a fault, which may be another one, or it cannot be judged: neither good nor bad
esac
"""


def git_script(file: Path, args: tuple[str, ...], given: Mapping[str, Any]) -> str:
    """The text, which holds in any working directory where `python` and `cwd` are whole paths. Raises UsageError where
    no fault is named: git needs one question for all commits.

    A fault that shows in a part of the runs (`rate`) is looked for so often that all commits of a usual
    bisection together are judged rightly with the confidence asked for."""
    if not given["oracle"]:
        raise UsageError("which fault? --print-script needs --oracle SPEC, as shrink check tells it of a bad commit")
    runs = clean_runs(given["rate"], (1 - given["confidence"]) / USUAL_STEPS)
    words = [sys.executable, "-m", "shrinkray_gpu", "check", os.path.abspath(file), "--quiet"]
    words += [word for value in given["env"] for word in ("--env", value)]
    for name in ("arch", "python", "cwd", "timeout"):
        if given[name] is not None:
            words += [f"--{name}", str(given[name])]
    fault = [
        word for name in ("oracle", "reject") for spec in given[name] for word in (f"--{name}", _from_anywhere(spec))
    ]
    rest = ["--", *args] if args else []
    build = f"sh -c {shlex.quote(given['build'])}" if given["build"] else "true"
    return _TEXT.format(
        name=" ".join(file.name.split()),
        runs=runs,
        s="s" * (runs != 1),
        build=build,
        check=shlex.join([*words, *fault, *rest]),
        check_any=shlex.join([*words, *rest]),
    )


def _from_anywhere(spec: str) -> str:
    """The oracle with the whole path of its file, if it has one."""
    oracle = parse(spec, folder=Path.cwd())
    return f"script:{oracle.path}" if isinstance(oracle, ScriptOracle) else spec
