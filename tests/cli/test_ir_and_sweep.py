"""`shrink ir` and `shrink sweep`: each mistake in the command is one line and exit code 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.cli.main import main

SCRIPT = "import torch\nSTRIDE = 1\nBLOCK = 64\n"
COUNT = ("--count", "tma")
OVER = ("--over", "BLOCK=64")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ir",), "which file?"),
        (("ir", "copy.py"), "what is to be counted?"),
        (("ir", "copy.py", "--count", "tgir:x"), "did you mean ttgir?"),
        (("ir", "copy.py", *COUNT, "--bad", "STRID=2"), "did you mean STRIDE?"),
        (("ir", "copy.py", *COUNT, "--over", "STRIDE"), "NAME=VALUE,VALUE"),
        (("ir", "copy.py", *COUNT, "--triton", "new"), "is no version"),
        (("ir", "copy.py", *COUNT, "--triton", ","), "names no version"),
        (("ir", "missing.py", *COUNT), "missing.py"),
        (("ir", ".", *COUNT), "is a folder"),
        (("sweep",), "which file?"),
        (("sweep", "copy.py"), "what is to be changed?"),
        (("sweep", "copy.py", "--over", "BLOCKS=64"), "did you mean BLOCK?"),
        (("sweep", "copy.py", "--over", "BLOCK=64,64"), "there twice"),
        (("sweep", "copy.py", *OVER, *OVER), "there twice"),
        (("sweep", "copy.py", *OVER, "--runs", "0"), "--runs"),
        (("sweep", "copy.py", *OVER, "--oracle", "nondeterministic"), "judges each run by itself"),
        (("sweep", "copy.py", *OVER, "--reject", "exit:1"), "give that, too"),
        (("sweep", "copy.py", *OVER, "--oracle", "exit:x"), "exit:N"),
        (("sweep", "copy.py", *OVER, "--arch", "mi300"), "--arch mi300"),
        (("sweep", "missing.py", *OVER), "missing.py"),
    ],
)
def test_bad_input(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.py").write_text(SCRIPT)
    with pytest.raises(SystemExit) as ended:
        main([*words[:1], "--arch", "sm_90", *words[1:]])
    message = capsys.readouterr().err.strip()
    assert ended.value.code == 2
    assert message.startswith("shrink: ") and said in message and "\n" not in message
    assert [path.name for path in tmp_path.iterdir()] == ["copy.py"]


@pytest.mark.parametrize("command", ["ir", "sweep"])
def test_help_says_what_there_is(command: str, capsys: pytest.CaptureFixture) -> None:
    main([command, "--help"])
    assert "--over NAME=V,V,..." in capsys.readouterr().out
