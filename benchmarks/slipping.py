"""The programs made to lose their bug: each is reduced, its fix is carried to the result, and both are run.

    python benchmarks/slipping.py --out build/slipping                    all that need no GPU
    python benchmarks/slipping.py --out build/slipping --set sixth        one set; --only NAME: one program
    python benchmarks/slipping.py --out OUT --at-a-time 20 --until 420    as many at a time, none begun after 420 s
    python benchmarks/slipping.py --out OUT --folder DIR                  other sets, with a programs.toml of their own
    python benchmarks/slipping.py --out OUT --on-gpu                      all, asked for as on a machine with a GPU
    python benchmarks/slipping.py --out OUT --table                       what is known so far

Which programs there are, and how each is asked for, is in slipping/programs.toml. A result is *true* if it shows the
fault, and ends well with the fix; *slipped* if it shows the fault with the fix, too. It is *undecided* if the fix finds
no place, if the fixed result fails otherwise, or if what failed no longer happens in it: look at OUT/NAME/repro.py and
fixed.py. *Refused*: the tool does not
reduce the program. *Not reduced*: there is no result within the time. OUT/rows.jsonl gets a row a program as soon as it
is known; a run that was stopped goes on where it was, as long as the tree has the same commit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import carried_fix  # noqa: E402
import still_happens  # noqa: E402
from seeding import packages, reducing, truth  # noqa: E402

from shrinkray_gpu.calibration.absent import EXACT, SANITIZED  # noqa: E402
from shrinkray_gpu.events import printed_result  # noqa: E402
from shrinkray_gpu.reduction.size import lines, tokens  # noqa: E402
from shrinkray_gpu.runner import cores  # noqa: E402

FOLDER = ROOT / "benchmarks" / "slipping"
HERE = "first"
"""The set whose programs lie in the folder itself."""
FAULTS, NO_FAULT, NOT_VERIFIED = 0, 3, 4
"""Exit codes of `shrink`."""
CHECK = 180.0
"""Seconds that `--check` may take."""
LONGEST = 300
"""Characters of a reason."""
INTERPRETED = 'os.environ["TRITON_INTERPRET"] = "1"\n'
ON_GPU = 'import torch\n\ntorch.set_default_device("cuda")\n'
"""What such a program has on a GPU in the place of its first `import torch`."""


@dataclass(frozen=True)
class Program:
    """One program, and how its fault is asked for."""

    set: str
    name: str
    folder: Path
    oracle: str = ""
    arch: str = ""
    gpu: bool = False
    again: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> str:
        """Its text; where a GPU is to run what it has the interpreter run, with that changed."""
        text = self.path.read_text()
        if self.gpu and INTERPRETED in text:
            return text.replace(INTERPRETED, "").replace("import torch\n", ON_GPU, 1)
        return text

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.py"

    @property
    def fix(self) -> Path:
        return self.folder / "fixes" / f"{self.name}.diff"

    @property
    def asked(self) -> list[str]:
        words = ["--arch", self.arch] if self.arch else []
        words += ["--env", EXACT] if self.oracle.startswith("sanitizer:") else []
        return [*words, "--oracle", self.oracle] if self.oracle else words


def programs(folder: Path = FOLDER) -> list[Program]:
    """Those of a folder. A set that has no folder there lies in this one."""
    told = tomlkit.parse((folder / "programs.toml").read_text()).unwrap()
    found = []
    for name_of_set, members in told.items():
        place = folder / name_of_set
        for name, asked in members.items():
            asked["again"] = tuple((old, new) for old, new in asked.get("again", ()))
            found.append(Program(name_of_set, name, place if place.is_dir() else folder, **asked))
    return found


def as_on_gpu(program: Program) -> Program | None:
    """The same asked for on a machine with a GPU; None if only the virtual GPU has a rule for its fault."""
    oracle = SANITIZED.get(program.oracle.removeprefix("static:"), program.oracle)
    return None if oracle.startswith("static:") else replace(program, oracle=oracle, arch="", gpu=True)


@dataclass(frozen=True)
class Shrink:
    """The command, in a folder of its own. Without `gpu` it sees none."""

    folder: Path
    jobs: int
    gpu: bool

    def __call__(self, *words: str, seconds: float) -> tuple[int | None, str, str]:
        """Exit code (None: stopped for time), stdout, stderr."""
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "TRITON_CACHE_DIR": str(self.folder / "triton")}
        environment |= {"OMP_NUM_THREADS": str(self.jobs)} | ({} if self.gpu else {"CUDA_VISIBLE_DEVICES": ""})
        return reducing.run_command([sys.executable, "-m", "shrinkray_gpu", *words], environment, self.folder, seconds)


def measured(program: Program, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The row of a program, reduced in a folder that is emptied first. Texts, and what was said, stay there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source, repro = program.source, folder / "repro.py"
    (folder / program.path.name).write_text(source)
    shrink, begun = Shrink(folder, given.jobs, program.gpu), time.monotonic()
    words = [program.path.name, *program.asked, "--no-report", "--json", "-o", repro.name, "--jobs", str(given.jobs)]
    code, said, error = shrink(*words, "--max-time", str(given.max_time), seconds=given.timeout)
    row: dict[str, Any] = {"set": program.set, "name": program.name, "seconds": round(time.monotonic() - begun)}
    row |= {"before": [lines(source), tokens(source)], "after": []}
    row |= {name: printed_result(said).get(name, "") for name in ("same", "ended")}
    (folder / "said.txt").write_text(f"{said}\n{error}")
    if code == FAULTS:
        row["after"] = [lines(repro.read_text()), tokens(repro.read_text())]
        verdict, why = judged(program, source, repro, shrink)
    elif code in (None, NOT_VERIFIED):
        verdict, why = "not reduced", _last(error) if code else f"no result within {given.timeout:.0f} s"
    else:
        verdict, why = "refused", _last(error)
    for left in ("triton", f"{program.name}.shrink"):
        shutil.rmtree(folder / left, ignore_errors=True)
    return {**row, "verdict": verdict, "why": why[:LONGEST], "judged": round(time.monotonic() - begun)}


def judged(program: Program, source: str, repro: Path, shrink: Shrink) -> tuple[str, str]:
    """The verdict of a result, and why."""
    code, said, error = shrink(repro.name, *program.asked, "--check", seconds=CHECK)
    if code != FAULTS:
        return "undecided", f"the result shows no fault when it is checked: {_last(error or said)}"
    text = repro.read_text()
    fix = carried_fix.carried(program.fix, source, program.path.name, text, program.again)
    if fix.text is None:
        return "undecided", f"the fix finds no place: {fix.why}"
    (repro.parent / "fixed.py").write_text(fix.text)
    verdict, why = with_fix(*shrink("fixed.py", *program.asked, "--check", seconds=CHECK), fix.whole, fix.why)
    if verdict == "true" and not program.gpu and (gone := still_happens.what_is_lost(text, fix.text, program.arch)):
        return "undecided", f"with the fix {gone}"
    return verdict, why


def with_fix(code: int | None, said: str, error: str, whole: bool, why: str) -> tuple[str, str]:
    """The verdict by what `--check` says of a result with its fix. `why`: what of the fix finds no place."""
    part = "" if whole else f"; a part of the fix finds no place ({why})"
    if code == FAULTS:
        return ("slipped" if whole else "undecided"), f"with the fix it shows the fault, too{part}"
    if code == NO_FAULT and re.search(r"ended well|ends without a fault", error):
        return "true", f"with the fix it ends well{part}"
    return "undecided", f"with the fix: {_last(error or said)}{part}"


def _last(text: str) -> str:
    """What `shrink` complains of; else its last line."""
    found = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in found if line.startswith("shrink: ")), found[-1] if found else "")


def all_measured(wanted: Sequence[Program], given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows, as each is known. Those whose turn does not come have none."""
    end = time.monotonic() + given.until

    def row(program: Program) -> dict[str, Any] | None:
        if time.monotonic() > end:
            return None
        try:
            return measured(program, given.out / program.set / program.name, given)
        except Exception as error:  # one program may not end the others
            told = {"set": program.set, "name": program.name, "seconds": 0, "before": [], "after": [], "ended": ""}
            return {**told, "verdict": "undecided", "why": f"the runner failed: {error!r}"[:LONGEST]}

    with ThreadPoolExecutor(given.at_a_time) as threads:
        under_way = [threads.submit(row, program) for program in wanted]
        try:
            for done in as_completed(under_way):
                if (found := done.result()) is not None:
                    yield found
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """All rows, then how many of each verdict there are."""
    cells = [["set", "program", "verdict", "lines", "tokens", "seconds", "search", "why"], ["---"] * 8]
    for row in sorted(rows, key=lambda one: (one["set"], one["name"])):
        sizes = [f"{one} to {other}" for one, other in zip(row["before"], row["after"])] or ["", ""]
        why = "" if row["verdict"] == "true" else row["why"].replace("|", "/")
        cells.append([row["set"], row["name"], row["verdict"], *sizes, str(row["seconds"]), row["ended"], why])
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in truth.VERDICTS}
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + f"\n\nOf {len(rows)}: {counted}."


def _rows(file: Path, commit: str | None) -> list[dict[str, Any]]:
    """The last row of each program; with a commit, only those of that tree."""
    told = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    last = {(row["set"], row["name"]): row for row in told if commit is None or row["commit"] == commit}
    return list(last.values())


def _commit() -> str:
    try:
        return packages.commit()
    except (OSError, subprocess.CalledProcessError):
        return "a copy"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where rows and texts go")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the programs, with their programs.toml")
    parser.add_argument("--set", action="append", help="only this one; repeatable")
    parser.add_argument("--only", action="append", help="only this program; repeatable")
    parser.add_argument("--gpu", action="store_true", help="only those that need a GPU, instead of the others")
    parser.add_argument("--on-gpu", action="store_true", help="all, as a user with a GPU asks for them")
    parser.add_argument("--max-time", type=float, default=60.0, help="seconds of search")
    parser.add_argument("--timeout", type=float, help="seconds of a reduction; default: search, and 240 more")
    parser.add_argument("--at-a-time", type=int, default=1, help="programs")
    parser.add_argument("--jobs", type=int, help="lanes of each; default: its share of the cores")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds, after which none is begun")
    parser.add_argument("--table", action="store_true", help="only print what is known")
    given = parser.parse_args()
    given.out, file = given.out.resolve(), given.out.resolve() / "rows.jsonl"
    if given.table:
        print(table(_rows(file, None)))
        return
    given.jobs = given.jobs or max(1, cores.usable() // given.at_a_time)
    given.timeout = given.timeout or given.max_time + 240
    commit = _commit()
    done = {(row["set"], row["name"]) for row in _rows(file, commit)}
    found = programs(given.folder.resolve())
    if given.on_gpu:
        given.gpu, found = True, [one for one in map(as_on_gpu, found) if one is not None]
    wanted = [
        one
        for one in found
        if (given.set is None or one.set in given.set)
        and (one.name in given.only if given.only else one.gpu == given.gpu)
        and (one.set, one.name) not in done
    ]
    if unknown := {*(given.only or [])} - {one.name for one in wanted} - {name for _, name in done}:
        raise SystemExit(f"no such program: {', '.join(sorted(unknown))}")
    given.out.mkdir(parents=True, exist_ok=True)
    for row in all_measured(wanted, given):
        with file.open("a") as rows:
            rows.write(json.dumps({**row, "commit": commit}) + "\n")
        print(f"{row['verdict']:12} {row['seconds']:4} s  {row['set']}/{row['name']}: {row['why']}", flush=True)
    print(table(_rows(file, commit)))


if __name__ == "__main__":
    main()
