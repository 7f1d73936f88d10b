"""Files with recorded values: where a script finds them during the reduction, and in the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shrinkray_gpu.lift import data_files


def script(*paths: Path) -> str:
    loads = "".join(f'x{i} = torch.load("{path}")  # é\nprint(x{i}.tolist())\n' for i, path in enumerate(paths))
    return f"from __future__ import annotations\nimport torch\n\n{loads}"


def saved(path: Path, *values: int) -> Path:
    import torch  # here: each process of pytest collects this file, and one runs it

    path.parent.mkdir(exist_ok=True)
    torch.save(torch.tensor(values), path)
    return path


def test_a_script_without_values_is_left_alone(tmp_path: Path) -> None:
    text = 'import torch\ntorch.load("near.pt")\n'
    assert data_files.files(text) == () and data_files.copy_files(text, tmp_path) == text
    assert data_files.final_files(text, tmp_path / "repro.py") == (text, ())
    assert data_files.files("not python (") == ()


def test_files_are_kept_where_they_stay(tmp_path: Path) -> None:
    import torch

    text = script(saved(tmp_path / "run" / "1a.pt", 1, 2), saved(tmp_path / "run" / "2b.pt", 3))
    text = data_files.copy_files(text, tmp_path / "artifacts")
    assert data_files.files(text) == (tmp_path / "artifacts" / "1a.pt", tmp_path / "artifacts" / "2b.pt")
    (tmp_path / "run" / "1a.pt").unlink()
    assert data_files.copy_files(text, tmp_path / "artifacts") == text
    assert torch.load(tmp_path / "artifacts" / "1a.pt").tolist() == [1, 2]


def test_the_result_runs_from_anywhere_with_its_files_beside_it(tmp_path: Path) -> None:
    one, two = saved(tmp_path / "run" / "1a.pt", 1, 2), saved(tmp_path / "run" / "2b.pt", 3)
    output = tmp_path / "repro.py"
    text, files = data_files.final_files(script(one, two, one), output)
    assert files == (tmp_path / "repro.pt", tmp_path / "repro_2.pt")
    assert text.startswith("# Needs repro.pt beside it: ")
    output.write_text(text)
    one.unlink()
    two.unlink()
    done = subprocess.run([sys.executable, str(output)], capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout.split("\n") == ["[1, 2]", "[3]", "[1, 2]", ""]
