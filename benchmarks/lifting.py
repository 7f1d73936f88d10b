"""Programs that no single script holds, lifted and reduced: how small, how fast, in how many tries, and how.

    python benchmarks/lifting.py                        all, one after the other, on this machine's GPU
    python benchmarks/lifting.py helion_matmul package  these
    python benchmarks/lifting.py --json lifting.json --options "--jobs 8"

The programs are those of tests/gpu/lifting, with the options and limits of tests/gpu/lifting/cases.py.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.gpu.lifting.cases import CASES, Lifted, lift  # noqa: E402

ROW = "{:20} {:>6} {:>6} {:>8} {:>6}  {}"


def main() -> None:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(names)}")
    parser.add_argument("--options", type=shlex.split, default=[], help="more options for shrink, in quotes")
    parser.add_argument("--json", type=Path, help="write everything there")
    given = parser.parse_args()
    if unknown := sorted(set(given.name) - set(names)):
        parser.error(f"no such program: {', '.join(unknown)} (there are {', '.join(names)})")
    print(ROW.format("program", "before", "after", "seconds", "tries", "how"))
    told: list[dict[str, Any]] = []
    for case in CASES:
        if given.name and case.name not in given.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            lifted = lift(case, Path(folder), *given.options)
        print(row(lifted), flush=True)
        told.append({"name": case.name, "code": lifted.code, "wall": lifted.seconds, **lifted.told})
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n")


def row(lifted: Lifted) -> str:
    name, seconds = lifted.case.name, f"{lifted.seconds:.0f}"
    if not lifted.told:
        return ROW.format(name, "", "", seconds, "", f"exit code {lifted.code}: {lifted.errors.strip()[-200:]}")
    before, after, tries = lifted.told["before"][0], lifted.lines, sum(lifted.told["tries"].values())
    return ROW.format(name, before, after, seconds, tries, lifted.told.get("lifted") or "not lifted")


if __name__ == "__main__":
    main()
