"""A reduced module of Triton's IR becomes a case of the corpus, if its pass still fails in the same way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shrinkray_gpu.corpus.addition import CaseWords, Say, case_place, check_shows, free_place, head, with_seen
from shrinkray_gpu.corpus.case import FILE, Case, fault_of_ir, load
from shrinkray_gpu.evidence.secrets_found import Publish, without_secrets
from shrinkray_gpu.intermediate import lit_test
from shrinkray_gpu.intermediate.ir_file import read_text
from shrinkray_gpu.oracle import Fault


def add_ir(
    file: Path,
    corpus: Path,
    *,
    name: str = "",
    words: CaseWords = CaseWords(),  # noqa: B008  it is frozen
    python: str = "",
    strict: bool = False,
    say: Say = lambda text: None,
) -> Case:
    """Make a case of the IR in `file`, as `shrink FILE` writes it. Raises UsageError, NotReproduced, as `add` does.

    What the user does not say is taken from the head of the file: title and class, the release, the architecture.
    """
    text, fault = read_text(file), fault_of_ir(file)
    place = free_place(corpus, name or file.name.partition(".")[0].removeprefix("repro_"))
    Publish(strict, say).check({os.fspath(file): text})
    with case_place(place) as made:
        made.mkdir()
        (made / f"repro_{place.name}.mlir").write_text(without_secrets(text), encoding="utf-8")
        (made / FILE).write_text(without_secrets(document(text, fault, words)), encoding="utf-8")
        check_shows(load(made), file, python or sys.executable, None, say)
    return load(place)


def document(text: str, fault: Fault, words: CaseWords) -> str:
    """The text of `case.toml` for a file that `shrink` made of IR."""
    release, arch = lit_test.seen_with(text)
    data = head(words, f"{fault.klass}: {fault.text}", fault.klass)
    if arch:
        data["needs"] = {"architecture": arch}
    seen = {"triton": release, "arch": arch}
    return with_seen(data, {key: value for key, value in seen.items() if value}, "faults")
