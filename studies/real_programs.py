"""What `shrink` says of released packages' own tests, with nothing planted.

    python -m studies.real_programs --seed N [--tests N] [--asked N] [--until HH:MM] [--folder DIR] [--results FILE]

Each package gets an environment of its own, and its sdist is unpacked, which holds the tests. A seeded sample of the
tests that pytest collects is run on the virtual `sm_90`, as pytest runs it. Each that fails then goes to the command
`shrink`, and of each package the first few that do not. Of a package whose sdist has no tests, the calls in
`benchmarks/seeding/calls` are drawn. Each answer is a row of the file of results. The last of a test
counts, and what is there is not run again. The table of `real_programs.md` is printed.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.seeding.programs import programs
from shrinkray_gpu.command.module_search import locate
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "real"
RESULTS = Path(__file__).parent / "results" / "real_programs.jsonl"
ARCH = 90
SECONDS = 60.0
"""Of a plain run, and of a search."""
KILLED = 240.0
"""Seconds that one command may take in all: its runs of the original, the search, the final check."""
BASE = ("torch==2.13.0+cpu", "triton==3.7.1", "pytest==9.2.0", "numpy==2.4.6")
WELL = ("passed", "skipped")
ORDER = {"passed": 1, "skipped": 2, "timed out": 3}
"""In which the command is asked, if time is short: first of what failed."""
NOT_ASKED_YET = "not asked"
_SKIPPED = "each test is skipped"
_NODE = re.compile(r"^\S+\.py::\S")


@dataclass(frozen=True)
class Package:
    """A release, and where its tests are."""

    distribution: str
    version: str
    tests: str = ""
    """Folder in the sdist; empty where it has none."""
    calls: str = ""
    """File of `benchmarks/seeding/calls` that takes their place."""
    needed: tuple[str, ...] = ()
    """Besides: what its import and its tests need."""
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def pinned(self) -> str:
        return f"{self.distribution}=={self.version}"


PACKAGES = (
    Package("liger-kernel", "0.8.5", "test", needed=("transformers==5.0.0", "pytest-asyncio==1.5.0")),
    Package("conch-triton-kernels", "1.3", "tests", needed=("einops==0.8.2",)),
    Package("cut-cross-entropy", "25.1.1", "tests"),
    Package("triton-sigmoid", "0.1.2", "tests", needed=("pandas==2.3.3",)),
    Package("siglip-kernel", "0.1.2", "tests"),
    Package("ibu-boost", "0.1.1", "tests", needed=("scikit-learn==1.7.2",)),
    Package("bm3d-triton", "0.1.1", "tests", needed=("Pillow==11.3.0",)),
    Package("lanczos-triton", "0.1.0", "tests", needed=("Pillow==11.3.0",)),
    Package("fla-core", "0.6.0", calls="fla", needed=("einops==0.8.2",)),
    Package("torchao", "0.18.0", calls="torchao"),
)


@dataclass(frozen=True)
class Row:
    """What became of one test or call."""

    package: str
    test: str
    plain: str
    """Of the plain run: `passed`, `skipped`, `failed`, `ours`, `timed out` or `died`."""
    launches: int
    kernels: int
    exit: int
    """Of the command; negative: the signal that ended it."""
    ended: str
    """`repro`, `unverified`, `no fault`, `offer` (the test caught a failure, which may be asked for), `no repro`,
    `refused`, `usage`, `traceback`, `too slow`, `died`,
    `not asked`."""
    said: str
    """The last line that the command says of it; where it was not asked, that the test ends in."""
    before: int
    """Lines of the original, and of the repro."""
    after: int
    seconds: float


@dataclass(frozen=True)
class Place:
    """A package, installed."""

    package: Package
    python: Path
    cwd: Path

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, **dict(self.package.environment)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True, help="drawn when this file is frozen")
    parser.add_argument("--tests", type=int, default=10, help="of each package (default: 10)")
    parser.add_argument("--asked", type=int, default=1, help="of those that end well, by the command (default: 1)")
    parser.add_argument("--until", default="", help="begin nothing after this time of day, as 16:50")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for environments and sdists")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", default="", help="this distribution alone")
    given = parser.parse_args()
    chosen = [one for one in PACKAGES if given.only in ("", one.distribution)]
    wanted: list[tuple[Place, Row]] = []
    for package in chosen:
        if not _is_late(given.until):
            place = installed(package, given.folder)
            rows = list(plain_rows(place, given))
            well = [row for row in rows if row.plain in WELL]
            wanted += [(place, row) for row in rows if row not in well[given.asked :]]
    for place, row in sorted(wanted, key=lambda each: ORDER.get(each[1].plain, 0)):
        if row.ended == NOT_ASKED_YET and not _is_late(given.until):
            keep(asked(place, row), given.results)
    print(table(list(read(given.results).values())))


def keep(row: Row, results: Path) -> Row:
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    print(f"{row.package} {row.test}: {row.plain}, {row.ended}, {row.seconds} s: {row.said}", flush=True)
    return row


def _is_late(until: str) -> bool:
    return bool(until) and datetime.now().strftime("%H:%M") >= until


def plain_rows(place: Place, given: argparse.Namespace) -> Iterator[Row]:
    """The sample of a package, each run once on the virtual GPU. Its user would have no fence either."""
    name, known = place.package.distribution, read(given.results)
    with _Runs(place) as runs:
        found = sorted(programs_of(place, runs, given.folder))
        sample = random.Random(f"{given.seed} {name}").sample(found, min(given.tests, len(found)))
        print(f"{place.package.pinned}: {len(sample)} of {len(found)}", flush=True)
        for test in sample:
            if (name, test) in known:
                yield known[name, test]
            elif not _is_late(given.until):
                yield keep(seen(name, test, runs.run((test,), SECONDS)), given.results)


def installed(package: Package, folder: Path) -> Place:
    """In an environment of its own, over one with torch, Triton and pytest that all of them see."""
    folder = folder.absolute()
    base = _environment(folder / "base", BASE)
    python = _environment(folder / package.distribution, (package.pinned, *package.needed), base)
    if not package.tests:
        calls = folder / f"{package.distribution}-calls"
        calls.mkdir(exist_ok=True)
        return Place(package, python, calls)
    found = f"{package.distribution.replace('-', '_')}-{package.version}"
    if not (folder / found).is_dir():
        words = ("download", "--quiet", "--no-deps", "--no-binary", package.distribution, "--no-build-isolation")
        subprocess.run([base, "-m", "pip", *words, "--dest", folder, package.pinned], check=True)
        with tarfile.open(folder / f"{found}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return Place(package, python, folder / found)


def _environment(folder: Path, wanted: tuple[str, ...], base: Path | None = None) -> Path:
    """Its interpreter. What it needs besides comes with pip."""
    python, done = folder / "bin" / "python", folder / ".done"
    if not done.exists():
        subprocess.run([base or sys.executable, "-m", "venv", "--clear", folder], check=True)
        if base is not None:
            site = next(folder.glob("lib/python*/site-packages"))
            (site / "_base.pth").write_text(f"{next(base.parents[1].glob('lib/python*/site-packages'))}\n")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        done.touch()
    return python


def programs_of(place: Place, runs: _Runs, folder: Path) -> list[str]:
    """The tests that pytest collects where the virtual GPU is the machine's; or the files of the calls."""
    if place.package.calls:
        for program in programs():
            if program.package == place.package.calls:
                (place.cwd / f"{program.key}.py").write_text(program.text, encoding="utf-8")
        return [one.name for one in place.cwd.glob("*.py")]
    record = folder / f"{place.package.distribution}.collected"
    if not record.exists():
        run = runs.run(("--collect-only", "--verbosity=-1", "--no-header", "--maxfail=0", place.package.tests), 600.0)
        nodes = [line for line in run.stdout.splitlines() if _NODE.match(line)]
        # Where pytest collects nothing, what is asked is the folder: it is what its user would see.
        nodes = nodes or [place.package.tests]
        record.write_text("\n".join(nodes) + "\n", encoding="utf-8")
    return record.read_text(encoding="utf-8").splitlines()


class _Runs:
    """Plain runs of one package, in forks of one process that has torch."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pool: Pool | None = None
        self._scratch = tempfile.TemporaryDirectory(prefix="real-", ignore_cleanup_errors=True)

    def __enter__(self) -> _Runs:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()
        self._scratch.cleanup()

    def run(self, words: tuple[str, ...], seconds: float) -> Run:
        python, cwd = str(self._place.python), self._place.cwd
        if self._place.package.calls:
            file = cwd / words[0]
            script, text = Script(file, cwd=cwd), file.read_text(encoding="utf-8")
        else:
            command = locate("pytest", words, python=python, cwd=cwd, environment=self._place.variables)
            script, text = Script(command.path, cwd=command.cwd, name=command.command_line), command.text
        if self._pool is None:
            about: dict[str, Any] = {"python": python, "imports": ("torch",), "own": (str(cwd), str(cwd)), "arch": ARCH}
            about |= {"left_open": NOT_ASKED, "confine": False}
            setup = private_setup(Path(self._scratch.name), self._place.variables, **about)
            self._pool = Pool(script, setup, mode="virtual", jobs=1, seconds=seconds)
        return self._pool.serving(script, seconds=seconds).run(text, machine_code=False)


def seen(package: str, test: str, run: Run) -> Row:
    """What a plain run tells; the command is not asked yet."""
    words = run.trouble or (run.failure.text if run.failure is not None else "")
    if (ending := _plainly(run)) == "failed" and not package_calls(package):
        words = next((line for line in reversed(run.stdout.splitlines()) if line.startswith(("E  ", "FAILED"))), words)
    kernels = len({one.kernel for one in run.launches})
    said = " ".join(words.split())[:300]
    return Row(package, test, ending, len(run.launches), kernels, 0, NOT_ASKED_YET, said, 0, 0, round(run.seconds, 1))


def package_calls(distribution: str) -> bool:
    return any(one.distribution == distribution and one.calls for one in PACKAGES)


def asked(place: Place, row: Row) -> Row:
    """The same test, by the command."""
    began = time.monotonic()
    code, events, said = commanded(place, row.test)
    last = events[-1] if events else {}
    started: Mapping[str, Any] = next((one for one in events if one["event"] == "started"), {})
    return replace(
        row,
        exit=code,
        ended=ended(code, last, said),
        said=" ".join(_last_words(last, said).split())[:400],
        before=started.get("lines", 0),
        after=last.get("lines", 0) if last.get("event") == "result" else 0,
        seconds=round(time.monotonic() - began, 1),
    )


def _plainly(run: Run) -> str:
    if run.trouble:
        return "ours"
    if run.timed_out:
        return "timed out"
    if run.signal or run.exit not in (0, 1):
        return "died"
    if run.failure is not None and run.failure.text.startswith(_SKIPPED):
        return "skipped"
    return "failed" if run.exit or run.failure is not None and run.failure.type != "SystemExit" else "passed"


def commanded(place: Place, test: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, events, and what else was said by `shrink`. After its time it is interrupted once, as by Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="real-", ignore_cleanup_errors=True) as folder:
        words = [sys.executable, "-m", "shrinkray_gpu", "--python", str(place.python), "--arch", f"sm_{ARCH}"]
        words += ["--max-time", f"{SECONDS:.0f}", "--jobs", "1", "--json", "--output", f"{folder}/repro.py"]
        words += [test] if place.package.calls else ["-m", "pytest", test]
        variables = {**place.variables, "PYTHONPATH": str(ROOT)}
        with (
            open(f"{folder}/errors", "w+", encoding="utf-8", errors="replace") as errors,
            subprocess.Popen(
                words, cwd=place.cwd, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as running,
        ):
            try:
                out, _ = running.communicate(timeout=KILLED)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGINT)
                out, _ = running.communicate()
            errors.seek(0)
            said = errors.read()
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return running.returncode, events, said


def ended(code: int, last: Mapping[str, Any], said: str) -> str:
    if "Traceback (most recent call last)" in said or "a bug of shrink's own" in said:
        return "traceback"
    if code == 130:
        return "too slow"
    if last.get("event") == "result":
        return "repro" if code == 0 else "unverified"
    if "may be asked for" in last.get("text", ""):
        return "offer"
    if "ends without a fault" in last.get("text", ""):
        return "no fault"
    return {2: "usage", 3: "no repro", 5: "refused"}.get(code, "died")


def _last_words(last: Mapping[str, Any], said: str) -> str:
    if last.get("event") == "result":
        return f"{last.get('spec') or last.get('oracle') or ''}"
    return str(last.get("text") or (said.strip().splitlines() or [""])[-1])


def read(path: Path) -> dict[tuple[str, str], Row]:
    """By package and test."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [Row(**json.loads(line)) for line in lines]
    return {(one.package, one.test): one for one in rows}


def table(rows: list[Row]) -> str:
    """In Markdown: a row a package."""
    kinds = sorted({one.ended for one in rows})
    by = collections.defaultdict(list)
    for one in rows:
        by[one.package].append(one)
    head = f"| package | tests | reach a launch | {' | '.join(kinds)} | median s |"
    lines = [head, "| --- " * (len(kinds) + 4) + "|"]
    for package, own in [*by.items(), ("all", rows)]:
        reach = sum(one.launches > 0 for one in own)
        counts = [str(sum(one.ended == kind for one in own)) for kind in kinds]
        median = sorted(one.seconds for one in own)[len(own) // 2] if own else 0.0
        lines.append(f"| {package} | {len(own)} | {reach} | {' | '.join(counts)} | {median:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
