"""`python -m shrinkray_gpu.oracle > docs/oracles.md`: the page about oracles, with the table of `spec.FORMS`."""

from __future__ import annotations

from shrinkray_gpu.oracle.spec import markdown_table

PAGE = """\
<!-- Written by `python -m shrinkray_gpu.oracle > docs/oracles.md`; edit shrinkray_gpu/oracle/ instead. -->

# Oracles: what must persist

`shrink FILE --oracle SPEC` keeps a smaller program only if SPEC still holds. Give `--oracle` more than once and
all must hold; none of the `--reject SPEC` may. Without any, the fault that the original shows is adopted and
printed as a SPEC.

{table}

A whole pasted error line is fine, too: `--oracle "RuntimeError: Triton Error [CUDA]: misaligned address"` asks
for the sticky error. A prefix that is not in the table is plain text. REGEX is Python's, searched for anywhere,
`^` and `$` at lines.

## What counts as the fault

- **Sticky CUDA errors** (misaligned address, illegal memory access, device-side assert ...) are asked of the
  driver after the script, not read in its output. A script that prints the words, or raises them itself, does
  not show the fault; one that catches the error and exits 0 does.
- **Other words** count only where a *failing* process explains its failure: the uncaught exception with its
  direct causes, the compiler's messages, stderr, the fault of a child process. They do not count in what a
  successful run prints, in warnings, in an exception that was being handled when another one came, or in source
  that a traceback or a compiler message merely quotes: docstrings, comments, kernel code.
- **The original sets the manner.** If it dies visibly, a candidate must: a program that ends well although the
  device has faulted would be a repro without a synchronisation. If it swallows the error, the driver alone
  decides. Words of its uncaught exception must stay in an uncaught exception.
- **Unknown is not "no".** A run that was stopped for time, lost its lane, was killed from outside, or ran out
  of memory beside others says nothing about the fault, unless that is what was asked for.
- **`hang:SECONDS` is without the imports.** A process that has yet to import and compile gets up to 20 s more. Where
  a kernel hangs it is not given them all: it hangs when the GPU is still at work SECONDS after the last launch.

## Wrong results

`differs:KNOB` runs each candidate twice on the same inputs, as it is and with one knob turned, and compares what
each launch wrote. An edit that changes what the program means changes both runs alike, so the disagreement is the
kernel's. Knobs: those of `--control` (`num_stages=N`, `num_warps=N`, `interpreter`, `ptxas=-O0`, `K=V`,
`python=PATH` for another Triton, ...). `nondeterministic` compares the program with itself, run again.

- Nothing has to be imported, asserted or printed for it, and a script that fails its own check counts as well.
- A launch counts only if all that went into it is the same in both runs. Seeds are set before the script starts
  (`random`, NumPy, torch), and memory that nobody wrote holds NaN, or -1, in every run: a result that depends on
  the time, on `os.urandom` or on uninitialised memory is not taken for the fault.
- KIND is `nan` (finite in one run only), `wrong` (apart by more than rounding explains: 0.001 of the largest
  magnitude for float32, 0.01 for float16, 0.03 for bfloat16, 1e-9 for float64; any difference of integers) or
  `tolerance` (less than that). The strongest one that the original shows is kept.
- Launches that an autotuner or `do_bench` makes to measure time are left out. If the autotuner chooses another
  configuration in the second run, there is nothing to compare: leave it one.
- It needs launches of Triton kernels, on a GPU or in Triton's interpreter. On the virtual GPU no kernel runs.

## Weak ones

`exception:AssertionError` and `exit:1` hold for almost any program that is broken enough. Give the message
(`exception:AssertionError:REGEX`), add a second `--oracle`, `--reject` what must not happen, or ask for the
wrong result itself, by `differs:`. `ttgir:!REGEX` and its like also need kernels to be compiled, else deleting
them would do.

`script:PATH` runs the file with the candidate as its argument, in a folder of its own where the candidate has
its own name: exit 0 keeps it, anything else does not; a signal, or 126 and 127 (a command in it cannot be run),
is unknown.
"""


def page() -> str:
    return PAGE.format(table=markdown_table())


if __name__ == "__main__":
    print(page(), end="")
