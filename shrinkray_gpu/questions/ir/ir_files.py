"""What a study leaves in its folder: tables, programs, their output, the code of every kernel, and checksums."""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from shrinkray_gpu.questions import run_folder
from shrinkray_gpu.questions.ir import ir_tables
from shrinkray_gpu.questions.ir.study import FILES, Study, StudyResult
from shrinkray_gpu.questions.varying import RunPlace

_FILES = {stage: "ll" if stage == "llir" else stage for stage in FILES}


def save(
    folder: Path,
    studies: Sequence[Study],
    pythons: Sequence[str],
    place: RunPlace,
    *,
    command: str,
) -> None:
    """Write everything into the (fresh) folder."""
    variables = {**os.environ, **place.environment}
    run_folder.write(folder, "command.txt", command + "\n")
    run_folder.write(folder, "summary.tsv", ir_tables.summary_tsv(studies))
    run_folder.write(folder, "summary.md", ir_tables.markdown(studies, command))
    run_folder.write(folder, "summary.json", {"command": command, "studies": ir_tables.to_json(studies)})
    for one, python in zip(studies, pythons, strict=True):
        below = f"triton-{one.triton}"
        about = run_folder.environment(python, one.versions, arch=place.arch, variables=variables)
        run_folder.write(folder, f"{below}/env.json", about)
        for number, answer in enumerate(one.answers, 1):
            _answer(folder, f"{below}/{number:02}-{answer.test.slug}", answer)
    run_folder.seal(folder)


def _answer(folder: Path, place: str, answer: StudyResult) -> None:
    test = answer.test
    run_folder.write(folder, f"{place}/{test.program.path.name}", test.program.text)
    if answer.run is not None:
        told = {
            "test": test.name,
            "argv": test.program.argv,
            "environment": test.program.environment,
            "knobs": test.program.knobs,
            "changed": test.program.where,
            "exit": answer.run.exit,
            "launches": [
                {"kernel": one.kernel, "grid": one.grid, "arguments": one.args} for one in answer.run.launches
            ],
        }
        run_folder.write(folder, f"{place}/run.json", told)
        run_folder.write(folder, f"{place}/output.txt", answer.run.stdout + answer.run.stderr)
    numbers: Counter[str] = Counter()
    for row in answer.rows:
        numbers[row.kernel] += 1
        name = row.kernel if numbers[row.kernel] == 1 else f"{row.kernel}-{numbers[row.kernel]}"
        for stage in FILES:
            text = row.compile.ir.get(stage)
            if text:
                content = base64.b64decode(text) if stage == "cubin" else text
                run_folder.write(folder, f"{place}/{name}.{_FILES[stage]}", content)
