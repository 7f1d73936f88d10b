"""Ours against the tools that a user would pick instead: the same program, words, time limit and number of lanes.

    python benchmarks/peers.py --arch sm_90 --limit 120 --lanes 2 \\
        --shrinkray VENV/bin/shrinkray --pysource-minimize VENV/bin/python --cvise cvise --autodd autodd.py
    python benchmarks/peers.py PROGRAM ... --limit 300 --lanes 12 ...          on a GPU: without --arch
    python benchmarks/peers.py --plot

Tools run one after another on each program, nothing beside them; which comes first changes from program to program.
Results are kept by program and tool in benchmarks/results/peers_{cpu,gpu}.json: what is there is not run again, unless
--again. All start from the same text, the program as one file.

A peer's test is what its user would write: run the candidate in a new process, look for the words in what it says (of a
hang: is it still going). Each candidate that passes is kept with its time, so that size against time is known of every
tool; ours is watched by its best.py, and leaves log and journal in $OUT/peers, where that is set. Seconds are counted
from a tool's first candidate. Last, the result is run in cold processes and judged by the Fault, not by the words.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import drawing  # noqa: E402
import suite  # noqa: E402

from shrinkray_gpu.reduction.size import lines, tokens  # noqa: E402

RESULTS = Path(__file__).parent / "results"
VIRTUAL = Path(__file__).with_name("virtual_python.py")
NO_GPU = "no GPU"
PEERS = ("shrinkray", "autodd", "pysource-minimize", "cvise")
ONE_RUN = 60
"""Seconds that a candidate may take in a peer's test."""
CHECK = 60
"""Seconds beyond the limit in which ours, told to stop there, checks its result in clean runs. The peers check none."""
SEARCHING = (b'"event":"accept"', b'"event":"judged"')
"""In our journal, once the search has begun: what comes before is calibration, and the launch lifted out."""
MINIMIZE = """
import subprocess, sys
from pathlib import Path
from pysource_minimize import minimize
path, test = Path(sys.argv[1]), sys.argv[2]
def check(source):
    path.write_text(source)
    return subprocess.run([test, str(path)]).returncode == 0
minimize(path.read_text(), check)
"""
"""pysource-minimize as its README shows it: from Python, one candidate at a time."""
TEST = """\
#!/bin/bash
# What a user would write. Beside it: a line for each try, a copy of each candidate that shows the words.
candidate=$(readlink -f "${{1:-{name}}}")
said=$(mktemp)
begun=$(date +%s.%N)
timeout -s KILL {seconds} {python} "$candidate" >"$said" 2>&1 </dev/null
status=$?
{decide}
shown=$?
kept=-
if [ $shown = 0 ]; then kept={folder}/kept/$begun.$$.py; cp "$candidate" "$kept"; fi
echo "$begun $(date +%s.%N) $shown $kept" >>{folder}/tries
rm -f "$said"
exit $shown
"""


@dataclass(frozen=True)
class Setting:
    """What is the same for all tools on a program."""

    program: suite.Failing
    text: str
    arch: str | None
    limit: float
    lanes: int
    python: str
    variables: tuple[str, ...] = ()
    """NAME=VALUE, of a peer's candidates."""


@dataclass(frozen=True)
class Tool:
    name: str
    place: str
    """The command, the interpreter that has it, or its one file."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", help="names of folders under benchmarks/programs; default: all that fit")
    parser.add_argument("--arch", help="sm_90: on the virtual GPU, compile-time programs only")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each tool, from its start")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--python", default=sys.executable, help="has torch and Triton")
    add_tools(parser)
    parser.add_argument("--only", nargs="*", help="names of tools; default: all that were given")
    parser.add_argument("--again", action="store_true", help="run also what has results")
    parser.add_argument("--until", type=float, help="begin nothing that would not end within so many seconds")
    parser.add_argument("--note", default="", help="kept with the results, e.g. 'provisional'")
    parser.add_argument("--take", type=Path, nargs="*", default=[], help="only keep what these files of results have")
    parser.add_argument("--plot", action="store_true", help="only draw what is there")
    given = parser.parse_args()
    if given.plot:
        for form in ("cpu", "gpu"):
            if (path := RESULTS / f"peers_{form}.json").exists():
                print(_table(json.loads(path.read_text())))
                plot(path)
        return
    started = time.monotonic()
    path = RESULTS / f"peers_{'cpu' if given.arch else 'gpu'}.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"programs": {}}
    if given.take:
        before = copy.deepcopy(kept)
        for other in given.take:
            _take(kept, json.loads(other.read_text()), before)
        path.write_text(json.dumps(kept, indent=1) + "\n")
        return
    tools = [Tool("ours", ""), *given_tools(given)]
    tools = [tool for tool in tools if not given.only or tool.name in given.only]
    chosen = [one for one in suite.programs() if one.name in given.programs or not given.programs]
    if unknown := set(given.programs) - {one.name for one in chosen}:
        raise SystemExit(f"no such program: {', '.join(sorted(unknown))}")
    chosen = [one for one in chosen if (one.where == "compile") == bool(given.arch)]
    environment = _environment(given)
    if not given.arch and environment.get("gpu", NO_GPU) == NO_GPU:
        print(f"peers.py: {given.python} sees no GPU, which these programs need; nothing was run. "
              "Those that fail to compile need none: --arch sm_90", file=sys.stderr)  # fmt: skip
        sys.exit(2)
    kept["environment"] = environment
    for at, program in enumerate(chosen):
        of_program = kept["programs"].setdefault(program.name, {"smallest": program.smallest, "tools": {}})
        of_program["smallest"] = program.smallest
        turn = at % len(tools)
        for tool in tools[turn:] + tools[:turn]:
            if (tool.name in of_program["tools"] and not given.again) or not (program.for_peers or tool.name == "ours"):
                continue
            if given.until and time.monotonic() - started + given.limit + 60 > given.until:
                print(f"left for the next call: {program.name} with {tool.name}")
                continue
            setting = Setting(program, program.text(), given.arch, given.limit, given.lanes, given.python)
            of_program["tools"][tool.name] = found = measure(tool, setting)
            found["on"] = {key: kept["environment"].get(key, "") for key in ("gpu", "date", "note", "limit")}
            print(program.name, tool.name, json.dumps({k: v for k, v in found.items() if k not in ("text", "course")}))
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(kept, indent=1) + "\n")
    if path.exists():
        print(_table(kept))


def add_tools(parser: argparse.ArgumentParser) -> None:
    """Options that say where the peers are."""
    parser.add_argument("--shrinkray", help="its command")
    parser.add_argument("--autodd", help="tilelang/autodd.py of TileLang's source tree")
    parser.add_argument("--pysource-minimize", help="an interpreter that has it")
    parser.add_argument("--cvise", help="its command")


def given_tools(given: argparse.Namespace) -> list[Tool]:
    """The peers whose place was given."""
    places = {name: getattr(given, name.replace("-", "_")) for name in PEERS}
    return [Tool(name, place) for name, place in places.items() if place]


def _take(kept: dict[str, Any], other: dict[str, Any], before: dict[str, Any]) -> None:
    """Results from another machine, which began with those of `before`: what is not among these was run there."""
    kept["environment"] = other["environment"]
    for name, program in other["programs"].items():
        mine = kept["programs"].setdefault(name, {"smallest": program["smallest"], "tools": {}})
        known = before["programs"].get(name, mine)["tools"]
        mine["tools"].update({tool: found for tool, found in program["tools"].items() if found != known.get(tool)})


def measure(tool: Tool, setting: Setting) -> dict[str, Any]:
    """One reduction of the program by the tool, and what became of it."""
    found = reduced(tool, setting)
    return {**found, "same fault": _cold(setting, found["text"])}


def reduced(tool: Tool, setting: Setting) -> dict[str, Any]:
    """One reduction of the program by the tool: the smallest text that passed its test, and what that took."""
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        (folder / "kept").mkdir()
        (folder / "work").mkdir()
        target = folder / "work" / "case.py"
        target.write_text(setting.text)
        test = _test(folder, target, setting)
        command, environment = _command(tool, folder, target, test, setting)
        began, epoch = time.monotonic(), time.time()
        watched: list[tuple[float, str]] = []
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=target.parent, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                start_new_session=True,
            )  # fmt: skip
            first = _watch(process, setting.limit + (CHECK if tool.name == "ours" else 0), folder, watched)
        wall = time.monotonic() - began
        if tool.name == "ours":
            tries, course, text = _ours(folder, watched, first, setting)
        else:
            tries, course, text, first = _peers(folder, epoch, setting)
        told = (folder / "log").read_text(errors="replace")[-400:] if tries < 2 else ""
        if (out := os.environ.get("OUT")) and tool.name == "ours":
            kept = Path(out) / "peers" / setting.program.name
            kept.mkdir(parents=True, exist_ok=True)
            for path in (folder / "log", *(folder / "work" / "case.shrink").glob("*.json*")):
                shutil.copy(path, kept)
    return {
        "lines": lines(text),
        "tokens": tokens(text),
        "tries": tries,
        "wall": round(wall, 1),
        "before the first candidate": round(first, 1),
        "course": course,
        "text": text,
        **({"log": told} if told else {}),
    }


def _watch(process: subprocess.Popen[bytes], limit: float, folder: Path, watched: list[tuple[float, str]]) -> float:
    """Wait for the end or the limit, noting each new best.py of ours; the seconds until our first candidate."""
    best, journal = folder / "work" / "case.shrink" / "best.py", folder / "work" / "case.shrink" / "journal.jsonl"
    began, first, last = time.monotonic(), 0.0, ""
    while process.poll() is None and time.monotonic() - began < limit:
        now = time.monotonic() - began
        if not first and journal.exists() and any(event in journal.read_bytes() for event in SEARCHING):
            first = now
        if best.exists() and (text := best.read_text()) != last:
            last = text
            watched.append((now, text))
        time.sleep(0.1)
    if process.poll() is None:
        # Its own way to end: C-Vise and shrinkray put the best in place on INT. Then the group, and who left it.
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return first


def _ours(folder: Path, watched: list[tuple[float, str]], first: float, setting: Setting) -> Any:
    output, journal = folder / "work" / "repro_case.py", folder / "work" / "case.shrink" / "journal.jsonl"
    text = output.read_text() if output.exists() else watched[-1][1] if watched else setting.text
    tries = max(0, journal.read_bytes().count(b"\n") - 1) if journal.exists() else 0
    return tries, [[round(max(0.0, at - first), 1), tokens(each)] for at, each in watched], text


def _peers(folder: Path, epoch: float, setting: Setting) -> Any:
    """From the lines that the test left: what was smallest when, and how many tries that took."""
    path = folder / "tries"
    tries = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    tries = [each for each in tries if len(each) == 4]
    if not tries:
        return 0, [], setting.text, 0.0
    first = min(float(each[0]) for each in tries)
    course, best, text = [], tokens(setting.text), setting.text
    for _, end, shown, kept in sorted(tries, key=lambda each: float(each[1])):
        # A tool that cancels a try may take its file away before it was copied.
        if (
            shown == "0"
            and Path(kept).exists()
            and (size := tokens(candidate := Path(kept).read_text(errors="replace"))) < best
        ):
            best, text = size, candidate
            course.append([round(float(end) - first, 1), size])
    return len(tries), course, text, first - epoch


def _cold(setting: Setting, text: str) -> str:
    """Whether the text shows the Fault of the original, in a process of its own, several times over on a GPU."""
    cold = suite.Cold(
        setting.program, python=setting.python, arch=int(setting.arch.removeprefix("sm_")) if setting.arch else None
    )
    try:
        verdict = cold.reference(setting.text)
        if not verdict.faults:
            return f"the original does not show it: {verdict.why}"
        for _ in range(1 if setting.arch else 2):
            if not (verdict := cold.judge(text)).faults:
                return f"no: {verdict.why}"
        return "yes"
    finally:
        cold.close()


def _test(folder: Path, target: Path, setting: Setting) -> Path:
    program = setting.program
    python = shlex.join([setting.python, "-B", *([str(VIRTUAL)] if setting.arch else [])])
    path = folder / "test.sh"
    path.write_text(
        TEST.format(
            name=target.name,
            seconds=program.seconds or ONE_RUN,
            python=shlex.join(["env", f"TRITON_CACHE_DIR={folder}/triton", *setting.variables]) + f" {python}",
            folder=folder,
            decide="[ $status = 137 ]" if program.seconds else f'grep -qF -- {shlex.quote(program.words)} "$said"',
        )
    )
    path.chmod(0o755)
    return path


def _command(tool: Tool, folder: Path, target: Path, test: Path, setting: Setting) -> tuple[list[str], dict[str, str]]:
    """Each tool as its documentation advises for a Python file."""
    environment, lanes = {**os.environ, "TMPDIR": str(folder)}, str(setting.lanes)
    if tool.name == "ours":
        oracle = [word for spec in setting.program.oracle for word in ("--oracle", spec)]
        arch = ["--arch", setting.arch] if setting.arch else []
        command = [sys.executable, "-m", "shrinkray_gpu", str(target), *oracle, *arch, "--jobs", lanes, "--verbose"]
        command += ["--python", setting.python, "--max-time", str(setting.limit), "--no-report"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(suite.ROOT), os.environ.get("PYTHONPATH", "")])}
    elif tool.name == "shrinkray":
        # Basic UI: no terminal here. No language model: it is none of the machine's. Its timeout is for one test.
        command = [tool.place, str(test), str(target), "--parallelism", lanes, "--timeout", str(ONE_RUN * 2)]
        command += ["--ui", "basic", "--no-llm", "--no-history", "--input-type", "arg"]
    elif tool.name == "cvise":
        # C-Vise runs the test in a folder of its own with a copy of the file in it, which goes by its name.
        command = [tool.place, "--not-c", "--n", lanes, "--timeout", str(ONE_RUN * 2), str(test), target.name]
    elif tool.name == "pysource-minimize":
        command = [tool.place, "-c", MINIMIZE, str(target), str(test)]
    else:
        # `--backend subproc` is the one that its documentation gives for native state; it calls python3, and that is
        # the test here, so that its tries are logged like those of the others.
        shim = folder / "bin" / "python3"
        shim.parent.mkdir()
        hang = setting.program.seconds
        words = "it hangs" if hang else setting.program.words
        shim.write_text(f'#!/bin/bash\n{test} "$1" && echo {shlex.quote(words)}\n')
        shim.chmod(0o755)
        copied = folder / "autodd.py"
        shutil.copyfile(tool.place, copied)
        command = [setting.python, str(copied), str(target), "--err-msg", words, "--backend", "subproc"]
        command += ["-o", str(folder / "work" / "autodd.out.py"), "--timeout", str(ONE_RUN * 2), "-j", lanes]
        environment["PATH"] = f"{shim.parent}:{environment['PATH']}"
    return command, environment


def _environment(given: argparse.Namespace) -> dict[str, Any]:
    name = f"torch.cuda.get_device_name() if torch.cuda.is_available() else {NO_GPU!r}"
    probe = f"import torch, triton; print(torch.__version__, triton.__version__, {name})"
    seen = subprocess.run([given.python, "-c", probe], capture_output=True, text=True).stdout.split(maxsplit=2)
    return {
        "command": shlex.join(["python", *sys.argv]),
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        **dict(zip(("torch", "triton", "gpu"), (word.strip() for word in seen))),
        "limit": given.limit,
        "lanes": given.lanes,
        "note": given.note,
    }


def _table(kept: dict[str, Any]) -> str:
    """As docs/measurements.md has it; `to it` is our time to the size at which the best peer stood."""
    rows = ["| program | smallest known | tool | tokens | lines | tries | wall, s | same fault |", "|" + " --- |" * 8]
    for name, program in kept["programs"].items():
        for tool, one in sorted(program["tools"].items(), key=lambda pair: pair[0] != "ours"):
            same = one["same fault"].partition(":")[0]
            figures = [name, program["smallest"], tool, one["tokens"], one["lines"], one["tries"], one["wall"], same]
            rows.append("| " + " | ".join(map(str, figures)) + " |")
        if (faster := ratio(program["tools"])) is not None:
            rows.append(f"| {name} | | ours against the best peer | | | | {faster:.1f} times faster to its size | |")
    return "\n".join(rows)


def ratio(tools: dict[str, Any]) -> float | None:
    """Seconds of the best peer to its final size against ours to the same size, from the first candidates on.

    The best peer is the one with the smallest result that shows the fault; None where ours does not come to it.
    """
    peers = [one for name, one in tools.items() if name != "ours" and one["same fault"] == "yes" and one["course"]]
    if not peers or "ours" not in tools:
        return None
    best = min(peers, key=lambda one: one["tokens"])
    theirs = best["course"][-1][0]
    mine = next((at for at, size in tools["ours"]["course"] if size <= best["tokens"]), None)
    return None if mine is None else theirs / max(mine, 0.1)


def plot(path: Path) -> None:
    """Size against time, one panel for each program, one line for each tool."""
    plt = drawing.pyplot()
    kept = json.loads(path.read_text())
    programs = {name: one for name, one in kept["programs"].items() if one["tools"]}
    if not programs:
        return
    columns = min(3, len(programs))
    height = -(-len(programs) // columns)
    figure, axes = plt.subplots(height, columns, figsize=(4.2 * columns, 2.9 * height), squeeze=False)
    colours = {"ours": "C3", "shrinkray": "C0", "autodd": "C1", "pysource-minimize": "C2", "cvise": "C4"}
    labels: dict[str, Any] = {}
    for axis, (name, program) in zip(axes.flat, programs.items()):
        axis.set_title(name, fontsize=9)
        axis.axhline(program["smallest"], color="grey", linestyle=":", linewidth=0.8)
        begin = tokens(next(one for one in suite.programs() if one.name == name).text())
        for tool, one in program["tools"].items():
            course = [[0.0, begin], *one["course"]]
            limit = one["on"].get("limit", kept["environment"]["limit"])
            course.append([max(limit, course[-1][0]), course[-1][1]])
            style = "-" if one["same fault"] == "yes" else "--"
            (labels[tool],) = axis.step(*zip(*course), where="post", color=colours[tool], linestyle=style)
        axis.set_yscale("log")
    for axis in axes.flat[len(programs) :]:
        axis.set_visible(False)
    figure.supxlabel("seconds from the first candidate")
    figure.supylabel("tokens (dotted: smallest known; dashed: another fault)")
    figure.legend(labels.values(), labels.keys(), loc="upper center", ncol=len(labels), fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    drawing.save(figure, path)


if __name__ == "__main__":
    main()
