"""Each program here fails as its .toml says, and ends well with its .fix.diff.

    python check.py [NAME ...]            in Triton's interpreter, "cuda" read as "cpu"
    python check.py --device [NAME ...]   as they stand, on a GPU

Those in innocent/ have no kernel to blame (`innocent/NAME`): their mistake is in what it is held against.

Programs are copied to a folder of their own; one process at a time. The seconds are the processor's.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import tomllib

HERE = pathlib.Path(__file__).resolve().parent
KEYS = {"kind", "where", "mistake", "check"}
KERNEL_KEYS = KEYS | {"smallest", "deterministic_in_interpreter"}
RUNS = 2  # of the program with its mistake: all have to fail with the same words

# The autotuner asks the driver for a way to measure; without a GPU there is none.
STAND_IN = """
import triton.runtime.autotuner as _autotuner
def _bench(call, quantiles=None):
    for _ in range(3):
        call()
    return [1.0] * len(quantiles or [0])
_autotuner.Autotuner.do_bench = property(lambda self: _bench)
"""


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(path, device, words=()):
    environment = dict(os.environ)
    if words:
        environment |= {} if device else {"TRITON_INTERPRET": "1"}
        command = [sys.executable, *words]
    elif device:
        command = [sys.executable, path.name]
    else:
        environment["TRITON_INTERPRET"] = "1"
        prelude = STAND_IN + f"import runpy, sys\nsys.argv = ['{path.name}']\n"
        command = [sys.executable, "-W", "ignore", "-c",
                   prelude + f"runpy.run_path('{path.name}', run_name='__main__')"]
    start = processor_seconds()
    done = subprocess.run(command, cwd=path.parent, env=environment, text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout, processor_seconds() - start


def prepare(name, folder, device, mend):
    text = (HERE / f"{name}.py").read_text()
    path = pathlib.Path(folder) / f"{pathlib.Path(name).name}.py"
    path.write_text(text)
    if mend:
        patch = HERE / f"{name}.fix.diff"
        subprocess.run(["patch", "-s", "-p0", "-F0", "-i", str(patch)], cwd=folder, check=True)
        text = path.read_text()
    if not device:
        path.write_text(text.replace('"cuda"', '"cpu"'))
    return path


def check(name, device):
    facts = tomllib.loads((HERE / f"{name}.toml").read_text())
    innocent = name.startswith("innocent/")
    keys = KEYS | {"told"} if innocent else KERNEL_KEYS
    problems = [f"no {key} in the toml" for key in sorted(keys - facts.keys())]
    if not innocent and facts.get("where") not in ("kernel", "host"):
        problems.append("where is neither kernel nor host")
    words = facts.get("command", ())
    seconds, outputs = [], set()
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            code, output, took = run(prepare(name, folder, device, mend=False), device, words)
        seconds.append(took)
        outputs.add(output.replace(folder, ""))
        if code == 0:
            problems.append("ends well with its mistake")
        elif facts["check"] not in output:
            problems.append(f"fails in other words: {output[-600:]}")
    with tempfile.TemporaryDirectory() as folder:
        code, output, took = run(prepare(name, folder, device, mend=True), device, words)
    if code:
        problems.append(f"fails with its fix: {output[-1500:]}")
    same = len(outputs) == 1
    print(f"{name:18} {facts['kind']:20} {facts['where']:7} {'bad' if problems else 'good':5}"
          f"{max(seconds):5.1f} s {took:5.1f} s  output {'equal' if same else 'differs'} in {RUNS} runs",
          flush=True)
    for problem in problems:
        print("   ", problem, flush=True)
    return not problems


def main(arguments):
    device = "--device" in arguments
    names = [a for a in arguments if a != "--device"]
    names = names or sorted(str(p.relative_to(HERE).with_suffix("")) for p in HERE.rglob("*.toml"))
    good = [check(name, device) for name in names]
    print(f"{sum(good)} of {len(good)} good")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
