"""What several releases of ptxas make of the same PTX: which refuse it, spill more, or take more registers.

    python benchmarks/ptxas_releases.py FOLDER... --ptxas 12.8,12.9,13.0,13.5 > benchmarks/results/ptxas_releases.json

Each FOLDER is searched for .ptx, as a cache of Triton's has it; of the same PTX without locations, one is taken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

from shrinkray_gpu.corpus import environments
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.ptx.ptx_file import gpu_name, read_ptx
from shrinkray_gpu.ptx.ptx_text import count, write
from shrinkray_gpu.ptx.release_table import PASSES, UNFIT, ReleaseRow, difference, row

SECONDS = 120.0
_LOC = re.compile(r"^(?:\.loc|\.file|\.section).*\n", re.M)


def different(folders: list[Path], most: int, smallest: int) -> list[tuple[Path, int]]:
    """Files whose code is not that of an earlier one, with their instructions, the largest first."""
    found: dict[str, tuple[Path, int]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.ptx")):
        try:
            module = read_ptx(path).module(path)
        except UsageError:
            continue
        if count(module) >= smallest:
            found.setdefault(hashlib.sha256(_LOC.sub("", write(module)).encode()).hexdigest(), (path, count(module)))
    return sorted(found.values(), key=lambda each: -each[1])[:most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--flags", default="")
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--smallest", type=int, default=60)
    asked = parser.parse_args()
    tools = [environments.with_ptxas(each, python=sys.executable) for each in asked.ptxas.split(",")]
    files = different(asked.folders, asked.most, asked.smallest)
    found, faults = [], 0
    for number, (path, size) in enumerate(files):
        file = read_ptx(path)
        flags = (f"--gpu-name={gpu_name(file, '', path)}", *asked.flags.split())
        rows: list[ReleaseRow] = [row(tool, file.text, flags, seconds=SECONDS, wanted=None) for tool in tools]
        said = difference(rows)
        faults += any(each.outcome not in (PASSES, UNFIT) for each in rows)
        if said:
            print(f"{number}/{len(files)} {path}: {said}", file=sys.stderr, flush=True)
            found.append({"file": path.name, "path": str(path), "instructions": size, "difference": said,
                          "rows": [each.to_json() for each in rows]})  # fmt: skip
    print(json.dumps({"files": len(files), "with a failing release": faults, "differences": found}, indent=1))


if __name__ == "__main__":
    main()
