"""`shrink triage` on suites of failing tests drawn from seeds, without a GPU or on one: what is merged, what is split.

    python benchmarks/triage_suites.py show SEED FOLDER [--tests 40]      write the suite
    python benchmarks/triage_suites.py run SEED ... [--max-time 60] [--engine plain ray loss shards] [--gpu]
    python benchmarks/triage_suites.py table

Suites are made by benchmarks/triaging/. The truth is the generator's: which mistake each test meets. A cluster with
tests of two causes is *merged*; a cause in two clusters is *split*. Tests that were not seen again are in no cluster
and count for neither. Engines: this machine; a Ray cluster of three nodes, all on it; the same, of which a node is
killed once a reduction, or the twentieth run, is done (`loss`); `--shard` in three processes at a time. Of each after
the first is told what its table has otherwise (`differs`), apart from times and from flaky tests, which fail by chance.
A reduction that its time cuts off has no reason to be the same: `--max-time 900` lets each come to its end. `--tables`
keeps what each engine told. Figures: benchmarks/results/triage_suites.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from triaging.suite import MACHINE, MOST, Suite, draw_suite  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "triage_suites.json"


NODES = 3
"""Of the cluster, and shards."""
Ask = Callable[..., dict[str, Any]]
"""`shrink triage` with more words, and what it tells."""


def measured(seed: int, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One suite, triaged by the command that a user would type, with each engine."""
    seconds = 0 if given.no_reduce else given.max_time
    row = {"seed": seed, "tests": given.tests, "max_time": seconds, "commit": commit()}
    row |= {"gpu": given.gpu, "cores": os.cpu_count()}
    first: list[tuple[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite = draw_suite(seed, folder, given.tests, given.causes)
        for engine in given.engine:
            began, load = time.monotonic(), os.getloadavg()[0]
            told = ENGINES[engine](lambda *words: asked(words, folder, given), folder / engine, not given.no_reduce)
            if given.tables:
                given.tables.mkdir(parents=True, exist_ok=True)
                (given.tables / f"{seed}_{engine}.json").write_text(json.dumps(told, indent=1))
            took, loads = time.monotonic() - began, [round(load, 1), round(os.getloadavg()[1], 1)]
            leaves = [*_leaves(_without(suite.flaky, told))]
            first = first or leaves
            differs = sorted({path for path, _ in {*first} ^ {*leaves}})
            found = {"engine": engine, "differs": differs, "seconds": round(took), "load": loads}
            yield {**row, **score(suite, told), **found}


def asked(words: Sequence[str], folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Raises SystemExit where it fails."""
    command = [sys.executable, "-m", "shrinkray_gpu", "triage", "--json", *["--arch", "sm_90"] * (not given.gpu)]
    command += ["--max-time", f"{given.max_time:g}", *["--no-reduce"] * given.no_reduce, *words]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


SUITE = ("--", "pytest", "tests")


def on_this_machine(ask: Ask, output: Path, reduce: bool) -> dict[str, Any]:
    return ask("-o", output.name, *SUITE)


def through_ray(ask: Ask, output: Path, reduce: bool) -> dict[str, Any]:
    with cluster() as made:
        return ask("-o", output.name, "--ray", made.address, *SUITE)


def with_a_loss(ask: Ask, output: Path, reduce: bool) -> dict[str, Any]:
    """The last node is killed once so many lines of the journal tell that something is done."""
    event, count = ("reduced", 1) if reduce else ("rerun", 20)

    def kill(made: Any) -> None:
        journal = output / "journal.jsonl"
        while not (journal.exists() and journal.read_text().count(f'"event":"{event}"') >= count):
            if over.wait(0.2):
                return
        made.remove_node(made.list_all_nodes()[-1], allow_graceful=False)
        killed.set()

    over, killed = threading.Event(), threading.Event()
    with cluster() as made, futures.ThreadPoolExecutor(1) as threads:
        killer = threads.submit(kill, made)
        try:
            told = ask("-o", output.name, "--ray", made.address, *SUITE)
        finally:
            over.set()
        killer.result()
    if not killed.is_set():
        raise SystemExit("no node was killed: it ended before")
    return told


def in_shards(ask: Ask, output: Path, reduce: bool) -> dict[str, Any]:
    """Runs, then reductions, then all as one."""
    engine = output.name
    parts = [f"{engine}-{each}" for each in range(NODES)]
    reduced = [f"{each}-reduced" for each in parts] if reduce else []
    with futures.ThreadPoolExecutor(NODES) as threads:
        for folders, words in ((parts, SUITE), (reduced, ("--merge", *parts))):
            every = [("-o", each, "--shard", f"{at}/{NODES}", *words) for at, each in enumerate(folders, 1)]
            deque(threads.map(lambda words: ask(*words), every), 0)
    return ask("-o", engine, "--merge", *parts, *reduced)


ENGINES: dict[str, Callable[[Ask, Path, bool], dict[str, Any]]] = {
    "plain": on_this_machine,
    "ray": through_ray,
    "loss": with_a_loss,
    "shards": in_shards,
}


@contextmanager
def cluster() -> Iterator[Any]:
    """A Ray cluster of nodes of one core, all here."""
    from ray.cluster_utils import Cluster

    small: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=small)
    try:
        for _ in range(NODES - 1):
            made.add_node(**small)
        yield made
    finally:
        made.shutdown()


def commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def _without(flaky: Sequence[str], told: dict[str, Any]) -> dict[str, Any]:
    """The table without these tests, and without the count of all."""
    steady = {name: value for name, value in told.items() if name != "failures"}
    steady["not_seen_again"] = _others(flaky, told["not_seen_again"])
    clusters = sorted(told["clusters"], key=lambda each: each["name"])  # by their sizes, with flaky members
    steady["clusters"] = [_without_members(flaky, each) for each in clusters]
    return steady


def _without_members(flaky: Sequence[str], cluster: dict[str, Any]) -> dict[str, Any]:
    told = cluster.get("reduction") or {}
    if "explains" in told:
        told = {**told, "explains": {name: why for name, why in told["explains"].items() if name not in flaky}}
    members = _others(flaky, cluster["members"])
    messages = sorted({each["message"] for each in members})  # else in the order of the members, flaky ones last
    return {**cluster, "members": members, "messages": messages, "reduction": told}


def _others(flaky: Sequence[str], members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((each for each in members if each["name"] not in flaky), key=lambda each: each["name"])


def _leaves(told: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a table with the names that lead to it, but for times and hosts."""
    if isinstance(told, dict):
        for name, value in told.items():
            if name not in ("seconds", "host"):
                yield from _leaves(value, f"{path}.{name}".lstrip("."))
    elif isinstance(told, list):
        for at, value in enumerate(told):
            yield from ((name, (at, each)) for name, each in _leaves(value, path))
    else:
        yield path, told


def score(suite: Suite, told: dict[str, Any]) -> dict[str, Any]:
    """What the triage says beside the truth."""
    clusters = {each["name"]: [member["name"] for member in each["members"]] for each in told["clusters"]}
    causes = {name: sorted({suite.truth[node] for node in nodes}) for name, nodes in clusters.items()}
    where: defaultdict[str, list[str]] = defaultdict(list)
    for name, found in causes.items():
        for cause in found:
            where[cause].append(name)
    machine = {each["name"] for each in told["machine"]}
    reduced = [each for each in told["clusters"] if each["state"] == "reduced"]
    members = [member for each in reduced for member in each["members"]]
    messages = {cause: sorted({m for n in names for m in _messages(told, n)}) for cause, names in where.items()}
    return {
        "causes": len(set(suite.truth.values())),
        "clusters": len(clusters) + bool(machine),
        "merged": {name: found for name, found in causes.items() if len(found) > 1},
        "split": {cause: len(names) for cause, names in where.items() if len(names) > 1},
        "lost": sorted(set(suite.truth.values()) - set(where) - ({MACHINE} if machine else set())),
        "machine_right": machine == {node for node, cause in suite.truth.items() if cause == MACHINE},
        "flaky": len(suite.flaky),
        "not_seen_again": [each["name"] in suite.flaky for each in told["not_seen_again"]],
        "most_messages_of_a_cause": max(map(len, messages.values()), default=0),
        "causes_of_the_commonest_message": _sharing(messages),
        "repros": len(reduced),
        "not_reduced": {
            each["name"]: f"{each['state']}: {each['why']}" for each in told["clusters"] if each not in reduced
        },
        "lines": [each["reduction"]["lines"] for each in reduced],
        "explained": sum(member.get("explained", False) for member in members),
        "explainable": len(members),
    }


def _messages(told: dict[str, Any], name: str) -> list[str]:
    return next(each["messages"] for each in told["clusters"] if each["name"] == name)


def _sharing(messages: dict[str, list[str]]) -> int:
    every = [message for found in messages.values() for message in found]
    return max((every.count(each) for each in every), default=0)


def table(rows: list[dict[str, Any]]) -> str:
    head = (
        "| seed | engine | tests | causes | clusters | merged | split | not seen again | repros | members explained "
        "| minutes |"
    )
    lines = [head, "| " + " | ".join(["---"] * 11) + " |"]
    for row in rows:
        counts = [
            f"seed {row['seed']}",
            row.get("engine", "plain"),
            row["tests"],
            row["causes"],
            row["clusters"],
            len(row["merged"]),
            len(row["split"]),
        ]
        rest = [len(row["not_seen_again"]), row["repros"], f"{row['explained']} of {row['explainable']}"]
        lines.append("| " + " | ".join(map(str, [*counts, *rest, f"{row['seconds'] / 60:.1f}"])) + " |")
    return "\n".join(lines)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["seed"], row["tests"], row.get("engine", "plain"), row["max_time"], row.get("gpu", False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["show", "run", "table"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--causes", type=int, default=MOST, help="in the program, beside the machine's")
    parser.add_argument("--max-time", type=float, default=60.0)
    parser.add_argument("--engine", nargs="+", choices=list(ENGINES), default=["plain"])
    parser.add_argument("--gpu", action="store_true", help="on the GPU of this machine")
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="keep what each engine told")
    parser.add_argument("--dry", action="store_true", help="print, and leave the results file as it is")
    given = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if given.what == "show":
        suite = draw_suite(int(given.words[0]), Path(given.words[1]), given.tests, given.causes)
        print(json.dumps(suite.truth, indent=1))
    elif given.what == "run":
        for row in (row for seed in map(int, given.words) for row in measured(seed, given)):
            print(json.dumps(row, indent=1), flush=True)
            rows = [each for each in rows if _key(each) != _key(row)] + [row]
            if not given.dry:
                RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
