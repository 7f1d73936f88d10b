"""What was asked for, checked: the program, the oracle, whether options go together, and the situation that they make
for all candidates.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu import calibration
from shrinkray_gpu.device import architectures, gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.job import kernel_part
from shrinkray_gpu.lift.embed import embed
from shrinkray_gpu.options import Options, Say, arch_number, jobs_of
from shrinkray_gpu.oracle import Oracle, all_of, parse, typed
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.oracle.same import same_fault
from shrinkray_gpu.oracle.sticky import StickyOracle
from shrinkray_gpu.reduction.notebook import is_notebook, read_notebook
from shrinkray_gpu.reduction.program import Program, check_name, read_program
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.gpu_groups import usable
from shrinkray_gpu.runner.inside.gpu_target import gpu_target
from shrinkray_gpu.runner.inside.static.rules import RULES
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.controls import Control

SITE = Path(__file__).parents[1] / "runner" / "inside" / "site"
"""A `sitecustomize` that watches builds in any process of the user's interpreter."""


LONGEST = 160
"""Bytes of a script's name that are kept in others."""
CACHE = "SHRINKRAY_GPU_CACHE"
"""In its environment: where builds are kept."""


_SEVERAL = ("oracle", "reject", "argv", "controls", "control_environment", "control_patches", "writable")


def options_of(options: Options, named: Mapping[str, Any]) -> Options:
    """The options with some of them given by name, as Python code has them at hand. Raises UsageError."""
    given = dict(named)
    for name in given.keys() - {each.name for each in fields(Options)}:
        near = difflib.get_close_matches(name, [each.name for each in fields(Options)], n=1)
        raise UsageError(
            f"{name} is no option{f': did you mean {near[0]}?' if near else ', see shrinkray_gpu.Options'}"
        )
    for name in _SEVERAL:
        if isinstance(given.get(name), (str, Path)):
            given[name] = (given[name],)
    if "arch" in given:
        given["arch"] = arch_number(given["arch"])
    for name in ("output", "cwd"):
        if isinstance(given.get(name), str):
            given[name] = Path(given[name])
    for name in ("keep", "skip"):
        if name in given:
            given[name] = frozenset([given[name]] if isinstance(given[name], str) else given[name])
    for name in ("writable", "control_patches"):
        if name in given:
            given[name] = tuple(map(Path, given[name]))
    return replace(options, **given)


def places(path: Path, options: Options) -> tuple[Path, Path]:
    """Where the result goes, and the folder for everything else."""
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: name the script that fails")
        stem = _short(path.stem)
        output = options.output or path.with_name(f"repro_{stem}.py")
        if output.is_dir():
            raise UsageError(f"{output} is a folder: name a file with --output")
    except OSError as error:  # a name that is too long for any file
        raise UsageError(f"{error.filename}: {error.strerror}. Choose a shorter name") from error
    if options.output is not None:
        check_name(options.output)
    output = output.absolute()
    if len(os.fsencode(output.name)) > LONGEST + 40:
        raise UsageError(f"--output {output.name}: what is made beside it has longer names. Choose a shorter one")
    return output, output.parent / f"{stem}.shrink"


def _short(stem: str) -> str:
    """The name of a script in those of what is made of it. A long one is cut short, and told from others by a digest:
    a file's name may have 255 bytes, and artifacts add a good many."""
    name = os.fsencode(stem)
    if len(name) <= LONGEST:
        return stem
    return f"{name[:LONGEST].decode('utf-8', 'ignore')}_{hashlib.sha256(name).hexdigest()[:8]}"


def where_it_runs(path: Path, options: Options, say: Say) -> Options:
    """A notebook runs in its own folder, as Jupyter has it, unless the user names another; which cells, is told."""
    if options.command is not None or not is_notebook(path):
        return options
    say(read_notebook(path).told)
    folder = path.parent.absolute()
    return options if options.cwd is not None or folder == Path.cwd() else replace(options, cwd=folder)


def program_of(path: Path, options: Options) -> Program:
    """The script; of a command its driver, which is no file."""
    if options.command is None:
        program = read_program(path)
        return program if "embed" in options.skip else embed(program, path, options.cwd or Path.cwd()).program
    if options.control_patches:
        raise UsageError("--control-patch changes FILE, and -m names none: patch a script instead")
    return options.command.program


def oracle_of(options: Options, say: Say = lambda text: None) -> tuple[Oracle | None, Options]:
    """The oracle asked for, and the options that it leaves."""
    _check_numbers(options)
    chosen = _oracle(options, Path.cwd())
    _check_limit(chosen, options)
    if chosen is not None and options.arch is not None and (chosen.needs.sanitizer or chosen.needs.twins):
        raise UsageError(f"--oracle {chosen.spec} needs a GPU, and --arch launches nothing")
    if chosen is not None and options.arch is not None and gpu_target(options.arch).is_amd:
        rules = [rule for rule in RULES if rule.name in chosen.needs.rules]
        if rules and all(rule.cuda for rule in rules):
            name = architectures.name(options.arch)
            raise UsageError(f"--oracle {chosen.spec} is about NVIDIA's hardware, and --arch {name} is AMD's")
    elif options.arch is not None:
        asked = [parse(spec, folder=Path.cwd()) for spec in options.oracle]
        if theirs := next((each for each in asked if isinstance(each, StickyOracle) and each.error.like), None):
            name = architectures.name(options.arch)
            raise UsageError(f"--oracle {typed(theirs.spec)} is an error of AMD's, and --arch {name} is NVIDIA's")
    if chosen is not None and chosen.needs.elsewhere is not None:
        if options.arch is None:
            raise UsageError(f"--oracle {chosen.spec} only compiles: name the GPU by --arch sm_90")
        chosen = replace(chosen, needs=_with_other_compiler(chosen.needs, chosen.needs.elsewhere, options.python, say))
    if chosen is not None and chosen.needs.sanitizer:
        sanitizer.require(chosen.needs.sanitizer, options.python, {**os.environ, **options.environment})
        options = replace(options, mode="cold")
    return chosen, options


def _with_other_compiler(needs: Needs, other: KnobSetting, python: str, say: Say) -> Needs:
    """The needs, with an interpreter that has the other compiler: in an environment of ours, never in the user's."""
    from shrinkray_gpu.corpus import environments  # what no other command should wait for

    release = other.name.removeprefix("triton=")
    there = environments.with_triton(release, python=python, say=say)
    if Path(there) == Path(python):
        raise UsageError(f"{python} has Triton {release} itself: name another release to compare with")
    return replace(needs, elsewhere=replace(other, python=there))


def _check_limit(chosen: Oracle | None, options: Options) -> None:
    if chosen is not None and chosen.needs.unlimited and options.timeout is None:
        raise UsageError(
            "--oracle timeout asks for a program that does not end within --timeout: give that, in seconds"
        )


def check_controls(named: Sequence[Control], chosen: Oracle | None, options: Options) -> None:
    """Raises UsageError where the controls that the user named would not be asked."""
    if named and not options.guards:
        raise UsageError(f"--no-guards leaves all controls out, {named[0].name} too: choose one")
    if named and chosen is not None and not chosen.needs.run:
        raise UsageError(
            f"--oracle {chosen.spec} runs the program itself, where no control can be turned: leave {named[0].name} "
            "out, or name the fault with another --oracle beside it"
        )


def _check_numbers(options: Options) -> None:
    """Raises UsageError for a number out of its range. "nan" is in all of click's."""
    for name, value in (("--timeout", options.timeout), ("--max-time", options.max_time)):
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{name} {value:g}: give a number of seconds above 0")
    if options.gpu_price is not None and not 0 <= options.gpu_price < math.inf:
        raise UsageError(f"--gpu-price {options.gpu_price:g}: give what an hour of GPU costs, such as 2.5")
    if not 0 < options.confidence < 1:
        raise UsageError(f"--confidence {options.confidence:g}: give a number from 0.5 to below 1")


def check_keep(program: Program, options: Options) -> None:
    for name in sorted(options.keep):
        if not re.search(rf"\b{re.escape(name)}\b", program.text):
            raise UsageError(f"--keep {name}: there is no such name in {program.regions[0].path}")


def check_writable(path: Path, output: Path, folder: Path) -> None:
    """Raises UsageError unless the result can be written. The folder for the rest is there afterwards."""
    if output.resolve() == path.resolve():
        raise UsageError(f"--output {output} is the program itself, which is never overwritten: name another file")
    if not output.parent.is_dir():
        raise UsageError(
            f"cannot write {output}: {output.parent} is not a folder. Create it, or choose another --output"
        )
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}. Choose another place with --output") from error
    for place in (output.parent, folder):
        if not os.access(place, os.W_OK):
            raise UsageError(f"cannot write into {place}: permission denied. Choose another place with --output")


def _oracle(options: Options, folder: Path) -> Oracle | None:
    """The oracle asked for; None where the fault seen is to be adopted."""
    if not options.oracle:
        return None
    asked = all_of(
        [parse(spec, folder=folder) for spec in options.oracle], [parse(spec, folder=folder) for spec in options.reject]
    )
    return same_fault(asked, strict=options.guards)


def adopting(run: Run, options: Options, folder: Path, say: Say) -> Oracle:
    spec = calibration.adoptable_spec(run)
    if options.kernel_only:
        kernel_part.check_touched(run)
    say(f"no --oracle given: adopted the fault seen, --oracle {shlex.quote(spec)}")
    asked = all_of([parse(spec, folder=folder)], [parse(reject, folder=folder) for reject in options.reject])
    return same_fault(asked, strict=options.guards)


def setup_of(path: Path, folder: Path, options: Options) -> Setup:
    """The situation that all candidates share. Caches are the reduction's own; the user's are never written."""
    extensions = {"TORCH_EXTENSIONS_DIR": str(folder / "cache" / "extensions")}
    return private_setup(
        folder,
        {**os.environ, **options.environment, **extensions},
        python=options.python,
        imports=options.command.imports if options.command else (),
        own=(str(path.parent.absolute()), str((options.cwd or Path.cwd()).absolute())),
        arch=options.arch,
        writable=options.writable,
    )


def building(program: Program, setup: Setup) -> Setup:
    """The same, with builds of CUDA C++ kept by whatever process makes them: those under an instrument are plain ones,
    and would build each candidate by torch's headers. On the virtual GPU the worker does this itself."""
    if setup.arch is not None or "cpp_extension" not in program.text:
        return setup
    named = setup.environment.get("PYTHONPATH", "")
    environment = {
        **setup.environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(SITE), named])),
        CACHE: setup.writable[0],
    }
    return replace(setup, environment=environment)


_KERNEL = re.compile(r"__global__[^;]*\)\s*\{")
"""A kernel's definition; a docstring may have the word alone."""


def builds_cuda(program: Program, options: Options, oracle: Oracle | None) -> bool:
    """Whether nothing will come of it without nvcc. NVRTC compiles what a GPU's own libraries are given."""
    if oracle is not None and oracle.needs.builds:
        return True
    defined = _KERNEL.search(program.text) is not None
    return defined and (options.arch is not None or "cpp_extension" in program.text)


def gpus_of(options: Options, setup: Setup, say: Say) -> tuple[tuple[str, ...], Setup]:
    """The GPUs that runs may be spread over, none where there is one only; and the setup in which no others are seen.
    What is left out is told. Raises SickDevice where none is well."""
    if setup.arch is not None or not gpus.present():
        return (), setup
    if gpus.NOTE:
        say(gpus.NOTE)
    names, left_out = usable(setup.environment, options.gpus, say)
    if left_out:
        setup = replace(setup, environment={**setup.environment, "CUDA_VISIBLE_DEVICES": ",".join(names)})
    return names if len(names) > 1 else (), setup


def settings_of(options: Options, setup: Setup) -> dict[str, Any]:
    """What must be the same for a resumed reduction to go on with the verdicts of the first."""
    found = versions(options.python, setup.environment, gpu=False)
    return {
        **{name: found[name] for name in ("triton", "torch") if name in found},
        "oracle": options.oracle,
        "reject": options.reject,
        "python": options.python,
        "arch": options.arch,
        "argv": options.argv,
        "environment": dict(options.environment),
        "cwd": options.cwd,
        "writable": sorted(map(str, options.writable)),
        "keep": sorted(options.keep),
        "skip": sorted(options.skip),
        "controls": [*options.controls, *options.control_environment, *map(_with_digest, options.control_patches)],
        "guards": options.guards,
        "confidence": options.confidence,
    }


def limits_of(options: Options) -> calibration.Limits:
    """What the user lets runs have. Where a fault aborts its process, each run has one of its own."""
    kept = gpus.KEEPS_ERRORS or options.arch is not None
    return calibration.Limits(jobs_of(options), options.timeout, mode=options.mode if kept else "cold")


def _with_digest(file: Path) -> str:
    """A file by its name and its content, which may change until the reduction is resumed."""
    return f"{file} {hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
