"""The files under `artifacts/`: code of the repro and of its nearest passing variant, logs, environment, checksums.

All of them are scrubbed. No tensor data and no core dump is among them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from shrinkray_gpu.attachment import surroundings
from shrinkray_gpu.attachment.compiled_code import Code
from shrinkray_gpu.attachment.dossier import TWIN, Dossier
from shrinkray_gpu.attachment.ptx_beside import ptx_beside
from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.evidence.instruments.instrument import SKIPPED
from shrinkray_gpu.evidence.scrubbing import Scrubber
from shrinkray_gpu.ptx.launcher import NoLauncher, launcher

SUMS = "SHA256SUMS"
RELEASES = "releases.json"
"""What the repro does with releases of Triton that `shrink report --triton` asked."""


def files(dossier: Dossier, scrub: Scrubber) -> dict[str, bytes]:
    """Name and content of each, the checksums last."""
    stem = dossier.name.removesuffix(".py")
    texts: dict[str, str] = {}
    cubins: dict[str, bytes] = {}
    _add(dossier.code, stem, texts, cubins)
    if dossier.passing is not None:
        passing = f"{stem}_passing"
        texts[f"{passing}.py"] = dossier.passing.experiment.text
        texts[f"{passing}.diff"] = dossier.passing.diff
        _add(dossier.passing.code, passing, texts, cubins)
        for stage, difference in dossier.passing.differences.items():
            texts[f"{passing}.{stage}.diff"] = difference
    texts[TWIN] = dossier.twin
    texts["build.log"] = dossier.build
    texts["sanitizer.log"] = sanitizer_log(dossier)
    texts["card.txt"] = dossier.card + "\n"
    for instrument, said in dossier.evidence.texts.items():  # of a core dump its reader's words: itself it holds memory
        texts[f"{instrument.replace(' ', '_')}.txt"] = said + "\n"
    texts.update({**dossier.reproducers, **dossier.as_ir})
    texts[f"{stem}_launch.py"] = driver_launcher(dossier, f"{stem}.ptx")
    if beside := ptx_beside(dossier.told):
        texts[beside.name] = beside.text
    texts["experiments.tsv"] = experiments(dossier)
    if dossier.told.get("releases"):
        texts[RELEASES] = json.dumps(dossier.told["releases"], indent=1) + "\n"
    texts["env.json"] = surroundings.text(dossier.environment)
    found = {name: scrub.text(text).encode("utf-8", "replace") for name, text in texts.items() if text}
    found.update({name: scrub.data(data) for name, data in cubins.items()})
    found[SUMS] = _sums(found).encode("utf-8", "surrogateescape")
    return found


def driver_launcher(dossier: Dossier, file: str) -> str:
    """A script that launches the kernel by the driver alone; empty where there is none of this launch."""
    launch, run, ptx = dossier.evidence.launch, dossier.evidence.run, dossier.code.stages.get("ptx", "")
    if launch is None or run is None or not ptx or not dossier.code.cubin:
        return ""
    compiled = [each for each in run.compiles if each.hash == launch.hash]
    try:
        return launcher(launch, compiled[-1], ptx, file) if compiled else ""
    except NoLauncher:
        return ""


def _add(code: Code, stem: str, texts: dict[str, str], cubins: dict[str, bytes]) -> None:
    for stage, text in code.stages.items():
        texts[f"{stem}.{stage}"] = text
    if code.cubin:
        cubins[f"{stem}.cubin"] = code.cubin
    if code.listing:
        texts[f"{stem}.sass"] = code.sass


def sanitizer_log(dossier: Dossier) -> str:
    """The first record of each kind and place, without the host's backtrace, or why there is none."""
    parts = [
        f"{finding.record.device_text}\n({finding.count} of these)" if finding.count > 1 else finding.record.device_text
        for finding in dossier.evidence.findings
    ]
    for one in dossier.evidence.said:
        if one.instrument in sanitizer_records.TOOLS and one.state != SKIPPED:
            parts.append(f"{one.instrument}: {one.state}{f', {one.text}' if one.text else ''}")
    return "\n\n".join(parts) + "\n" if parts else ""


def experiments(dossier: Dossier) -> str:
    """The control experiments as a table for programs."""
    rows = [("knob", "value", "outcome", "command", "why")]
    rows += [(one.knob, one.value, one.outcome, one.command, one.why) for one in dossier.trials.experiments]
    return "".join("\t".join(cell.replace("\t", " ") for cell in row) + "\n" for row in rows)


def _sums(found: Mapping[str, bytes]) -> str:
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(found.items()))
