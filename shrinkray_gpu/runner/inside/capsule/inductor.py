"""Launches of torch.compile, which go past `JITFunction.run`: by `CachingAutotuner.run` in all of torch 2.4 to 2.13.

Before a launch the ring keeps its arguments, as of any launch. Which configuration was launched, on which grid and from
which source, is read from the autotuner when the capsule is written. No setting of Inductor is changed for it, so its
static launcher and its compile workers stay as they are. Only what the C++ wrapper launches is not seen.
"""

from __future__ import annotations

import types
from typing import Any, Dict, List, Optional, Tuple

from ..capture import description
from ..capture.inductor_launches import compile_meta, options_asked
from ..capture.specialisation import constants_of, options, specialisation

Record = Dict[str, Any]

MODULE = "torch._inductor.runtime.triton_heuristics"


def is_autotuner(kernel: Any) -> bool:
    """Whether this stands in an entry's place of a kernel, as Inductor's launches have it."""
    return hasattr(kernel, "triton_meta")


def launcher_of(tuner: Any) -> Any:
    """What it launches by. None: nothing is compiled yet, or it still has to choose."""
    launchers: Any = getattr(tuner, "launchers", None) or ()
    return launchers[0] if len(launchers) == 1 else None


def source_of(tuner: Any) -> Any:
    """Its kernel. A worker that compiled it sends it back without its source; torch keeps how to read that again."""
    if getattr(tuner.fn, "fn", None) is None:
        tuner.fn = tuner._reload_kernel().fn  # as torch does; kinds of launches are told apart by its id
    return tuner.fn


def describe(record: Record, tuner: Any, launcher: Any, grid: Any, args: Any) -> None:
    """Fill in the launch of `tuner.run(*args)`. `grid`: the function of older torch, which gets the configuration."""
    fn = record["kernel"] = source_of(tuner)
    record["how"] = "inductor"
    if launcher is None and not tuner.configs:
        raise ValueError("it had not chosen a configuration: each of its trials is a launch of its own")
    config = launcher.config if launcher is not None else tuner.configs[0]
    meta = compile_meta(tuner, config)
    record["grid"] = [1] if launcher is None else _grid_of(launcher, args, grid)
    constants = {name: value for name, value in constants_of(fn, meta).items() if name in fn.arg_names}
    values = {**constants, **dict(zip(_names(fn, launcher, config), args))}
    description.describe(record, values, options(options_asked(config, meta)))
    record["specialised"] = specialisation(fn, meta, values)


def _names(fn: Any, launcher: Any, config: Any) -> List[str]:
    """The parameters that arguments are passed for, in their order."""
    if launcher is None:
        return [name for name in fn.arg_names if name not in config.kwargs]
    code = launcher.__code__
    return list(code.co_varnames[: code.co_argcount])


def _grid_of(launcher: Any, args: Any, grid: Any) -> Optional[List[int]]:
    """A launcher works the grid out and hands it to its `runner`: here one that launches nothing, and asks no hook."""
    found: List[Tuple[Any, ...]] = []
    scope = {
        **launcher.__globals__,
        "runner": lambda *given, **_: found.append(given[:3]),
        "bin": types.SimpleNamespace(launch_metadata=lambda *_: None),
    }
    call = types.FunctionType(launcher.__code__, scope, argdefs=launcher.__defaults__)
    call(*args, stream=0, **({} if grid is None else {"grid": grid}))
    return description.grid(found[0])
