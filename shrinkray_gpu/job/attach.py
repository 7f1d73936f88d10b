"""The attachment of a reduction: measured at its end on the lanes that are up, or made again from its folder.

from shrinkray_gpu.job.attach import report
report(Path("failing.shrink"))
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shrinkray_gpu import calibration
from shrinkray_gpu.attachment import artifacts, attachment, forms
from shrinkray_gpu.attachment.experiments import SECONDS
from shrinkray_gpu.attachment.header import Header
from shrinkray_gpu.attachment.measurements import Measurements, measure
from shrinkray_gpu.calibration import Plan
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.events import now_and_then
from shrinkray_gpu.evidence.secrets_found import Publish
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.job.asked import limits_of, oracle_of, setup_of
from shrinkray_gpu.options import Options, Say
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.result import result_file
from shrinkray_gpu.runner.fence import NOT_ASKED
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.pool import Script

AT_HAND = 2
"""Releases of Triton tried where nobody names one, of those that are installed aside. Each is a run of the repro."""
MAKING = f"making the attachment, {SECONDS:.0f} s of experiments at most (--no-report: none) ..."
_ASKED = ("original", "output", "oracle", "spec", "before", "after", "tries", "seconds", "verified", "final_runs")
_COMPARED = "run it with both releases; what the launch returns has n_regs, and n_spills in units of 4 bytes"


def report(
    folder: Path,
    *,
    python: str = "",
    jobs: int | None = None,
    seconds: float = SECONDS,
    price: float | None = None,
    zipped: bool = False,
    tritons: Sequence[str] = (),
    strict: bool = False,
    reader: str = "",
    say: Say = lambda text: None,
) -> Path:
    """Make the attachment of the reduction that ended in `folder` (`<stem>.shrink`), without reducing again: the repro,
    ISSUE.md, artifacts/ and report.html, and with `zipped` all of it in one archive. `tritons`: releases with which the
    repro is run, too; without them, the newest few that are installed aside. Those of earlier reports are told again.
    Returns the path of the issue, or of the archive.

    Secrets are replaced and told, or, if `strict`, refused. `reader`: the project that ISSUE.md is for, of
    `forms.FORMS`; chosen from the repro where it is empty.

    Raises UsageError where there is no such reduction, NotReproduced where its repro does not show the fault now, and
    OSError where there is no room or nothing may be written; an earlier attachment is as it was then.
    """
    told = dict(result_file.read(folder, _ASKED))
    output = Path(told["output"])
    if not output.is_file():
        raise UsageError(f"{output}, of which {folder / result_file.FILE} tells, is not there any more: put it back")
    attachment.check_place(folder)
    options = Options(
        oracle=tuple(told["oracle"]),
        reject=tuple(told.get("reject", ())),
        python=python or told.get("python") or Options().python,
        arch=told.get("arch"),
        argv=tuple(told.get("argv", ())),
        timeout=told.get("timeout"),
        environment=told.get("environment", {}),
        cwd=Path(told["cwd"]) if told.get("cwd") else None,
        writable=tuple(map(Path, told.get("writable", ()))),
        jobs=jobs,
    )
    check_python(options.python)
    chosen, options = oracle_of(options, say)
    told["releases"] = _releases(folder, told, tritons, options.python, say)
    setup = replace(setup_of(output, folder.absolute(), options), left_open=NOT_ASKED)
    known = versions(options.python, setup.environment, gpu=options.arch is None)
    fault = (told.get("fingerprint") or {}).get("repro")
    shows = str(_fault(fault)) if fault else told.get("fault") or told.get("code", {}).get("repro") or told["spec"]
    text = read_program(output).text
    assert chosen is not None
    check = "" if chosen.needs.plain else told.get("check", "")
    header = Header(shows, check, _origin(told), _COMPARED if told.get("code") else "")
    text = header.above(text, output.name, versions=known, arch=options.arch, argv=options.argv)
    say(f"running {output.name} as it is ...")
    script = Script(output, argv=options.argv, cwd=(options.cwd or Path.cwd()).absolute())
    plan = calibration.make(
        text,
        chosen.needs.on(script, virtual=options.arch is not None),
        setup,
        oracle=chosen,
        limits=limits_of(replace(options, mode=options.mode or "fork")),
    )
    try:
        measured = measure(text, output, plan, seconds=seconds, say=now_and_then(say))
    finally:
        plan.close()
    original = Path(told["original"])
    before = read_program(original).text if not told.get("command") and original.is_file() else ""
    told["versions"] = known
    return attachment.write(
        folder.absolute(),
        told,
        measured,
        before=before,
        form=_form(reader, told, say),
        price=price,
        zipped=zipped,
        publish=Publish(strict, say),
    )


def _releases(folder: Path, told: Mapping[str, Any], tritons: Sequence[str], python: str, say: Say) -> dict[str, str]:
    """What the repro does with these releases of Triton, and with those that an earlier report asked of this repro."""
    earlier = folder / attachment.ARTIFACTS / artifacts.RELEASES
    found: dict[str, str] = {}
    if earlier.is_file() and earlier.stat().st_mtime > (folder / result_file.FILE).stat().st_mtime:
        found = json.loads(earlier.read_text(encoding="utf-8"))
    from shrinkray_gpu.corpus import addition, environments  # what no other command should wait for
    from shrinkray_gpu.corpus.replay import replay

    if not tritons:
        at_hand = environments.tritons_at_hand(python)[:AT_HAND]
        tritons = [version for version in at_hand if version not in found]
    pythons = {version: environments.with_triton(version, python=python, say=say) for version in tritons}
    if not pythons:  # to lay a case out reads all modules of the repro: a second
        return found
    with tempfile.TemporaryDirectory(prefix="shrink-") as aside:
        case = addition.lay_out(Path(aside, "case"), told)
        for version, interpreter in pythons.items():
            outcome = replay([case], python=interpreter, arch=told.get("arch"), say=say)[0]
            found[version] = f"{outcome}: {outcome.why}" if outcome.why else str(outcome)
    return found


def _releases_at_hand(folder: Path, told: Mapping[str, Any], python: str, say: Say) -> dict[str, str]:
    """The same at the end of a reduction, with those installed aside. Of a flaky fault one run says nothing."""
    if told.get("rates"):
        return {}
    try:
        return _releases(folder, told, (), python, say)
    except Exception as error:  # whatever it is: all else of the attachment is there
        say(f"no other Triton was tried ({type(error).__name__}: {error})")
        return {}


def at_the_end(
    text: str,
    output: Path,
    plan: Plan,
    options: Options,
    header: Header,
    *,
    say: Say,
    stop: Callable[[], bool],
) -> Measurements | None:
    """What an attachment needs to have run, at the end of a reduction. None, and a word to the user, where that fails:
    the repro is there, and it must not be lost over this."""
    try:
        known = versions(options.python, plan.pool.setup.environment, gpu=plan.gpu)
        text = header.above(text, output.name, versions=known, arch=options.arch, argv=options.argv)
        measured = measure(text, output, plan, say=now_and_then(say), stop=stop)
    except Exception as error:  # whatever it is
        say(f"no attachment was made ({type(error).__name__}: {error}); try shrink report on the folder")
        return None
    return measured


def write_attachment(
    folder: Path, told: Mapping[str, Any], measured: Measurements, options: Options, *, before: str, say: Say
) -> str:
    """Write the attachment at the end of a reduction. Returns what the user calls its path; empty, and a word to the
    user, where that fails."""
    say("writing ISSUE.md and report.html ...")
    try:
        made = attachment.write(
            folder,
            {**told, "releases": _releases_at_hand(folder, told, options.python, say)},
            measured,
            before=before,
            form=_form(options.reader, told, say),
            price=options.gpu_price,
            zipped=options.zipped,
            publish=Publish(options.strict, say),
        )
    except UsageError as error:
        say(str(error))
        return ""
    except Exception as error:  # whatever it is: the repro is there
        say(f"no attachment was written ({type(error).__name__}: {error}); try shrink report {folder}")
        return ""
    return os.path.relpath(made)


def _form(reader: str, told: Mapping[str, Any], say: Say) -> forms.Form:
    verdict = str((told.get("verdict") or {}).get("verdict", ""))
    form, why = forms.choice(reader, str(told.get("text", "")), verdict)
    say(why)
    return form


def _origin(told: Mapping[str, Any]) -> str:
    return str(told.get("command") or f"{Path(told['original']).name}, {told['before'][0]} lines")


def _fault(fields: Mapping[str, Any]) -> Fault:
    empty = Fault(fields["phase"], fields["klass"])
    return replace(empty, **{name: value for name, value in fields.items() if hasattr(empty, name)})
