"""`shrink replay` in parts, and put together again; without Ray, and with words that do not go together."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.corpus.making import write
from tests.e2e.command import refused, shrink


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        write(tmp_path / "corpus", name)
    write(tmp_path / "corpus", "third", "print('fine')\n")
    return tmp_path


def test_parts_say_together_what_the_whole_says(corpus: Path) -> None:
    whole = shrink("replay", "--arch", "sm_90", "--jobs", "1", cwd=corpus)
    for index in (1, 2):
        said = shrink("replay", "--arch", "sm_90", "--jobs", "1", "--shard", f"{index}/2", "--json", cwd=corpus)
        assert said.code == index - 1, said.err  # the first part has one case, which is as expected
        (corpus / f"{index}.json").write_text(said.out)
    put = refused("replay", "--merge", "2.json", "1.json", "--junit", "it.xml", cwd=corpus)
    assert (put.code, put.out) == (whole.code, whole.out) and whole.code == 1
    assert (corpus / "it.xml").is_file()
    assert len(json.loads((corpus / "2.json").read_text()).popitem()[1]["cases"]) == 2
    lone = refused("replay", "--merge", "2.json", "--json", cwd=corpus)
    assert lone.code == 2 and "without shard 1/2 the replay is not whole" in lone.err


WRONG = {
    "--shard 4/3": "--shard 4/3: write 2/3 for the second of three",
    "--merge": "what is merged? Usage: shrink replay",
    "corpus corpus": "one corpus at a time, not 2",
    "--accelerator H100": "--accelerator chooses among the machines of --ray",
    "--ray auto --sandbox bwrap": "--sandbox is for this machine: leave out --ray",
    "--ray auto --bisect first": "--bisect is for this machine: leave out --ray",
    "--shard 1/2 --bisect first": "--bisect runs one release after the other",
    "--ray auto --jobs 2": "--jobs is for this machine",
    "--ray auto": "--ray needs Ray, of the cluster's own version: pip install ray",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_done_is_one_line(corpus: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = refused("replay", *words.split(), cwd=corpus)
    assert said.code == 2 and re.search(re.escape(WRONG[words]), said.message), said.err
    assert len(said.message.splitlines()) == 1
