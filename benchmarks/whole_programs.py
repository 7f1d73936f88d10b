"""Whole programs of host Python, drawn from seeds: bytes after 100, 200 and 300 calls of the oracle, ours and a peer's.

    python benchmarks/whole_programs.py show SEED                      the program, and how it fails
    python benchmarks/whole_programs.py run SEED ... [--lines 1200]    reduce it, by the command that a user would type
    python benchmarks/whole_programs.py peer SEED ... --pysource-minimize VENV/bin/python
    python benchmarks/whole_programs.py table

The programs are made by benchmarks/whole/. The oracle is exact: an uncaught exception of this type with this text.
Calls of ours are its tries and its watched runs. Bytes on the way are those of the best before its layout. The peer's
test is what a user would write; after 300 calls it says no to everything. Figures:
benchmarks/results/whole_programs.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from peers import MINIMIZE  # noqa: E402
from whole.draw import LINES, program  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "whole_programs.json"
MARKS = (50, 100, 200, 300)
TEST = """\
#!/bin/bash
candidate=$1
echo >>{folder}/calls
[ $(wc -l <{folder}/calls) -gt {most} ] && exit 1
timeout -s KILL 20 {python} "$candidate" 2>&1 >/dev/null </dev/null | tail -n 1 | grep -qxF -- {words} || exit 1
cp "$candidate" {folder}/kept/$(wc -l <{folder}/calls).$$.py
"""


def last_words(text: str) -> str:
    """The last line of what Python says when it runs the program; empty if the program ends well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.py")
        path.write_text(text)
        ran = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=folder, timeout=60)
    return ran.stderr.strip().rpartition("\n")[2] if ran.returncode == 1 else ""


def spec(words: str) -> str:
    kind, _, text = words.removeprefix("__main__.").partition(": ")
    return f"exception:{kind}:^{re.escape(text)}$"


def ours(text: str, words: str, timeout: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        path, repro = folder / "case.py", folder / "repro.py"
        path.write_text(text)
        command = [sys.executable, "-m", "shrinkray_gpu", str(path), "--oracle", spec(words), "--jobs", "2"]
        command += ["--no-report", "--json", "-o", str(repro)]
        begun, environment = time.monotonic(), {**os.environ, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=timeout)
        seconds = round(time.monotonic() - begun, 1)
        if ran.returncode != 0:
            return {"refused": (ran.stderr or ran.stdout).strip()[-300:]}
        calls, size, course = 0, len(text), dict.fromkeys(map(str, MARKS), 0)
        for line in map(json.loads, (folder / "case.shrink" / "journal.jsonl").read_text().splitlines()):
            if line.get("event") in ("judged", "watched"):
                course |= {str(mark): size for mark in MARKS if mark == calls}
                calls += 1
            elif line.get("event") == "accept":
                size = line["size"][4]
        found = repro.read_text()
        course |= {str(mark): size for mark in MARKS if mark >= calls}
        return {"bytes": course, "end": len(found), "calls": calls, "seconds": seconds, "text": found,
                "same": last_words(found) == words}  # fmt: skip


def peer(text: str, words: str, python: str, timeout: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        (folder / "kept").mkdir()
        (folder / "work").mkdir()
        target, test = folder / "work" / "case.py", folder / "test.sh"
        target.write_text(text)
        test.write_text(
            TEST.format(folder=folder, most=MARKS[-1], python=shlex.quote(sys.executable), words=shlex.quote(words))
        )
        test.chmod(0o755)
        asked = [python, "-c", MINIMIZE, str(target), str(test)]
        begun = time.monotonic()
        process = subprocess.Popen(
            asked,
            cwd=target.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            said = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            process.terminate()
            said = process.communicate()[0]
        calls = (folder / "calls").read_text().count("\n") if (folder / "calls").exists() else 0
        if not calls:
            return {"refused": said.strip()[-300:]}
        kept = sorted((int(each.name.split(".")[0]), each.stat().st_size) for each in (folder / "kept").iterdir())
        course = {str(mark): min((size for call, size in kept if call <= mark), default=len(text)) for mark in MARKS}
        return {"bytes": course, "calls": min(calls, MARKS[-1]), "seconds": round(time.monotonic() - begun, 1)}


def table(kept: dict[str, Any]) -> str:
    heads = ("program", "bytes", "ours at 50/100/200/300, end", "calls", "s")
    lines = ["{:28} {:>6}  {:32} {:>5} {:>5}  pysource-minimize at 100/200/300".format(*heads)]
    for name, row in kept.items():
        mine = row.get("ours", {})
        left = [str(each) for each in mine.get("bytes", {}).values()]
        told = f"{'/'.join(left)}, {mine.get('end', '-')}{'' if mine.get('same', True) else ' ANOTHER FAULT'}"
        other = row.get("pysource-minimize", {}).get("bytes", {})
        theirs = "/".join(str(other[mark]) for mark in ("100", "200", "300") if other)
        lines.append(
            f"{name:28} {row['before']:>6}  {mine.get('refused', told):32} {mine.get('calls', '-'):>5} "
            f"{mine.get('seconds', '-'):>5}  {theirs or '-'}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("show", "run", "peer", "table"))
    parser.add_argument("seeds", nargs="*", type=int, help="programs that end well are passed over")
    parser.add_argument("--lines", type=int, default=LINES, help="of a program, at least")
    parser.add_argument("--pysource-minimize", default=sys.executable, help="an interpreter that has it")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds a reduction")
    parser.add_argument("--note", default="", help="kept with the row: `development`, or how the seed was drawn")
    given = parser.parse_args()
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in given.seeds:
        text, fault = program(seed, given.lines)
        words = last_words(text)
        if given.command == "show":
            print(text, words, sep="\n")
        if given.command == "show" or not words:
            continue
        name = f"{seed} {fault}" + (f" {given.lines} lines" if given.lines != LINES else "")
        row = kept.setdefault(name, {"before": len(text)})
        if given.note:
            row["note"] = given.note
        if given.command == "run":
            row["ours"] = ours(text, words, given.timeout)
        else:
            row["pysource-minimize"] = peer(text, words, given.pysource_minimize, given.timeout)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        print(table({name: row}), flush=True)
    if given.command == "table":
        print(table(kept))


if __name__ == "__main__":
    main()
