"""The user's own `libtriton`, asked in a process of its own: parse this, run these passes on it, what happened?"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import LanesLost, UsageError
from shrinkray_gpu.intermediate.pass_table import PassTable
from shrinkray_gpu.runner.guarded import MAIN, Guarded
from shrinkray_gpu.runner.inside.process import wire
from shrinkray_gpu.runner.scratch_folder import remove_folder

START = 120.0
"""Seconds in which Triton is imported."""
SECONDS = 60
"""That one question may take."""
Step = tuple[str, str, tuple[Any, ...]]
"""A pass as the binding has it: module, function, arguments."""


@dataclass(frozen=True)
class Trial:
    """What became of one text."""

    parsed: bool
    verified: bool
    step: int
    """The number of the step that ran last; -1 before the first."""
    done: bool
    status: int
    """As `os.wait` has it."""
    said: str
    raised: str = ""
    before: str = ""
    """The module before the last step, if that was asked for."""
    steps: tuple[Step, ...] = ()
    """Of the stages of a target: the passes that ran."""
    stage: str = ""
    behind: bool = False
    """Whether the stage failed behind its passes, in LLVM."""
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def timed_out(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == 14


def first_error(trial: Trial) -> str:
    """The first error that the compiler told, in one line."""
    lines = [line.partition("error: ")[2] for line in trial.said.splitlines() if "error: " in line]
    return (lines[0] if lines else trial.raised or "it says nothing")[:200]


class IrCompiler:
    """A worker in the user's interpreter. Raises UsageError where that has no Triton that can do this, or where this
    Triton does not compile for the architecture."""

    def __init__(self, python: str, environment: Mapping[str, str], arch: str) -> None:
        if arch:
            _check(arch)
        self.folder = tempfile.mkdtemp(prefix="shrink-ir-")
        null = os.open(os.devnull, os.O_RDWR)
        self.link, theirs = socket.socketpair()
        try:
            with theirs:
                command = [python, "-B", str(MAIN), "--ir"]
                self.process = Guarded(
                    command,
                    environment={**environment, "TRITON_CACHE_DIR": self.folder},
                    cwd=self.folder,
                    out=null,
                    err=null,
                    links=(theirs.fileno(),),
                    server=True,
                )
            wire.send(self.link, {"folder": self.folder, "arch": arch})
            ready, _ = wire.receive(self.link, START)
        except OSError as error:
            self.close()
            raise UsageError(f"{python} starts no worker for IR ({error or 'it ended'}): is it Python 3.9?") from error
        finally:
            os.close(null)
        if why := ready["ready"]:
            self.close()
            raise UsageError(_refusal(why, python, arch))
        self.release: str = ready["triton"]
        self.table = PassTable.of(ready["passes"])
        if not ready["passes"]:
            self.close()
            raise UsageError(f"Triton {self.release} does not tell the names of its passes: use 3.0 or later")

    def __enter__(self) -> IrCompiler:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.link.close()
        if hasattr(self, "process"):
            self.process.close()
        remove_folder(self.folder)

    def normal(self, text: str) -> Trial:
        """The text in generic form and as people write it, in `texts`; not `parsed` if libtriton refuses it."""
        return self._ask({"ask": "normal", "text": text})

    def run(self, text: str, steps: Sequence[Step], *, snapshots: bool = False, seconds: int = SECONDS) -> Trial:
        """Parse, verify, run the steps until one fails, for `seconds` at most."""
        return self._ask({"ask": "try", "text": text, "steps": list(steps), "snapshots": snapshots}, seconds)

    def stages(self, text: str, kind: str, arch: str, options: Mapping[str, Any]) -> Trial:
        """Run the stages of a target from the one that works on such a module: `ttir` or `ttgir`."""
        return self._ask({"ask": "stages", "text": text, "kind": kind, "arch": arch, "options": dict(options)})

    def _ask(self, order: dict[str, Any], seconds: int = SECONDS) -> Trial:
        try:
            wire.send(self.link, {**order, "seconds": seconds})
            answer, _ = wire.receive(self.link, seconds + 30)
        except OSError as error:
            raise LanesLost(
                "the process that runs libtriton was ended by something else: repeat the command"
            ) from error
        told: dict[str, Any] = {}
        steps: list[Step] = []
        for event in answer["events"]:
            told |= event
            if "step" in event:
                place, function, arguments = event["step"]
                steps.append((place, function, tuple(arguments)))
        return Trial(
            parsed=told.get("parsed", False),
            verified=told.get("verified", False),
            step=told.get("at", len(steps) - 1),
            done=answer["status"] == 0,
            status=answer["status"],
            said=answer["said"],
            raised=told.get("raised", ""),
            before=told.get("before", ""),
            steps=tuple(steps),
            stage=told.get("stage", ""),
            behind=told.get("ran", False),
            texts={name: told[name] for name in ("generic", "pretty") if name in told},
        )


def _check(arch: str) -> None:
    """Raises UsageError for what is no architecture; a release of Triton may know fewer."""
    try:
        architectures.asked(arch)
    except UsageError as error:
        raise UsageError(f"--arch {error}") from error


def _refusal(why: str, python: str, arch: str) -> str:
    kind, _, rest = why.partition(": ")
    if kind == "ImportError" or kind == "ModuleNotFoundError":
        return f"{python} cannot import Triton ({rest}): name the interpreter of its environment with --python"
    if kind == "ValueError":
        return f"--arch {arch}: {rest}. Examples: sm_90, gfx942"
    return f"this Triton cannot be asked about IR ({why}): use 3.0 or later"
