"""Perturbations: what chance decides in a flaky program, decided otherwise, by a few lines before the program's own.

Statistics are dear: each step costs a hundred runs. A fault that depends on what free memory holds, on where a tensor
lies or on what runs beside it may be made likelier, or certain, by changing just that. The change is program text, so
that cold runs, `python repro.py` and the reducer itself need to know nothing of it: the repro contains it, says so, and
loses it again where it turns out not to be needed.

A perturbation must not make a fault of its own. So addresses keep the alignment of their elements and 16 bytes, which
Triton specialises on, and byte buffers stay where they are: the scratch of descriptors asks for 128.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from shrinkray_gpu.oracle.statistics import Rate, by_chance

SCREENED = 12
"""Runs that each variant gets at first, at most."""
CONFIRMED = 24
"""Fresh runs of the best one: those that made it the best are not the ones to believe."""
SIGNIFICANT = 0.05
CERTAIN = 0.95
"""A fault of this rate needs no help."""
TITLE = "# shrink: "

Try = Callable[[str, int], Rate]
"""Runs a text so many times, and says how often the fault showed."""


@dataclass(frozen=True)
class Perturbation:
    """A program with a perturbation before it."""

    name: str
    text: str
    note: str
    """What is done, as a clause: `free memory is poisoned`."""
    prelude: str
    """The lines that do it, without their title."""
    early: bool = False
    """Whether it must come before the program's own imports."""
    rates: str = ""

    def with_rates(self, before: Rate, after: Rate) -> Perturbation:
        """The same, and its title says what it is good for."""
        short = f"faults in {after.sightings} of {after.runs} runs, without this in {before.sightings} of {before.runs}"
        told = replace(self, rates=f" ({short})")
        return replace(told, text=self.text.replace(_title(self), _title(told), 1))


def apply_perturbation(variant: Perturbation, text: str) -> str:
    """Another text (a lifted script, say) with the same perturbation before it."""
    if variant.prelude in text:
        return text
    at, needs_line = _place(text, variant.early)
    return text[:at] + "\n" * needs_line + _title(variant) + variant.prelude + text[at:]


def variants(text: str) -> list[Perturbation]:
    """All perturbations that make sense for this program, those first that say most about a cause."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    imported = set(_imported(tree))
    found: list[Perturbation] = []
    if "torch" not in imported:
        return found
    cuda = re.search(r"\bcuda\b", text) is not None

    def offer(name: str, note: str, prelude: str, *, early: bool = False) -> None:
        plain = Perturbation(name, "", note, _own_names(prelude, text), early)
        found.append(replace(plain, text=apply_perturbation(plain, text)))

    if cuda:
        offer("poison", "free memory is poisoned", POISON)
        offer("exact", "each tensor has an allocation of its own", EXACT, early=True)
    for by in (16, 64, 128, 256):
        where = "x.is_cuda and " if cuda else ""
        offer(f"shift{by}", f"tensors begin {by} bytes later", SHIFT.format(by=by, where=where))
    if "triton" in imported and "TRITON_INTERPRET" not in text:
        offer("repeat", f"each launch is repeated {REPEATS} times", REPEAT.format(times=REPEATS))
    if cuda:
        offer("beside", "another stream is busy", BESIDE)
    return found


def choose(text: str, original: Rate, try_: Try) -> Perturbation | None:
    """The variant that raises the rate most, if one does so beyond chance; None if none does.

    Each is tried until it cannot be significant any more. The best is then tried anew, and only that counts: of eight
    variants that do nothing one would look significant by chance in every third program.
    """
    if original.estimate >= CERTAIN:
        return None
    best: tuple[float, Perturbation] | None = None
    for variant in variants(text):
        seen = _screened(original, partial(try_, variant.text))
        if seen is not None and (best is None or seen.estimate > best[0]):
            best = (seen.estimate, variant)
            if seen.estimate == 1:
                break
    if best is None:
        return None
    again = try_(best[1].text, CONFIRMED)
    return best[1] if by_chance(original, again) < SIGNIFICANT else None


def _screened(original: Rate, try_: Callable[[int], Rate]) -> Rate | None:
    """The rate of a variant, as soon as it is beyond chance; None as soon as it cannot be in so many runs."""
    seen = Rate(0, 0)
    while seen.runs < SCREENED:
        more = try_(min(4, SCREENED - seen.runs))
        seen += more
        if not more.runs:  # runs that tell nothing: the perturbation does not agree with the program
            return None
        left = SCREENED - seen.runs
        if by_chance(original, Rate(seen.sightings + left, SCREENED)) >= SIGNIFICANT:
            return None
    return seen if by_chance(original, seen) < SIGNIFICANT else None


def _title(variant: Perturbation) -> str:
    return f"{TITLE}{variant.note}, which makes the fault likelier{variant.rates}\n"


def _place(text: str, early: bool) -> tuple[int, bool]:
    """Where a prelude goes, and whether a line must be ended there.

    Behind the docstring and the imports from `__future__`, which must come first; but rather behind all imports on top
    and the environment set among them, since those may have to come before torch and CUDA are there.
    """
    lines = text.splitlines(keepends=True)
    last = 0
    for index, statement in enumerate(ast.parse(text).body):
        if not (_must_be_first(statement, index) or (not early and _sets_the_scene(statement))):
            break
        last = statement.end_lineno or last
    if last == 0:  # behind a `#!` line and a line that names the encoding
        while last < min(2, len(lines)) and re.match(r"#!|#.*coding[:=]", lines[last]):
            last += 1
    at = sum(map(len, lines[:last]))
    return at, at > 0 and not text[:at].endswith("\n")


def _must_be_first(statement: ast.stmt, index: int) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return index == 0 and isinstance(statement.value.value, str)
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _sets_the_scene(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    return isinstance(statement, (ast.Assign, ast.Expr)) and "environ" in ast.dump(statement)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def _own_names(prelude: str, text: str) -> str:
    """The prelude, with names of its own that the program does not use."""
    for name in sorted(set(re.findall(r"\b_[a-z]\w*", prelude))):
        free = name
        while re.search(rf"\b{free}\b", text):
            free = "_" + free
        prelude = re.sub(rf"\b{name}\b", free, prelude)
    return prelude


REPEATS = 20

POISON = """\
import torch

_free = [torch.full((m << 20,), 255, dtype=torch.uint8, device="cuda") for m in [1] * 16 + [9] * 8 + [256]]
del _free
"""
"""Blocks of the caching allocator's small pool, of its large one, and one of its own size: all bits set, which is not a
number in any float and -1 in any integer."""

EXACT = """\
import os

os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
"""

SHIFT = """\
import torch


def _shift(make, empty=torch.empty):
    def shifted(*args, **kwargs):
        x = make(*args, **kwargs)
        if not ({where}x.layout is torch.strided and x.is_contiguous() and x.element_size() > 1) or "out" in kwargs:
            return x
        n = {by} // x.element_size()
        with torch.no_grad():
            y = empty(n + x.numel(), dtype=x.dtype, device=x.device)[n:].view(x.shape).copy_(x)
        return y.requires_grad_(x.requires_grad)

    return shifted


for _name in "empty zeros ones full rand randn randint arange tensor empty_like zeros_like randn_like".split():
    setattr(torch, _name, _shift(getattr(torch, _name)))
"""

REPEAT = """\
from triton.runtime.jit import JITFunction as _jit

_run = _jit.run
_jit.run = lambda *args, **kwargs: [_run(*args, **kwargs) for _ in range({times})][-1]
"""

BESIDE = """\
import torch

with torch.cuda.stream(torch.cuda.Stream()):
    _busy = torch.randn(4096, 4096, device="cuda")
    for _ in range(300):
        _busy @ _busy
"""
