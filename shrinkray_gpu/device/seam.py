"""What the rest of the tool asks of a vendor: one protocol for each module of a vendor's folder.

The answers are modules, so that a vendor's file reads as plain functions. `device/__init__.py` names each with its
protocol, and mypy holds the one against the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from shrinkray_gpu.device.device_error import DeviceError
from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.device.figures import Figures
from shrinkray_gpu.device.instruction import Instruction, MemoryEffect, Opcodes
from shrinkray_gpu.device.record import Record


class ErrorTable(Protocol):
    """The errors that a driver reports, by code and by words."""

    @property
    def CODES(self) -> frozenset[int]:
        """Of the errors in the table, which no other vendor's has."""

    def by_code(self, code: int) -> DeviceError:
        """The error behind a code; one that is not in the table is told by its number alone."""

    def parse_error(self, typed: str) -> DeviceError | None:
        """The error that a user means by these words."""

    def sticky_in(self, text: str) -> DeviceError | None:
        """The sticky error that an error message reports."""


class Gpus(Protocol):
    """The GPUs of this machine, asked without starting a context in this process."""

    @property
    def KEEPS_ERRORS(self) -> bool:
        """Whether a process outlives a fault of the device, and each later call returns its error. Else it is
        aborted, and each run needs a process of its own."""

    @property
    def NOTE(self) -> str:
        """What everybody must know who uses one; empty: nothing."""

    def present(self) -> bool:
        """Whether this process has a GPU."""

    def driver(self) -> bool:
        """Whether the vendor's driver is here, be it that no GPU is visible."""

    def sharing(self, environment: Mapping[str, str]) -> str:
        """Where a program with this environment finds a server that has several share one context; empty: nowhere."""

    def capability(self) -> int | None:
        """The number of the first GPU's architecture; None where nobody tells."""

    def memory(self) -> float:
        """Of the first GPU, in GiB; 0 where nobody tells."""

    def visible(self, environment: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Each GPU that a program with this environment sees: what names it alone there, and its model. Empty where it
        sees one at most, or nobody tells."""

    def trouble(self, device: str = "") -> str:
        """Why a healthy program fails on a GPU, by its name (empty: the first), in a process of its own; empty: it
        does well, or there is no room for it."""


class CoreDumps(Protocol):
    """Core dumps of the GPU."""

    @property
    def TOOL(self) -> str:
        """What reads a dump, or writes it, by its name in the toolkit."""

    @property
    def READER(self) -> str:
        """The same for people."""

    @property
    def VARIABLES(self) -> frozenset[str]:
        """The variables that `environment` may set."""

    @property
    def NO_HOST_DUMP(self) -> tuple[str, ...]:
        """Prefix of a command that leaves no core file of the host's."""

    @property
    def LARGE(self) -> int:
        """Bytes of device memory from which on a dump with memory takes long."""

    def environment(self, path: Path, *, memory: bool = True, abort: bool = True) -> Mapping[str, str]:
        """For a process that shall write a dump to `path` at an exception."""

    def find(self, python: str, environment: Mapping[str, str]) -> Path | None:
        """The tool that reads dumps, or None."""

    def read(self, tool: Path, core: Path) -> Dump | None:
        """What a dump says; None if it says nothing of a kernel."""


class Disassembler(Protocol):
    """Machine code, and what an opcode says of the memory that it touches."""

    def find(self, python: str, environment: Mapping[str, str]) -> Path | None:
        """The tool, or None."""

    def disassemble(self, tool: Path, cubin: bytes) -> Mapping[str, tuple[Instruction, ...]]:
        """A binary's functions."""

    def listing(self, tool: Path, cubin: bytes, *options: str) -> str:
        """What the tool prints of a binary."""

    def opcodes(self, listing: str) -> Opcodes:
        """What is in a listing."""

    def family(self, text: str) -> str:
        """The opcode, without what changes with every edit."""

    def meaning(self, text: str) -> MemoryEffect:
        """Memory space, access and width."""


class SanitizerRecords(Protocol):
    """What the vendor's sanitizer prints, and how a command is run under it."""

    @property
    def NAME(self) -> str:
        """Of the executable."""

    @property
    def TOOLS(self) -> tuple[str, ...]:
        """What it can look for, one in a run."""

    def find(self, python: str, environment: Mapping[str, str]) -> Path | None:
        """The executable, or None."""

    def prefix(self, executable: Path, tool: str, *, host: bool = False) -> tuple[str, ...]:
        """Of a command, to run it under one of the tools."""

    def ran(self, text: str) -> bool:
        """Whether it said anything."""

    def records(self, text: str, tool: str) -> tuple[Record, ...]:
        """Those in the output of a run."""

    def whole_records(self, text: str, tool: str) -> tuple[Record, ...]:
        """The same of a run that goes on, as far as nothing more comes to them."""

    def record(self, text: str, tool: str) -> Record:
        """One record's text, read."""

    def kernels(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Those that records name, by their texts, in the order of the first ones."""

    def summary(self, text: str) -> str:
        """Its last line; empty if it did not come that far."""

    def status(self, text: str, exit: int | None) -> int | None:
        """The program's own exit status."""

    def program_output(self, text: str) -> str:
        """What the program itself printed."""


class Toolkit(Protocol):
    """The vendor's tools on this machine."""

    @property
    def HOW(self) -> Mapping[str, str]:
        """How to get each tool that is missing."""

    def find(self, tool: str, python: str, environment: Mapping[str, str]) -> Path | None:
        """The executable; None if there is none."""

    def missing(self, tool: str) -> str:
        """Why an instrument that needs this tool says nothing, and how to get it."""


class AssemblyText(Protocol):
    """Machine code as the compiler writes it, for a vendor whose assembler says nothing of its own."""

    def resources(self, text: str) -> str:
        """Registers, spills and memory of the kernel, in words; empty where the text does not tell."""


class CodeFigures(Protocol):
    """What a compiled kernel takes, by its code alone."""

    @property
    def STAGES(self) -> frozenset[str]:
        """The stages of its code that must be delivered."""

    def figures(self, kernel: str, code: Mapping[str, str], shared: int) -> Figures | None:
        """Of a kernel by the text of these stages, with the bytes of shared memory that each launch asks for; None
        where the code does not tell."""


class Architectures(Protocol):
    """What `--arch` may be."""

    @property
    def KNOWN(self) -> Sequence[str]:
        """All of them."""

    @property
    def EXAMPLES(self) -> Sequence[str]:
        """For a message to the user."""

    def number(self, name: str) -> int | None:
        """None for what is no architecture that is compiled for."""

    def name(self, number: int) -> str:
        """As compilers and users write it."""
