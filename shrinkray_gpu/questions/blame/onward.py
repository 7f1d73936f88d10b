"""Where a verdict stops at the compiler, it goes on: what the experiments below the source say of it.

They are evidence, and few of them prove. A change may move timing or layout, and a later release may merely accept
more. So a verdict is narrowed only where the fault is of the compiler itself: it dies, or refuses what it made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.version import Version

from shrinkray_gpu.device import toolkit
from shrinkray_gpu.evidence import ptxas
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.oracle.fault import FRONT_END as REFUSALS
from shrinkray_gpu.oracle.fault import complaint, normalise
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.questions.blame import experiments
from shrinkray_gpu.questions.blame.blame import BELOW, FRONT_END, PASS, PTXAS, UNKNOWN, Blame
from shrinkray_gpu.questions.blame.experiments import GONE, KNOB, SECONDS, TRITON, CompilerExperiment, Tried
from shrinkray_gpu.questions.blame.of_compiler import BY_FRONT_END, BY_PTXAS, OTHER_PTXAS, OTHER_TRITON, OWN_EXCEPTION
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.runner.knob_settings import KnobSetting

ACCEPTS, REFUSES = "accepts", "refuses"
_LIMIT = re.compile(r"C7600|regist|too much|too many|exceed|out of memory", re.IGNORECASE)
"""What is refused for its size: another release, or other code, may just need less."""
_LANGUAGE = re.compile(
    r"un(?:expected|known|supported|recognized|defined)|not (?:supported|allowed)|requires|illegal|feature|modifier"
    r"|invalid|mismatch|pars|syntax|must|expected|duplicate",
    re.IGNORECASE,
)
"""What is refused by the rules of PTX: a later ptxas that takes it may merely know more."""


@dataclass(frozen=True)
class OtherReleases:
    """What the user asks for: interpreters and ptxas by their versions."""

    tritons: Mapping[str, str] = field(default_factory=dict)
    ptxas: Mapping[str, Path] = field(default_factory=dict)


def go_on(told: Blame, seen: Evidence, trials: BlameTrials, other: OtherReleases) -> Blame:
    """The verdict with what the experiments say."""
    if seen.fault is None:
        return told
    is_open = OTHER_TRITON in told.next
    unaltered, found = _by_runs(is_open and not REFUSALS.search(seen.fault.klass), seen, trials, other)
    if told.by == BY_PTXAS and told.whose == UNKNOWN or other.ptxas:
        found += _by_ptxas(seen, trials, other)
    tried = Tried(unaltered, tuple(found))
    asked = {OTHER_TRITON: bool(other.tritons), OTHER_PTXAS: bool(other.ptxas)}
    left = tuple(each for each in told.next if not asked.get(each))
    return replace(_narrowed(told, seen, trials, tried), tried=tried, next=left)


def _by_runs(
    knobs: bool, seen: Evidence, trials: BlameTrials, other: OtherReleases
) -> tuple[Rate, list[CompilerExperiment]]:
    """Runs of the program with a knob turned, and with other releases of Triton."""
    releases = [(TRITON, KnobSetting(f"triton {version}", python=path)) for version, path in other.tritons.items()]
    if not knobs and not releases:
        return Rate(0, 0), []
    laboratory = trials.laboratory
    unaltered, runs = laboratory.unaltered(SECONDS)
    ways = []
    if knobs:
        ways = experiments.knob_ways(laboratory.passes(runs), code=not (trials.seen.virtual and laboratory.fault.code))
        if laboratory.fault.phase == "device" and not trials.seen.virtual:
            ways += [
                (KNOB, KnobSetting(f"ptxas {version}", environment={"TRITON_PTXAS_PATH": str(path)}))
                for version, path in other.ptxas.items()
            ]
    found = laboratory.try_all(ways, unaltered, runs[0], seconds=SECONDS)
    return unaltered, found + laboratory.try_all(releases, unaltered, runs[0], seconds=SECONDS * len(releases))


def _by_ptxas(seen: Evidence, trials: BlameTrials, other: OtherReleases) -> list[CompilerExperiment]:
    """The PTX of the run, through the ptxas at hand and others. First the one at hand as it is, and at -O0."""
    made, environment = trials.dumped, {**trials.setup.environment}
    text = made.get("ptx") or seen.ir.get("ptx", "")
    own = environment.get("TRITON_PTXAS_PATH") or toolkit.find("ptxas", trials.setup.python, environment)
    if not text:
        return [CompilerExperiment(experiments.PTXAS, "ptxas", "not known", "the compiler ends before there is PTX")]
    tools = [("ptxas at hand", own, ()), ("ptxas at hand at -O0", own, ("-O0",))] if own else []
    tools += [(f"ptxas {version}", path, ()) for version, path in other.ptxas.items()]
    found: list[CompilerExperiment] = []
    first = ""
    for name, tool, options in tools:
        done = ptxas.assemble(Path(str(tool)), text, *options, seconds=trials.seconds)
        words = complaint(done.said) or done.said.strip().partition("\n")[0]
        first = first or words
        same = found and normalise(words) == normalise(first)
        result = ACCEPTS if done.accepted else "not known" if ".version" in words else REFUSES
        why = "" if done.accepted else "in the same words" if same else words
        found.append(CompilerExperiment(experiments.PTXAS, f"{name} ({done.version})", result, why))
    return found


def _narrowed(told: Blame, seen: Evidence, trials: BlameTrials, tried: Tried) -> Blame:
    """The class as far as the experiments prove it, and what was seen in the sentence."""
    fault, run = seen.fault, trials.seen
    assert fault is not None
    releases = [each.change for each in tried.gone(TRITON)]
    told = replace(told, why=". ".join([told.why.rstrip("."), *_sentences(tried, seen.versions.get("triton", ""))]))
    if told.by == BY_PTXAS and told.whose == UNKNOWN:
        return _of_ptxas(told, tried, trials)
    if told.by == OWN_EXCEPTION and _later(releases, seen.versions.get("triton", "")):
        return replace(told, whose=FRONT_END)
    if told.by == BY_FRONT_END and releases:
        doubt = "Whether the kernel asks for what is new there, or this front end is wrong, is not told"
        return replace(told, whose=UNKNOWN, why=f"{told.why}. {doubt}")
    dies = run.signal is not None and any(not each.hash for each in run.compiles)
    fails = fault.phase == "compile" and "PassManager::run failed" in f"{fault.text} {seen.diagnostics}"
    if told.whose != UNKNOWN or not (dies or fails) or REFUSALS.search(fault.klass) or trials.inline_assembly:
        return told
    passes = [each.change for each in tried.gone(experiments.PASS)]
    if passes and not trials.compiles_to_llvm:
        return replace(told, whose=PASS, named=passes[-1].rpartition(" ")[2], by="runs without one of Triton's passes")
    return replace(told, whose=BELOW, by="runs with other compilers") if tried.gone(TRITON, KNOB, PASS) else told


def _of_ptxas(told: Blame, tried: Tried, trials: BlameTrials) -> Blame:
    """ptxas refuses what it is given: its own fault only where another one, or itself at -O0, takes the same PTX."""
    asked = [each for each in tried.experiments if each.kind == experiments.PTXAS]
    if trials.inline_assembly or not asked or asked[0].outcome != REFUSES:
        return told
    words, own = asked[0].why, _number(asked[0].change)
    why = f"{told.why}. The kernel has no inline assembly: all of its PTX is the compiler's own"
    takes = [each for each in asked[1:] if each.outcome == ACCEPTS]
    earlier = [each for each in takes if "-O0" in each.change or _number(each.change) < own]
    if takes and not _LIMIT.search(words) and (earlier or not _LANGUAGE.search(words)):
        return replace(told, whose=PTXAS, why=why, by="the same PTX, given to others")
    return replace(told, whose=BELOW, why=why)


def _sentences(tried: Tried, own: str) -> Iterator[str]:
    """What was seen, in words."""
    changes = [each.change for each in tried.experiments if each.outcome == GONE and each.kind != TRITON]
    if changes:
        yield f"The fault is gone with any one of these: {', '.join(changes)}; that may come of another layout or timing"
    releases = [each.change for each in tried.gone(TRITON)]
    if later := _later(releases, own):
        yield f"Fixed in {later[0]}: the program ends without the fault there"
    if earlier := [each for each in releases if each not in later]:
        yield f"Without the fault in {', '.join(earlier)}, too" if later else f"Not there in {', '.join(earlier)}"
    asked = [each for each in tried.experiments if each.kind == experiments.PTXAS]
    others = [each for each in asked if "at hand" not in each.change]
    if takes := [each.change for each in asked if each.outcome == ACCEPTS]:
        yield f"The same PTX is taken by {', '.join(takes)}"
    if others and all(each.outcome == REFUSES and each.why == "in the same words" for each in others):
        yield f"The same PTX is refused in the same words by {', '.join(each.change for each in others)}"


def _later(releases: Sequence[str], own: str) -> list[str]:
    """Those behind the user's own, oldest first."""
    return [each for each in releases if own and _number(each) > Version(own.partition("+")[0])]


def _number(name: str) -> Version:
    return Version((re.findall(r"\d+(?:\.\d+)+", name) or ["0"])[-1])
