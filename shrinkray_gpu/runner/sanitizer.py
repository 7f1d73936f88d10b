"""compute-sanitizer: runs the plain program under one of its tools. `device` reads what it prints.

It disables core dumps, so that is another pass. It changes timing and memory layout, and an access that it stops ends
in another CUDA error than without it: the records are what is believed of such a run, not its exit code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.device import sanitizer_records, toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import plain
from shrinkray_gpu.runner.fence import OPENED
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.output_pipes import KEPT
from shrinkray_gpu.runner.run import Run


def require(tool: str, python: str, environment: Mapping[str, str]) -> Path:
    """compute-sanitizer for a reduction that is about its records. Raises UsageError where there is none."""
    found = sanitizer_records.find(python, environment)
    if found is None:
        raise UsageError(
            f"--oracle sanitizer:{tool} needs compute-sanitizer: {toolkit.missing(sanitizer_records.NAME)}"
        )
    return found


def run(
    text: str,
    path: Path,
    argv: Sequence[str],
    *,
    tool: str,
    python: str,
    environment: Mapping[str, str],
    cwd: Path,
    scratch: Path,
    seconds: float,
    fence: Setup | None = None,
    host: bool = False,
) -> Run:
    """The program under one tool. `records` are its records and, last, its summary; `stdout` is the program's own.
    `host`: records have the host's frames, too, for a person to read.

    With `fence` it writes only where that setup lets it, and in /tmp, where the sanitizer has its sockets. Nothing else
    is refused: tool and program talk by what the rest of a fence may keep apart.
    """
    found = sanitizer_records.find(python, environment)
    if found is None:
        return Run(mode="plain", exit=None, trouble=toolkit.missing(sanitizer_records.NAME))
    fenced = plain.fence(python, replace(fence, left_open=OPENED), "/tmp") if fence is not None else ()
    ran = plain.run_text(
        python,
        text,
        path,
        argv,
        environment=environment,
        cwd=cwd,
        scratch=scratch,
        seconds=seconds,
        prefix=(*fenced, *sanitizer_records.prefix(found, tool, host=host)),
        kept=None,
    )
    said = ran.stdout
    if not sanitizer_records.ran(said) and not ran.timed_out:
        last = (said + ran.stderr).strip().splitlines()[-1:] or ["it said nothing"]
        return replace(ran, trouble=f"compute-sanitizer did not run: {last[0]}")
    texts = [one.text for one in sanitizer_records.records(said, tool)]
    ended = sanitizer_records.summary(said)
    return replace(
        ran,
        exit=sanitizer_records.status(said, ran.exit),
        stdout=sanitizer_records.program_output(said)[-KEPT:],
        records=(*texts, ended or "no summary: it did not come to its end"),
    )
