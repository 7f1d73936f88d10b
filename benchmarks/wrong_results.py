"""Wrong results, asked for by the words of their assertion alone: what is left, and whether it is the bug.

    python benchmarks/wrong_results.py run --arch sm_90 [NAME...]    reduces each, and judges the repro by the fix
    python benchmarks/wrong_results.py table                         the last row of each program

Programs and fixes are in benchmarks/wrong_results/, by a hand that did not know the tool. A repro is true if the
fix, carried to what is left of its place, lets it end well; lost, if nothing of the place is left, or it still fails.
Without a GPU, Triton's interpreter computes what the kernels write. A row a program is added as soon as it is known.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import carried_fix  # noqa: E402

FOLDER = ROOT / "benchmarks" / "wrong_results"
RESULTS = ROOT / "benchmarks" / "results" / "wrong_results.json"


def shrink(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "shrinkray_gpu", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def measured(name: str, where: list[str], seconds: float) -> dict[str, Any]:
    """Reduce one program, and judge what came out."""
    told = tomlkit.parse((FOLDER / f"{name}.toml").read_text()).unwrap()
    source = (FOLDER / f"{name}.py").read_text()
    row: dict[str, Any] = {"name": name, "kind": told["kind"], "where": told["where"], "smallest": told["smallest"]}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / f"{name}.py").write_text(source)
        asked, begun = ["--oracle", str(told["check"]), *where], time.monotonic()
        command = told.get("command", [f"{name}.py"])
        said = shrink(*asked, "--no-report", "--max-time", str(seconds), *command, cwd=folder)
        row |= {"seconds": round(time.monotonic() - begun), "exit": said.returncode}
        repro = folder / (f"repro_pytest_{name}.py" if "pytest" in command else f"repro_{name}.py")
        if said.returncode or not repro.exists():
            return row | {"judged": "not reduced", "why": said.stderr.strip().splitlines()[-1][:200]}
        text = repro.read_text()
        same = next((line.strip() for line in said.stdout.splitlines() if line.strip().startswith("same fault")), "")
        row |= {"before": _lines(source), "lines": _lines(text), "same": bool(same), "text": text}
        return row | _judged(name, source, text, asked, folder)


def _judged(name: str, source: str, text: str, asked: list[str], folder: Path) -> dict[str, Any]:
    again = tomlkit.parse((FOLDER / f"{name}.toml").read_text()).unwrap().get("again", ())
    carried = carried_fix.carried(FOLDER / f"{name}.fix.diff", source, f"{name}.py", text, again)
    mended, whole, why = carried.text, carried.whole, carried.why
    if mended is None:
        return {"judged": "undecided", "why": f"the fix finds no place: {why}"}
    (folder / "mended.py").write_text(mended)
    said = shrink("mended.py", *asked, "--check", cwd=folder)
    if said.returncode == 3 and "ended well" in said.stderr:
        return {"judged": "true", "why": ""}
    last = " ".join([line for line in said.stderr.splitlines() if line.strip()][-1:])[:200]
    if not whole:
        return {"judged": "undecided", "why": f"part of the fix finds no place ({why}); with the rest: {last}"}
    return {"judged": "lost", "why": f"with the fix: {last}"}


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _rows(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--arch", help="on the virtual GPU; else the real one")
    parser.add_argument("--max-time", type=float, default=110.0, help="seconds of search")
    parser.add_argument("--jobs", type=int, help="of each reduction")
    parser.add_argument("--json", type=Path, default=RESULTS, help="the file that rows are added to")
    given = parser.parse_intermixed_args()
    names = given.names or sorted(path.stem for path in FOLDER.glob("*.toml"))
    where = ["--arch", given.arch] if given.arch else []
    where += ["--jobs", str(given.jobs)] if given.jobs else []
    if given.action == "run":
        asked = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "a copy"
        for name in names:
            row = measured(name, where, given.max_time)
            row |= {"commit": commit, "device": given.arch or "GPU"}
            given.json.write_text(json.dumps([*_rows(given.json), row], indent=1) + "\n")
            print(name, row["judged"], row.get("lines", "-"), "lines", row["seconds"], "s", row["why"], flush=True)
        return
    last = {row["name"]: row for row in _rows(given.json)}
    for name in names:
        row = last.get(name, {})
        shown = (row.get(key, "-") for key in ("kind", "where", "judged", "before", "lines", "seconds", "commit"))
        print(" | ".join([name, *map(str, shown)]))


if __name__ == "__main__":
    main()
