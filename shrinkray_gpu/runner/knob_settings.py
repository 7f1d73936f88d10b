"""A way to run a program: as it is, or with one knob turned. The program's text is the same in all of them.

Two prices. *Knobs* are turned by the worker, at launch or while Triton compiles, in whatever lane is free: cheap.
A way with an *environment* or another *interpreter* concerns a process from its start, so it needs a worker of its own,
which the pool starts when the way is first used (seconds, once) and keeps.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.interpreter import check_python, interpreter_path


@dataclass(frozen=True)
class KnobSetting:
    """How a run differs from the plain one. Controls and `differs:` are made of these."""

    name: str
    """Canonical text; `parse_setting` makes the same setting of it again."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Turned by the worker, at launch or in the kernel's tree: `{"num_stages": "1"}`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """For the whole process, from its start."""
    python: str = ""
    """Another interpreter, with another Triton; empty: the same one."""

    @property
    def cheap(self) -> bool:
        """Whether any lane will do; else a worker of its own is needed."""
        return not self.environment and not self.python

    def __hash__(self) -> int:
        return hash(self.name)


PLAIN = KnobSetting("as it is")


@dataclass(frozen=True)
class KnobKind:
    """One kind of way that can be typed."""

    usage: str
    meaning: str
    make: Callable[[str], KnobSetting]
    """Of what stands after `=`; of the empty text for a word that takes no value. Raises UsageError."""
    aliases: tuple[str, ...] = ()


def _number(name: str, meaning: str, *, least: int = 1, most: int | None = None, power: bool = False) -> KnobKind:
    def make(value: str) -> KnobSetting:
        wanted = "a power of two" if power else "a whole number"
        wanted += f" from {least}" + (f" to {most}" if most else " on")
        number = int(value) if re.fullmatch(r"[0-9]{1,6}", value) else -1
        if number < least or (most and number > most) or (power and number & (number - 1)):
            raise UsageError(f"{name}={value} cannot be turned: {name} is {wanted}, for example {name}={max(least, 1)}")
        return KnobSetting(f"{name}={number}", knobs={name: str(number)})

    return KnobKind(f"{name}=N", meaning, make)


def _level(name: str, levels: str, meaning: str) -> KnobKind:
    usage = f"{name}=-O0" + (f" to {name}=-O{levels[-1]}" if len(levels) > 1 else "")

    def make(value: str) -> KnobSetting:
        digit = value[-1:]
        if value not in (f"-O{digit}", f"O{digit}", digit) or digit not in levels or not digit:
            raise UsageError(f"{name}={value} is no optimisation level that can be turned: type {usage}")
        return KnobSetting(f"{name}=-O{digit}", knobs={name: digit})

    return KnobKind(usage, meaning, make)


def _word(way: KnobSetting, meaning: str, *aliases: str) -> KnobKind:
    def make(value: str) -> KnobSetting:
        if value:
            raise UsageError(f"{way.name} takes no value: type {way.name} alone, without ={value}")
        return way

    return KnobKind(way.name, meaning, make, aliases)


def _python(value: str) -> KnobSetting:
    path = interpreter_path(value)
    check_python(path)
    return KnobSetting(f"python={path}", python=path)


def _fraction(value: str) -> KnobSetting:
    if not re.fullmatch(r"0|0?\.\d+|1e-\d{1,2}", value):
        raise UsageError(f"apart={value} cannot be turned: apart is a fraction below 1, for example apart=0.01")
    return KnobSetting(f"apart={value}", knobs={"apart": value})


def _skip(value: str) -> KnobSetting:
    if not re.fullmatch(r"add_\w+", value):
        raise UsageError(f"skip={value} names no pass of Triton's: type it as in its compiler.py, skip=add_pipeline")
    return KnobSetting(f"skip={value}", knobs={"skip": value})


def _zeroed_but(value: str) -> KnobSetting:
    if not value.isidentifier():
        raise UsageError(f"zeroed-outputs-but={value} names no kernel: type its function's name")
    return KnobSetting(f"zeroed-outputs-but={value}", knobs={"zeroed-outputs-but": value})


def _argument(name: str, meaning: str) -> KnobKind:
    """A knob that turns an argument of a launch."""

    def make(value: str) -> KnobSetting:
        if not value.isidentifier():
            raise UsageError(f"{name}={value} names no parameter of a kernel: type its name")
        return KnobSetting(f"{name}={value}", knobs={name: value})

    return KnobKind(f"{name}=PARAMETER", meaning, make)


WITHOUT = "SHRINKRAY_GPU_WITHOUT"
"""In the environment: a flag that builds of CUDA C++ leave out."""


def _without(value: str) -> KnobSetting:
    if not value.startswith("-") or len(value) < 2:
        raise UsageError(f"without={value} names no flag of nvcc: type it as the script does, without=-DUSE_WMMA")
    return KnobSetting(f"without={value}", environment={WITHOUT: value})


KNOWN: Mapping[str, KnobKind] = {
    "num_stages": _number("num_stages", "pipeline stages, of launches and of tl.range alike", least=0),
    "num_warps": _number("num_warps", "warps a block", most=64, power=True),
    "num_ctas": _number("num_ctas", "blocks a cluster (Hopper on)", most=16, power=True),
    "maxnreg": _number("maxnreg", "registers a thread", most=255),
    "waves_per_eu": _number("waves_per_eu", "waves a SIMD of AMD's, 0: as many as fit", least=0, most=16),
    "matrix_instr_nonkdim": _number("matrix_instr_nonkdim", "rows of AMD's matrix instructions", least=0, most=32),
    "kpack": _number("kpack", "elements that AMD's matrix instructions take at once", most=2, power=True),
    "serial": _word(
        KnobSetting("serial", knobs={"serial": "1"}),
        "wait for the device before and after each launch of a Triton kernel",
        "serialised",
        "serialized",
    ),
    "zeroed-outputs": _word(
        KnobSetting("zeroed-outputs", knobs={"zeroed-outputs": "1"}),
        "kernels of Triton are compiled but not run: what they would write holds zeros",
    ),
    "zeroed-outputs-but": KnobKind(
        "zeroed-outputs-but=KERNEL", "the same for all kernels but this one, which runs on that", _zeroed_but
    ),
    "usual-type": _argument("usual-type", "the tensor of this parameter of a kernel has float32 or int32"),
    "other-type": _argument(
        "other-type", "one of float32 has the type of another tensor of its launch, or float16; one of int32 has int64"
    ),
    "other-constant": _argument(
        "other-constant", "a kernel's constant of this name is half as large, or a switch the other way"
    ),
    "usual-constant": _argument(
        "usual-constant", "a kernel's constant of this name that is no power of two is the next smaller one"
    ),
    "ptxas": _level("ptxas", "0123", "another optimisation level of ptxas"),
    "llvm": _level("llvm", "0", "LLVM without its optimisation passes"),
    "no-buffer-ops": _word(
        KnobSetting("no-buffer-ops", knobs={"no-buffer-ops": "1"}),
        "AMD's backend makes no buffer operations, as with AMDGCN_USE_BUFFER_OPS=0",
    ),
    "skip": KnobKind("skip=add_PASS", "Triton without this pass, named as in its compiler.py: add_pipeline", _skip),
    "int64": _word(
        KnobSetting("int64", knobs={"int64": "1"}),
        "products of 32-bit integers in Triton's kernels have 64 bits, so that no offset overflows",
    ),
    "interpreter": _word(
        KnobSetting("interpreter", knobs={"interpreter": "1"}, environment={"TRITON_INTERPRET": "1"}),
        "kernels run by Triton's interpreter on the CPU (in a worker of its own)",
    ),
    "exact-allocation": _word(
        KnobSetting("exact-allocation", environment={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
        "each tensor gets memory of its own from the driver, not a piece of torch's cache (in a worker of its own)",
        "no-caching",
    ),
    "zeroed-shared": _word(
        KnobSetting("zeroed-shared", knobs={"zeroed-shared": "1"}),
        "shared memory holds zeros when a kernel of CUDA C++ begins",
    ),
    "without": KnobKind("without=FLAG", "builds of CUDA C++ leave out this flag (in a worker of its own)", _without),
    "apart": KnobKind(
        "apart=FRACTION",
        "where a kernel's values are compared with others, so much is left of the distance between the two",
        _fraction,
    ),
    "python": KnobKind("python=PATH", "another interpreter, with another Triton (in a worker of its own)", _python),
}
"""What can be typed, besides `K=V` with an upper-case K: an environment variable, in a worker of its own."""

_OWN = ("CUDA_VISIBLE_DEVICES", "TMPDIR", "TRITON_CACHE_DIR")
"""Set by shrink itself, for each worker."""


def parse_setting(text: str) -> KnobSetting:
    """The way that `text` names. Raises UsageError for one that there is not, or whose value makes no sense."""
    text = text.strip()
    if text == PLAIN.name:
        return PLAIN
    name, equals, value = (part.strip() for part in text.partition("="))
    form = next((f for known, f in KNOWN.items() if name == known or name in f.aliases), None)
    if form is not None:
        if not value and "=" in form.usage:
            raise UsageError(f"{text!r} does not say what to turn {name} to: type {form.usage}")
        if equals and not value:
            raise UsageError(f"{text!r} has nothing after the =: type {form.usage}")
        return form.make(value)
    if equals and re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) and name.lower() not in KNOWN:
        return _environment(name, value)
    names = [x for known, f in KNOWN.items() for x in (known, *f.aliases)]
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names, 1) or difflib.get_close_matches(
        name.lower(), names, 1
    )
    meant = f": did you mean {near[0]!r}?" if near else "."
    forms = ", ".join(f.usage for f in KNOWN.values())
    raise UsageError(f"no knob is called {name!r}{meant} There are {forms}, and K=V for an environment variable")


def _environment(name: str, value: str) -> KnobSetting:
    if name in _OWN:
        raise UsageError(f"{name} cannot be turned: shrink sets it for each process that it starts. Leave it out")
    for form in KNOWN.values():  # so that one way has one name, and interpreted launches are counted
        way = form.make("") if "=" not in form.usage else PLAIN
        if way.environment == {name: value}:
            return way
    return KnobSetting(f"{name}={value}", environment={name: value})
