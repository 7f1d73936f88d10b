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

Then the same in crowds of lanes, each try with a new kernel: contexts come up one after another for all lanes of a GPU,
so what counts is how many faulting tries a second all lanes have together.

`new kernel` is what a reduction does: no two candidates have the same kernel, and the tool instruments each at its
first launch. `near` is an access just behind a tensor: one that stays in mapped memory is not reported.
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
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shrinkray_gpu.device import (
    sanitizer_records,  # noqa: E402
    toolkit,  # noqa: E402
)

LANE = Path(__file__).with_name("survive_lane.py")
SURVIVE = (
    *("--tool", "memcheck", "--destroy-on-device-error", "kernel", "--print-limit", "100000"),
    *("--show-backtrace", "no"),  # frames of Python and torch with each record
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tries", type=int, default=20, help="of each kind")
    parser.add_argument("--seconds", type=float, default=100, help="for all of it; most goes to what survives")
    parser.add_argument("--lanes", type=int, nargs="*", default=[4, 12], help="sizes of crowds")
    parser.add_argument("--python", default=sys.executable, help="with torch and Triton")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    tool = sanitizer_records.find(given.python, os.environ)
    if tool is None:
        raise SystemExit(toolkit.missing(sanitizer_records.NAME))
    with tempfile.TemporaryDirectory(prefix="survive-") as made:
        folder = Path(made)
        told: dict[str, Any] = {"command": sys.argv, "tool": _version(tool)}
        told["fresh"] = _lane([], "fresh", given, folder, 0.15 * given.seconds)
        log = folder / "records.txt"
        under = [str(tool), *SURVIVE, "--log-file", str(log)]
        told["survived"] = _lane(under, "survived", given, folder, 0.35 * given.seconds, SURVIVE_LOG=str(log))
        share = 0.5 * given.seconds / max(1, 2 * len(given.lanes))
        told["crowds"] = [
            {"lanes": lanes, **{how: _crowd(how, lanes, given, tool, folder, share) for how in ("fresh", "survived")}}
            for lanes in given.lanes
        ]
        told["first record"] = log.read_text(errors="replace")[:1500] if log.exists() else "no log"
    told["conclusion"] = conclusion(told)
    text = json.dumps(told, indent=1)
    print(text)
    if given.json:
        given.json.write_text(text + "\n")


def _version(tool: Path) -> str:
    said = subprocess.run([str(tool), "--version"], capture_output=True, text=True).stdout
    return " ".join(said.split()[-4:])


def _lane(
    prefix: Sequence[str], how: str, given: argparse.Namespace, folder: Path, seconds: float, **environment: str
) -> dict[str, Any]:
    """What the lane had written when it ended, or when its time was up."""
    out = folder / f"{how}.json"
    command = [*prefix, given.python, str(LANE), how, str(given.tries), str(out), str(0.9 * seconds)]
    environment["SURVIVE_BEGUN"] = str(time.monotonic())
    ours = {**os.environ, **environment, "CUDA_DEVICE_MAX_CONNECTIONS": "1", "TRITON_CACHE_DIR": str(folder / "triton")}
    try:
        done = subprocess.run(command, env=ours, capture_output=True, text=True, timeout=seconds)
        ended, said = str(done.returncode), done.stdout[-600:] + done.stderr[-600:]
    except subprocess.TimeoutExpired:
        ended, said = "out of time", ""
    told: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    return {**told, "ended": ended, **({} if ended == "0" else {"said": said})}


def _crowd(how: str, lanes: int, given: argparse.Namespace, tool: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """Faulting tries of so many lanes at once, for so many seconds with the start of all."""
    place = folder / f"{how}{lanes}"
    place.mkdir()
    begun, running = time.monotonic(), []
    for lane in range(lanes):
        log, out = place / f"{lane}.txt", place / f"{lane}.json"
        prefix = [str(tool), *SURVIVE, "--log-file", str(log)] if how == "survived" else []
        ours = {**os.environ, "SURVIVE_LOG": str(log), "SURVIVE_CROWD": str(lanes), "SURVIVE_BEGUN": str(begun)}
        ours |= {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "TRITON_CACHE_DIR": str(place / "triton")}
        command = [*prefix, given.python, str(LANE), f"{how}_crowd", "100000", str(out), str(0.9 * seconds)]
        running.append(subprocess.Popen(command, env=ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for one in running:
        try:
            one.wait(max(0.1, begun + 1.2 * seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
    told = [json.loads(path.read_text()) for path in sorted(place.glob("*.json"))]
    if not told:
        return {"ended": "no lane told anything"}
    tries = sum(lane["tries"] for lane in told)
    span = max(lane["ended"] for lane in told) - min(lane["begun"] for lane in told)
    return {
        "lanes that told": len(told),
        "start, s": round(min(lane["begun"] for lane in told) - begun, 1),
        "tries": tries,
        "tries a second": round(tries / span, 2) if span else 0.0,
        "wrong": sum(len(lane["wrong"]) for lane in told),
        "the first wrong": next((lane["wrong"][0] for lane in told if lane["wrong"]), ""),
    }


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
