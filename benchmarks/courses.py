"""What a change of the search brings: every original of the corpus reduced on the virtual GPU, tries, seconds, tokens.

    python benchmarks/courses.py --json after.json                        this checkout
    python benchmarks/courses.py --tool OTHER/CHECKOUT --json before.json  another one, the same way
    python benchmarks/courses.py --compare before.json after.json         both, side by side
    python benchmarks/courses.py FILE.py ... --oracle SPEC                other programs

    python benchmarks/courses.py --with=--no-credit --with=--no-ahead ...  what each of these brings

Each reduction is a process of its own in a folder of its own, one after another, with empty caches. `economy` is what
`result.json` says of spared tries; older checkouts do not tell.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.corpus.case import cases  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="cases of the corpus, or files; all cases if none is named")
    parser.add_argument("--oracle", action="append", default=[], help="for files")
    parser.add_argument("--arch", default="sm_90", help="`none` for the GPU of this machine")
    parser.add_argument("--tool", type=Path, default=ROOT, help="the checkout that reduces")
    parser.add_argument("--with", dest="extra", action="append", default=[], metavar="OPTION", help="for the command")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the repros in this folder")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    given = parser.parse_args()
    if given.compare:
        compare(*(json.loads(path.read_text()) for path in given.compare))
        return
    figures: dict[str, Any] = {}
    for name, path, options in programs(given.names, given.oracle):
        options += ["--arch", given.arch] if given.arch != "none" else []
        figures[name] = reduced(path, [*options, *given.extra], given.tool)
        print(f"{name:32} {told(figures[name])}", flush=True)
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"{name}.py").write_text(figures[name]["text"])
        if given.json:
            given.json.write_text(json.dumps(figures, indent=1) + "\n")


def programs(names: Sequence[str], oracle: Sequence[str]) -> list[tuple[str, Path, list[str]]]:
    """Name, file and options of each. Cases for another Triton show nothing here, and say so."""
    files = [Path(name) for name in names if name.endswith(".py")]
    if files:
        return [(file.stem, file, _options(oracle, {})) for file in files]
    # What runs in the interpreter needs no architecture, and has none.
    corpus = {case.name: case for case in cases(ROOT / "corpus") if case.needs.architecture}
    return [(name, corpus[name].original, _options(corpus[name].oracle, corpus[name].environment))
            for name in names or corpus]  # fmt: skip


def _options(oracle: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    words = [word for spec in oracle for word in ("--oracle", spec)]
    return words + [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]


def reduced(path: Path, options: Sequence[str], tool: Path) -> dict[str, Any]:
    """One reduction: what the command's --json says of it, cut down to the figures."""
    with tempfile.TemporaryDirectory(prefix="courses-") as folder:
        command = [sys.executable, "-m", "shrinkray_gpu", str(path.absolute()), *options, "--json", "--restart"]
        begun = time.monotonic()
        done = subprocess.run(
            [*command, "--output", str(Path(folder, "repro.py"))],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tool.absolute()), os.environ.get("PYTHONPATH", "")])},
            capture_output=True,
            text=True,
        )
        wall = time.monotonic() - begun
    last = next(reversed(done.stdout.splitlines()), "{}")
    result = json.loads(last)  # alone, and no event, in checkouts from before there were events
    if "after" not in result:
        return {"error": done.stderr[-500:], "text": "", "wall": round(wall, 1)}
    return {
        "tokens": result["after"][1],
        "lines": result["after"][0],
        "tries": sum(result["tries"].values()),
        "by tier": result["tries"],
        "search": round(result["seconds"]["search"], 1),
        "wall": round(wall, 1),
        "economy": result.get("economy", {}),
        "text": result["text"],
    }


def told(figure: dict[str, Any]) -> str:
    if "error" in figure:
        return f"FAILED: {figure['error'].strip().splitlines()[-1:]}"
    economy = ", ".join(f"{name} {value}" for name, value in figure["economy"].items())
    return (
        f"{figure['tokens']:5} tokens {figure['lines']:4} lines {figure['tries']:6} tries "
        f"{figure['search']:7.1f} s search {figure['wall']:7.1f} s wall  {economy}"
    )


def compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    print(f"{'':32} {'tokens':>14} {'tries':>16} {'search s':>18}")
    sums = [[0.0, 0.0] for _ in range(3)]
    for name in after:
        old, new = before.get(name, {"error": ""}), after[name]
        if "error" in old or "error" in new:
            print(f"{name:32} not in both")
            continue
        cells = []
        for at, key in enumerate(("tokens", "tries", "search")):
            sums[at][0] += old[key]
            sums[at][1] += new[key]
            cells.append(f"{old[key]:>7} -> {new[key]:<6}")
        print(f"{name:32} {' '.join(cells)}")
    ratios = " ".join(f"{new / old if old else 0:>16.2f}" for old, new in sums)
    print(f"{'all, after / before':32} {ratios}")


if __name__ == "__main__":
    main()
