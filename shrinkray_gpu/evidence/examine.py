"""The full fingerprint of a fault: what each instrument says of one program, put together.

`examine` asks all instruments, for a person; `fingerprint` only those that a checkpoint can afford. What is observed
(core dump, sanitizer) goes before what is predicted (the static rule); what nobody tells stays empty.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.evidence import instruments, source
from shrinkray_gpu.evidence.instruments import CODE, DUMP, MISSING, PRESENT, SKIPPED, STATIC, Said, Subject
from shrinkray_gpu.evidence.source import Place
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault, broken_compile
from shrinkray_gpu.oracle.sticky import STATIC_RULES, static_rule
from shrinkray_gpu.runner import coredump, disassembly, sanitizer, toolkit
from shrinkray_gpu.runner.coredump import Dump
from shrinkray_gpu.runner.disassembly import Instruction
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Script
from shrinkray_gpu.runner.run import Compile, Launch, Run
from shrinkray_gpu.runner.sanitizer import Record

LAST_LINES = 5
AROUND = 3
"""Instructions shown on either side of the one at fault."""
_STATIC_PLACE = re.compile(r", at (.+?):(\d+):(\d+)$")
_TMA = {"load": "UTMALDG", "store": "UTMASTG"}
_DECLARED = re.compile(r"^.*\.extern \.shared\b.*$|^@global_smem = .*$", re.MULTILINE)
_DIAGNOSED = re.compile(r"^(\S+?\.py):(\d+):(\d+): (?:error|remark|note)", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"]+)", line (\d+), in ', re.MULTILINE)
_FRONT_END = re.compile(r"\bat (\d+):(\d+):[ \t]*\n(?:def (\w+))?")
"""Counted from the `def` of the function that is being compiled, a helper or the kernel."""


@dataclass(frozen=True)
class Finding:
    """Records of one kind and place: the first of them, and how many there are."""

    record: Record
    count: int


@dataclass(frozen=True)
class Evidence:
    """All that is known of one program's fault."""

    file: str
    fault: Fault | None
    ending: str
    """How the program ended, in its own words."""
    kernel: str = ""
    """Where the fault is, or else what was compiled or launched last."""
    launch: Launch | None = None
    parameters: tuple[str, ...] = ()
    """Names of the launch's arguments, where the kernel is in the file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the kernel's compilation: warps, stages and the like."""
    place: Place | None = None
    instruction: str = ""
    """Whole, as disassembled."""
    offset: int = -1
    """Of the instruction from the kernel's start, in bytes."""
    sass: tuple[Instruction, ...] = ()
    """Around the instruction."""
    alike: int = 0
    """Where only the line is known: how many instructions of this family stand for it."""
    memory: tuple[str, ...] = ()
    """What is known of the address: alignment declared, place of the access, nearest allocation."""
    diagnostics: str = ""
    """What a failing compiler said."""
    findings: tuple[Finding, ...] = ()
    dump: str = ""
    """What cuda-gdb said of the core dump, whole."""
    ir: Mapping[str, str] = field(default_factory=dict)
    """The kernel's code, whole: `ttgir`, `llir`, `ptx`."""
    said: tuple[Said, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    run: Run | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything but the code and the run, which are long."""
        return asdict(replace(self, ir={}, run=None))


@dataclass(frozen=True)
class _Sight:
    """Where an instrument saw the fault."""

    kernel: str
    offset: int = -1
    instruction: str = ""
    file: str = ""
    line: int = 0
    column: int = -1


def examine(
    text: str,
    script: Script,
    setup: Setup,
    *,
    seconds: float,
    extra: float = COLD,
    ask: Iterable[str] = instruments.USUAL,
    intermittent: bool = False,
    told_versions: bool = True,
) -> Evidence:
    """Run the program once, and once more for each instrument in `ask` that its fault calls for.

    A plain run may take `seconds`, and `extra` for its imports. `intermittent`: it does not fault in every run, so that
    instruments are asked though this one ended well.
    """
    asked = frozenset(ask) | (instruments.INTERMITTENT if intermittent else frozenset())
    with (
        tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor() as threads,
    ):
        subject = Subject(text, script, setup, seconds, Path(folder), extra)
        # Beside the first run, which nearly always says that they are called for: each takes seconds of a process.
        beside = _begun(subject, asked, threads) if subject.gpu else {}
        run, about = instruments.cold(subject, instruments.WANTS if CODE in asked else ())
        fault = Fault.of(run)
        said = {about.instrument: about}
        device = fault is not None and fault.phase == "device"
        rule: Run | None = None
        dump: Dump | None = None
        found: list[Record] = []
        if device or (intermittent and not run.trouble):
            if STATIC in asked:
                begun = beside.get(STATIC)
                rule, said[STATIC] = begun.result() if begun else instruments.static(subject, run)
            if DUMP in asked:
                begun = beside.get(DUMP)
                dump, said[DUMP] = begun.result() if begun else instruments.dumped(subject)
            for tool in sanitizer.TOOLS:
                if tool in asked:
                    begun = beside.get(tool)
                    records, said[tool] = begun.result() if begun else instruments.sanitized(subject, tool)
                    found += records
        evidence = assembled(subject, run, rule=rule, dump=dump, records=found, said=said, code=CODE in asked)
        for name in instruments.ORDER:
            said.setdefault(name, Said(name, SKIPPED, _why_not(name, fault, asked)))
        known = versions(setup.python, setup.environment, gpu=subject.gpu) if told_versions else {}
    ordered = tuple(said[name] for name in instruments.ORDER)
    return replace(evidence, said=ordered, versions=known)


def _begun(subject: Subject, asked: frozenset[str], threads: ThreadPoolExecutor) -> dict[str, Future[Any]]:
    """The instruments that run the program by themselves, at work."""
    begun: dict[str, Future[Any]] = {}
    if STATIC in asked:
        begun[STATIC] = threads.submit(instruments.static, subject, None)
    if DUMP in asked:
        begun[DUMP] = threads.submit(instruments.dumped, subject)
    for tool in sanitizer.TOOLS:
        if tool in asked:
            begun[tool] = threads.submit(instruments.sanitized, subject, tool)
    return begun


def fingerprint(text: str, script: Script, setup: Setup, *, seconds: float, run: Run | None = None) -> Fault | None:
    """The fault as the instruments of a checkpoint see it: a cold run, and on a GPU a core dump, or the sanitizer where
    nobody can read one. None if the program shows no fault.

    `run`: one that showed it. Then a core dump needs no other: of a program that takes a minute, that is a minute."""
    quick = instruments.QUICK
    if setup.arch is None:
        quick = quick - {STATIC}
        if coredump.find(setup.python, setup.environment) is None:
            quick = (quick - {DUMP}) | {"memcheck"}
        elif run is not None:
            return _by_dump(text, script, setup, run, seconds=seconds)
    return examine(text, script, setup, seconds=seconds, ask=quick, told_versions=False).fault


def _by_dump(text: str, script: Script, setup: Setup, run: Run, *, seconds: float) -> Fault | None:
    """What a core dump adds to a run that was made before; None if none was written, or it tells nothing."""
    with tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as folder:
        subject = Subject(text, script, setup, seconds, Path(folder))
        dump, _ = instruments.dumped(subject)
        return assembled(subject, run, dump=dump, code=False).fault if dump is not None else None


def assembled(
    subject: Subject,
    run: Run,
    *,
    rule: Run | None = None,
    dump: Dump | None = None,
    records: Sequence[Record] = (),
    said: dict[str, Said] | None = None,
    code: bool = True,
) -> Evidence:
    """What a cold run, a virtual one, a core dump and a sanitizer's records say together. Notes in `said` what the
    kernel's code had to say."""
    name, fault = subject.script.path.name, Fault.of(run)
    seen = Evidence(subject.script.name or str(subject.script.path), fault, speech.ending(run), run=run)
    findings = tuple(Finding(*one) for one in sanitizer.collapsed(records))
    seen = replace(seen, findings=findings, dump=dump.text if dump else "")
    if fault is not None and fault.phase == "compile":
        return _of_compilation(seen, subject, run, fault)
    record = _telling(records, dump)
    sights = [*_of_dump(dump), *_of_record(record)]
    broken = next((one for one in rule.launches if one.fault), None) if rule is not None else None
    if broken is not None and not _predicts(broken, fault, sights):
        broken = None
    sights += _of_rule(broken)
    kernel = sights[0].kernel if sights else fault.kernel or fault.near if fault is not None else ""
    if not kernel:
        return _of_host(seen, subject, run)
    listings = _listings(subject, run, kernel, {} if said is None else said) if code else {}
    launch, compile = _which(run, kernel, sights, listings)
    sass = listings.get(compile.hash, ()) if compile is not None else ()
    sight = _completed(sights, sass)
    text, alike = sight.instruction, 0
    if not text and broken is not None and sight.line:
        family = next((_TMA[word] for word in _TMA if f"TMA {word} " in broken.fault), "")
        same = [one for one in sass if disassembly.family(one.text) == family and _at(one, sight)]
        alike = len(same)
        if same:
            sight, text = replace(sight, offset=same[0].offset), same[0].text
    place = _place(subject, replace(sight, file=_whole(sight.file, compile)), name)
    seen = replace(
        seen,
        kernel=kernel,
        launch=launch,
        parameters=source.parameters(_text_at(subject, place), kernel),
        options=_options(compile),
        place=place,
        instruction=text,
        offset=sight.offset,
        sass=disassembly.around(sass, sight.offset, AROUND) if _agrees(sass, sight, text) else (),
        alike=alike,
        memory=tuple(_memory(compile, broken, record)),
        ir={stage: compile.ir[stage] for stage in ("ttgir", "llir", "ptx") if stage in compile.ir} if compile else {},
    )
    return replace(seen, fault=_filled(fault, seen, subject, record, certain=bool(sights)))


def _filled(
    fault: Fault | None, seen: Evidence, subject: Subject, record: Record | None, *, certain: bool
) -> Fault | None:
    """The everyday fault with the fields that only instruments know."""
    if fault is None:
        return None
    does = disassembly.meaning(seen.instruction)
    access = (record.access if record else "") or does.access
    place = seen.place
    return replace(
        fault,
        kernel=seen.kernel if certain else fault.kernel,
        near="" if certain else fault.near,
        instruction=disassembly.family(seen.instruction),
        space=(record.space if record else "") or does.space,
        size=(record.size if record else 0) or does.size,
        access=access,
        construct=source.construct(_text_at(subject, place), place.line, access) if place and place.line else "",
    )


def _predicts(broken: Launch, fault: Fault | None, sights: Sequence[_Sight]) -> bool:
    """Whether the static rule speaks of the fault seen: a prediction is no sight of another error or kernel."""
    right = fault is not None and fault.code == STATIC_RULES[static_rule(broken)]
    return right and (not sights or sights[0].kernel == broken.kernel)


def _telling(records: Sequence[Record], dump: Dump | None) -> Record | None:
    """The record of the fault itself: the sanitizer also sees accesses that the device lets pass."""
    of_kernels = [one for one in records if one.kernel and not one.kernel.startswith("__")]
    if dump is not None and dump.precise:
        of_kernels = [one for one in of_kernels if (one.kernel, one.offset) == (dump.kernel, dump.offset)]
    return of_kernels[0] if of_kernels else None


def _of_dump(dump: Dump | None) -> list[_Sight]:
    if dump is None or not dump.kernel or not dump.exception:
        return []
    if not dump.precise:  # an assertion: the threads stand somewhere behind it
        return [_Sight(dump.kernel, file=dump.file, line=dump.line)]
    return [_Sight(dump.kernel, dump.offset, dump.instruction, dump.file, dump.line)]


def _of_record(record: Record | None) -> list[_Sight]:
    return [_Sight(record.kernel, record.offset, "", record.file, record.line)] if record is not None else []


def _of_rule(broken: Launch | None) -> list[_Sight]:
    if broken is None:
        return []
    at = _STATIC_PLACE.search(broken.fault)
    if at is None:
        return [_Sight(broken.kernel)]
    return [_Sight(broken.kernel, file=at.group(1), line=int(at.group(2)), column=int(at.group(3)))]


def _listings(subject: Subject, run: Run, kernel: str, said: dict[str, Said]) -> dict[str, tuple[Instruction, ...]]:
    """SASS of each compilation of the kernel, by its hash."""
    compiled = [one for one in run.compiles if one.kernel == kernel and one.hash]
    tool = disassembly.find(subject.setup.python, subject.environment)
    listings = {one.hash: instruments.instructions(one, tool) for one in compiled}
    stages = ", ".join(dict.fromkeys(stage for one in compiled for stage in one.ir if stage != "cubin"))
    if not compiled:
        said[CODE] = Said(CODE, PRESENT, f"nobody saw {kernel} compiled")
    elif tool is None:
        said[CODE] = Said(CODE, MISSING, f"{stages} of {kernel}, but no SASS: {toolkit.missing('nvdisasm')}")
    elif not any(listings.values()):
        said[CODE] = Said(CODE, PRESENT, f"{stages} of {kernel}; {tool} cannot read its cubin")
    else:
        count = next(len(one) for one in reversed(listings.values()) if one)
        said[CODE] = Said(CODE, PRESENT, f"{stages} and {count} instructions of {kernel}")
    return listings


def _which(
    run: Run, kernel: str, sights: Sequence[_Sight], listings: Mapping[str, tuple[Instruction, ...]]
) -> tuple[Launch | None, Compile | None]:
    """The launch that faults, with its compilation: the one that a rule names, else the last one of that kernel whose
    code has the instruction seen."""
    launches = [launch for launch in run.launches if launch.kernel == kernel]
    named = [launch for launch in launches if launch.fault]
    seen = [sight for sight in sights if sight.instruction]
    fitting = [
        launch
        for launch in launches
        if any(_agrees(listings.get(launch.hash, ()), sight, sight.instruction) for sight in seen)
    ]
    launch = next(iter((*named, *reversed(fitting), *reversed(launches))), None)
    compiled = [one for one in run.compiles if one.kernel == kernel]
    wanted = [one for one in compiled if launch is not None and one.hash == launch.hash]
    return launch, next(iter((*reversed(wanted), *reversed(compiled))), None)


def _agrees(sass: Sequence[Instruction], sight: _Sight, text: str) -> bool:
    """Whether the code that we compiled has, at this offset, the kind of instruction that was seen."""
    there = disassembly.at(sass, sight.offset)
    return there is not None and disassembly.family(there.text) == disassembly.family(text)


def _completed(sights: Sequence[_Sight], sass: Sequence[Instruction]) -> _Sight:
    """The first sight, with what only the others tell, and with the instruction at its offset."""
    if not sights:
        return _Sight("")
    first = sights[0]
    for other in sights[1:]:
        if other.kernel != first.kernel:
            continue
        if first.offset < 0:
            first = replace(first, offset=other.offset, instruction=other.instruction)
        if not first.line:
            first = replace(first, file=other.file, line=other.line)
        if other.line == first.line and first.column < 0:
            first = replace(first, column=other.column)
    there = disassembly.at(sass, first.offset)
    if there is not None and not first.instruction:
        first = replace(first, instruction=there.text)
    if there is not None and not first.line:
        first = replace(first, file=there.file, line=there.line)
    return first


def _at(one: Instruction, sight: _Sight) -> bool:
    return one.line == sight.line and Path(one.file).name == Path(sight.file).name


def _place(subject: Subject, sight: _Sight, name: str) -> Place | None:
    """The source line. A candidate's text is run as a copy elsewhere, so files are known by their names."""
    if not sight.line:
        return None
    file = str(subject.script.path) if Path(sight.file).name == name else sight.file
    place = Place(file, sight.line, column=sight.column)
    return replace(place, text=source.line_of(_text_at(subject, place), sight.line))


def _whole(file: str, compile: Compile | None) -> str:
    """The path of a file of which only the name is told, as the kernel's IR has it."""
    if not file or "/" in file or compile is None:
        return file
    found = re.search(rf'"(/[^"]*/{re.escape(file)})"', compile.ir.get("ttgir", ""))
    return found.group(1) if found else file


def _text_at(subject: Subject, place: Place | None) -> str:
    """The text of the file that the place is in: the program's own, or that of a module of its. Empty if that cannot be
    read."""
    if place is None or place.file == str(subject.script.path):
        return subject.text
    try:
        return Path(place.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _memory(compile: Compile | None, broken: Launch | None, record: Record | None) -> Iterable[str]:
    if compile is not None:
        for stage in ("ptx", "llir"):
            if declared := _DECLARED.search(compile.ir.get(stage, "")):
                yield f"shared memory as declared ({stage.upper()}): {declared.group(0).strip()}"
                break
    if broken is not None:
        told = _STATIC_PLACE.sub("", broken.fault).partition(": ")[2] or broken.fault
        yield f"the access ({STATIC}): {told}, where TMA needs a multiple of 128"
    for note in record.notes if record is not None else ():
        yield f"the address ({record.tool if record else ''}): {note}"


def _options(compile: Compile | None) -> dict[str, Any]:
    """Those that a reader asks for, and others where they were set."""
    if compile is None:
        return {}
    shown = ("num_warps", "num_stages", "num_ctas")
    extra = ("maxnreg", "launch_cooperative_grid", "launch_pdl", "ptx_options", "debug")
    given = compile.options
    return {
        **{name: given[name] for name in shown if name in given},
        **{name: given[name] for name in extra if given.get(name)},
    }


def _of_compilation(seen: Evidence, subject: Subject, run: Run, fault: Fault) -> Evidence:
    """A compiler that fails has no instruction; it may say which line it was at."""
    compile = broken_compile(run)
    if compile is None:
        return _of_host(seen, subject, run)
    raw = "\n".join([*_causes(run), compile.printed, compile.failure.text if compile.failure else ""])
    place: Place | None = None
    if found := _DIAGNOSED.search(raw):
        sight = _Sight(compile.kernel, file=found.group(1), line=int(found.group(2)), column=int(found.group(3)))
        place = _place(subject, sight, subject.script.path.name)
    elif found := _FRONT_END.search(raw):
        start = source.first_line(subject.text, found.group(3) or compile.kernel)
        line = start + int(found.group(1)) - 1 if start else 0
        place = _place(
            subject, _Sight(compile.kernel, file=subject.script.path.name, line=line), subject.script.path.name
        )
    construct = source.construct(_text_at(subject, place), place.line) if place is not None else ""
    return replace(
        seen,
        fault=replace(fault, construct=construct),
        kernel=compile.kernel,
        options=_options(compile),
        place=place or _host_line(subject, run),
        diagnostics=_complaints(run),
    )


def _of_host(seen: Evidence, subject: Subject, run: Run) -> Evidence:
    died = run.failure is None and speech.failed(run)
    last = [line for line in (run.stdout + "\n" + run.stderr).splitlines() if line.strip()][-LAST_LINES:]
    return replace(seen, place=_host_line(subject, run), diagnostics="\n".join(last) if died else "")


def _complaints(run: Run) -> str:
    """What the failing compiler said, in all places, each line once."""
    heard = [said.text for said in speech.heard(run) if said.place in ("exception", "compiler")]
    heard += [speech.without_quotations(cause) for cause in _causes(run)]
    return "\n".join(dict.fromkeys(line for text in heard for line in text.splitlines() if line.strip(" =")))


def _causes(run: Run) -> list[str]:
    """The causes of the exception, deepest first, quotations and all. Those of Triton's front end were never raised,
    and so have no traceback."""
    failure = speech.uncaught(run)
    return failure.traceback.split(speech.CAUSED)[:-1] if failure is not None else []


def _host_line(subject: Subject, run: Run) -> Place | None:
    """The script's own last line in the traceback; of a command, whose script is a driver of ours, that of the last
    file in its folder."""
    if run.failure is None:
        return None
    file, line = str(subject.script.path), run.failure.line
    if subject.script.name:
        frames = [(file, int(at)) for file, at in _FRAME.findall(run.failure.traceback) if _is_own(subject, file)]
        file, line = frames[-1] if frames else (file, None)
    if not line:
        return None
    place = Place(file, line)
    return replace(place, text=source.line_of(_text_at(subject, place), line))


def _is_own(subject: Subject, file: str) -> bool:
    """Whether a file lies in the command's folder, and is not software installed there."""
    path, script = Path(file), subject.script
    return path != script.path and path.is_relative_to(script.cwd) and "site-packages" not in path.parts


def _why_not(name: str, fault: Fault | None, asked: frozenset[str]) -> str:
    if name in instruments.INTERMITTENT and name not in asked:
        return "for a fault that comes and goes"
    if name not in asked:
        return "on request"
    if fault is None:
        return "there is no fault to look at"
    return "of no use for this kind of fault"
