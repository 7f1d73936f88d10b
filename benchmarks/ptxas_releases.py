"""What several releases of ptxas make of the same PTX: which refuse it, spill more, or take more registers.

    python benchmarks/ptxas_releases.py FOLDER... --ptxas 12.8,12.9,13.0,13.5 > benchmarks/results/ptxas_releases.json
    python benchmarks/ptxas_releases.py --case FILE.ptx KERNEL --ptxas 12.4,12.6,12.8,12.9,13.0,13.5

Each FOLDER is searched for .ptx, as a cache of Triton's has it; of the same PTX without locations, one is taken.

With --case, a difference that was found becomes what NVIDIA asks for, beside FILE: a table of what each release makes
of it (.json), and a launcher that needs the driver alone (_launch.py). Nobody recorded a launch of it: so that has one
block, a buffer for each parameter of 64 bits, and zeros.
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
from shrinkray_gpu.ptx.launcher import entry_parameters, script
from shrinkray_gpu.ptx.ptx_file import gpu_name, read_ptx
from shrinkray_gpu.ptx.ptx_text import count, write
from shrinkray_gpu.ptx.release_table import PASSES, UNFIT, ReleaseRow, difference, row

SECONDS = 120.0
BUFFER = 1 << 20
"""Bytes behind a pointer of a launch that nobody recorded."""
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


def case(path: Path, kernel: str, tools: list[Path], flags: str) -> None:
    """Table and launcher of one file."""
    file = read_ptx(path)
    asked = (f"--gpu-name={gpu_name(file, '', path)}", *(flags.split() or file.flags))
    rows = [row(tool, file.text, asked, seconds=SECONDS, wanted=None) for tool in tools]
    told = {"file": path.name, "difference": difference(rows), "rows": [each.to_json() for each in rows]}
    path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    bits, threads = entry_parameters(file.text, kernel, 128)
    lines = [f'    ("buffer", {BUFFER}, 0, "f32"),\n' if each == 64 else f'    ("u{each}", 0),\n' for each in bits]
    made = f"FILE = {path.name!r}\nKERNEL = {kernel!r}\nGRID = (1, 1, 1)\nBLOCK = ({threads}, 1, 1)\nSHARED = 0\n"
    path.with_name(f"{path.stem}_launch.py").write_text(script(made, "".join(lines)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--case", nargs=2, metavar=("FILE", "KERNEL"))
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--flags", default="")
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--smallest", type=int, default=60)
    asked = parser.parse_args()
    tools = [environments.with_ptxas(each, python=sys.executable) for each in asked.ptxas.split(",")]
    if asked.case:
        case(Path(asked.case[0]), asked.case[1], tools, asked.flags)
        return
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
