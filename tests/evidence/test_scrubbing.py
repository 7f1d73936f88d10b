"""What leaves the folder tells nobody where it was made, and a cubin stays as long as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.evidence import scrubbing
from shrinkray_gpu.evidence.scrubbing import Scrubber, scrubber

MADE = Scrubber({"/data/ada/kernels": ".", "/data/ada": "<home>"}, {"ada": "<user>", "box17": "<host>"})


def test_paths_become_names_and_names_become_words() -> None:
    assert MADE.text('loc("/data/ada/kernels/repro.py":3:1)') == 'loc("./repro.py":3:1)'
    assert MADE.text("/data/ada/notes, by ada@box17") == "<home>/notes, by <user>@<host>"
    assert MADE.text("/opt/venv/lib/python3.11/site-packages/triton/x.py") == "<site-packages>/triton/x.py"
    assert MADE.text("/home/somebody/x.py and /data/ada/kernels_too") == "<home>/x.py and <home>/kernels_too"


def test_a_name_inside_of_a_word_is_no_name() -> None:
    assert MADE.text("adapter, nevada, box170") == "adapter, nevada, box170"


def test_in_a_cubin_nothing_moves() -> None:
    data = b"\x7fELF\0/data/ada/kernels/repro.py\0ada\0/x/site-packages/y\0"
    scrubbed = MADE.data(data)
    assert len(scrubbed) == len(data)
    assert b"ada" not in scrubbed and b"/repro.py\0" in scrubbed and b"site-packages" not in scrubbed


def test_secrets_that_the_user_set_for_the_program_are_told_to_nobody(tmp_path: Path) -> None:
    made = scrubber([tmp_path], environment={"HF_TOKEN": "hf_Xy12", "SIZE": "4096", "API_KEY": ""})
    said = "shrink repro.py --check --env HF_TOKEN=hf_Xy12 --env SIZE=4096"
    assert made.text(said) == "shrink repro.py --check --env HF_TOKEN=<HF_TOKEN> --env SIZE=4096"
    assert made.data(b"key hf_Xy12\0") == b"key _______\0"


@pytest.mark.parametrize("name", ["AUTHORIZATION", "PROXY_AUTH", "OAUTH_ID", "GIT_TOKEN", "DB_PASSWD"])
def test_names_of_secrets(name: str, tmp_path: Path) -> None:
    assert scrubber([tmp_path], environment={name: "Basic Zm9vOmJhcg"}).text("Basic Zm9vOmJhcg") == f"<{name}>"


@pytest.mark.parametrize(
    "setting",
    [
        ("TOKENIZERS_PARALLELISM", "false"),
        ("AUTHOR", "tl.float32"),
        ("GIT_AUTHOR_NAME", "tl.float32"),
        ("NEW_TOKENS", "4"),
    ],
)
def test_a_switch_or_a_number_is_no_secret(setting: tuple[str, str], tmp_path: Path) -> None:
    code = "%0 = arith.constant false\ntl.zeros([4], tl.float32)"
    made = scrubber([tmp_path], environment=dict([setting]))
    assert made.text(code) == code and made.data(code.encode()) == code.encode()


def test_a_common_user_name_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scrubbing, "_user", lambda: "root")
    made = scrubber([tmp_path])
    assert "root" not in made.names
    assert made.text(f"{tmp_path}/repro.py") == "./repro.py"
