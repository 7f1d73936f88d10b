"""Whether a lane can survive its faulting tries, what each then costs, and whether it still tells the truth.

    python benchmarks/survive.py --tries 20 --seconds 100 [--json results/survive_h100.json]

Today a faulting try spends a CUDA context. Under `compute-sanitizer --destroy-on-device-error kernel` a precise fault
(an out-of-bounds or misaligned access of global memory) ends the kernel and leaves the context alive. This runs the
same faulting launch both ways (`survive_lane.py`): `fresh`, each in a forked child with a context of its own, as lanes
are now; `survived`, one after another in one process under the tool. The host sees no error there, so a verdict has to
come from the tool's record. It is sound if

- each faulting launch leaves a record with the very address that it went to, soon enough to wait for it;
- each clean launch between two faulting ones writes what it should, and leaves no record;
- the context has no error at the end.

`new kernel` is what a reduction does: no two candidates have the same kernel, and the tool instruments each at its
first launch. `near` is an access just behind a tensor: one that stays in mapped memory is not reported (FACTS).
Partial results are printed where time runs out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shrinkray_gpu.runner import sanitizer, toolkit  # noqa: E402

LANE = Path(__file__).with_name("survive_lane.py")
SURVIVE = ("--tool", "memcheck", "--destroy-on-device-error", "kernel", "--print-limit", "100000")
LEANER = ("--show-backtrace", "no")
"""Frames of Python and torch with each record; left out where this version of the tool takes the option."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tries", type=int, default=20, help="of each kind")
    parser.add_argument("--seconds", type=float, default=100, help="for all of it; most goes to what survives")
    parser.add_argument("--python", default=sys.executable, help="with torch and Triton")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    tool = sanitizer.find(given.python, os.environ)
    if tool is None:
        raise SystemExit(toolkit.missing(sanitizer.NAME))
    with tempfile.TemporaryDirectory(prefix="survive-") as made:
        folder = Path(made)
        told: dict[str, Any] = {"command": sys.argv, "tool": _version(tool)}
        told["fresh"] = _lane([], "fresh", given, folder, 0.25 * given.seconds)
        for more in (LEANER, ()):
            log = folder / "records.txt"
            under = [str(tool), *SURVIVE, *more, "--log-file", str(log)]
            told["survived"] = _lane(under, "survived", given, folder, 0.7 * given.seconds, SURVIVE_LOG=str(log))
            if "kinds" in told["survived"]:
                break  # else it did not start: perhaps of an option
        log = folder / "records.txt"
        told["first record"] = log.read_text(errors="replace")[:1500] if log.exists() else "no log"
    told["conclusion"] = conclusion(told)
    text = json.dumps(told, indent=1)
    print(text)
    if given.json:
        given.json.write_text(text + "\n")


def _version(tool: Path) -> str:
    said = subprocess.run([str(tool), "--version"], capture_output=True, text=True).stdout
    return " ".join(said.split()[-6:])


def _lane(
    prefix: Sequence[str], how: str, given: argparse.Namespace, folder: Path, seconds: float, **environment: str
) -> dict[str, Any]:
    """What the lane had written when it ended, or when its time was up."""
    out = folder / f"{how}.json"
    command = [*prefix, given.python, str(LANE), how, str(given.tries), str(out), str(0.9 * seconds)]
    ours = {**os.environ, **environment, "CUDA_DEVICE_MAX_CONNECTIONS": "1", "TRITON_CACHE_DIR": str(folder / "triton")}
    try:
        done = subprocess.run(command, env=ours, capture_output=True, text=True, timeout=seconds)
        ended, said = str(done.returncode), done.stdout[-600:] + done.stderr[-600:]
    except subprocess.TimeoutExpired:
        ended, said = "out of time", ""
    told: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    return {**told, "ended": ended, **({} if ended == "0" else {"said": said})}


def conclusion(told: Mapping[str, Any]) -> dict[str, Any]:
    """Milliseconds a faulting try both ways, by kind, and whether what survived was sound."""
    fresh, survived = told["fresh"].get("kinds", {}), told["survived"].get("kinds", {})
    found: dict[str, Any] = {}
    for name, kind in survived.items():
        if name == "near" or not kind["seconds"]:
            continue
        late = [seconds for seconds in kind["record after"] if seconds is not None]
        costs = [a + b for a, b in zip(kind["seconds"], late)] if len(late) == len(kind["seconds"]) else []
        before = fresh.get(name.removesuffix(", new kernel"), {}).get("seconds", [])
        found[name] = {
            "survived, ms": round(1000 * statistics.median(costs)) if costs else "not every fault left its record",
            "fresh, ms": round(1000 * statistics.median(before)) if before else "not run",
            "sound": bool(costs) and not kind["wrong"] and not kind["false records"] and not kind["errors"],
        }
    return {**found, "context at the end": told["survived"].get("context at the end", "not told")}


if __name__ == "__main__":
    main()
