"""A reduction's folder becomes a case of the corpus, if its repro still shows the fault: what does not is refused."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import String

from shrinkray_gpu.corpus.case import FILE, Case, load
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replay import replay
from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.evidence.secrets_found import SECRET, Publish, published_texts, without_secret_words, without_secrets
from shrinkray_gpu.lift.bundle import modules
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.oracle.statistics import clean_runs
from shrinkray_gpu.reduction.notebook import is_notebook, read_notebook
from shrinkray_gpu.result import command_script, result_file
from shrinkray_gpu.same_fault.fault_comparison import DIFFERENT

GONE = 0.001
"""How seldom a flaky fault that is still there may look gone."""
MOST_RUNS = 100
WIDTH = 104
"""Characters of a line of prose in `case.toml`: the first one has the key and its quotes before it."""
_SEEN = ("gpu", "driver", "triton", "torch", "helion", "python")
_ASKED = ("original", "output", "oracle", "spec")

Say = Callable[[str], None]


@dataclass(frozen=True)
class CaseWords:
    """What the user says of a case; what is empty is taken from the reduction."""

    title: str = ""
    klass: str = ""
    mechanism: str = ""
    upstream: tuple[str, ...] = ()


def add(
    folder: Path,
    corpus: Path,
    *,
    name: str = "",
    words: CaseWords = CaseWords(),  # noqa: B008  it is frozen
    python: str = "",
    strict: bool = False,
    say: Say = lambda text: None,
) -> Case:
    """Make a case of the reduction in `folder` (`<stem>.shrink`). Raises UsageError, NotReproduced.

    A case is published: secrets are replaced and told, or, if `strict`, refused.

    What the user does not say is taken from the reduction: the fault's words are title and class.
    """
    told = result_file.read(folder, _ASKED)
    if why := _refused(told):
        raise NotReproduced(f"nothing was added: {why}. Reduce again, with more time or with --mode cold")
    original, repro = Path(told["original"]), Path(told["output"])
    place = free_place(corpus, name or repro.stem.removeprefix("repro_"))
    # A command (`-m pytest ...`) has no file of its own: its driver alone would be no original.
    for path in (repro,) if told.get("command") else (original, repro):
        if not path.is_file():
            raise UsageError(
                f"{path}, of which {folder / result_file.FILE} tells, is not there any more: put it back, or "
                "reduce again"
            )
    given = original.read_text(encoding="utf-8", errors="replace") if original.is_file() else ""
    texts = published_texts(told.get("argv", ()), told.get("environment", {}), repro.read_text("utf-8"), given)
    Publish(strict, say).check(texts)
    interpreter = python or told.get("python") or sys.executable
    with case_place(place) as made:
        check_shows(lay_out(made, told, words, say=say), repro, interpreter, told.get("arch"), say)
    return load(place)


def free_place(corpus: Path, name: str) -> Path:
    """Where a new case goes. Raises UsageError."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(f"{name!r} is no name for a case: small letters, digits and _; give one with --name")
    place = corpus / name
    if place.exists():
        raise UsageError(f"{place} is there already: give another --name, or remove it first")
    return place


@contextmanager
def case_place(place: Path) -> Iterator[Path]:
    """A folder that is not there yet, in which a case is made: in the corpus, so that it comes to its place whole or
    not at all. Raises UsageError."""
    corpus = place.parent
    if not corpus.is_dir():
        try:
            corpus.mkdir()  # the first case of a new corpus
        except OSError as error:
            raise UsageError(f"cannot create {corpus}: {error.strerror}. Name another corpus with --to") from error
    try:
        aside = tempfile.TemporaryDirectory(dir=corpus, prefix=f".{place.name}-")
    except OSError as error:
        raise UsageError(f"cannot write into {corpus}: {error.strerror}. Name another corpus with --to") from error
    with aside:
        made = Path(aside.name, place.name)
        yield made
        made.rename(place)


def check_shows(case: Case, repro: Path, python: str, arch: int | None, say: Say) -> None:
    """Raises NotReproduced where the case, which was made of `repro`, does not show its fault now."""
    outcome = replay([case], python=python, arch=arch, say=say)[0]
    if outcome.status not in (Status.FAULTS, Status.FLAKY):
        raise NotReproduced(f"nothing was added: {repro} does not show its fault now. {outcome}: {outcome.why}")


def _refused(told: Mapping[str, Any]) -> str:
    """What the reduction itself said against its result. A replay asks for its fault only, and in a lane."""
    if told.get("verified") == 0 and told.get("final_runs"):
        return f"none of the {told['final_runs']} clean runs of {told['output']} showed its fault when it was reduced"
    same = str(told.get("same", ""))
    return f"the reduction says of {told['output']}: {same}" if same.startswith(DIFFERENT) else ""


def lay_out(
    place: Path,
    told: Mapping[str, Any],
    words: CaseWords = CaseWords(),  # noqa: B008  it is frozen
    *,
    say: Say = lambda text: None,
) -> Case:
    """Make the folder of a case, which is called as `place` is. Raises UsageError."""
    original, repro = Path(told["original"]), Path(told["output"])
    place.mkdir()
    lacking = ""
    if told.get("command"):
        entered = command_script.original(told["command"], told["entered"])
        if lacking := entered.lacking:
            say(f"the case has no failing.py: {lacking}")
        else:
            (place / "failing.py").write_text(entered.text, encoding="utf-8")
            _take(entered.files or {}, place)
    elif original.is_file():
        if is_notebook(original):
            (place / "failing.py").write_text(read_notebook(original).text, encoding="utf-8")
        else:
            shutil.copyfile(original, place / "failing.py")
        _take(_own(original, say), place)
    shutil.copyfile(repro, place / f"repro_{place.name}.py")
    _take(_own(repro, say), place)
    values = _values(repro)
    _take(values, place)
    text = without_secrets(document(told, words, artifacts=values))
    if lacking:
        text = f"# No failing.py: {' '.join(lacking.split())}.\n{text}"
    (place / FILE).write_text(text, encoding="utf-8")
    for script in place.rglob("*.py"):
        _without_secrets(script)
    return load(place)


def _without_secrets(script: Path) -> None:
    """Replace them in this file of the case."""
    try:
        text = script.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    if (clean := without_secrets(text)) != text:
        script.write_text(clean, encoding="utf-8")


def document(
    told: Mapping[str, Any],
    words: CaseWords = CaseWords(),  # noqa: B008  it is frozen
    *,
    artifacts: Mapping[str, Path] = MappingProxyType({}),
) -> str:
    """The text of `case.toml` for what a reduction told of itself."""
    given = (told.get("fingerprint") or {}).get("original")
    fault = Fault(**given) if given else None
    klass = fault.klass if fault else "as the oracle says"
    data = head(words, str(fault or told["spec"]), klass, oracle=list(told["oracle"]))
    # A corpus is published: whoever replays the case has secrets of his own in the environment.
    given = told.get("environment", {})
    environment = {name: without_secrets(value) for name, value in given.items() if not SECRET.search(name)}
    shown = {**told, "environment": environment, "argv": list(without_secret_words(told.get("argv", ())))}
    for key in ("reject", "argv", "environment", "timeout"):
        if value := shown.get(key):
            data[key] = value
    if told.get("rates"):
        data["runs"] = _runs(told)
    if told.get("mode") == "cold":
        data["cold"] = True
    if needs := _needs(told, fault):
        data["needs"] = needs
    if fault is not None:
        # What the reduction renames or only tells is no part of what must be the same.
        left_out = ("kernel", "near", "said", "predicted")
        plain = {key: value for key, value in asdict(fault).items() if value and key not in left_out}
        data["fault"] = plain
    if artifacts:
        data["artifacts"] = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in artifacts.items()}
    return with_seen(data, _seen(told), "flaky" if told.get("rates") else "faults")


def head(words: CaseWords, title: str, klass: str, **more: Any) -> TOMLDocument:
    """How each `case.toml` begins: with the user's words, or these, and with `more` in front of what is upstream."""
    data = tomlkit.document()
    data["title"] = words.title or title
    data["class"] = words.klass or klass
    data["mechanism"] = paragraph(words.mechanism or "not known yet")
    data.update(more)
    if words.upstream:
        data["upstream"] = tomlkit.item(list(words.upstream)).multiline(len(words.upstream) > 1)
    return data


def with_seen(data: TOMLDocument, seen: Mapping[str, str], outcome: str) -> str:
    """The whole text: with what it was seen on, and what is expected of this Triton and later ones. Until somebody says
    otherwise: then a release that mends it is news."""
    tables = tomlkit.aot()
    tables.append(tomlkit.item({**seen, "date": datetime.date.today().isoformat()}))
    data["seen"] = tables
    if seen.get("triton"):
        data["expect"] = {f">={seen['triton'].split('+')[0]}": outcome}
    return tomlkit.dumps(data)


def paragraph(text: str) -> String:
    """As a person would write it: over several lines where one is too long."""
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return tomlkit.string(text if len(lines) < 2 else "\n".join(lines), multiline=len(lines) > 1 or "\n" in text)


def _own(script: Path, say: Say) -> Mapping[str, Path]:
    """The modules of its own that a script leads to, by their place beside it. A repro that needs more than are found
    does not show its fault from the case's folder, and is refused."""
    below = [Path(name).absolute() for name in os.environ.get("PYTHONPATH", "").split(os.pathsep) if name]
    try:
        roots = [script.parent, *(root for root in below if root.is_relative_to(Path.cwd()))]
        text = read_notebook(script).text if is_notebook(script) else script.read_text(encoding="utf-8")
        return modules(script, text, roots=roots)
    except Exception as error:  # text of any kind: the original is never run, and may do without
        say(f"the modules that {script} imports are left out: {type(error).__name__}: {error}")
        return {}


def _values(repro: Path) -> Mapping[str, Path]:
    """The recorded values that a lifted repro loads from beside it."""
    text = repro.read_text(encoding="utf-8")
    return {path.name: path for path in sorted(repro.parent.glob(f"{repro.stem}*.pt")) if f'"{path.name}"' in text}


def _take(files: Mapping[str, Path], folder: Path) -> None:
    """Copy these files below the folder of a case."""
    for name, path in files.items():
        place = folder / name
        if place.exists() and place.read_bytes() != path.read_bytes():
            raise UsageError(f"{path} cannot be kept under its own name, which {place.name} has in a case: rename it")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def _needs(told: Mapping[str, Any], fault: Fault | None) -> dict[str, Any]:
    repro, versions = Path(told["output"]), told.get("versions", {})
    builds = repro.is_file() and "cpp_extension" in repro.read_text(encoding="utf-8")
    tools: dict[str, Any] = {"tools": ["nvcc"]} if builds else {}
    if told.get("arch"):
        return {"architecture": architectures.name(told["arch"]), **tools}
    on_gpu = "gpu" in versions or "driver" in versions
    return {"gpu": True, **tools} if on_gpu and (fault is None or fault.phase != "compile") else tools


def _seen(told: Mapping[str, Any]) -> dict[str, str]:
    versions = told.get("versions", {})
    seen = {key: versions[key] for key in _SEEN if versions.get(key)}
    if told.get("arch"):
        seen["arch"] = architectures.name(told["arch"])
    return seen


def _runs(told: Mapping[str, Any]) -> int:
    """Runs that a flaky fault takes to show, by the rate of the repro."""
    rate = told["verified"] / told["final_runs"]
    return min(MOST_RUNS, max(3, clean_runs(rate, GONE))) if rate else MOST_RUNS
