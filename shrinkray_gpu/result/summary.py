"""What is told of a reduction: how the original fared, and in the end what came out and why it is the same fault."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shrinkray_gpu import calibration
from shrinkray_gpu.device import architectures
from shrinkray_gpu.evidence.other_faults import OtherFault, OtherFaultsContext
from shrinkray_gpu.judging.tally import LANE, Tally
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.same_fault.healthy_twin import Health


@dataclass(frozen=True)
class Result:
    """What came out."""

    output: Path
    text: str
    spec: str
    before: tuple[int, int]
    """Non-blank lines and tokens."""
    after: tuple[int, int]
    tries: Mapping[str, int]
    seconds: Mapping[str, float]
    """Wall time: `start`, of which `lift`, then `search`, `check`; and `gpu`, the time that lanes were busy."""
    mode: str
    verified: int
    """How many of the final cold runs showed the fault, of `final_runs`."""
    final_runs: int
    ended: str
    """`done`, `stopped` (Ctrl-C), `out of time`, `stopped early` (`--fast`) or `interrupted`."""
    command: str
    """Shows the fault."""
    early: str = ""
    """Why a search that was stopped early did not go on."""
    lifted: str = ""
    """Whether the faulty launch alone was taken for the program, or why not; empty if that was no question."""
    fault: str = ""
    """The original's Fault, in one line."""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    """The original's Fault and the repro's, all fields, by what the instruments saw: `original` and `repro`."""
    same: str = ""
    """Why this is the same fault, or what is not known."""
    controls: Mapping[str, str] = field(default_factory=dict)
    """How each control fares on the original."""
    held: Mapping[str, str] = field(default_factory=dict)
    """How those that made the original pass fare on the repro."""
    patches: Mapping[str, str] = field(default_factory=dict)
    """Of each `--control-patch` that fits the repro, the change of the repro that it is, as a unified diff."""
    others: tuple[str, ...] = ()
    """Other faults that were met, each with the file that shows it."""
    guarded: str = ""
    """Whether masks, bounds and initialised inputs are written, in words."""
    passed_over: str = ""
    """A smaller program that showed the fault in lanes, and not in each clean run: its tokens, and where it is."""
    unfenced: str = ""
    """A file outside of the fence that the result writes, as the original does: its clean runs had no fence."""
    fence: str = ""
    """What held of the fence around candidates, in words."""
    slips: int = 0
    """Accepted steps that a control refuted, and drifts that a fingerprint did."""
    ptxas: Mapping[str, str] = field(default_factory=dict)
    """What ptxas says of the CUDA C++ kernels: `original` and `repro`; empty where there are none."""
    code: Mapping[str, str] = field(default_factory=dict)
    """Where two compilers are compared, the figures by both: of the `original` and of the `repro`."""
    economy: Mapping[str, Any] = field(default_factory=dict)
    """Where tries were spared and where spent for nothing, see `economy_of`."""
    rates: Mapping[str, str] = field(default_factory=dict)
    """Of a flaky fault: how often the original and the repro show it, with intervals."""
    twin: Mapping[str, str] = field(default_factory=dict)
    """The repro's healthy twin: its `text`, the `edit` of the repro that it is, the `proof`; empty: none is known."""
    unhealthy: str = ""
    """What is wrong with the repro beside its fault; empty where nothing is known to be."""
    cu: str = ""
    """Where the .cu of the result is and what it shows, or why there is none; empty where none was asked for."""
    verdict: Mapping[str, str] = field(default_factory=dict)
    """Whose fault the original's is, by labels: `verdict`, `reached`, `upstream`, `enough`. Empty: nobody asked."""
    known: tuple[str, ...] = ()
    """Cases of a corpus with the original's fingerprint, and where they are fixed, a sentence each."""
    attachment: str = ""
    """ISSUE.md with what belongs to it, or the archive of both; empty where none was made."""

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "output": str(self.output), "tries": dict(self.tries), "seconds": dict(self.seconds)}


def other_fault_line(find: OtherFault) -> str:
    return f"{find.fault} ({find.lines} lines, {os.path.relpath(find.path)})"


def economy_of(tally: Tally, reduction: Reduction, retired: Mapping[str, int]) -> dict[str, Any]:
    """What `result.json` tells of the tries: those in lanes (of a GPU, or of the virtual one) and how many of them an
    error of the host code ended; the accepted steps and how many took no lane; tries begun before they were asked for,
    and how many of these were asked for in the end; dry runs that told nothing, by what became of them; lanes that
    ended with their candidate, by why that left no clean context (`retired`)."""
    return {
        "tries in lanes": tally.tries[LANE],
        "ended by host code": tally.host_errors,
        "accepted steps": reduction.cost.accepted,
        "accepted without a lane": reduction.cost.credited,
        "begun ahead": tally.ahead,
        "ahead and asked for": tally.foreseen,
        "mute dry runs": dict(tally.mute),
        "lanes retired": {why: count for why, count in retired.items() if why and count},
    }


def rates_of(rate: Rate | None, verified: int, runs: int) -> dict[str, str]:
    return {} if rate is None else {"the original": str(rate), "the repro": str(Rate(verified, runs))}


def evidence_of(evidence: FaultComparison | None, reduction: Reduction, repro: str, *, guards: bool) -> dict[str, Any]:
    """The fields of a Result that say why this is the same fault. `repro`: its text."""
    if evidence is None:
        why = "the oracle's script alone decides" if guards else "the guards are off"
        return {"same": f"nobody looked whether this is the same fault: {why}"}
    fault, now = evidence.original, evidence.repro
    return {
        "fault": str(fault or ""),
        "fingerprint": {
            "original": asdict(fault) if fault else None,
            "repro": asdict(now) if now else None,
        },
        "same": evidence.summary(slips=reduction.checks.control_slips, drifts=len(reduction.checks.fingerprint_slips)),
        "controls": {one.control.name: f"{one.outcome.value}: {one.why}" for one in evidence.original_controls},
        "held": {one.control.name: f"{one.outcome.value}: {one.why}" for one in evidence.repro_controls},
        "patches": dict(_patches(evidence, repro)),
    }


def health_of(health: Health, placed: Callable[[str], str]) -> dict[str, Any]:
    """The fields of a Result that say what is one edit away. `placed`: a text as it stands beside the result."""
    twin = health.twin
    told = {"text": placed(twin.text), "edit": str(twin), "proof": twin.proof} if twin is not None else {}
    return {"twin": told, "unhealthy": health.second}


def _patches(evidence: FaultComparison, repro: str) -> Iterator[tuple[str, str]]:
    for control in (one.control for one in evidence.repro_controls):
        patched = control.patch.carry(repro).text if control.patch is not None else None
        if patched is not None:
            before, after = repro.splitlines(), patched.splitlines()
            changed = difflib.unified_diff(before, after, "repro", control.name, n=1, lineterm="")
            yield control.name, "\n".join(changed)


def findings(plan: calibration.Plan, own: Run | None = None, *, candidates: bool = True) -> list[str]:
    """What was seen of the original, for the user. `own`: the run of the user's program that showed the fault, where
    another one is reduced in its place. `candidates`: whether any will run."""
    modes = {
        "virtual": "on the virtual GPU, a fork for each candidate",
        "warm": "in warm contexts, reused while they stay clean",
        "fork": "in forked children of a warm process",
        "cold": "in a new process each",
    }
    verdicts = [plan.oracle.judge(run) for run in (own, plan.reference) if run is not None and plan.oracle.needs.run]
    why = next((verdict.why for verdict in verdicts if verdict.faults), "")
    lane = f", {plan.seen.warm_seconds:.2f} s in a lane" if plan.mode.name != "cold" else ""
    lines_ = [
        f"fault: {why or plan.oracle.spec} ({plan.seen.faulted} of {plan.seen.runs} runs), "
        f"{plan.seen.cold_seconds:.1f} s in a cold process{lane}"
    ]
    if candidates or lane:
        lines_.append(f"running candidates {modes[plan.mode.name]}: {plan.mode.why}")
    warnings = [f"warning: {plan.oracle.warning}"] if plan.oracle.warning else []
    return [*lines_, *plan.mode.notes, *warnings]


def command_of(output: Path, options: Options, plan: calibration.Plan) -> str:
    """The command that shows the fault: plain `python FILE` wherever that can show it."""
    shown = os.path.relpath(output)
    settings = [f"{key}={value}" for key, value in options.environment.items()]
    oracle = plan.oracle
    if options.arch is None and oracle.needs.plain:
        python = options.python if options.python != sys.executable else "python"
        plain = shlex.join([*(["env", *settings] if settings else []), python, shown, *options.argv])
        if options.cwd is None:
            return plain
        return f"cd {shlex.quote(str(options.cwd))} && {plain.replace(shown, str(output))}"
    words = ["shrink", shown, "--check"]
    words += ["--arch", architectures.name(options.arch)] if options.arch is not None else []
    words += [word for spec in options.oracle or (plan.oracle.spec,) for word in ("--oracle", spec)]
    words += [word for spec in options.reject for word in ("--reject", spec)] if options.oracle else []
    words += ["--python", options.python] if options.python != sys.executable else []
    words += ["--cwd", str(options.cwd)] if options.cwd is not None else []
    words += [word for setting in settings for word in ("--env", setting)]
    return shlex.join([*words, *(["--", *options.argv] if options.argv else [])])


def context_of(path: Path, plan: calibration.Plan, options: Options) -> OtherFaultsContext:
    command = (
        shlex.join(["shrink", "{file}", "--check", "--arch", architectures.name(options.arch)]) if options.arch else ""
    )
    how = f"in {'a cold process' if plan.mode.name == 'cold' else f'a run of mode {plan.mode.name}'}"
    plain = shlex.join(["python", "{file}", *options.argv])
    return OtherFaultsContext(original=path.name, asked=plan.oracle.spec, mode=how, command=command or plain)
