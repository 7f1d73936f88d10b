"""Runs of the program that a verdict rests on, most of them on the virtual GPU, each made when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence.source_places import folders_of
from shrinkray_gpu.evidence.source_text import name_below
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.questions.blame import edited_module
from shrinkray_gpu.questions.blame.experiments import Laboratory
from shrinkray_gpu.runner import cores
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.plain_file import left_text
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder
from shrinkray_gpu.runner.terms import Terms
from shrinkray_gpu.same_fault.healthy_twin import SECONDS, WANTS, Health, health

_DUMPED = re.compile(r"IR Dump Before (\w+)")
_GAP = re.compile(r"^\[\d+ bytes left out\]$", re.MULTILINE)
JOBS = 4
"""Experiments at a time, at most."""
DUMPING = KnobSetting("passes told", environment={"MLIR_ENABLE_DUMP": "1"})


@dataclass(frozen=True)
class BlameTrials:
    """The program, and how it is run. Without a GPU and without `--arch` nobody knows for what to compile: then there
    is no trial."""

    text: str
    script: Script
    setup: Setup
    seconds: float
    seen: Run
    """The run whose fault is asked about."""
    place: str = ""
    """`/path/file.py:12` where a compiler says that it is."""
    patience: float = SECONDS
    """Seconds that a search for a change that is enough may take."""
    up: Pool | None = None
    """Lanes of the virtual GPU that are up already, in which the program may run; they are not closed here."""

    @property
    def arch(self) -> int | None:
        return self.setup.arch or (gpus.capability() if gpus.present() else None)

    @cached_property
    def _pool(self) -> Pool:
        script = replace(self.script, sanitizer="", twins=(), tell=False)
        if self.up is not None:
            return self.up.on(Terms("virtual", 1, self.seconds, COLD)).serving(script, seconds=self.seconds)
        setup = replace(self.setup, arch=self.arch, warm=False, reuse=False)
        return Pool(script, setup, mode="virtual", jobs=1, seconds=self.seconds, extra=COLD)

    def run(self, text: str) -> Run:
        return self._pool.run(text, wants=WANTS, machine_code=False)

    @cached_property
    def followed(self) -> Run | None:
        """A run in which Triton's IR was followed: the one that was seen, if it was on the virtual GPU."""
        if self.seen.virtual:
            return self.seen
        return self.run(self.text) if self.arch is not None else None

    @cached_property
    def in_kernel(self) -> Health:
        """The smallest change of a kernel that is enough."""
        return self._health(kernel=True)

    @cached_property
    def on_host(self) -> Health:
        """The smallest change beside the kernels that is enough."""
        return self._health(kernel=False)

    def _health(self, *, kernel: bool) -> Health:
        """In the script, or in the module where the kernel is."""
        if self.arch is None:
            return Health()
        own = self.file == self.script.path
        text = self.text if own else self.file.read_text(encoding="utf-8")
        trial = self.run if own else lambda edited: self.run(edited_module.script(self.text, self.file, edited))
        return health(
            text,
            trial(text),
            trial,
            file=self.file.name,
            allowed=lambda edit: edit.in_kernel == kernel,
            seconds=self.patience,
        )

    def was_cut(self, search: str) -> bool:
        """Whether `in_kernel` or `on_host` was asked for, and its time was over before all was tried."""
        return bool(search) and search in self.__dict__ and bool(getattr(self, search).cut)

    def edits(self, found: Health) -> str:
        """The twin's edits, each with its place; empty where there is none."""
        edits = found.twin.edits if found.twin is not None else ()
        return "; ".join(f"{edit.edit} ({self._shown}:{edit.line})" for edit in edits)

    @property
    def _shown(self) -> str:
        return name_below(str(self.file), folders_of(self.script))

    def as_found(self, place: str) -> str:
        """A place by its file's name, as `copy.py:5`, with the file as the user finds it, if that was looked for."""
        name, _, line = place.rpartition(":")
        return f"{self._shown}:{line}" if "file" in self.__dict__ and name == self.file.name else place

    def enough(self, found: Health) -> str:
        """The same, with what shows that they are enough."""
        return f"{self.edits(found)}: {found.twin.proof}" if found.twin is not None else ""

    @cached_property
    def file(self) -> Path:
        """The file whose text is edited: where the fault begins, by the IR or by the front end."""
        own, launch = self.script.path, faulting_launch(self.followed) if self.followed is not None else None
        place = launch.causes[0].place or launch.causes[0].at if launch is not None else self.place
        name = place.partition(":")[0].rpartition("/")[2]
        if not name or name == own.name:
            return own
        told = "".join(compile.ir.get("ttgir", "") for compile in self.seen.compiles) + f'"{place.partition(":")[0]}"'
        found = re.search(rf'"(/[^"]*/{re.escape(name)})"', told)
        return Path(found.group(1)) if found and Path(found.group(1)).is_file() else own

    def passes_with(self, knob: str) -> bool:
        """Whether it ends without a fault with one knob turned."""
        if self.arch is None:
            return False
        run = self._pool.run(self.text, way=parse_setting(knob))
        return bool(any(run.turned.values()) and not run.trouble and Fault.of(run) is None)

    @cached_property
    def compiles_to_llvm(self) -> bool:
        """Whether all that comes before LLVM's code generator goes well."""
        if self.arch is None:
            return False
        run = self.run(self.text)
        return not run.trouble and not run.timed_out and run.signal is None and not speech.has_failed(run)

    @cached_property
    def last_pass(self) -> str:
        """The pass that was begun last before the compiler died; empty where none tells."""
        return self._begun[-1][0] if self._begun else ""

    def writer(self, instruction: str) -> str:
        """The pass that put an instruction of PTX into the code; empty where none tells, or the kernel had it."""
        for (name, code), (_, after) in zip(self._begun, self._begun[1:]):
            if instruction in after:
                return "" if instruction in code or _GAP.search(code) else name
        return ""

    @cached_property
    def _begun(self) -> list[tuple[str, str]]:
        """Each pass that was begun, and the code before it."""
        if self.arch is None:
            return []
        _, *said = _DUMPED.split(self._pool.cold(self.text, way=DUMPING).stderr)
        return [*zip(said[::2], said[1::2])]

    @cached_property
    def laboratory(self) -> Laboratory:
        """For runs of the whole compiler. On the GPU itself where that shows the fault; without one, and without an
        architecture, in processes of their own."""
        fault, jobs = Fault.of(self.seen), min(cores.usable(), JOBS)
        compiling = self.arch is not None and fault is not None and fault.phase in ("compile", "exit")
        pool = self._pool if self.seen.virtual or compiling else self._device_pool
        return Laboratory(pool.beside(jobs), self.text, self.seen)

    @cached_property
    def _device_pool(self) -> Pool:
        script, gpu = replace(self.script, sanitizer="", twins=(), tell=False), gpus.present()
        setup, mode = replace(self.setup, warm=gpu, reuse=False), "fork" if gpu else "cold"
        return Pool(script, setup, mode=mode, jobs=JOBS, seconds=self.seconds, extra=COLD)

    @cached_property
    def dumped(self) -> Mapping[str, str]:
        """The code of the kernel that was not finished, or else of the last one, as far as it came: `ttir`, `ptx`."""
        with scratch_folder(self.setup.scratch) as folder:
            environment = {"TRITON_KERNEL_DUMP": "1", "TRITON_DUMP_DIR": folder}
            self.laboratory.pool.cold(self.text, way=KnobSetting("kernels dumped", environment=environment))
            made = sorted(Path(folder).glob("*/*.ttir"), key=lambda path: path.lstat().st_mtime)
            unfinished = [path for path in made if not path.with_suffix(".cubin").exists()]
            last = (unfinished or made)[-1:]
            found = [path.with_suffix(f".{stage}") for path in last for stage in ("ttir", "ptx")]
            return {path.suffix[1:]: text for path in found if (text := left_text(path))}

    @property
    def inline_assembly(self) -> bool:
        """Whether the kernel has assembly of somebody's own, or nobody knows."""
        return "elementwise_inline_asm" in self.dumped.get("ttir", "elementwise_inline_asm")

    def close(self) -> None:
        for name in ("_pool", "_device_pool"):
            if name in self.__dict__ and (name != "_pool" or self.up is None):
                self.__dict__[name].close()
