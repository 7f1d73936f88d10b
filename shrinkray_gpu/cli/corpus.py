"""The command `shrink corpus`: add a reduction to a corpus, list its cases, show one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from shrinkray_gpu.cli.output import echo
from shrinkray_gpu.cli.words import CONTEXT, OneLineComplaints, chosen_python, narrator, publish_option
from shrinkray_gpu.corpus import matrix as tabulated
from shrinkray_gpu.corpus.addition import CaseWords
from shrinkray_gpu.corpus.addition import add as add_case
from shrinkray_gpu.corpus.case import Case, cases
from shrinkray_gpu.corpus.ir_addition import add_ir
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.intermediate.ir_file import holds_ir
from shrinkray_gpu.oracle import typed
from shrinkray_gpu.runner.interpreter import interpreter_path


class _Group(OneLineComplaints, click.Group):
    pass


_CORPUS = click.option(
    "--to", "--corpus", "corpus", type=click.Path(path_type=Path), default=Path("corpus"), help="Default: ./corpus."
)


@click.group("shrink corpus", cls=_Group, context_settings=CONTEXT, invoke_without_command=True)
@click.pass_context
def corpus(context: click.Context) -> None:
    """Keep repros, to replay them against other versions: see shrink replay."""
    if context.invoked_subcommand is None:
        echo(context.get_help())


@corpus.command(context_settings=CONTEXT)
@click.argument("made", type=click.Path(path_type=Path), metavar="FOLDER")
@_CORPUS
@click.option("--name", default="", help="Default: that of the repro.")
@click.option("--title", default="", help="Default: the fault.")
@click.option("--class", "klass", default="", help="Default: the fault's class.")
@click.option("--mechanism", default="", help="How the fault comes about, as far as known.")
@click.option("--upstream", multiple=True, metavar="URL", help="Issue about it; repeatable.")
@click.option("--python", default="", metavar="PATH", help="Interpreter. Default: that of the reduction.")
@publish_option
def add(made: Path, corpus: Path, python: str, name: str, strict: bool, **words: Any) -> None:
    """Add the reduction in FOLDER (<stem>.shrink) as a case, or the IR in a file that shrink made. Refused if it does
    not show its fault now."""
    interpreter = interpreter_path(python) if python else ""
    given = CaseWords(**words)
    say = narrator(False)
    if made.is_file() and holds_ir(made):
        interpreter = interpreter or chosen_python(None, made, say)
        case = add_ir(made, corpus, name=name, words=given, python=interpreter, strict=strict, say=say)
    else:
        case = add_case(made, corpus, name=name, words=given, python=interpreter, strict=strict, say=say)
    say.close()
    echo(f"added: {case.folder} ({case.title})")


@corpus.command("list", context_settings=CONTEXT)
@click.argument("corpus", type=click.Path(path_type=Path), default=Path("corpus"))
def list_(corpus: Path) -> None:
    """The cases of CORPUS (default: ./corpus), a line each."""
    every = cases(corpus)
    width = max(len(case.name) for case in every)
    for case in every:
        echo(f"{case.name.ljust(width)}  {case.broken or f'{case.klass}: {case.title}'}")


@corpus.command(context_settings=CONTEXT)
@click.argument("case")
@_CORPUS
def show(case: str, corpus: Path) -> None:
    """All that is known of CASE (its name in ./corpus, or its folder), and its repro."""
    folder = Path(case)
    chosen = cases(folder)[0] if (folder / "case.toml").exists() else cases(corpus, [case])[0]
    echo(_shown(chosen))
    echo()
    echo(chosen.repro.read_text(encoding="utf-8"), nl=False)


@corpus.command(context_settings=CONTEXT)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", "text", type=click.Path(path_type=Path, dir_okay=False), help=f"Below {tabulated.MARK} there.")
def matrix(files: tuple[Path, ...], text: Path | None) -> None:
    """Cases by environments in Markdown, from FILES that shrink replay --json printed."""
    table = tabulated.markdown(files)
    if text is None:
        echo(table, nl=False)
        return
    try:
        text.write_text(tabulated.into(text.read_text(encoding="utf-8"), table), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{text}: {error.strerror}") from error
    except UsageError as error:
        raise UsageError(f"{text}: {error}") from error


def _shown(case: Case) -> str:
    needs = case.needs
    wants = [
        *(["a real GPU"] if needs.gpu else []),
        *([needs.architecture] if needs.architecture else []),
        *([f"{needs.memory:g} GiB"] if needs.memory else []),
        *map(str, needs.packages),
    ]
    rows = [
        ("case", case.name),
        ("title", case.title),
        ("class", case.klass),
        ("mechanism", " ".join(case.mechanism.split())),
        ("oracle", ", ".join(map(typed, case.oracle))),
        ("reject", ", ".join(map(repr, case.reject))),
        ("fault", str(case.fault or "")),
        ("needs", ", ".join(wants)),
        ("run", _run(case)),
        *(("upstream", link) for link in case.upstream),
        *(("seen", ", ".join(f"{key} {value}" for key, value in seen.items())) for seen in case.seen),
        *(("expected", f"{what} for triton {range_}") for range_, what in case.expect),
    ]
    return "\n".join(f"{name.ljust(10)}  {text}" for name, text in rows if text)


def _run(case: Case) -> str:
    """How it is run, where that is not just `python FILE`."""
    parts = [
        *(f"{key}={value}" for key, value in case.environment.items()),
        *(["with the arguments " + shlex.join(case.argv)] if case.argv else []),
        *([f"{case.runs} times"] if case.runs else []),
        *([f"for {case.timeout:g} s at most"] if case.timeout else []),
        *(["each run in a process of its own"] if case.cold else []),
    ]
    return ", ".join(parts)
