"""The pipeline of a target, as its own backend builds it: recorded while the backend runs its stages.

The backend's code runs as it is. Only the functions that add a pass, and `pass_manager.run`, are replaced: what was
added is written down, then run pass by pass, so that the one that fails is known by its place.
"""

from __future__ import annotations

from typing import Any

from ..gpu_target import named
from . import binding, module_text
from .trial import Tell

ORDER = ("ttir", "ttgir", "llir")


def run_stages(ctx: Any, text: str, order: dict[str, Any], folder: str, tell: Tell) -> None:
    """Run the stages of `order["arch"]` from the one that `order["kind"]` names, and tell each pass before it runs."""
    lib = binding.libtriton()
    module = module_text.parsed(lib, ctx, text, folder)
    tell({"parsed": True, "verified": bool(module.verify())})
    stages = _stages(order["arch"], order["options"])
    _Recorder(lib, ctx, tell).put_in_place()
    metadata = {"num_ctas": 1, "num_warps": order["options"].get("num_warps", 4)}
    for name in ORDER[ORDER.index(order["kind"]) :]:
        tell({"stage": name})
        module = stages[name](module, metadata)
    tell({"done": True})


def target(arch: str) -> Any:
    """`gfx942` or `sm_90` as Triton's own. Raises ValueError for what no backend of this Triton compiles for."""
    made = named(arch).of_triton()
    _backend(made)
    return made


def _backend(made: Any) -> Any:
    from triton.backends import backends

    for one in backends.values():
        if one.compiler.supports_target(made):
            return one.compiler(made)
    raise ValueError("no backend of this Triton compiles for it")


def _stages(arch: str, options: dict[str, Any]) -> dict[str, Any]:
    backend = _backend(target(arch))
    stages: dict[str, Any] = {}
    parsed = backend.parse_options(dict(options))
    if unknown := next((name for name in options if not hasattr(parsed, name)), ""):
        raise ValueError(f"{type(parsed).__name__} has no {unknown}")
    try:
        from triton.compiler.compiler import Language

        backend.add_stages(stages, parsed, Language.TRITON)
    except ImportError:
        backend.add_stages(stages, parsed)
    return stages


class _Recorder:
    """Stands in for the functions that add passes, in this child only."""

    def __init__(self, lib: Any, ctx: Any, tell: Tell) -> None:
        self.lib, self.ctx, self.tell = lib, ctx, tell
        self.waiting: list[tuple[str, str, list[Any]]] = []

    def put_in_place(self) -> None:
        self.original = {each: binding.adder(self.lib, *each) for each in binding.adders(self.lib)}
        for place, function in self.original:
            module = self.lib
            for name in place.split("."):
                module = getattr(module, name)
            setattr(module, function, self._noting(place, function))
        manager = self.lib.ir.pass_manager
        self.plain = manager.run
        manager.run = lambda its, module, *name: self._run(module)

    def _noting(self, place: str, function: str) -> Any:
        return lambda manager, *arguments: self.waiting.append((place, function, list(arguments)))

    def _run(self, module: Any) -> None:
        steps, self.waiting = self.waiting, []
        for place, function, arguments in steps:
            # What is no plain value, as in releases before 3.6, cannot be told: such a pass runs here only.
            plain = [each if isinstance(each, (str, int, bool)) else None for each in arguments]
            self.tell({"step": [place, function, plain], "before": module_text.pretty(module), "ran": False})
            manager = self.lib.ir.pass_manager(self.ctx)
            self.original[place, function](manager, *arguments)
            try:
                self.plain(manager, module, "shrink")
            except TypeError:
                self.plain(manager, module)
            self.tell({"ran": True})
