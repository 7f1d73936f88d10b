"""Whether a repro is 1-minimal: no single edit of any pass makes it smaller and leaves the fault. In fresh contexts.

    python benchmarks/minimal.py repro_failing.py --oracle "misaligned address"
    python benchmarks/minimal.py repro_failing.py --oracle SPEC --arch sm_90        no GPU
    python benchmarks/minimal.py repro_failing.py --oracle SPEC --keep main         as the reduction was asked to

It shares the passes, the oracle and the lanes with the reduction, and nothing of its search: each edit is applied alone
to the file as it is, each candidate runs in a context that nothing ran in before, no verdict is taken on credit. An
edit counts only if it makes the program smaller in the size's own order (guards, tokens, loops, literals; characters
are layout), and its candidate only if the controls that make the repro pass make it pass too, its full fingerprint is
not known to be another's, and the static rule, where it tells the repro's fault, tells the candidate's. Edits that grow
the program are no single step, and left out. Exit code 1 if there is a smaller program, which is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu import calibration  # noqa: E402
from shrinkray_gpu.job.asked import limits_of, oracle_of, program_of, setup_of  # noqa: E402
from shrinkray_gpu.job.fault_checks import slippage_checks  # noqa: E402
from shrinkray_gpu.job.ready import user_program  # noqa: E402
from shrinkray_gpu.judging.policy import Policy  # noqa: E402
from shrinkray_gpu.judging.tiered_test import TieredTest  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402
from shrinkray_gpu.oracle.verdict import Verdict  # noqa: E402
from shrinkray_gpu.passes import PASSES, Pass  # noqa: E402
from shrinkray_gpu.passes.host.observed import instrument, watchable  # noqa: E402
from shrinkray_gpu.reduction.edit import Edit  # noqa: E402
from shrinkray_gpu.reduction.keep import allowed_edits  # noqa: E402
from shrinkray_gpu.reduction.program import Program  # noqa: E402
from shrinkray_gpu.reduction.rendering.render import render  # noqa: E402


@dataclass
class Tally:
    """What became of the edits of one pass."""

    edits: int = 0
    larger: int = 0
    tried: int = 0
    unknown: int = 0
    smaller: list[tuple[Edit, Program]] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--oracle", action="append", required=True)
    parser.add_argument("--arch", help="sm_90: on the virtual GPU")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--keep", action="append", default=[])
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    arch = int(given.arch.removeprefix("sm_")) if given.arch else None
    options = Options(oracle=tuple(given.oracle), arch=arch, jobs=given.jobs, keep=frozenset(given.keep))
    tallies = checked(given.file, options)
    print(f"{'pass':14} {'edits':>6} {'larger':>7} {'tried':>6} {'unknown':>8} {'smaller':>8}")
    for name, tally in tallies.items():
        figures = (tally.edits, tally.larger, tally.tried, tally.unknown, len(tally.smaller))
        print("{:14} {:6} {:7} {:6} {:8} {:8}".format(name, *figures))
    found = [pair for tally in tallies.values() for pair in tally.smaller]
    for edit, program in found[:5]:
        print(f"\nsmaller, and it faults: {edit.what}\n{program.text}")
    if given.json:
        given.json.write_text(json.dumps({name: told(tally) for name, tally in tallies.items()}, indent=1) + "\n")
    print("\n1-minimal" if not found else f"\nnot 1-minimal: {len(found)} edits")
    sys.exit(bool(found))


def told(tally: Tally) -> dict[str, Any]:
    return {**vars(tally), "smaller": [edit.what for edit, _ in tally.smaller]}


def checked(path: Path, options: Options) -> dict[str, Tally]:
    """Every edit of every pass, alone. Raises NotReproduced where the file does not show the fault to begin with."""
    program = program_of(path, options)
    chosen, options = oracle_of(options)
    assert chosen is not None
    with tempfile.TemporaryDirectory(prefix="minimal-") as folder:
        setup = setup_of(path, Path(folder), options)
        script = user_program(path, program, options, chosen, setup, print).script
        plan = calibration.make(
            program.text,
            script,
            setup,
            oracle=chosen,
            limits=limits_of(replace(options, mode=None)),
        )
        test = TieredTest(plan.oracle, plan.pool, policy=Policy(credit=False, peak=plan.mode.peak))
        test.insist(True)
        checks = slippage_checks(program, plan, test, (), options) if plan.oracle.needs.run else None
        try:
            found: dict[str, Tally] = {}
            for each in PASSES:
                tally = found[each.name] = _tried(program, each, test, options.keep)
                if checks is not None:  # a program that the controls refuse is no smaller repro
                    for ask in (
                        checks.control_verdict,
                        *([checks.fingerprint_verdict] if checks.takes_fingerprints else []),
                    ):
                        said = [each.result() for each in [ask(candidate) for _, candidate in tally.smaller]]
                        tally.smaller = [pair for pair, verdict in zip(tally.smaller, said) if not _refused(verdict)]
                if plan.dry is not None and plan.predicts:  # a descriptor with an odd stride faults by itself
                    runs = [(pair, plan.dry.run(pair[1].text)) for pair in tally.smaller]
                    tally.smaller = [pair for pair, run in runs if plan.oracle.judge(run).faults]
            return found
        finally:
            test.close()
            if checks is not None:
                checks.close()
            plan.close()


def _refused(verdict: Verdict) -> bool:
    return verdict.is_known and not verdict.faults


def _tried(program: Program, each: Pass, test: TieredTest, keep: frozenset[str]) -> Tally:
    given: Sequence[Any] = ()
    if each.needs_values:
        given = (test.values(instrument(program, watchable(program))),)
    edits = allowed_edits(program, list(each.find(program, *given)), keep)
    tally = Tally(edits=len(edits))
    waiting: dict[str, tuple[Edit, Program]] = {}
    for edit in edits:
        candidate = render(program, [edit])
        if candidate.size[:4] < program.size[:4] and candidate.parses and candidate.key != program.key:
            waiting.setdefault(candidate.key, (edit, candidate))
        else:
            tally.larger += 1
    verdicts = test.judge([candidate for _, candidate in waiting.values()])
    tally.tried = len(verdicts)
    tally.unknown = sum(not verdict.is_known for verdict in verdicts)
    tally.smaller = [pair for pair, verdict in zip(waiting.values(), verdicts) if verdict.faults]
    return tally


if __name__ == "__main__":
    main()
