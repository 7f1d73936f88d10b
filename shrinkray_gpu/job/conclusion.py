"""After the search: clean runs of its result, why it is the same fault, and all that is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shrinkray_gpu.calibration import Plan
from shrinkray_gpu.errors import FinalCheckFailed, Interrupted, if_it_helps
from shrinkray_gpu.evidence import guarded, ptxas
from shrinkray_gpu.evidence.other_faults import OtherFaults
from shrinkray_gpu.job import cu_output
from shrinkray_gpu.job.final_check import FinalCheck, fallback_check, final_check
from shrinkray_gpu.job.ready import Ready
from shrinkray_gpu.lift.data_files import final_files
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines, tokens
from shrinkray_gpu.result.summary import (
    Result,
    command_of,
    economy_of,
    evidence_of,
    health_of,
    other_fault_line,
    rates_of,
)
from shrinkray_gpu.runner import fence
from shrinkray_gpu.runner.guarded import KEEPER
from shrinkray_gpu.runner.lanes import MEMORY
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.same_fault.healthy_twin import Health
from shrinkray_gpu.start.choice import from_elsewhere, modules_of_its_own
from shrinkray_gpu.start.given import Start
from shrinkray_gpu.start.kernel_alone import calls


@dataclass(frozen=True)
class ReproFindings:
    """What the runs at the end say of the repro."""

    final: FinalCheck
    shown: str
    """The text as it stands at its place."""
    comparison: FaultComparison | None
    health: Health
    ptxas: Mapping[str, str]
    cu: str
    code: Mapping[str, str]

    @property
    def fault(self) -> str:
        """In words, for the attachment; empty where only the oracle tells of it."""
        seen = (self.comparison.repro or self.comparison.original) if self.comparison else None
        return str(seen) if seen is not None else ""


def conclude(
    ready: Ready,
    reduction: Reduction,
    original: Program,
    output: Path,
    options: Options,
    say: Say,
    *,
    seen: Callable[[str, str], None],
) -> ReproFindings:
    """Write the repro, and ask clean runs, controls and instruments what they say of it. `seen` is called with its text
    and its fault in words, as the instruments see it beside the clean runs."""
    say("verifying the result in clean processes ...")
    plan, checks, best = ready.plan, ready.checks, reduction.program.text

    def look() -> None:
        fault = checks.fault_of(best) if checks else None
        seen(ready.shown(best), str(fault) if fault is not None else "")

    with ThreadPoolExecutor(2, thread_name_prefix="evidence") as beside:
        apart = ready.clean_runs_alone
        looked = beside.submit(checks.compared, best) if checks and not apart else None
        told = beside.submit(look) if not apart else None
        final = final_check(ready.shown(best), output, plan, options, reduction.checks.shown)
    if told is not None:
        told.result()
    if final.unknown:
        say(f"{final.unknown} clean runs told nothing, the second time with more time as well: {final.instead}")
    if final.other_error:
        say(f"not every clean run ends in the error asked for: {final.other_error}. The same access may end in either")
    if not final.stands:
        final = fallback_check(
            final, reduction, original, output, plan, options, shown=ready.shown, laid_out=ready.laid_out
        )
    comparison = looked.result() if looked else None
    if checks and (comparison is None or final.text != ready.shown(best)):
        comparison = checks.compared(final.text)
    if comparison is not None:
        comparison = comparison.in_words_of(final.error)
    healthy = Health()
    if checks and comparison and final.stands:
        say("looking for a healthy twin, one edit away ...")
        asked = partial(checks.health, final.text, comparison)
        healthy = if_it_helps(asked, healthy, "the search for a healthy twin", say)
    reference = ready.start.reference or plan.reference  # the first is of the user's own program, if that was lifted
    used = {}
    if reference.builds:
        used["original"] = _figures(reference, original.text, plan, options)
        used["repro"] = _figures(plan.pool.cold(final.text), final.text, plan, options)
    plain = cu_output.make(final.text, output, plan, options) if options.cu else ""
    code = {}
    if plan.oracle.needs.elsewhere is not None:
        asked_anew = {"original": reference, "repro": plan.pool.run(final.text, fresh=True)}
        code = {name: plan.oracle.judge(run).why for name, run in asked_anew.items()}
    return ReproFindings(final, final_files(final.text, output)[0], comparison, healthy, used, plain, code)


def _figures(run: Run, text: str, plan: Plan, options: Options) -> str:
    """What ptxas said in this run of `text`. NVRTC tells no figures: nvcc does, of what launches where no GPU is."""
    return ptxas.resource_line(run.builds) or ptxas.resource_line(
        calls(text, plan.pool.script, plan.pool.setup, options.timeout)
    )


def result_of(
    end: ReproFindings,
    ready: Ready,
    reduction: Reduction,
    finds: OtherFaults,
    original: Program,
    places: tuple[Path, Path],
    options: Options,
    *,
    seconds: Mapping[str, float],
) -> Result:
    """What is told of it; `places` are those of the result and of everything else, `seconds` are by what was done."""
    output, folder = places
    plan, tally, final = ready.plan, ready.test.tally, end.final
    passed_over = (
        f"{reduction.program.size.tokens} tokens: {folder / 'best.py'}" if final.larger and final.stands else ""
    )
    return Result(
        output=output,
        text=end.shown,
        spec=plan.oracle.spec,
        before=(lines(original.text), tokens(original.text)),
        after=(lines(end.shown), tokens(end.shown)),
        tries=dict(tally.tries),
        seconds={**seconds, "gpu": tally.lane_seconds if plan.gpu else 0.0},
        mode=plan.mode.name,
        verified=final.verified,
        final_runs=final.runs,
        ended=reduction.ended,
        early=reduction.early,
        command=command_of(output, options, plan),
        lifted=ready.start.told,
        others=tuple(other_fault_line(find) for find in finds.by_size),
        passed_over=passed_over,
        unfenced=final.unfenced,
        fence=fence.description(
            plan.pool.fence, plan.pool.setup.left_open, str(KEEPER.memory), plan.pool.retired[MEMORY]
        ),
        guarded=exposure_report(ready.start, original, final.text),
        slips=reduction.checks.control_slips + len(reduction.checks.fingerprint_slips),
        ptxas=end.ptxas,
        code=end.code,
        cu=end.cu,
        economy=economy_of(tally, reduction, plan.pool.retired),
        rates=rates_of(plan.rate, final.verified, final.runs),
        **health_of(end.health, lambda text: final_files(text, output)[0]),
        **evidence_of(end.comparison, reduction, end.shown, guards=options.guards),
    )


def exposure_report(start: Start, original: Program, text: str) -> str:
    """Beside the lifted script where the kernels are not in the user's own text, which has no guard to lose."""
    repro, unread = original.with_text(text), modules_of_its_own(text)
    if start.lifted and from_elsewhere(start.program, original):
        named = "lifted script" if start.alone else "program in one file"
        return guarded.report(start.program, repro, named=named, unread=unread)
    return guarded.report(original, repro, unread=unread)


def final_check_error(final: FinalCheck, output: Path, folder: Path, *, stopped: bool) -> FinalCheckFailed:
    """What to say where no clean run bears the result out. `stopped`: by the user, before the search was done. What
    nobody knows is no failure then."""
    if not final.runs and stopped:
        return Interrupted(
            f"interrupted, and no clean run of {output} told anything: {final.instead}. It showed the fault in the "
            "search. Go on with the same command and --resume; a longer --timeout gives each run more time"
        )
    if not final.runs:
        return FinalCheckFailed(
            f"no clean run of {output} told anything, the second time with more time and nothing beside it: "
            f"{final.instead}. It is the last program that showed the fault in a cold process on the way. Try "
            "its command again where less is at work, or give a longer --timeout"
        )
    instead = f"; instead: {final.instead}" if final.instead else ""
    there = f"in {output} ({final.verified} of {final.runs} clean runs show it{instead})"
    if final.larger:
        where = f"The smallest that a cold run confirmed is {there}, the smaller one in {folder / 'best.py'}"
    else:
        where = (
            f"It is {there}, and no larger one on the way that was tried shows it in all of its runs. Where chance or "
            "time has a part in it, --mode cold judges each candidate as the final check does"
        )
    return FinalCheckFailed(
        f"the smallest program does not show the fault in every clean run, as the original does. {where}"
    )
