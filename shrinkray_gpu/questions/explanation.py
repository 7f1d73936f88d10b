"""`shrink explain`: run a program once, and once for each instrument, and say all that is known of its fault.

from shrinkray_gpu import explain
explained = explain("failing.py", arch="sm_90")
print(explained.blame.whose, explained.blame.why)
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.calibration import IMPORTS, PATIENCE
from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.corpus import environments
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.events import Hear, Phase, one_at_a_time, saying
from shrinkray_gpu.evidence import instruments
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.examine import examine
from shrinkray_gpu.evidence.instruments.instrument import PRESENT
from shrinkray_gpu.evidence.instruments.sanitizers import SYNCCHECK
from shrinkray_gpu.options import arch_number
from shrinkray_gpu.oracle import Oracle, all_of, describe, obstacle, parse, typed
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.questions.blame.blame import Blame
from shrinkray_gpu.questions.blame.narrowing import OtherReleases, go_on
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.questions.blame.verdict import blame
from shrinkray_gpu.reduction.notebook import is_notebook, read_notebook
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.pool import COLD, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True)
class Explained:
    """What is known of a fault, and whose it is."""

    evidence: Evidence
    blame: Blame

    def to_json(self) -> dict[str, Any]:
        return {**self.evidence.to_json(), "verdict": self.blame.to_json()}


def explain(
    path: Path | str,
    *,
    oracle: Sequence[str] | str = (),
    python: str = sys.executable,
    arch: int | str | None = None,
    argv: Sequence[str] = (),
    command: Command | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
    intermittent: bool = False,
    synccheck: bool = False,
    tritons: Sequence[str] = (),
    ptxas: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
    on_event: Hear | None = None,
) -> Explained:
    """All that the instruments say of the fault that the script at `path` shows, and whose it is; nothing is written
    beside it. With a `command`, whose path that is then, of what `python -m MODULE ARGS...` shows. `tritons` and
    `ptxas`: other releases, installed aside, with which the program is run, and which its PTX is given to.

    `say` is called with each line for the user, `on_event` with the events `phase` and `message`. Raises UsageError for
    bad input, NotReproduced if it shows no fault, or not the one that `oracle` asks for.
    """
    hear, path, arch = one_at_a_time(on_event), Path(path), arch_number(arch)
    say = saying(say, hear)
    oracle = (oracle,) if isinstance(oracle, str) else oracle
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the script that fails")
    text = command.text if command else read_program(path).text
    if command is None and is_notebook(path):
        say(read_notebook(path).told)
        cwd = cwd or path.parent
    check_python(python)
    wanted = all_of([parse(spec, folder=Path.cwd()) for spec in oracle]) if oracle else None
    environment = environment or {}
    _check_question(wanted, python=python, arch=arch, environment=environment, timeout=timeout)
    other = OtherReleases(
        {version: environments.with_triton(version, python=python, say=say) for version in tritons},
        {version: environments.with_ptxas(version, python=python, say=say) for version in ptxas},
    )
    place = (cwd or Path.cwd()).absolute()
    script = Script(
        path.absolute(),
        argv=tuple(argv),
        cwd=place,
        name=command.command_line if command else "",
        original=text,
    )
    # The sanitizer is an instrument here, beside a run without it; and whatever hangs is asked in what.
    needs = UNASKED if wanted is None else replace(wanted.needs, rules=wanted.needs.rules | UNASKED.rules)
    needs = replace(needs, sanitizer="", timing=True)
    script = needs.on(script, virtual=arch is not None)
    called = script.called
    asked = instruments.USUAL | ({SYNCCHECK} if synccheck else set())
    if wanted is not None and wanted.needs.sanitizer:
        asked |= {wanted.needs.sanitizer}
        intermittent = True  # most programs that it has a record of end well
    with tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True) as folder:
        setup = private_setup(
            Path(folder),
            {**os.environ, **environment},
            python=python,
            imports=command.imports if command else (),
            own=(str(script.path.parent), str(script.cwd)),
            arch=arch,
            left_open=NOT_ASKED,
        )
        hear(Phase("run"))
        say(f"running {called}, and once more for each instrument that its fault calls for ...")
        own = wanted.needs.seconds if wanted is not None else None
        seen = examine(
            text,
            script,
            setup,
            seconds=own or timeout or PATIENCE,
            extra=IMPORTS if own else 0.0 if timeout else COLD,
            ask=asked,
            intermittent=intermittent,
        )
        run = seen.run
        assert run is not None
        _check_shown(seen, run, wanted, called, python)
        hear(Phase("verdict"))
        say("looking whose fault it is ...")
        at = f"{seen.place.file}:{seen.place.line}" if seen.place is not None else ""
        trials = BlameTrials(text, script, setup, own or timeout or PATIENCE, run, at)
        try:
            return Explained(seen, go_on(blame(seen, trials), seen, trials, other))
        finally:
            trials.close()


def _check_shown(seen: Evidence, run: Run, wanted: Oracle | None, called: str, python: str) -> None:
    """Raises UsageError or NotReproduced where the run does not show a fault, or not the one that is asked for."""
    if said := obstacle(run):
        raise UsageError(f"{called} does not run in {python}. {said}")
    if run.trouble:
        raise NotReproduced(f"the run of {called} tells nothing: {run.trouble}")
    if wanted is not None:
        verdict = wanted.judge(_with_records(run, seen, wanted.needs.sanitizer) if wanted.needs.sanitizer else run)
        if not verdict.faults:
            raise NotReproduced(
                f"{called} does not show {typed(wanted.spec)}: {verdict.why}. {describe(run, wanted.spec)}"
            )
    told = wanted is not None and faulting_launch(run) is not None  # by a rule that ends in no error of a device's
    if seen.fault is None and not seen.findings and not told:
        raise NotReproduced(f"{called} shows no fault. {describe(run)}")


def _check_question(
    wanted: Oracle | None, *, python: str, arch: int | None, environment: Mapping[str, str], timeout: float | None
) -> None:
    """Raises UsageError for a question that one look at one run does not answer."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"--timeout {timeout:g}: give a number of seconds above 0")
    if wanted is None:
        return
    if wanted.needs.twins or wanted.needs.elsewhere:
        raise UsageError(f"--oracle {wanted.spec} is about several runs, and explain looks at the fault of one")
    if wanted.needs.text:
        raise UsageError(f"--oracle {wanted.spec} runs the program itself, and explain looks at a run of its own")
    if wanted.needs.unlimited and timeout is None:
        raise UsageError(f"--oracle {wanted.spec} needs --timeout, in seconds; or write hang:SECONDS")
    if wanted.needs.sanitizer and arch is not None:
        raise UsageError(f"--oracle {wanted.spec} needs a GPU, and --arch launches nothing")
    if wanted.needs.sanitizer:
        sanitizer.require(wanted.needs.sanitizer, python, {**os.environ, **environment})


def _with_records(run: Run, seen: Evidence, tool: str) -> Run:
    """The run, with what the sanitizer's tool found in its own."""
    said = next(one for one in seen.said if one.instrument == tool)
    if said.state != PRESENT:
        raise NotReproduced(f"{tool} was not asked: {said.text}")
    texts = [finding.record.text for finding in seen.findings if finding.record.tool == tool]
    return replace(run, records=(*texts, said.text))
