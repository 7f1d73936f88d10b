"""What share of calls of released packages reaches its launches on the virtual GPU, plain and under torch.compile.

    python -m studies.virtual_gpu [--calls N] [--seed N] [--site FOLDER] [--results FILE]

A seeded sample of the calls in `benchmarks/seeding/calls`. Each is run twice: as it is, and as the body of a function
under torch.compile. A run that is in the file of results is not run again. The table of `virtual_gpu.md` is printed.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import random
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.seeding import packages
from benchmarks.seeding.programs import CALLS, PART, WAIT, Program, programs
from benchmarks.seeding.runs import Machine, lanes
from shrinkray_gpu.runner.run import Run

RESULTS = Path(__file__).parent / "results" / "virtual_gpu.jsonl"
WAYS = ("as it is", "under torch.compile")
ARCH, SECONDS = 90, 240.0


@dataclass(frozen=True)
class Result:
    """How one call ended."""

    call: str
    way: str
    ended: str
    """`well`, `no launch`, `ours`, `raised`, `timed out`, `died`, or `not run` where something is not installed."""
    launches: int
    generated: int
    """Of those: launches of kernels in files that torch.compile wrote."""
    why: str
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=5, help="of each package (default: 5)")
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--site", type=Path, default=packages.SITE, help="folder with the packages unpacked")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    if not given.site.is_dir():
        packages.install(packages.download(), given.site)
    sample = list(drawn(given.calls, given.seed))
    known = read(given.results)
    with given.results.open("a", encoding="utf-8") as file:
        for result in run(sample, given.site, known):
            file.write(json.dumps(asdict(result)) + "\n")
            file.flush()
    print(table([one for one in read(given.results).values() if one.call in {each.key for each in sample}]))


def drawn(count: int, seed: int) -> Iterator[Program]:
    """That many calls of each package, or all that it has."""
    chance = random.Random(seed)
    by_package = collections.defaultdict(list)
    for program in programs():
        by_package[program.package].append(program)
    for own in by_package.values():
        yield from chance.sample(own, min(count, len(own)))


def text_of(program: Program, way: str) -> str:
    if way == WAYS[0]:
        return program.text
    head = PART.split((CALLS / f"{program.package}.py").read_text(encoding="utf-8"))[0].rstrip()
    body = _returning(program.text[len(head) :].replace(WAIT, ""))
    return f"{head}\n@torch.compile\ndef call():\n{textwrap.indent(body, '    ')}\n\ncall()\n{WAIT}"


def _returning(body: str) -> str:
    """The statements, with the last value given back: what nobody asks for is not computed under torch.compile."""
    tree = ast.parse(body)
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Return(tree.body[-1].value)
    return ast.unparse(ast.fix_missing_locations(tree))


def run(sample: list[Program], site: Path, known: dict[tuple[str, str], Result]) -> Iterator[Result]:
    machine = Machine(arch=ARCH, seconds=SECONDS)
    with lanes(machine, [site]) as pool:
        for program in sample:
            for way in WAYS:
                if (program.key, way) not in known:
                    yield seen(program, way, pool.run(text_of(program, way)))


def seen(program: Program, way: str, run: Run) -> Result:
    ended, why = "well" if run.launches else "no launch", ""
    if run.trouble:
        ended, why = "ours", run.trouble
    elif run.timed_out:
        ended = "timed out"
    elif run.failure is not None:
        ended = "not run" if run.failure.type == "ModuleNotFoundError" else "raised"
        why = f"{run.failure.type}: {run.failure.text}"
    elif run.exit != 0:
        ended, why = "died", f"exit {run.exit}, signal {run.signal}"
    generated = sum(one.generated for one in run.launches)
    return Result(
        program.key, way, ended, len(run.launches), generated, " ".join(why.split())[:160], round(run.seconds, 1)
    )


def read(path: Path) -> dict[tuple[str, str], Result]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    return {(one.call, one.way): one for one in results}


def table(results: list[Result]) -> str:
    """In Markdown: a row a package and way, then all that did not end well."""
    rows = ["| package | way | calls | end well, with launches | launches (of generated kernels) |", "| --- " * 5 + "|"]
    by = collections.defaultdict(list)
    for one in (each for each in results if each.ended != "not run"):
        by[one.call.partition(".")[0], one.way].append(one)
    for (package, way), own in by.items():
        well = sum(one.ended == "well" for one in own)
        launches, generated = sum(one.launches for one in own), sum(one.generated for one in own)
        rows.append(f"| {package} | {way} | {len(own)} | {well} | {launches} ({generated}) |")
    for way in WAYS:
        own = [one for one in results if one.way == way and one.ended != "not run"]
        rows.append(f"| all | {way} | {len(own)} | {sum(one.ended == 'well' for one in own)} | |")
    rest = [f"| {one.call} | {one.way} | {one.ended} | {one.why} |" for one in results if one.ended != "well"]
    rows += ["", "| call | way | ended | why |", "| --- " * 4 + "|", *rest] if rest else []
    return "\n".join(rows)


if __name__ == "__main__":
    main()
