"""One run of the command in a copy, and whether it shows the fault."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.folder.copies import FolderCopy
from shrinkray_gpu.folder.options import FolderOptions
from shrinkray_gpu.oracle import Oracle, all_of, parse, speech
from shrinkray_gpu.oracle.adopt import general
from shrinkray_gpu.oracle.endings import TimeoutOracle
from shrinkray_gpu.oracle.fault import complaint
from shrinkray_gpu.oracle.hang import HangOracle
from shrinkray_gpu.oracle.script import ScriptOracle
from shrinkray_gpu.oracle.spec import FORMS
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.oracle.words import WordsOracle, plain_pattern
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.plain import fence, run_words
from shrinkray_gpu.runner.run import Build, Run

KINDS = ("regex", "exception", "exit", "signal", "timeout", "hang", "build", "script")
"""Of oracles, by their prefixes, those that can be asked of any command."""
CRASHES = frozenset({4, 6, 7, 8, 11})
"""Signals that a shell tells as an exit status, with 128 more."""
_CACHES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH")
FIRST = 600.0
"""Seconds that the first run may take, where nobody says."""
_WRONG = re.compile(
    r"^.*(?:\b(?:[A-Z]\w*)?[Ee]rror\b|\bfatal\b|undefined reference|[Aa]ssertion|terminate called"
    r"|[Ss]egmentation fault|Aborted|-W(?:return-type|uninitialized|maybe-uninitialized)|#(?:549|940)-D).*$",
    re.MULTILINE,
)
"""Lines that tell of something wrong, and warnings of a program without a meaning."""
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^'\n]*'|‘[^’\n]*’")
_PLACES = re.compile(r"\S*[/.\\]\S*|\b_Z\w+|<[^>\n]*>|\d+|\([^)\n]*\)|\[[^\]\n]*\]")
_PYTEST_SOURCE = re.compile(r"^(?:>[^\n]*| {4}[^\n]*)\n", re.MULTILINE)
_PYTEST_RAISED = re.compile(r"^E {3,7}", re.MULTILINE)
_PYTEST_TEST = re.compile(r"^_{3,} .* _{3,}$", re.MULTILINE)
_RAISED = re.compile(r"^ *((?:\w+\.)*\w*(?:Error|Exception|Failure|Exit)\b(?::.*)?)$", re.MULTILINE)
_CRASHED = re.compile(r"Segmentation fault|Aborted|Bus error|Floating point exception|Illegal instruction")


@dataclass(frozen=True)
class CommandTrial:
    """The command, and how a run of it is judged."""

    options: FolderOptions
    oracle: Oracle | None
    """None: whatever is seen is told."""
    scripts: tuple[ScriptOracle, ...]
    left_open: tuple[str, ...] = ()
    """Parts of the fence that the fault needs open."""
    seconds: float = FIRST
    tries: int = 1
    """Runs of which one must show the fault."""
    said: frozenset[str] | None = None
    """What the original says is wrong; None: not asked."""
    endings: frozenset[str] | None = None
    """How the original ends; None: not asked."""

    def run(self, copy: FolderCopy, *, confined: bool = True) -> Run:
        """A run in this copy, as it stands. Paths in what it says are those of the folder itself."""
        run = self._run(self.options.command, copy, confined=confined)
        out, err = (self._told(text, copy) for text in (run.stdout, run.stderr))
        both = "\n".join(filter(None, (out, err)))
        both = as_told_plainly(both)
        build = Build(" ".join(self.options.command), both, failed=bool(run.exit or run.signal))
        return replace(run, stdout=out, stderr=both, builds=(build,))

    def judge(self, copy: FolderCopy, run: Run) -> Verdict:
        """Whether the run shows the fault, and nothing else that is wrong."""
        assert self.oracle is not None
        verdict = self.oracle.judge(as_signalled(run)) if self.oracle.needs.run else lacks("")
        for script in self.scripts if verdict.faults or not self.oracle.needs.run else ():
            verdict = self._by_script(script, copy)
            if not verdict.faults:
                return verdict
        if verdict.faults and self.said is not None and (new := wrongs(run) - self.said):
            return lacks(f"it says what the original does not: {min(new)}")
        if verdict.faults and self.endings is not None and ending(run) not in self.endings:
            return lacks(f"{ending(run)}, unlike the original")
        return verdict

    def shows(self, copy: FolderCopy) -> Verdict:
        """The verdict on as many runs in this copy as it takes."""
        verdict = unclear("it was not run")
        for _ in range(self.tries):
            verdict = self.judge(copy, self.run(copy))
            if verdict.faults:
                break
        return verdict

    def _run(self, command: Sequence[str], copy: FolderCopy, *, confined: bool = True) -> Run:
        """Caches are the run's own: a compiler that finds its result says nothing of it."""
        scratch = str(copy.scratch)
        own = {name: os.path.join(scratch, "cache", name.lower()) for name in _CACHES}
        setup = Setup(
            sys.executable,
            {},
            (),
            (),
            scratch,
            tuple(map(os.path.abspath, self.options.writable)),
            left_open=self.left_open,
        )
        prefix = fence(sys.executable, setup, str(copy.place)) if confined else ()
        given = {**os.environ, **self.options.environment, **own, "TMPDIR": scratch, "PWD": str(copy.place)}
        return run_words([*prefix, *command], environment=given, cwd=copy.place, seconds=self.seconds)

    def _by_script(self, script: ScriptOracle, copy: FolderCopy) -> Verdict:
        run = self._run((str(script.path), str(copy.place)), copy)
        why = run.trouble or f"{script.path.name}: {speech.ending(run)}"
        if run.trouble or run.timed_out or run.exit in (126, 127):
            return unclear(why)
        return shows(why) if run.exit == 0 else lacks(why)

    def _told(self, text: str, copy: FolderCopy) -> str:
        text = text.replace(str(copy.place), str(copy.contents.root))
        return text.replace(str(copy.scratch), "/tmp")


def command_trial(options: FolderOptions) -> CommandTrial:
    """The trial of these options. Raises UsageError for an oracle that does not fit."""
    asked = [_oracle(spec) for spec in options.oracles]
    rejects = [_oracle(spec) for spec in options.rejects]
    if any(isinstance(each, ScriptOracle) for each in rejects):
        raise UsageError("--reject script: of a command, ask by --oracle script: for the opposite")
    scripts = tuple(each for each in asked if isinstance(each, ScriptOracle))
    of_runs = [each for each in asked if not isinstance(each, ScriptOracle)]
    oracle = all_of(of_runs or scripts, rejects) if asked else None
    seconds = options.timeout or FIRST
    if oracle is not None and oracle.needs.timing:
        if oracle.needs.unlimited and options.timeout is None:
            raise UsageError("the oracle timeout needs --timeout S: after how many seconds does the command hang?")
        seconds = oracle.needs.seconds or seconds
    return CommandTrial(options, oracle, scripts, seconds=seconds)


def _oracle(spec: str) -> Oracle:
    kinds = {form.prefix.rstrip(":") for form in FORMS if form.prefix}
    kind = next((kind for kind in kinds if spec == kind or spec.startswith(f"{kind}:")), "")
    if kind and kind not in KINDS:
        raise UsageError(
            f"--oracle {spec}: of a command there are words, {', '.join(KINDS)}: nothing else is seen from outside"
        )
    if not kind and spec.strip():  # a device's error, too, is what the command says of it
        return WordsOracle(spec=spec, pattern=plain_pattern(spec))
    oracle = parse(spec, folder=Path.cwd())
    return TimeoutOracle(spec=oracle.spec, needs=oracle.needs) if isinstance(oracle, HangOracle) else oracle


def as_told_plainly(said: str) -> str:
    """What pytest prints of a failure, without the source that it quotes, and as Python prints an exception."""
    return _PYTEST_RAISED.sub("", _PYTEST_SOURCE.sub("", said)) if _PYTEST_TEST.search(said) else said


def as_signalled(run: Run) -> Run:
    """A shell's exit status of 128 and more as the signal that it tells of."""
    number = (run.exit or 0) - 128
    return replace(run, signal=number, exit=None) if number in CRASHES else run


def wrongs(run: Run) -> frozenset[str]:
    """The lines that say what is wrong, without names, places and numbers."""
    told = (_PLACES.sub("_", _QUOTED.sub("_", line)) for line in _WRONG.findall(run.stderr))
    return frozenset(" ".join(re.sub(r"[_\W]+", " ", line).split()) for line in told)


def ending(run: Run) -> str:
    """How the process ends, whatever it says."""
    return "time" if run.timed_out else f"exit status {run.exit}" if run.signal is None else f"signal {run.signal}"


def seen(run: Run) -> str:
    """The SPEC of the fault that a run shows, for who named none; empty if it shows none."""
    if run.timed_out or not speech.has_failed(run):
        return ""
    text = speech.without_quotations(run.stderr)
    raised = [line for line in _RAISED.findall(text) if ":" in line]
    for said in (complaint(text), *raised[-1:]):
        if len(said.split()) > 1:
            return f"regex:{general(said)}"
    signalled = as_signalled(run)
    if signalled.signal is not None:
        return f"signal:{speech.signal_name(signalled.signal)}"
    if crashed := _CRASHED.search(text):
        return crashed.group()
    return f"exit:{run.exit}"


def limit(trial: CommandTrial, runs: Sequence[Run]) -> float:
    """Seconds that a candidate may take, by those that the original took."""
    if trial.options.timeout is not None or (trial.oracle is not None and trial.oracle.needs.timing):
        return trial.seconds
    return math.ceil(10 + 5 * max(run.seconds for run in runs))
