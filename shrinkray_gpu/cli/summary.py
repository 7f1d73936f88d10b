"""What a reduction tells at its end, for a person."""

from __future__ import annotations

from pathlib import Path

import click

from shrinkray_gpu.command.driver import Command
from shrinkray_gpu.oracle import typed
from shrinkray_gpu.result.summary import Result

TOLD = 3
"""Other faults that the summary names; all are in --json."""


def tell(result: Result, file: Path, command: Command | None) -> None:
    """The summary, for a person."""
    tries = ", ".join(f"{count} {tier}" for tier, count in sorted(result.tries.items()))
    spent = result.seconds
    gpu = f", {spent['gpu']:.0f} s of lanes on the GPU" if spent["gpu"] else ""
    head = {"done": "reduced", "out of time": "out of time, the best so far"}.get(
        result.ended, "interrupted, the best so far"
    )
    if command is None:
        click.echo(
            f"{head}: {file} from {result.before[0]} lines to {result.after[0]}, "
            f"{result.before[1]} tokens to {result.after[1]}"
        )
    else:  # nobody counted all that it runs
        click.echo(f"{head}: {command.command_line} to {result.after[0]} lines, {result.after[1]} tokens")
    for label, fact in (*result.verdict.items(), *(("known", each) for each in result.known)):
        click.echo(f"  {label}: {fact}")
    click.echo(
        f"  {sum(result.tries.values())} tries ({tries}) in {spent['start'] + spent['search'] + spent['check']:.0f} s: "
        f"start {spent['start']:.0f}, search {spent['search']:.0f}, final check {spent['check']:.0f}{gpu}"
    )
    click.echo(f"  {typed(result.spec)} in {result.verified} of {result.final_runs} clean runs")
    beside = "" if result.attachment.endswith(".zip") else ", and artifacts/ and report.html beside it"
    more = len(result.others) - TOLD
    for label, text in (
        ("", result.lifted),
        ("fault: ", result.fault),
        ("", result.same),
        *((f"rate of {name}: ", rate) for name, rate in result.rates.items()),
        ("healthy with: ", result.twin and f"{result.twin['edit']}; {result.twin['proof']}"),
        ("not healthy but for its fault: ", result.unhealthy),
        ("", result.guarded),
        *((f"ptxas, {name}: ", used or "nothing told") for name, used in result.ptxas.items()),
        ("passed over, since it shows the fault in lanes but not in each clean run: ", result.passed_over),
        ("", result.fence),
        ("ran without a fence, since it writes as the original does: ", result.unfenced),
        *(("met on the way: ", other) for other in result.others[:TOLD]),
        ("", f"and {more} more other faults in the same folder" if more > 0 else ""),
        ("saved: ", str(result.output)),
        ("plain CUDA: ", result.cu),
        ("to attach: ", result.attachment and f"{result.attachment}{beside}"),
        ("shows the fault: ", result.command),
        ("go on with: ", "the same command and --resume" if result.ended != "done" else ""),
    ):
        if text:
            click.echo(f"  {label}{text}")
