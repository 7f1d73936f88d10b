"""`python -m tests.hostile.inject [--subject NAME] [--kind KIND]... [--seeds N] [--json FILE]`: see the package."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.hostile.inject import schedules
from tests.hostile.inject.subjects import SUBJECTS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.inject")
    parser.add_argument("--subject", choices=SUBJECTS, default="lookup")
    parser.add_argument("--kind", choices=schedules.KINDS, action="append", help="default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--every", type=int, default=0, metavar="N", help="each N-th write fails, in place of seeds")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    subject = SUBJECTS[given.subject]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="inject-") as made, ThreadPoolExecutor(given.at_once) as at_once:
        (first := Path(made, "undisturbed")).mkdir()
        known = schedules.undisturbed(subject, first)
        print(f"{subject.name}: {known.seconds:.0f} s, {known.operations} operations, nothing injected", flush=True)

        def one(kind: str, seed: int) -> schedules.Outcome:
            folder = Path(tempfile.mkdtemp(prefix=f"{kind}-{seed}-", dir=made))
            if given.every:
                drawn = schedules.no_room(seed, 1)
                came = schedules.under(drawn, "each_write", seed, subject, known, folder)
            else:
                came = schedules.outcome(kind, seed, subject, known, folder)
            if not came.problem:
                shutil.rmtree(folder)
            else:
                shutil.copytree(folder, Path(tempfile.gettempdir(), "inject-problems", folder.name), symlinks=True)
            print(
                f"{came.kind} {came.seed}: {came.what}: {came.injected} injected, exit code {came.code} in "
                f"{came.seconds:.0f} s {came.message}" + (f"\n  PROBLEM {came.problem}" if came.problem else ""),
                flush=True,
            )
            return came

        if given.every:
            asked = [("each_write", at) for at in range(1 + given.first, known.operations + 1, given.every)]
        else:
            kinds = given.kind or list(schedules.KINDS)
            asked = [(kind, seed) for seed in range(given.first, given.first + given.seeds) for kind in kinds]
        outcomes = list(at_once.map(lambda pair: one(*pair), asked))
    codes = Counter((came.kind, came.code) for came in outcomes)
    problems = sum(bool(came.problem) for came in outcomes)
    for (kind, code), count in sorted(codes.items()):
        print(f"{kind}: {count} ended with {code}")
    met = sum(came.injected > 0 for came in outcomes)
    print(f"{len(outcomes)} schedules, {met} met something, {problems} problems")
    if given.json:
        given.json.write_text(json.dumps([asdict(came) for came in outcomes], indent=1) + "\n")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
