"""`python -m shrinkray_gpu.oracle > docs/oracles.md`: the page about oracles, with the table of `spec.FORMS`."""

from __future__ import annotations

from .spec import markdown_table

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

## Weak ones

`exception:AssertionError` and `exit:1` hold for almost any program that is broken enough. Give the message
(`exception:AssertionError:REGEX`), add a second `--oracle`, or `--reject` what must not happen. `ttgir:!REGEX`
and its like also need kernels to be compiled, else deleting them would do.

`script:PATH` runs the file with the candidate as its argument, in a folder of its own where the candidate has
its own name: exit 0 keeps it, anything else does not; a signal, or 126 and 127 (a command in it cannot be run),
is unknown.
"""


def page() -> str:
    return PAGE.format(table=markdown_table())


if __name__ == "__main__":
    print(page(), end="")
