"""Where a verdict stops at the compiler, it goes on: what the experiments below the source say of it.

They are evidence, and few of them prove. A change may move timing or layout, and a later release may merely accept
more. So a verdict is narrowed only where the fault is of the compiler itself: it dies, or refuses what it made.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.version import Version

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence import ptxas
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.oracle.fault import FRONT_END as REFUSALS
from shrinkray_gpu.oracle.fault import Fault, complaint, normalise
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.questions.blame.blame import BELOW, DATA, FRONT_END, HOST, KERNEL, PTXAS, UNKNOWN, Blame
from shrinkray_gpu.questions.blame.blame import PASS as COMPILER_PASS
from shrinkray_gpu.questions.blame.experiments import (
    KNOB,
    PASS,
    RELEASE_SECONDS,
    SECONDS,
    TRITON,
    UNTOLD,
    CompilerExperiment,
    Tried,
)
from shrinkray_gpu.questions.blame.experiments import PTXAS as PTX
from shrinkray_gpu.questions.blame.of_compiler import (
    BY_FRONT_END,
    BY_LIBRARY,
    BY_PTXAS,
    OTHER_PTXAS,
    OTHER_TRITON,
    OWN_EXCEPTION,
)
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.runner.inside.gpu_target import gpu_target
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting

ACCEPTS, REFUSES = "accepts", "refuses"
_SAME = "in the same words"
_LIMIT = re.compile(r"regist|too much|too many|exceed|out of memory", re.IGNORECASE)
"""What is refused for its size: another release, or other code, may just need less."""
_LANGUAGE = re.compile(
    r"un(?:expected|known|supported|recognized|defined)|not (?:supported|allowed)|requires|illegal|feature|modifier"
    r"|invalid|mismatch|pars|syntax|must|expected|duplicate",
    re.IGNORECASE,
)
"""What is refused by the rules of PTX: a later ptxas that takes it may merely know more."""
_LACKING = re.compile(r"not supported on \.target|requires \.target")
_REFUSED_LINE = re.compile(r"\bline (\d+); (?:error|fatal)")
_INSTRUCTION = re.compile(r"\b[a-z]\w*(?:(?:\.|::)\w+)+")


@dataclass(frozen=True)
class OtherReleases:
    """What the user asks for: interpreters and ptxas by their versions."""

    tritons: Mapping[str, str] = field(default_factory=dict)
    ptxas: Mapping[str, Path] = field(default_factory=dict)


def go_on(told: Blame, seen: Evidence, trials: BlameTrials, other: OtherReleases) -> Blame:
    """The verdict with what the experiments say."""
    if seen.fault is None or Fault.of(trials.seen) is None:
        return told
    is_open = OTHER_TRITON in told.next
    try:
        unaltered, found = _by_runs(is_open and not REFUSALS.search(seen.fault.klass), seen, trials, other)
    except UsageError as error:  # what was seen in a process of its own stays true where lanes do not start
        unaltered, found = Rate(0, 0), [CompilerExperiment(KNOB, "all knobs and releases", UNTOLD, str(error))]
    if told.by == BY_PTXAS and told.whose == UNKNOWN or other.ptxas:
        found += _by_ptxas(seen, trials, other)
    tried = Tried(unaltered, tuple(found))
    asked = {OTHER_TRITON: bool(other.tritons), OTHER_PTXAS: bool(other.ptxas)}
    left = tuple(each for each in told.next if not asked.get(each))
    return replace(narrowed(told, seen, trials, tried), tried=tried, next=left)


def _by_runs(
    knobs: bool, seen: Evidence, trials: BlameTrials, other: OtherReleases
) -> tuple[Rate, list[CompilerExperiment]]:
    """Runs of the program with a knob turned or a pass left out, and with other releases of Triton. LLVM and ptxas are
    turned where their code decides; on a GPU so are the ptxas."""
    releases = [(TRITON, KnobSetting(f"triton {version}", python=path)) for version, path in other.tritons.items()]
    if not knobs and not releases:
        return Rate(0, 0), []
    end, device = time.monotonic() + SECONDS, seen.fault is not None and seen.fault.phase == "device"
    unaltered, begun = trials.laboratory.unaltered(SECONDS)
    names = ["num_stages=1", *(() if device and trials.seen.virtual else ("llvm=-O0", "ptxas=-O0"))]
    if _for_amd(trials):
        names = ["num_stages=1", "no-buffer-ops", *names[1:2]]
    ways = [(KNOB, parse_setting(name)) for name in names]
    if device and not trials.seen.virtual:
        ways += [(KNOB, parse_setting(f"TRITON_PTXAS_PATH={path}")) for path in other.ptxas.values()]
    ways += [(PASS, parse_setting(f"skip={name}")) for name in begun]
    found = trials.laboratory.try_all(ways if knobs else [], unaltered, seconds=end - time.monotonic())
    seconds = RELEASE_SECONDS * len(releases)
    return unaltered, found + trials.laboratory.try_all(releases, unaltered, seconds=seconds)


def _for_amd(trials: BlameTrials) -> bool:
    return trials.arch is not None and gpu_target(trials.arch).is_amd


def _by_ptxas(seen: Evidence, trials: BlameTrials, other: OtherReleases) -> list[CompilerExperiment]:
    """The PTX of the run, through the ptxas at hand, the same at -O0, and others."""
    assert seen.fault is not None
    if _for_amd(trials):
        return []
    environment, python = trials.setup.environment, trials.setup.python
    text = (seen.ir if seen.fault.phase == "device" else trials.dumped).get("ptx", "")
    own = ptxas.own_ptxas(python, environment, trials.arch)
    if not text or not own:
        why = "no ptxas is at hand" if text else "the compiler ends before there is PTX"
        return [CompilerExperiment(PTX, "ptxas", UNTOLD, why)]
    tools = [("ptxas at hand", own, ()), ("ptxas at hand at -O0", own, ("-O0",))]
    tools += [(f"ptxas {version}", path, ()) for version, path in other.ptxas.items()]
    found: list[CompilerExperiment] = []
    for name, tool, options in tools:
        done = ptxas.assemble(tool, text, *options, seconds=trials.seconds)
        words = complaint(done.said) or done.said.strip().partition("\n")[0]
        same = found and normalise(words) == normalise(found[0].why)
        result = ACCEPTS if done.accepted else UNTOLD if ".version" in words else REFUSES
        why = "" if done.accepted else _SAME if same else words
        line = _REFUSED_LINE.search(done.said)
        at = int(line[1]) if line else 0
        found.append(CompilerExperiment(PTX, f"{name} ({done.version})", result, why, line=at))
    return found


def narrowed(told: Blame, seen: Evidence, trials: BlameTrials, tried: Tried) -> Blame:
    """The class as far as the experiments prove it, with what was seen."""
    own = Version(seen.versions.get("triton", "0").partition("+")[0])
    releases = [each.change for each in tried.gone(TRITON)]
    later = [each for each in releases if _number(each) > own]
    found = replace(_class(told, seen, trials, tried, later), why=told.why.rstrip("."))
    why, front_end = [found.why], told.by in (BY_FRONT_END, BY_LIBRARY)
    if changes := [each.change for each in tried.gone(KNOB, PASS)]:
        why.append(f"With any one of these the fault is gone: {', '.join(changes)}")
        if found.whose in (BELOW, UNKNOWN):
            why[-1] += "; another layout, size or timing may be all that it takes"
    if later and found.whose in (UNKNOWN, KERNEL, HOST, DATA):
        why.append(f"In {later[0]} the program ends without the fault, which may just accept more")
    elif later:
        why.append(f"Fixed in {later[0]}")
    if earlier := [each for each in releases if each not in later]:
        why.append(
            f"In {', '.join(earlier)} the program ends without the fault, too" if later else f"Not in {earlier[-1]}"
        )
    if releases and front_end and found.whose == UNKNOWN:
        why.append("Whether the kernel is wrong or this front end is not told")
    asked = [each for each in tried.experiments if each.kind == PTX]
    if takes := [each.change for each in asked if each.outcome == ACCEPTS and told.by == BY_PTXAS]:
        why.append(f"The same PTX is taken by {', '.join(takes)}")
    others = [each for each in asked if "at hand" not in each.change]
    if others and all(each.why == _SAME for each in others):
        why.append(f"The same PTX is refused in the same words by {', '.join(each.change for each in others)}")
    return replace(found, why=". ".join(why))


def _class(told: Blame, seen: Evidence, trials: BlameTrials, tried: Tried, later: Sequence[str]) -> Blame:
    fault, run = seen.fault, trials.seen
    assert fault is not None
    if told.by == BY_PTXAS and told.whose == UNKNOWN:
        return _of_ptxas(told, tried, trials)
    takes = tried.gone(TRITON)
    if told.by in (OWN_EXCEPTION, BY_LIBRARY) and later:
        return replace(told, whose=FRONT_END)
    if told.by in (BY_FRONT_END, BY_LIBRARY) and takes:
        return replace(told, whose=FRONT_END if 0 < len(later) < len(takes) else UNKNOWN)
    dies = run.signal is not None and any(not each.hash for each in run.compiles)
    fails = fault.phase == "compile" and "PassManager::run failed" in f"{fault.text} {seen.diagnostics}"
    if told.whose != UNKNOWN or told.by or not (dies or fails) or trials.inline_assembly:
        return told
    passes = [each.change for each in tried.gone(PASS)]
    if passes and trials.arch is not None and not trials.compiles_to_llvm:
        by = "runs without one of Triton's passes"
        return replace(told, whose=COMPILER_PASS, named=passes[-1].rpartition(" ")[2], by=by)
    return replace(told, whose=BELOW, by="runs with other compilers") if tried.gone(TRITON, KNOB, PASS) else told


def _of_ptxas(told: Blame, tried: Tried, trials: BlameTrials) -> Blame:
    """ptxas refuses what it is given: its own fault only where another one, or itself at -O0, takes the same PTX. What
    is too large may be the kernel's doing, unless another Triton makes it small enough."""
    asked = [each for each in tried.experiments if each.kind == PTX]
    if trials.inline_assembly or not asked or asked[0].outcome != REFUSES:
        return told
    words, own = asked[0].why, _number(asked[0].change)
    takes = [each for each in asked[1:] if each.outcome == ACCEPTS]
    earlier = [each for each in takes if "-O0" in each.change or _number(each.change) < own]
    if _LIMIT.search(words):
        return replace(told, whose=BELOW) if tried.gone(TRITON) else told
    if takes and (earlier or not _LANGUAGE.search(words)):
        return replace(told, whose=PTXAS, by="the same PTX, given to others")
    instruction = _assembly_at(trials.dumped.get("ptx", ""), asked[0].line) if not takes else ""
    if _LACKING.search(words) and instruction and (writer := trials.writer(instruction)):
        by = f"its PTX, into which this pass wrote {instruction}"
        return replace(told, whose=COMPILER_PASS, named=writer, by=by)
    return replace(told, whose=BELOW, by="its PTX, in which no inline assembly is")


def _assembly_at(ptx: str, line: int) -> str:
    """The instruction in a line of PTX that LLVM took over as it was written; empty where LLVM chose it."""
    lines = ptx.splitlines()[:line]
    marks = [each for each in lines if each.strip() in ("// begin inline asm", "// end inline asm")]
    found = _INSTRUCTION.search(lines[-1]) if marks and "begin" in marks[-1] else None
    return found[0] if found else ""


def _number(name: str) -> Version:
    return Version((re.findall(r"\d+(?:\.\d+)+", name) or ["0"])[-1])
