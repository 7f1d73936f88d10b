"""Commands that start a program in a process of its own: `torchrun` and `accelerate launch`.

One process of them is a script with a few variables in its environment. So the launcher's own parser, in the user's
interpreter, says what it would start, and the script runs without the launcher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shrinkray_gpu.errors import UsageError

LAUNCHERS = {
    "pytest": "pytest",
    "py.test": "pytest",
    "torchrun": "torch.distributed.run",
    "accelerate": "accelerate.commands.accelerate_cli",
}
"""Commands that may be typed in place of `-m MODULE`, and the module of each."""
TORCHRUN = frozenset({"torch.distributed.run", "torch.distributed.launch"})
ACCELERATE = frozenset({"accelerate.commands.accelerate_cli", "accelerate.commands.launch"})

_ONE = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "0",
    "GROUP_WORLD_SIZE": "1",
    "ROLE_RANK": "0",
    "ROLE_WORLD_SIZE": "1",
    "ROLE_NAME": "default",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "0",
    "TORCHELASTIC_RESTART_COUNT": "0",
    "TORCHELASTIC_MAX_RESTARTS": "0",
    "TORCHELASTIC_RUN_ID": "none",
}
"""What torchrun gives the only process of a run. Port 0: candidates run side by side, and each takes a free one."""

_ASK_TORCHRUN = """\
import json, sys
from torch.distributed.run import get_args_parser
sys.argv[0] = "torchrun"
given = get_args_parser().parse_args(sys.argv[1:])
print("\\n" + json.dumps({
    "processes": {"--nnodes": str(given.nnodes), "--nproc-per-node": str(given.nproc_per_node)},
    "module": bool(given.module), "python": not given.no_python, "environment": {},
    "script": given.training_script, "args": given.training_script_args,
}))
"""
_ASK_ACCELERATE = """\
import json, os, sys
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_simple_launcher_cmd_env
sys.argv[0] = "accelerate launch"
given = launch_command_parser().parse_args(sys.argv[1:])
given = _validate_launch_command(given)[0]
before = dict(os.environ)
environment = prepare_simple_launcher_cmd_env(given)[1]
ways = ("multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "tpu")
several = [name for name in ways if getattr(given, name, False)]
print("\\n" + json.dumps({
    "processes": {"--num_machines": str(given.num_machines), "--num_processes": str(given.num_processes or 1),
                  **{"--" + name: "on" for name in several}},
    "module": bool(given.module), "python": not given.no_python,
    "environment": {name: value for name, value in environment.items() if before.get(name) != value},
    "script": given.training_script, "args": given.training_script_args,
}))
"""
_SINGLE = frozenset({"1", "1:1"})


@dataclass(frozen=True)
class Launched:
    """The only process that a launcher starts."""

    script: str
    """As typed; empty where it is a module."""
    module: str
    args: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    """What the launcher adds to the environment."""

    @property
    def name(self) -> str:
        return self.script or self.module


def launched(module: str, args: Sequence[str], ask: Callable[[str, Sequence[str]], Mapping[str, Any]]) -> Launched:
    """What `-m MODULE ARGS...` of a launcher starts. `ask`: runs code in the user's interpreter, with these arguments,
    and reads what it answers. Raises UsageError where that is not one process of Python.
    """
    if module == "accelerate.commands.accelerate_cli":
        if args[:1] != ("launch",):
            raise UsageError("of accelerate only `accelerate launch SCRIPT` runs a program")
        args = args[1:]
    answer = ask(_ASK_TORCHRUN if module in TORCHRUN else _ASK_ACCELERATE, args)
    for option, number in answer["processes"].items():
        if number not in _SINGLE:
            told = option if number == "on" else f"{option} {number}"
            raise UsageError(
                f"{told}: of -m {module} a single process can be reduced. Try whether the fault shows in one, with "
                f"{', '.join(f'{name} 1' for name in answer['processes'] if answer['processes'][name] != 'on')}"
            )
    if not answer["python"]:
        raise UsageError(f"-m {module} --no-python: only a program in Python can be reduced")
    environment = {**(_ONE if module in TORCHRUN else {}), **answer["environment"]}
    script, args = str(answer["script"]), tuple(answer["args"])
    return Launched(
        "" if answer["module"] else script,
        script if answer["module"] else "",
        args,
        tuple(environment.items()),
    )
